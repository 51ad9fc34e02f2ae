"""What the retrievers of other frameworks share: one question, to a service or to a store on this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import DEFAULT_TENANT

if TYPE_CHECKING:
    from weft.api import Weft


@dataclass(frozen=True, slots=True)
class Piece:
    """One node of an answer as text with what is known about it."""

    text: str
    about: Mapping[str, Any]
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Where a retriever asks (the `base_url` of a service or the folder of a `store`), for whom, and for how much.

    `options` are more fields of POST /api/context, such as `max_tokens` or `entry_types`.
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

    def pieces(self, query: str) -> list[Piece]:
        """At most `k` entry points, best first, then if wanted at most as many of what surrounds them."""
        limits = {"entry_limit": self.k, "context_limit": self.k if self.include_context else 0}
        asked = {**limits, "expand": self.include_context, "include_entities": False, **self.options}
        found = _embedded(self, query, asked) if self.store is not None else _served(self, query, asked)
        around = found["context"] if self.include_context else ()
        return [_piece(each) for each in (*found["entry_points"], *around)]


def _embedded(place: Retrieval, query: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    from weft.assemblers.knowledge.knowledge_context import KnowledgeRequest

    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
    }
    model = str(options.pop("token_model", "gpt-4"))
    request = KnowledgeRequest(query=query, **options)
    weft = _opened(str(place.store))
    return asdict(weft.knowledge(request, tenants=tuple(place.tenant_ids), token_model=model))


@cache
def _opened(store: str) -> "Weft":
    """A store stays open for all who ask it."""
    from weft.api import Weft

    return Weft.open(Path(store), create=False)


def _served(place: Retrieval, query: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    from weft.interfaces.client import WeftClient

    with WeftClient(str(place.base_url), api_key=place.api_key, timeout=place.timeout) as client:
        return client.context(query, place.tenant_ids, **asked).raw


def _piece(told: Mapping[str, Any]) -> Piece:
    content = told["content"]
    said = content.get("text") or "\n".join(f"{name}: {value}" for name, value in content.items())
    text = "\n".join(part for part in (told["title"], told["summary"], said) if part)
    about = {name: value for name, value in told.items() if name not in ("content", "summary", "node_type")}
    about = {**about, "type": told["node_type"], "tags": list(told["tags"])}
    return Piece(text, about, str(told["id"]), float(told["score"]))
