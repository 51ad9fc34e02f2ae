"""`WeftRetriever`: a Haystack component over a knowledge service or a store on this machine."""

from dataclasses import asdict
from typing import Any

from weft.errors import MissingPackage
from weft.interfaces.integrations import Retrieval

try:
    from haystack import Document, component, default_to_dict
except ModuleNotFoundError as error:
    raise MissingPackage("weft.interfaces.integrations.haystack", "haystack-ai", "httpx") from error


@component
class WeftRetriever:
    """A component that returns the entry points for a query and, with `include_context`, their surroundings.

    It takes the arguments of `Retrieval`.
    """

    def __init__(self, base_url: str | None = None, **options: Any) -> None:
        self._retrieval = Retrieval(base_url, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a saved pipeline stores it, without the API key."""
        # The annotation is needed because Haystack does not type its function.
        saved: dict[str, Any] = default_to_dict(self, **{**asdict(self._retrieval), "api_key": None})
        return saved

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        """Return the documents for a query, under `documents`."""
        return {
            "documents": [
                Document(id=node.id, content=node.text, meta=dict(node.metadata), score=node.score)
                for node in self._retrieval.retrieve(query)
            ]
        }
