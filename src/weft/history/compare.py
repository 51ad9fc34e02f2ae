"""What changed between two kept contexts, node by node, and why."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from weft.frozen import dataclass
from weft.history.record import Record
from weft.model import Detail, LedgerEntry

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one node from the earlier page to the later one."""

    what: Literal["appeared", "vanished", "changed", "moved"]
    tenant: str
    key: str
    kind: str
    title: str
    why: str


@dataclass(frozen=True, slots=True)
class Difference:
    """All changes: in what was asked, and on the page (in the later page's order, then what vanished)."""

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
    """The difference between two contexts."""
    old, new = _printed(before), _printed(after)
    moved = _moved(old, new)
    changes = [
        change
        for place in (*new, *(place for place in old if place not in new))
        if (change := _change(place, (before, old), (after, new), place in moved)) is not None
    ]
    return Difference(
        before=before.id,
        after=after.id,
        asked=_asked(before.request, after.request),
        changes=tuple(changes),
        unchanged=len(new) - sum(each.what != "vanished" for each in changes),
    )


def _printed(record: Record) -> dict[Place, LedgerEntry]:
    """What the page shows, in its order."""
    printed: dict[Place, LedgerEntry] = {}
    for entry in record.ledger:
        if entry.detail is not Detail.DROPPED:
            printed.setdefault((entry.tenant, entry.key), entry)
    return printed


def _change(
    place: Place,
    earlier: tuple[Record, Mapping[Place, LedgerEntry]],
    later: tuple[Record, Mapping[Place, LedgerEntry]],
    moved: bool,
) -> Change | None:
    (before, old), (after, new) = earlier, later
    if place not in old:
        return _told("appeared", new[place], f"{_absence(before, place, 'then')}; {_scored(new[place])}")
    if place not in new:
        return _told("vanished", old[place], f"{_absence(after, place, 'now')}; then {_scored(old[place])}")
    changes = _differences(old[place], new[place], before.fingerprints.get(place), after.fingerprints.get(place))
    if changes:
        return _told("changed", new[place], "; ".join(changes))
    if moved:
        return _told("moved", new[place], _movement(old[place], new[place]))
    return None


def _told(what: Literal["appeared", "vanished", "changed", "moved"], entry: LedgerEntry, why: str) -> Change:
    return Change(what, entry.tenant, entry.key, entry.kind, entry.title, why)


def _absence(record: Record, place: Place, when: str) -> str:
    """Why a node is not on a page."""
    entry = next((each for each in record.ledger if (each.tenant, each.key) == place), None)
    return f"not found {when}" if entry is None else f"left out {when}: {entry.reason}"


def _scored(entry: LedgerEntry) -> str:
    parts = ", ".join(f"{name} {value:.2f}" for name, value in sorted(entry.parts.items()))
    return f"score {entry.score:.3f}" + (f" ({parts})" if parts else "")


def _differences(old: LedgerEntry, new: LedgerEntry, was: str | None, now: str | None) -> list[str]:
    found = ["its content changed"] if was != now else []
    if old.detail is not new.detail:
        why = new.reason if new.detail is not Detail.WHOLE else "there is room for all of it"
        found.append(f"{old.detail} became {new.detail}: {why}")
    return found


def _movement(old: LedgerEntry, new: LedgerEntry) -> str:
    if old.section != new.section:
        return f"from section {old.section!r} to {new.section!r}"
    moves = [
        f"{name} {old.parts.get(name, 0.0):.2f} → {new.parts.get(name, 0.0):.2f}"
        for name in sorted(old.parts.keys() | new.parts.keys())
        if round(old.parts.get(name, 0.0), 2) != round(new.parts.get(name, 0.0), 2)
    ]
    if round(old.score, 3) == round(new.score, 3):
        return f"others moved around it (score {new.score:.3f})"
    return f"score {old.score:.3f} → {new.score:.3f}" + (f" ({', '.join(moves)})" if moves else "")


def _moved(old: Mapping[Place, LedgerEntry], new: Mapping[Place, LedgerEntry]) -> set[Place]:
    """The fewest nodes whose moving explains the new order, and those that changed section."""
    common = [place for place in new if place in old]
    rank = {place: number for number, place in enumerate(old)}
    kept = set(_rising([rank[place] for place in common]))
    return {
        place
        for number, place in enumerate(common)
        if number not in kept or old[place].section != new[place].section
    }


def _rising(numbers: Sequence[int]) -> list[int]:
    """The indexes of the longest rising subsequence."""
    ends: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for index, number in enumerate(numbers):
        place = bisect_left(ends, number)
        ends[place : place + 1] = [number]
        at[place : place + 1] = [index]
        previous.append(at[place - 1] if place else -1)
    found = []
    index = at[-1] if at else -1
    while index >= 0:
        found.append(index)
        index = previous[index]
    return found[::-1]


def _asked(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {old.get(name)!r} → {new.get(name)!r}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )
