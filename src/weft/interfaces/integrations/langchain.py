"""`WeftRetriever`: a LangChain retriever over a knowledge service or a store on this machine."""

from dataclasses import fields
from typing import Any

from pydantic import Field

from weft.errors import MissingPackage
from weft.interfaces.integrations import Retrieval

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ModuleNotFoundError as error:
    raise MissingPackage("weft.interfaces.integrations.langchain", "langchain-core", "httpx") from error


class WeftRetriever(BaseRetriever):
    """A retriever that returns the entry points for a query and, with `include_context`, their surroundings."""

    base_url: str | None = None
    store: str | None = None
    api_key: str | None = Field(default=None, repr=False)
    tenant_ids: list[str] = Field(default_factory=lambda: ["default"])
    k: int = 10
    include_context: bool = False
    timeout: float = 30.0
    options: dict[str, Any] = Field(default_factory=dict)
    """Further fields of POST /api/context, such as `max_tokens` or `entry_types`."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None, **more: Any
    ) -> list[Document]:
        # The fields may be set after construction, so the request is built again for every query.
        settings = {field.name: getattr(self, field.name) for field in fields(Retrieval)}
        if k is not None:
            settings["k"] = k
        nodes = Retrieval(**{**settings, "options": {**self.options, **more}}).retrieve(query)
        return [Document(page_content=node.text, metadata=dict(node.metadata), id=node.id) for node in nodes]
