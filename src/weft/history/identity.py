"""Names made from content: the id of a context, and the fingerprint of what a node says."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from hashlib import blake2b
from typing import Any, Final

import orjson

from weft.model import Node, Request

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def context_id(text_hash: str, request: Request) -> str:
    """The id of a context: the same text for the same request has the same id, whenever it is made."""
    # Only what differs from the defaults counts, so that a new kind of request leaves the ids of the others alone.
    asked = {name: value for name, value in plain_request(request).items() if value != _usual().get(name)}
    return blake2b(f"{text_hash} {_digest(asked)}".encode(), digest_size=8).hexdigest()


@cache
def _usual() -> dict[str, Any]:
    return plain_request(Request())


def fingerprint(node: Node) -> str:
    """A short hash of everything a page can say of a node; it changes when the node's content does."""
    return _digest([node.kind, node.title, node.summary, node.text, node.fields, node.tags])[:16]


def plain_request(request: Request) -> dict[str, Any]:
    """A request as JSON values; candidates brought by the caller are named, not copied."""
    plain: dict[str, Any] = {
        each.name: getattr(request, each.name)
        for each in fields(request)
        if each.name not in ("candidates", "received")
    }
    if request.candidates is not None:
        plain["candidates"] = [(each.node.tenant, each.node.key, each.score) for each in request.candidates]
    if request.received is not None:
        plain["session"] = request.received.session
    decoded: dict[str, Any] = json.loads(_encoded(plain))
    return decoded


def _digest(value: object) -> str:
    return blake2b(_encoded(value), digest_size=16).hexdigest()


def _encoded(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=_plain, option=_SORTED)
    except TypeError:
        # Text that is no valid Unicode, such as half of a surrogate pair, which the slower encoder escapes.
        return json.dumps(value, default=_plain, sort_keys=True).encode("ascii")


def _plain(value: object) -> object:
    """What JSON has no form for: mappings of other types, our own values, times."""
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return repr(value)
