"""Compare two kept contexts: which nodes appeared, vanished, changed or moved, and why.

`rebuild_request` asks a kept context again, so that it can be compared with what the store says now.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from weft.errors import InvalidInput
from weft.history.contexts import Record
from weft.model import UNSET, Detail, Filter, LedgerEntry, NodeRef, Request, Topic, View

What = Literal["appeared", "vanished", "changed", "moved"]


class Change(Struct, frozen=True):
    """The change of one node from the earlier page to the later one."""

    what: What
    tenant: str
    key: str
    kind: str
    title: str
    why: str


class Difference(Struct, frozen=True):
    """All changes in the request and on the page (in the later page's order, then what vanished)."""

    before: str
    after: str
    asked: tuple[str, ...]
    changes: tuple[Change, ...]
    unchanged: int

    @property
    def same(self) -> bool:
        """Whether both pages show the same."""
        return not self.changes


def compare(before: Record, after: Record) -> Difference:
    """Return the difference between two contexts."""
    old, new = printed_entries(before.ledger), printed_entries(after.ledger)
    moved = _find_moved(old, new)
    changes: list[Change] = []
    for ref, entry in new.items():
        if ref not in old:
            changes.append(_change("appeared", entry, f"{_absence(before, ref, 'then')}; {_score_text(entry)}"))
        # A change of content or detail says more than a new position, so it is reported instead.
        elif differences := _differences(
            old[ref], entry, has_new_content=before.fingerprints.get(ref) != after.fingerprints.get(ref)
        ):
            changes.append(_change("changed", entry, "; ".join(differences)))
        elif ref in moved:
            changes.append(_change("moved", entry, _movement(old[ref], entry)))
    # Everything so far is on the later page; what vanished is not.
    unchanged = len(new) - len(changes)
    for ref, entry in old.items():
        if ref not in new:
            why = f"{_absence(after, ref, 'now')}; then {_score_text(entry)}"
            changes.append(_change("vanished", entry, why))
    return Difference(
        before=before.id,
        after=after.id,
        asked=_request_changes(before.request, after.request),
        changes=tuple(changes),
        unchanged=unchanged,
    )


def printed_entries(ledger: Sequence[LedgerEntry]) -> dict[NodeRef, LedgerEntry]:
    """Return the entries that a page shows, in its order; of a node shown twice the first."""
    printed: dict[NodeRef, LedgerEntry] = {}
    for entry in ledger:
        if entry.detail is not Detail.DROPPED:
            printed.setdefault((entry.tenant, entry.key), entry)
    return printed


def _change(what: What, entry: LedgerEntry, why: str) -> Change:
    return Change(what, entry.tenant, entry.key, entry.kind, entry.title, why)


def _absence(record: Record, ref: NodeRef, when: str) -> str:
    """Return why a node is not on a page."""
    entry = next((entry for entry in record.ledger if (entry.tenant, entry.key) == ref), None)
    return f"not found {when}" if entry is None else f"left out {when}: {entry.reason}"


def _score_text(entry: LedgerEntry) -> str:
    # A part that prints as zero says nothing.
    parts = ", ".join(f"{name} {value:.2f}" for name, value in sorted(entry.parts.items()) if round(value, 2))
    return f"score {entry.score:.3f}" + (f" ({parts})" if parts else "")


def _differences(old: LedgerEntry, new: LedgerEntry, has_new_content: bool) -> list[str]:
    """Return how a node on both pages differs, apart from its place."""
    found = ["its content changed"] if has_new_content else []
    if old.detail is not new.detail:
        why = new.reason if new.detail is not Detail.WHOLE else "there is room for all of it"
        found.append(f"{old.detail} became {new.detail}: {why}")
    return found


def _movement(old: LedgerEntry, new: LedgerEntry) -> str:
    """Return why a node moved: its section, its score, or the nodes around it."""
    if old.section != new.section:
        return f"from section {old.section!r} to {new.section!r}"
    # Compared as they are printed, so that no change is reported that cannot be seen.
    changed_parts = [
        f"{name} {old.parts.get(name, 0.0):.2f} → {new.parts.get(name, 0.0):.2f}"
        for name in sorted(old.parts.keys() | new.parts.keys())
        if round(old.parts.get(name, 0.0), 2) != round(new.parts.get(name, 0.0), 2)
    ]
    if round(old.score, 3) == round(new.score, 3):
        return f"others moved around it (score {new.score:.3f})"
    parts = f" ({', '.join(changed_parts)})" if changed_parts else ""
    return f"score {old.score:.3f} → {new.score:.3f}{parts}"


def _find_moved(old: Mapping[NodeRef, LedgerEntry], new: Mapping[NodeRef, LedgerEntry]) -> set[NodeRef]:
    """Return the fewest nodes whose moving explains the new order, and those that changed section."""
    common = [ref for ref in new if ref in old]
    rank = {ref: number for number, ref in enumerate(old)}
    # What keeps its order relative to most others did not move, though its number on the page changed.
    in_order = set(_longest_rising([rank[ref] for ref in common]))
    return {
        ref for index, ref in enumerate(common) if index not in in_order or old[ref].section != new[ref].section
    }


def _longest_rising(numbers: Sequence[int]) -> list[int]:
    """Return the indexes of the longest rising subsequence."""
    # ends[n] is the least number that ends a rising subsequence of n + 1 numbers, and end_indexes[n] its index.
    ends: list[int] = []
    end_indexes: list[int] = []
    previous: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_left(ends, number)
        ends[length : length + 1] = [number]
        end_indexes[length : length + 1] = [index]
        previous.append(end_indexes[length - 1] if length else -1)
    found = []
    index = end_indexes[-1] if end_indexes else -1
    while index >= 0:
        found.append(index)
        index = previous[index]
    return found[::-1]


def _request_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {old.get(name)!r} → {new.get(name)!r}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
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
