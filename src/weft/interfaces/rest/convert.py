"""Convert nodes and edges between the store and their JSON form."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
import xxhash
from msgspec.structs import asdict
from starlette.responses import Response

from weft.assemblers.knowledge.lists import node_content, split_content
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import CandidateInput, NodeInput
from weft.model import Alias, Node, Origin
from weft.sources.values import to_json, to_text
from weft.store.records import ListedEdge

SOURCE = "api"
FOUND = "found"

Listed = TypeVar("Listed")


def answer(body: object, status: int = 200) -> Response:
    """Return a value as a JSON response."""
    return Response(encoded(body), status, media_type="application/json")


def encoded(body: object) -> bytes:
    """Return a value as JSON."""
    return orjson.dumps(body, default=asdict, option=orjson.OPT_NON_STR_KEYS)


def node_shape(node: Node) -> dict[str, Any]:
    """Return a node in its JSON form."""
    return {
        "id": node.id,
        "key": node.key,
        "tenant_id": node.tenant,
        "node_type": node.kind,
        "title": node.title,
        "summary": node.summary or None,
        "content": node_content(node),
        "tags": list(node.tags),
        "aliases": [alias.text for alias in node.aliases],
        "created": node.created.isoformat() if node.created else None,
        "modified": node.modified.isoformat() if node.modified else None,
    }


def node_from(given: NodeInput) -> Node:
    """Return the node that a request describes."""
    text, fields = split_content(plain_content(given.content))
    key = given.key or _made_key(given)
    full = key if ":" in key else f"{SOURCE}:{key}"
    return Node(
        key=full,
        kind=given.node_type,
        tenant=given.tenant_id,
        title=to_text(given.title),
        summary=to_text(given.summary or ""),
        text=text,
        fields=fields,
        tags=tuple(dict.fromkeys(given.tags)),
        aliases=aliases_from(given.aliases),
        origin=Origin(source=full.partition(":")[0]),
    )


def candidate_from(given: CandidateInput, tenant: str) -> Node:
    """Return the node that a caller found elsewhere; no stored one has its key."""
    text, fields = split_content(plain_content(given.content))
    return Node(
        key=f"{FOUND}:{given.key or _made_key(given)}",
        kind=given.node_type,
        tenant=tenant,
        title=to_text(given.title),
        summary=to_text(given.summary or ""),
        text=text,
        fields=fields,
        tags=tuple(dict.fromkeys(given.tags)),
        origin=Origin(source=FOUND),
    )


def aliases_from(given: Sequence[str]) -> tuple[Alias, ...]:
    """Return other names, as given by the service's callers."""
    return tuple(Alias(each, f"{SOURCE}@1") for each in dict.fromkeys(given))


def plain_content(content: dict[str, Any]) -> dict[str, Any]:
    """Return content as every store can hold it."""
    made = to_json(content)
    return dict(made) if isinstance(made, dict) else {}


def _made_key(given: NodeInput | CandidateInput) -> str:
    """Return a key made of what the node says, so that sending it twice is noticed."""
    told = [given.node_type, given.title, given.summary, given.content]
    return xxhash.xxh3_128_hexdigest(orjson.dumps(told, option=orjson.OPT_SORT_KEYS))[:20]


def edge_shape(listed: ListedEdge) -> dict[str, Any]:
    """Return an edge in its JSON form."""
    edge = listed.edge
    return {
        "id": f"{listed.source_id}:{edge.type}:{listed.target_id}",
        "source_id": listed.source_id,
        "target_id": listed.target_id,
        "edge_type": edge.type,
        "weight": edge.weight,
        "confidence": edge.confidence,
        "evidence": edge.evidence,
        "makers": list(listed.makers),
    }


def page_of(
    name: str,
    found: Sequence[Listed],
    limit: int,
    shape: Callable[[Listed], object],
    place: Callable[[Listed], str],
) -> Response:
    """Return a page of a list, and its cursor where one more was found than the page holds."""
    page = found[:limit]
    more = place(page[-1]) if len(found) > limit else None
    return answer({name: [shape(each) for each in page], "next_cursor": more})


def cursor_numbers(cursor: str | None, size: int) -> tuple[int, ...]:
    """Return the numbers of a cursor that an earlier page gave."""
    if cursor is None:
        return (0,) * size
    parts = cursor.split("-")
    if len(parts) != size or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts):
        raise Problem(422, f"{cursor[:40]!r} is no cursor. Give the next_cursor of the page before.", "cursor")
    return tuple(map(int, parts))
