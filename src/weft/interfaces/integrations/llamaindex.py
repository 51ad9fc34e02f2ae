"""`WeftRetriever`: a LlamaIndex retriever over a knowledge service or a store on this machine."""

from typing import Any

from weft.errors import MissingPackage
from weft.interfaces.integrations import Retrieval

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingPackage("weft.interfaces.integrations.llamaindex", "llama-index-core", "httpx") from error


class WeftRetriever(BaseRetriever):
    """A retriever that returns the entry points for a query and, with `include_context`, their surroundings.

    It takes the arguments of `Retrieval`.
    """

    def __init__(
        self, base_url: str | None = None, *, callback_manager: CallbackManager | None = None, **options: Any
    ) -> None:
        self._retrieval = Retrieval(base_url, **options)
        super().__init__(callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(text=node.text, id_=node.id, metadata=dict(node.metadata)), score=node.score
            )
            for node in self._retrieval.retrieve(query_bundle.query_str)
        ]
