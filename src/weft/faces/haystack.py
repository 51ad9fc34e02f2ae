"""`WeftRetriever`: a Haystack component over a knowledge service or a store on this machine."""

from collections.abc import Sequence
from typing import Any

from weft.errors import MissingExtra
from weft.faces.retrieving import Place, pieces

try:
    from haystack import Document, component
except ModuleNotFoundError as error:
    raise MissingExtra("weft.faces.haystack", "haystack") from error


@component  # type: ignore[untyped-decorator, unused-ignore]
class WeftRetriever:
    """Documents for a query: entry points first, then with `include_context` what surrounds them."""

    def __init__(
        self,
        base_url: str | None = None,
        *,
        store: str | None = None,
        api_key: str | None = None,
        tenant_ids: Sequence[str] = ("default",),
        k: int = 10,
        include_context: bool = False,
        timeout: float = 30.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._place = Place(base_url, store, api_key, timeout)
        self._tenants, self._limit, self._context = tuple(tenant_ids), k, include_context
        self._options = options or {}

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator, unused-ignore]
    def run(self, query: str) -> dict[str, list[Document]]:
        """The documents for a query, under `documents`."""
        found = pieces(self._place, query, self._tenants, self._limit, self._context, self._options)
        return {
            "documents": [
                Document(id=each.id, content=each.text, meta=dict(each.about), score=each.score) for each in found
            ]
        }
