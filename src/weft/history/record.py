"""Describe a context for keeping: its id, its record as JSON, its request, and what it showed of each node."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from weft.errors import InvalidInput
from weft.model import (
    UNSET,
    Candidate,
    Context,
    Detail,
    Filter,
    Item,
    LedgerEntry,
    Node,
    PlacedSection,
    Received,
    Request,
    Shown,
    Step,
    Topic,
    View,
)

_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
"""Sorted keys, so that equal values have equal digests."""

_CONTENT_DETAILS: Final = (Detail.WHOLE, Detail.EXCERPT, Detail.SUMMARY)
"""The details that show content. A pointer only says that there is something: its node has not been received."""


# --- ids and fingerprints --------------------------------------------------------------------------------------


def context_id(text_hash: str, request: Request) -> str:
    """Return the id of a context: the same text for the same request has the same id, whenever it is made."""
    # Only what differs from the defaults counts, so that a new field of requests leaves the ids of others alone.
    defaults = _default_request()
    given = {name: value for name, value in plain_request(request).items() if value != defaults.get(name)}
    return blake2b(f"{text_hash} {_digest(given)}".encode(), digest_size=8).hexdigest()


@cache
def _default_request() -> dict[str, Any]:
    return plain_request(Request())


def fingerprint(node: Node) -> str:
    """Return a short hash of everything a page can say of a node; it changes when the node's content does."""
    # Without importance, dates and ids, which change though the text says the same.
    return _digest([node.kind, node.title, node.summary, node.text, node.fields, node.tags])[:16]


def plain_request(request: Request) -> dict[str, Any]:
    """Return a request as JSON values; candidates brought by the caller are named, not copied."""
    plain: dict[str, Any] = {
        name: value for name, value in asdict(request).items() if name not in ("candidates", "received")
    }
    if request.candidates is not None:
        plain["candidates"] = [
            (candidate.node.tenant, candidate.node.key, candidate.score) for candidate in request.candidates
        ]
    if request.received is not None:
        plain["session"] = request.received.session
    decoded: dict[str, Any] = json.loads(_encode(plain))
    return decoded


def _digest(value: object) -> str:
    return blake2b(_encode(value), digest_size=16).hexdigest()


def _encode(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=_plain_value, option=_SORTED)
    except TypeError:
        # Text that is no valid Unicode, such as half of a surrogate pair, which the slower encoder escapes.
        return json.dumps(value, default=_plain_value, sort_keys=True).encode("ascii")


def _plain_value(value: object) -> object:
    """Return a plain form of what JSON has none for: mappings of other types, our own records, times."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Struct):
        return asdict(value)
    return repr(value)


# --- what a page showed ----------------------------------------------------------------------------------------


def read_shown(context: Context) -> dict[tuple[str, str], Shown]:
    """Return what the page shows of each node, by tenant and key."""
    shown: dict[tuple[str, str], Shown] = {}
    for item in printed_items(context.page.sections):
        if item.detail in _CONTENT_DETAILS:
            node = item.candidate.node
            ref = (node.tenant, node.key)
            spans = None if item.detail is Detail.WHOLE else item.spans
            shown[ref] = join_shown(shown.get(ref), Shown(fingerprint(node), spans))
    return shown


def printed_items(sections: Iterable[PlacedSection]) -> Iterator[Item]:
    """Yield every item of some sections and of the groups within them, in printed order."""
    for section in sections:
        yield from section.items
        for group in section.groups:
            yield from printed_items(group.parts)


def join_shown(before: Shown | None, now: Shown) -> Shown:
    """Return both together; what was shown of content that has changed since counts no more."""
    if before is None or before.fingerprint != now.fingerprint:
        return now
    if before.spans is None or now.spans is None:
        return Shown(now.fingerprint)
    return Shown(now.fingerprint, tuple(sorted({*before.spans, *now.spans})))


def is_received(received: Received | None, candidate: Candidate) -> bool:
    """Tell whether a session has what this candidate would show: unchanged, and whole or the part that matters."""
    if received is None:
        return False
    node = candidate.node
    shown = received.nodes.get((node.tenant, node.key))
    if shown is None or shown.fingerprint != fingerprint(node):
        return False
    if shown.spans is None or not candidate.spans:
        return True
    # The best span is what the page would show first; other spans are further detail.
    first, last = candidate.spans[0]
    return any(start < last and first < end for start, end in shown.spans)


# --- records ---------------------------------------------------------------------------------------------------


class Record(Struct, frozen=True):
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
        question = self.request.get("question") or ", ".join(self.request.get("start", ()))
        topics = [topic["question"] or ", ".join(topic["start"]) for topic in self.request.get("topics", ())]
        return str(question or " / ".join(topics))


def make_record(context: Context, request: Request, made: datetime) -> Record:
    """Return the record of a context, to be kept."""
    nodes = [item.candidate.node for item in printed_items(context.page.sections)]
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
        # Content is not kept, only its fingerprint: enough to say later that it changed.
        fingerprints={(node.tenant, node.key): fingerprint(node) for node in nodes},
        manifest=tuple(orjson.loads(orjson.dumps(context.manifest, default=asdict))),
    )


def rebuild_request(record: Record) -> Request:
    """Return the request that led to a kept context, to be asked again."""
    # Keys and scores of candidates are kept, but not their texts.
    if "candidates" in record.request:
        raise InvalidInput(
            f"Context {record.id} was made from candidates that the caller brought, which are not kept. "
            "Ask again with them, and compare the two ids."
        )
    # A record of another version may have fields that requests no longer have, and the session is none of them.
    values = {name: value for name, value in record.request.items() if name in Request.__struct_fields__}
    values["start"] = tuple(values.get("start", ()))
    values["history"] = tuple(values.get("history", ()))
    values["topics"] = tuple(
        Topic(**{**topic, "start": tuple(topic["start"])}) for topic in values.get("topics", ())
    )
    values["filter"] = _read_filter(values.get("filter", {}))
    values["view"] = View(**{name: _tuples(value) for name, value in values.get("view", {}).items()})
    if values.get("max_tokens") == UNSET.value:
        values["max_tokens"] = UNSET
    return Request(**values)


def _read_filter(stored: Mapping[str, Any]) -> Filter:
    values: dict[str, Any] = {name: _tuples(value) for name, value in stored.items()}
    for name in ("since", "until"):
        if values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    return Filter(**values)


def _tuples(value: Any) -> Any:
    """Return lists, which JSON made of tuples, as tuples again."""
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def to_bytes(record: Record) -> bytes:
    """Return a record as JSON."""
    plain = asdict(record)
    # JSON has no tuples as keys.
    plain["fingerprints"] = [[*ref, value] for ref, value in sorted(record.fingerprints.items())]
    return orjson.dumps(plain, default=_plain_value)


def from_bytes(stored: bytes) -> Record:
    """Return the record that `to_bytes` wrote."""
    plain = orjson.loads(stored)
    plain["fingerprints"] = {(tenant, key): value for tenant, key, value in plain["fingerprints"]}
    plain["ledger"] = tuple(_read_entry(entry) for entry in plain["ledger"])
    plain["notes"], plain["manifest"] = tuple(plain["notes"]), tuple(plain["manifest"])
    return Record(**plain)


def _read_entry(stored: dict[str, Any]) -> LedgerEntry:
    path = tuple(Step(**step) for step in stored["path"])
    return LedgerEntry(**{**stored, "path": path, "detail": Detail(stored["detail"])})
