"""What the retrievers of other frameworks share: one question, to a service or to a store on this machine."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from weft.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Piece:
    """One node of an answer as text with what is known about it."""

    text: str
    about: Mapping[str, Any]
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where to ask: the address of a service, or the folder of a store."""

    base_url: str | None = None
    store: str | None = None
    api_key: str | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if (self.base_url is None) == (self.store is None):
            raise InvalidInput("Give either the base_url of a service or the folder of a store.")


def pieces(
    place: Place, query: str, tenant_ids: Sequence[str], limit: int, with_context: bool, options: Mapping[str, Any]
) -> list[Piece]:
    """Entry points, best first, then if wanted what surrounds them, at most `limit` in all."""
    asked = {"entry_limit": limit, "expand": with_context, "include_entities": False, **options}
    if place.store is not None:
        found = _embedded(place.store, query, tenant_ids, asked)
    else:
        found = _served(place, query, tenant_ids, asked)
    return list(_told(found, with_context))[:limit]


def _embedded(store: str, query: str, tenant_ids: Sequence[str], asked: Mapping[str, Any]) -> Mapping[str, Any]:
    from weft.facades.knowledge import KnowledgeRequest

    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
    }
    model = str(options.pop("token_model", "gpt-4"))
    request = KnowledgeRequest(query=query, **options)
    return asdict(_opened(store).knowledge(request, tenants=tuple(tenant_ids), token_model=model))


@cache
def _opened(store: str) -> Any:
    """A store stays open for all who ask it."""
    from weft.faces.library import Weft

    return Weft.open(Path(store), create=False)


def _served(place: Place, query: str, tenant_ids: Sequence[str], asked: Mapping[str, Any]) -> Mapping[str, Any]:
    from weft.client import WeftClient

    with WeftClient(place.base_url or "", api_key=place.api_key, timeout=place.timeout) as client:
        return client.context(query, tenant_ids, **asked).raw


def _told(found: Mapping[str, Any], with_context: bool) -> Iterator[Piece]:
    for each in (*found["entry_points"], *(found["context"] if with_context else ())):
        content = each["content"]
        said = content.get("text") or "\n".join(f"{name}: {value}" for name, value in content.items())
        text = "\n".join(part for part in (each["title"], each["summary"], said) if part)
        about = {name: value for name, value in each.items() if name not in ("content", "summary", "node_type")}
        about = {**about, "type": each["node_type"], "tags": list(each["tags"])}
        yield Piece(text, about, str(each["id"]), float(each["score"]))
