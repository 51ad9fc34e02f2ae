"""Names made from content: the id of a context, and the fingerprint of what a node says."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any, Final

import orjson

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.model import (
    UNSET,
    Candidate,
    Context,
    Detail,
    Filter,
    Item,
    LedgerEntry,
    Node,
    Received,
    Request,
    Shown,
    Step,
    Topic,
    View,
)

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


_TOLD = (Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY)
"""A pointer only says that there is something: its node has not been received."""


def shown_on(context: Context) -> dict[tuple[str, str], Shown]:
    """What the page shows of each node, by tenant and key."""
    shown: dict[tuple[str, str], Shown] = {}
    for item in items_of(context):
        if item.detail in _TOLD:
            node = item.candidate.node
            place = (node.tenant, node.key)
            spans = None if item.detail is Detail.WHOLE else item.spans
            shown[place] = joined(shown.get(place), Shown(fingerprint(node), spans))
    return shown


def items_of(context: Context) -> Iterator[Item]:
    """Every item of the page in printed order."""
    for section in context.page.sections:
        yield from section.items
        for group in section.groups:
            for part in group.parts:
                yield from part.items


def joined(before: Shown | None, now: Shown) -> Shown:
    """Both together; what was shown of content that has changed since counts no more."""
    if before is None or before.fingerprint != now.fingerprint:
        return now
    if before.spans is None or now.spans is None:
        return Shown(now.fingerprint)
    return Shown(now.fingerprint, tuple(sorted({*before.spans, *now.spans})))


def already_received(received: Received | None, candidate: Candidate) -> bool:
    """Whether a session has what this candidate would show: unchanged, and whole or the part that matters now."""
    if received is None:
        return False
    node = candidate.node
    shown = received.nodes.get((node.tenant, node.key))
    if shown is None or shown.fingerprint != fingerprint(node):
        return False
    if shown.spans is None or not candidate.spans:
        return True
    first, last = candidate.spans[0]
    return any(start < last and first < end for start, end in shown.spans)


@dataclass(frozen=True, slots=True)
class Record:
    """One kept context; `fingerprints` are those of the printed nodes, by tenant and key."""

    id: str
    made: str
    hash: str
    tokens: int
    max_tokens: int | None
    token_model: str
    request: Mapping[str, Any]
    notes: tuple[str, ...]
    ledger: tuple[LedgerEntry, ...]
    fingerprints: Mapping[tuple[str, str], str]
    manifest: tuple[Mapping[str, Any], ...] = ()

    @property
    def asked(self) -> str:
        """The question, the names it started from, or the topics."""
        told = self.request.get("question") or ", ".join(self.request.get("start", ()))
        topics = [each["question"] or ", ".join(each["start"]) for each in self.request.get("topics", ())]
        return str(told or " / ".join(topics))


def record_of(context: Context, request: Request, made: datetime) -> Record:
    """What is kept of a context."""
    nodes = [item.candidate.node for item in items_of(context)]
    return Record(
        id=context.id,
        made=made.isoformat(timespec="seconds"),
        hash=context.hash,
        tokens=context.tokens,
        max_tokens=context.max_tokens,
        token_model=context.token_model,
        request=plain_request(request),
        notes=context.notes,
        ledger=context.ledger,
        fingerprints={(node.tenant, node.key): fingerprint(node) for node in nodes},
        manifest=tuple(orjson.loads(orjson.dumps(context.manifest))),
    )


def request_of(record: Record) -> Request:
    """The request that led to a kept context, to be asked again."""
    asked = dict(record.request)
    if "candidates" in asked:
        raise InvalidInput(
            f"Context {record.id} was made from candidates that the caller brought, which are not kept. "
            "Ask again with them, and compare the two ids."
        )
    asked.pop("session", None)
    known = {each.name for each in fields(Request)}
    values = {name: value for name, value in asked.items() if name in known}
    values["start"] = tuple(values.get("start", ()))
    values["history"] = tuple(values.get("history", ()))
    values["topics"] = tuple(Topic(**{**each, "start": tuple(each["start"])}) for each in values.get("topics", ()))
    values["filter"] = _filter(values.get("filter", {}))
    values["view"] = _view(values.get("view", {}))
    if values.get("max_tokens") == UNSET.value:
        values["max_tokens"] = UNSET
    return Request(**values)


def _filter(kept: Mapping[str, Any]) -> Filter:
    values: dict[str, Any] = {name: _tuples(value) for name, value in kept.items()}
    for name in ("since", "until"):
        if values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    return Filter(**values)


def _view(kept: Mapping[str, Any]) -> View:
    return View(**{name: _tuples(value) for name, value in kept.items()})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def to_bytes(record: Record) -> bytes:
    """A record as JSON."""
    plain = {each.name: getattr(record, each.name) for each in fields(record)}
    plain["fingerprints"] = [[*place, value] for place, value in sorted(record.fingerprints.items())]
    return orjson.dumps(plain, default=dict)


def from_bytes(kept: bytes) -> Record:
    """The record that `to_bytes` wrote."""
    plain = orjson.loads(kept)
    plain["fingerprints"] = {(tenant, key): value for tenant, key, value in plain["fingerprints"]}
    plain["ledger"] = tuple(_entry(each) for each in plain["ledger"])
    plain["notes"], plain["manifest"] = tuple(plain["notes"]), tuple(plain["manifest"])
    return Record(**plain)


def _entry(kept: dict[str, Any]) -> LedgerEntry:
    path = tuple(Step(**step) for step in kept["path"])
    return LedgerEntry(**{**kept, "path": path, "detail": Detail(kept["detail"])})
