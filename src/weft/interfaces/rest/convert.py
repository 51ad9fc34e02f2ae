"""Convert nodes and edges between the store and their JSON form."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, TypeVar

import orjson
import xxhash
from fastapi import Header
from msgspec.structs import asdict
from starlette.responses import Response

from weft.assemblers.knowledge.lists import node_content, split_content
from weft.interfaces.ids import PublicIds
from weft.interfaces.rest.problems import Problem
from weft.interfaces.rest.requests import CandidateInput, NodeInput
from weft.model import Alias, Node, Origin
from weft.sources.values import to_json, to_text
from weft.store.records import ListedEdge

SOURCE: Final = "api"
"""The source of nodes that are written over HTTP with a key that names none."""
FOUND: Final = "found"
"""The source of nodes that callers found elsewhere, so that their keys cannot be those of stored nodes."""
_KEY_DIGITS: Final = 20
"""Hexadecimal digits of a key that is made of content: 80 bits, so that no two contents share one by chance."""
_MAX_CURSOR_DIGITS: Final = 18
"""Digits of a number in a cursor: more would not fit the 64 bits of an id."""

Listed = TypeVar("Listed")


def answer(body: object, status: int = 200, note: str = "") -> Response:
    """Return a value as a JSON response; a note about a write goes into a header."""
    return Response(encoded(body), status, note_header(note), media_type="application/json")


def note_header(note: str) -> dict[str, str]:
    """Return the header that says what could not be brought up to date after a write, if there is something."""
    # A header holds printable ASCII only, and a message may name a file in any script.
    plain = note.encode("ascii", "replace").decode("ascii").replace("\n", " ").replace("\r", " ")
    return {"Weft-Note": plain} if note else {}


def tagged(body: object, conditions: "Conditions", status: int = 200, note: str = "") -> Response:
    """Return a value as a JSON response with its ETag; 304 if the caller has just this one."""
    content = encoded(body)
    tag = entity_tag(content)
    headers = {"ETag": tag, **note_header(note)}
    if conditions.if_none_match and _matches(conditions.if_none_match, tag):
        return Response(status_code=304, headers=headers)
    return Response(content, status, headers, media_type="application/json")


class Conditions:
    """The conditions in the headers of a request: a change is made only to what the caller has seen."""

    def __init__(
        self,
        if_match: Annotated[
            str | None, Header(max_length=4000, description="Change only what has this ETag.")
        ] = None,
        if_none_match: Annotated[
            str | None, Header(max_length=4000, description="Answer with 304 what has this ETag.")
        ] = None,
    ) -> None:
        self.if_match, self.if_none_match = if_match, if_none_match

    def check(self, body: object) -> None:
        """Refuse a change of something that is not as the caller saw it."""
        if self.if_match is not None and not _matches(self.if_match, entity_tag(encoded(body)), weak=False):
            raise Problem(412, "It has changed since. Read it again, and change what is there now.")


def entity_tag(content: bytes) -> str:
    """Return the ETag of an answer's bytes."""
    return f'"{xxhash.xxh3_128_hexdigest(content)}"'


def _matches(given: str, tag: str, *, weak: bool = True) -> bool:
    """Return whether a list of tags in a header names this one, or all; weak tags count only for reading."""
    tags = [part.strip() for part in given.split(",")]
    return "*" in tags or tag in tags or (weak and f"W/{tag}" in tags)


def encoded(body: object) -> bytes:
    """Return a value as JSON."""
    return orjson.dumps(body, default=asdict, option=orjson.OPT_NON_STR_KEYS)


def node_shape(node: Node, ids: PublicIds) -> dict[str, Any]:
    """Return a node in its JSON form."""
    return {
        "id": ids.show(node.id),
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


def node_from(node_input: NodeInput) -> Node:
    """Return the node that a request describes."""
    text, fields = split_content(plain_content(node_input.content))
    key = node_input.key or _content_key(node_input)
    # Keys begin with their source; one that the caller left out is this service.
    full = key if ":" in key else f"{SOURCE}:{key}"
    return Node(
        key=full,
        kind=node_input.node_type,
        tenant=node_input.tenant_id,
        title=to_text(node_input.title),
        summary=to_text(node_input.summary or ""),
        text=text,
        fields=fields,
        tags=tuple(dict.fromkeys(node_input.tags)),
        aliases=aliases_from(node_input.aliases),
        origin=Origin(source=full.partition(":")[0]),
    )


def candidate_from(candidate: CandidateInput, tenant: str) -> Node:
    """Return the node that a caller found elsewhere; no stored one has its key."""
    text, fields = split_content(plain_content(candidate.content))
    return Node(
        key=f"{FOUND}:{candidate.key or _content_key(candidate)}",
        kind=candidate.node_type,
        tenant=tenant,
        title=to_text(candidate.title),
        summary=to_text(candidate.summary or ""),
        text=text,
        fields=fields,
        tags=tuple(dict.fromkeys(candidate.tags)),
        origin=Origin(source=FOUND),
    )


def aliases_from(names: Sequence[str]) -> tuple[Alias, ...]:
    """Return other names, as given by the service's callers."""
    return tuple(Alias(name, f"{SOURCE}@1") for name in dict.fromkeys(names))


def plain_content(content: dict[str, Any]) -> dict[str, Any]:
    """Return content as every store can hold it."""
    plain = to_json(content)
    return dict(plain) if isinstance(plain, dict) else {}


def _content_key(item: NodeInput | CandidateInput) -> str:
    """Return a key made of what the node says, so that sending it twice is noticed."""
    # Sorted, because the same content may come with its fields in another order.
    parts = [item.node_type, item.title, item.summary, item.content]
    return xxhash.xxh3_128_hexdigest(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS))[:_KEY_DIGITS]


def edge_shape(listed: ListedEdge, ids: PublicIds) -> dict[str, Any]:
    """Return an edge in its JSON form."""
    edge, source, target = listed.edge, ids.show(listed.source_id), ids.show(listed.target_id)
    return {
        "id": f"{source}:{edge.type}:{target}",
        "source_id": source,
        "target_id": target,
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
    cursor_of: Callable[[Listed], str],
) -> Response:
    """Return a page of a list; it has a cursor if one item more was found than the page holds."""
    page = found[:limit]
    next_cursor = cursor_of(page[-1]) if len(found) > limit else None
    return answer({name: [shape(item) for item in page], "next_cursor": next_cursor})


def cursor_numbers(cursor: str | None, size: int) -> tuple[int, ...]:
    """Return the numbers of a cursor that an earlier page gave."""
    if cursor is None:
        return (0,) * size
    parts = cursor.split("-")
    if len(parts) != size or not all(
        part.isascii() and part.isdigit() and len(part) <= _MAX_CURSOR_DIGITS for part in parts
    ):
        raise Problem(422, f"{cursor[:40]!r} is no cursor. Give the next_cursor of the page before.", "cursor")
    return tuple(map(int, parts))
