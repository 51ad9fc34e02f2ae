"""`WeftRetriever`: a LangChain retriever over a knowledge service or a store on this machine."""

from dataclasses import fields
from typing import Any

from pydantic import Field

from weft.errors import MissingExtra
from weft.interfaces.integrations.retrieval import Retrieval

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    raise MissingExtra("weft.interfaces.integrations.langchain", "langchain") from error


class WeftRetriever(BaseRetriever):
    """Documents for a query: entry points first, then with `include_context` what surrounds them."""

    base_url: str | None = None
    store: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    tenant_ids: list[str] = Field(default_factory=lambda: ["default"])
    k: int = 10
    include_context: bool = False
    timeout: float = 30.0
    options: dict[str, Any] = Field(default_factory=dict)
    """More fields of POST /api/context, such as `max_tokens` or `entry_types`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **more: Any
    ) -> list[Document]:
        told = {each.name: getattr(self, each.name) for each in fields(Retrieval)}
        if k is not None:
            told["k"] = k
        found = Retrieval(**{**told, "options": {**self.options, **more}}).pieces(query)
        return [Document(page_content=each.text, metadata=dict(each.about), id=each.id) for each in found]
