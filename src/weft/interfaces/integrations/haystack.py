"""`WeftRetriever`: a Haystack component over a knowledge service or a store on this machine."""

from dataclasses import asdict
from typing import Any

from weft.errors import MissingExtra
from weft.interfaces.integrations.retrieval import Retrieval

try:
    from haystack import Document, component, default_to_dict
except ModuleNotFoundError as error:
    raise MissingExtra("weft.interfaces.integrations.haystack", "haystack") from error


@component
class WeftRetriever:
    """Documents for a query: entry points first, then with `include_context` what surrounds them.

    Takes what `Retrieval` takes.
    """

    def __init__(self, base_url: str | None = None, **how: Any) -> None:
        self._retrieval = Retrieval(base_url, **how)

    def to_dict(self) -> dict[str, Any]:
        """How a pipeline that is written down names this component; the key is not written with it."""
        told: dict[str, Any] = default_to_dict(self, **{**asdict(self._retrieval), "api_key": None})
        return told

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, list[Document]]:
        """The documents for a query, under `documents`."""
        found = self._retrieval.pieces(query)
        return {
            "documents": [
                Document(id=each.id, content=each.text, meta=dict(each.about), score=each.score) for each in found
            ]
        }
