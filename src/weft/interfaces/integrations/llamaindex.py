"""`WeftRetriever`: a LlamaIndex retriever over a knowledge service or a store on this machine."""

from typing import Any

from weft.errors import MissingExtra
from weft.interfaces.integrations.retrieval import Retrieval

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra("weft.interfaces.integrations.llamaindex", "llamaindex") from error


class WeftRetriever(BaseRetriever):
    """Nodes with scores for a query: entry points first, then with `include_context` what surrounds them.

    Takes what `Retrieval` takes.
    """

    def __init__(
        self, base_url: str | None = None, *, callback_manager: CallbackManager | None = None, **how: Any
    ) -> None:
        self._retrieval = Retrieval(base_url, **how)
        super().__init__(callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=each.text, id_=each.id, metadata=dict(each.about)), score=each.score)
            for each in self._retrieval.pieces(query_bundle.query_str)
        ]
