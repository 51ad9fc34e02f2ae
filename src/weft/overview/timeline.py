"""Lay out what a store holds in time: chapters in their order, commits, conversations and memories by date."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from weft.errors import UnknownName
from weft.model import Filter, Node, View
from weft.ports import Snapshot
from weft.story import KINDS

if TYPE_CHECKING:
    from weft.api import Weft

STORY: Final = "story"
TRACKS: Final[Mapping[str, tuple[str, ...]]] = {
    STORY: ("chapter", "scene"),
    "commits": ("commit",),
    "chats": ("session", "message", "decision"),
    "memory": ("memory", "experience"),
}
"""The kinds of nodes of each track; a store usually has some of them only."""
_EARLIEST_YEAR: Final = 1970
"""Dates before it are mistakes of clocks, and count into the first span."""
_MOST_MONTHS: Final = 30
"""Spans are months as long as there are no more of them; then quarters, then years."""
_MAX_READ: Final = 2_000
"""Nodes of one span that are read to be put in order."""
_MAX_EVENTS: Final = 300
"""Events that are shown of one span; more would not be looked through."""
_MOMENT: Final = timedelta(microseconds=1)
"""The finest difference between two times of a store."""
_EXCERPT_CHARACTERS: Final = 220
_NAMED_ENTITIES: Final = 6
"""Characters and places that are named with a chapter, the most closely tied ones."""
_NEIGHBOURS: Final = 60
"""Links of a chapter that are read to find those who appear in it."""


class Event(Struct, frozen=True):
    """One event on a track."""

    key: str
    tenant: str
    kind: str
    title: str
    source: str
    at: datetime | None = None
    sequence: int | None = None
    text: str = ""
    who: tuple[str, ...] = ()


class Span(Struct, frozen=True):
    """A part of a track, by the name that chooses it: a month, quarter or year, or the source of a story."""

    name: str
    count: int


class Timeline(Struct, frozen=True):
    """One track with its spans, and the events of the span that was chosen."""

    track: str
    tracks: Mapping[str, int]
    """Nodes of each track that has any."""
    spans: tuple[Span, ...] = ()
    span: str = ""
    events: tuple[Event, ...] = ()
    left_out: int = 0


def read_timeline(
    weft: "Weft", view: View, track: str = "", span: str = "", now: datetime | None = None
) -> Timeline:
    """Return a track and the events of one of its spans; by default the first track and its latest span."""
    if track and track not in TRACKS:
        raise UnknownName("track", track, TRACKS)
    with weft.reading(view) as reading:
        snapshot = reading.snapshot
        counts = {name: len(snapshot.matching_ids(Filter(kinds=kinds))) for name, kinds in TRACKS.items()}
        tracks = {name: count for name, count in counts.items() if count}
        chosen = track or next(iter(tracks), "")
        if not counts.get(chosen):
            return Timeline(chosen, tracks)
        if chosen == STORY:
            return _read_story(snapshot, tracks, span)
        return _read_dated(snapshot, chosen, tracks, span, now or datetime.now(UTC))


# --- stories ---------------------------------------------------------------------------------------------------


def _read_story(snapshot: Snapshot, tracks: Mapping[str, int], span: str) -> Timeline:
    """Return the chapters and scenes of one story, in the order in which they are read."""
    ids = snapshot.matching_ids(Filter(kinds=TRACKS[STORY])).tolist()
    nodes = {id: row.node for id, row in snapshot.nodes(ids).items()}
    by_source: dict[str, int] = {}
    for node in nodes.values():
        by_source[node.origin.source] = by_source.get(node.origin.source, 0) + 1
    spans = tuple(Span(source, count) for source, count in sorted(by_source.items()))
    chosen = span if span in by_source else spans[0].name
    own = {id: node for id, node in nodes.items() if node.origin.source == chosen}
    ordered = sorted(own, key=lambda id: (own[id].sequence is None, own[id].sequence or 0, own[id].key))
    shown = ordered[:_MAX_EVENTS]
    names = _appearing(snapshot, shown)
    events = tuple(_event(own[id], names.get(id, ())) for id in shown)
    return Timeline(STORY, tracks, spans, chosen, events, len(ordered) - len(shown))


def _appearing(snapshot: Snapshot, ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the names of those who appear in each chapter, the most closely tied first."""
    near = snapshot.adjacency(ids, _NEIGHBOURS)
    entity_kinds = {number for number, kind in enumerate(near.kinds) if kind in KINDS}
    found: dict[int, dict[int, None]] = {}
    for owner, neighbour, kind in zip(
        near.owner.tolist(), near.neighbour.tolist(), near.kind.tolist(), strict=True
    ):
        if kind in entity_kinds:
            found.setdefault(owner, {})[neighbour] = None
    nodes = snapshot.nodes(sorted({other for others in found.values() for other in others}))
    return {
        owner: tuple(nodes[other].node.title for other in [*others][:_NAMED_ENTITIES] if other in nodes)
        for owner, others in found.items()
    }


