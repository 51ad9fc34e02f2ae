"""`WeftRetriever`: a LlamaIndex retriever over a knowledge service or a store on this machine."""

from collections.abc import Sequence
from typing import Any

from weft.errors import MissingExtra
from weft.faces.retrieving import Place, pieces

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra("weft.faces.llamaindex", "llamaindex") from error


class WeftRetriever(BaseRetriever):  # type: ignore[misc]
    """Nodes with scores for a query: entry points first, then with `include_context` what surrounds them."""

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
        **options: Any,
    ) -> None:
        self._place = Place(base_url, store, api_key, timeout)
        self._tenants, self._limit, self._context = tuple(tenant_ids), k, include_context
        self._options = options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = query_bundle.query_str
        found = pieces(self._place, asked, self._tenants, self._limit, self._context, self._options)
        return [
            NodeWithScore(node=TextNode(text=each.text, id_=each.id, metadata=dict(each.about)), score=each.score)
            for each in found
        ]
