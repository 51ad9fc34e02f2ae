"""Retrievers for LangChain, LlamaIndex and Haystack, one module each, and the retrieval that they share.

A query goes to a service over HTTP or to a store on this machine, and its answer becomes a list of nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from weft.errors import InvalidInput
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.api import Weft


class RetrievedNode(Struct, frozen=True):
    """One node of an answer: its text, and its other fields as metadata."""

    text: str
    metadata: Mapping[str, Any]
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The settings of a retriever: a service (`base_url`) or a store's folder (`store`), tenants, and limits.

    `options` are further fields of POST /api/context, such as `max_tokens` or `entry_types`.
    """

    base_url: str | None = None
    store: str | None = None
    api_key: str | None = field(default=None, repr=False)
    tenant_ids: Sequence[str] = (DEFAULT_TENANT,)
    k: int = 10
    include_context: bool = False
    timeout: float = 30.0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.base_url is None) == (self.store is None):
            raise InvalidInput("Give either the base_url of a service or the folder of a store.")

    def retrieve(self, query: str) -> list[RetrievedNode]:
        """Return at most `k` entry points, best first; with `include_context` at most `k` nodes around them."""
        # The caller's options come last, so that they win over what `k` and `include_context` imply.
        fields = {
            "entry_limit": self.k,
            "context_limit": self.k if self.include_context else 0,
            "expand": self.include_context,
            "include_entities": False,
            **self.options,
        }
        answer = self._ask_store(query, fields) if self.store is not None else self._ask_service(query, fields)
        surroundings = answer["context"] if self.include_context else ()
        return [_to_node(item) for item in (*answer["entry_points"], *surroundings)]

    def _ask_store(self, query: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        from weft.assemblers.knowledge.knowledge_context import KnowledgeRequest

        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
        }
        # The service counts by this model unless the request names one; a store must answer alike.
        token_model = str(options.pop("token_model", "gpt-4"))
        request = KnowledgeRequest(query=query, **options)
        weft = _open_store(str(self.store))
        return asdict(weft.knowledge(request, tenants=tuple(self.tenant_ids), token_model=token_model))

    def _ask_service(self, query: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        from weft.interfaces.client import WeftClient

        with WeftClient(str(self.base_url), api_key=self.api_key, timeout=self.timeout) as client:
            return client.context(query, self.tenant_ids, **fields).raw


@cache
def _open_store(store: str) -> "Weft":
    """Open a store once for the whole process; retrievers have no end at which they could close it."""
    from weft.api import Weft

    return Weft.open(Path(store), create=False)


def _to_node(item: Mapping[str, Any]) -> RetrievedNode:
    """Convert a node of an answer, in the form of POST /api/context."""
    content = item["content"]
    # Records have named fields instead of a text.
    body = content.get("text") or "\n".join(f"{name}: {value}" for name, value in content.items())
    text = "\n".join(part for part in (item["title"], item["summary"], body) if part)
    metadata = {name: value for name, value in item.items() if name not in ("content", "summary", "node_type")}
    metadata |= {"type": item["node_type"], "tags": list(item["tags"])}
    return RetrievedNode(text, metadata, str(item["id"]), float(item["score"]))
