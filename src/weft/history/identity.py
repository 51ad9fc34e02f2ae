"""Names made from content: the id of a context, and the fingerprint of what a node says."""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import blake2b
from typing import Any, Final

import orjson

from weft.model import Node, Request

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def context_id(text_hash: str, request: Request) -> str:
    """The id of a context: the same text for the same request has the same id, whenever it is made."""
    return blake2b(f"{text_hash} {_digest(plain_request(request))}".encode(), digest_size=8).hexdigest()


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
    decoded: dict[str, Any] = orjson.loads(_encoded(plain))
    return decoded


def _digest(value: object) -> str:
    return blake2b(_encoded(value), digest_size=16).hexdigest()


def _encoded(value: object) -> bytes:
    return orjson.dumps(value, default=_plain, option=_SORTED)


def _plain(value: object) -> object:
    """What JSON has no form for: mappings of other types, and text that is no valid Unicode."""
    if isinstance(value, Mapping):
        return dict(value)
    return repr(value)