# --- tracks with dates -----------------------------------------------------------------------------------------


def _read_dated(snapshot: Snapshot, track: str, tracks: Mapping[str, int], span: str, now: datetime) -> Timeline:
    """Return the events of one span of time, newest first."""
    spans = _find_spans(snapshot, TRACKS[track], now)
    if not spans:
        return Timeline(track, tracks)
    chosen = next((each for each in spans if each[0] == span), spans[-1])
    name, since, until, _ = chosen
    ids = snapshot.matching_ids(Filter(kinds=TRACKS[track], since=since, until=until)).tolist()
    # Ids grow with every write, so where there are too many the latest written are read.
    nodes = [row.node for row in snapshot.nodes(ids[-_MAX_READ:]).values()]
    # Chats are read from the question to the answer; of everything else the latest matters most.
    is_chat = track == "chats"
    nodes.sort(
        key=lambda node: (_time(node), node.origin.source, node.sequence or 0, node.key), reverse=not is_chat
    )
    shown = nodes[:_MAX_EVENTS]
    listed = tuple(Span(label, count) for label, _, _, count in spans)
    return Timeline(track, tracks, listed, name, tuple(_event(node) for node in shown), len(ids) - len(shown))


def _find_spans(
    snapshot: Snapshot, kinds: tuple[str, ...], now: datetime
) -> list[tuple[str, datetime | None, datetime, int]]:
    """Return (name, since, until, count) of the spans that hold something, oldest first."""
    first = _oldest_year(snapshot, kinds, now)
    # One month more than now has: clocks of other machines may be ahead.
    months = [
        (f"{year}-{month:02}", datetime(year, month, 1, tzinfo=UTC))
        for year in range(first, now.year + 2)
        for month in range(1, 13)
        if (year, month) <= (now.year + now.month // 11, (now.month + 1) % 12 + 1)
    ]
    bounds = months
    if len(bounds) > _MOST_MONTHS:
        quarters = [start for _, start in months if start.month in (1, 4, 7, 10)]
        bounds = [(f"{start.year} Q{(start.month + 2) // 3}", start) for start in quarters]
        bounds.append(("", datetime(now.year + 2, 1, 1, tzinfo=UTC)))
    if len(bounds) > _MOST_MONTHS:
        bounds = [(str(year), datetime(year, 1, 1, tzinfo=UTC)) for year in range(first, now.year + 3)]
    return _count_between(snapshot, kinds, bounds)


def _oldest_year(snapshot: Snapshot, kinds: tuple[str, ...], now: datetime) -> int:
    """Return the year of the oldest node, by halving: each look counts all nodes up to a year."""
    return _EARLIEST_YEAR + bisect_left(
        range(_EARLIEST_YEAR, now.year),
        1,
        key=lambda year: min(1, len(snapshot.matching_ids(Filter(kinds=kinds, until=_end_of(year))))),
    )


def _end_of(year: int) -> datetime:
    return datetime(year + 1, 1, 1, tzinfo=UTC) - _MOMENT


def _count_between(
    snapshot: Snapshot, kinds: tuple[str, ...], bounds: Sequence[tuple[str, datetime]]
) -> list[tuple[str, datetime | None, datetime, int]]:
    """Return the spans between bounds that hold something; the first holds everything before it too."""
    found = []
    for number, ((name, since), (_, until)) in enumerate(pairwise(bounds)):
        earliest = None if number == 0 else since
        # A filter takes in what it names last, and the next span begins there.
        last = until - _MOMENT
        count = len(snapshot.matching_ids(Filter(kinds=kinds, since=earliest, until=last)))
        if count:
            found.append((name, earliest, last, count))
    return found


def _time(node: Node) -> datetime:
    moment = node.modified or node.created or datetime(_EARLIEST_YEAR, 1, 1, tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _event(node: Node, who: tuple[str, ...] = ()) -> Event:
    writer = node.fields.get("author") or node.fields.get("role")
    text = " ".join((node.summary or node.text).split())
    # The first line of a commit is its title, which stands above.
    text = text.removeprefix(" ".join(node.title.split())).strip()
    return Event(
        key=node.key,
        tenant=node.tenant,
        kind=node.kind,
        title=node.title or node.key,
        source=node.origin.source,
        at=node.modified or node.created,
        sequence=node.sequence,
        text=text[:_EXCERPT_CHARACTERS] + ("…" if len(text) > _EXCERPT_CHARACTERS else ""),
        who=who or ((str(writer),) if writer else ()),
    )
