"""A context as it is kept: what was asked, what became of every candidate, and where each line came from."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

import orjson

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.history.identity import fingerprint, plain_request
from weft.history.sessions import items_of
from weft.model import UNSET, Context, Detail, Filter, LedgerEntry, Request, Step, Topic, View


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
