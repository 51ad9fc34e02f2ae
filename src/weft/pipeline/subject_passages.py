"""The nodes around subjects: which links lead to them, and how many subjects each is linked with."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from weft.cache import Recent
from weft.frozen import dataclass
from weft.model import Candidate, Node, Step
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Part
from weft.scoring.candidates import told
from weft.text import named_in, sentences, spellings

if TYPE_CHECKING:
    from numpy.typing import NDArray


WIDTH: Final = 64
"""How many neighbours of a subject are looked at."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The links of some subjects, and what they lead to for parts that take whole nodes."""

    near: Adjacency
    kinds: Sequence[str]
    stored: Mapping[int, NodeRow]
    linked: Mapping[int, Sequence[int]]

    @classmethod
    def of(
        cls, subjects: Sequence[Candidate], parts: Sequence[Part], kinds: Sequence[str], snapshot: Snapshot
    ) -> "Neighbours":
        """What is around the subjects; nodes are read only where a part prints them."""
        near = snapshot.adjacency([each.node.id for each in subjects if each.node.id], WIDTH)
        whole = [part for part in parts if part.via and part.unit == "node"]
        ids = sorted({node for part in whole for node in near.neighbour[_over(part, near)].tolist()})
        linked = linked_with(ids, kinds, snapshot) if any(part.links != "any" for part in whole) else {}
        return cls(near, kinds, snapshot.nodes(ids), linked)

    def places(self, subject: Candidate, part: Part) -> list[int]:
        """Where the links stand that a part follows from a subject, strongest first."""
        mask = (self.near.owner == subject.node.id) & _over(part, self.near)
        return [int(place) for place in np.flatnonzero(mask)]

    def candidates(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """The nodes that a part takes, each once."""
        taken: dict[int, Candidate] = {}
        for at in self.places(subject, part):
            node = int(self.near.neighbour[at])
            if node not in taken and node in self.stored and _fits(part, len(self.linked.get(node, ()))):
                row = self.stored[node]
                found = Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch)
                taken[node] = self.reached(subject, found, at)
        return tuple(taken.values())

    def reached(self, subject: Candidate, found: Candidate, at: int) -> Candidate:
        """A candidate as it is reached from a subject over the link at a place."""
        weight = float(self.near.weight[at])
        walk = round(subject.parts.get("walk", 0.0) * weight, 9)
        return told(
            found,
            {**found.parts, "edge": weight, "walk": walk},
            probe=subject.probe,
            distance=subject.distance + 1,
            root=subject.root,
            path=(*subject.path, self._step(found.node, at)),
        )

    def _step(self, node: Node, at: int) -> Step:
        near = self.near
        direction = "out" if near.outward[at] else "in"
        return Step(node.key, near.edge_types[near.edge_type[at]], float(near.weight[at]), direction, node.id)


def _over(part: Part, near: Adjacency) -> "NDArray[np.bool_]":
    """Which links are of a type and direction that the part follows."""
    follows = np.array([name in part.via for name in near.edge_types] or [False])
    mask: NDArray[np.bool_] = follows[near.edge_type]
    if part.direction != "both":
        mask = mask & (near.outward == (1 if part.direction == "out" else 0))
    return mask


def linked_with(ids: Sequence[int], kinds: Sequence[str], snapshot: Snapshot) -> dict[int, list[int]]:
    """The different nodes of the subjects' kinds that each node is linked with, strongest first."""
    near = snapshot.adjacency(ids, WIDTH)
    alike = np.array([not kinds or kind in kinds for kind in near.kinds] or [True])[near.kind]
    linked: dict[int, dict[int, None]] = {}
    for owner, other in zip(near.owner[alike].tolist(), near.neighbour[alike].tolist(), strict=True):
        linked.setdefault(owner, {})[other] = None
    return {owner: list(others) for owner, others in linked.items()}


def _fits(part: Part, linked: int) -> bool:
    """Whether a part takes what is linked with so many subjects."""
    return part.links == "any" or (linked > 1) == (part.links == "several")


Span = tuple[int, int]

_AT_LENGTH: Final = 240
"""Characters that make a stretch a passage of its own. Two sentences, one of which names others, are about all."""


def sentences_within(text: str, within: Span) -> list[Span]:
    """The sentences of a passage, by their places in the text."""
    low, high = within
    return [(low + start, low + end) for start, end in sentences(text[low:high])]


def longest_alone(units: Sequence[Span], own: Sequence[Span], others: Sequence[Span]) -> Span | None:
    """The longest run of sentences with one of the subject's own places, and none of others.

    None where no run is long enough to stand by itself.
    """
    runs = [list(run) for shared, run in groupby(units, key=lambda unit: _holds(unit, others)) if not shared]
    alone = [(run[0][0], run[-1][1]) for run in runs]
    told = [run for run in alone if run[1] - run[0] >= _AT_LENGTH and _holds(run, own)]
    return max(told, key=lambda run: (run[1] - run[0], -run[0]), default=None)


def beside(units: Sequence[Span], own: Sequence[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    """The subject's own places in sentences that name others too; all of them where there is no such sentence."""
    shared = [unit for unit in units if _holds(unit, others)]
    return tuple([place for place in own if _holds(place, shared)] or own)


def _holds(stretch: Span, places: Sequence[Span]) -> bool:
    return any(start < stretch[1] and end > stretch[0] for start, end in places)


Divide = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]
Way = tuple[int, tuple[str, ...], str]
"""From a subject over links of some types in a direction."""

_OPENED: Final = 12
"""How many texts of a subject are opened: those that the question found, then those that name it most."""
_LITTLE: Final = 12_000
"""Characters: where those hold no more, all are opened that links lead to, for chunks are shorter than scenes."""
_STATES: Final = 8
_REMEMBERED: Final = 16_384
_MOSTLY: Final = 1 / 3
"""How much of a passage may be the subject's definition where there are few others."""
_MENTIONS: Final = 4
"""How many places of a passage are pointed out to whoever makes an excerpt of it."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """How a passage names a subject: where, where beside others, and the stretch that names nobody else."""

    places: tuple[Span, ...] = ()
    others: bool = False
    beside: tuple[Span, ...] = ()
    alone: Span | None = None


class _Namings(dict[tuple[int, int, Span], _Naming]):
    """By subject, text and passage, what questions return to; forgets all when full, which changes no answer."""


_NAMINGS: Final[Recent[tuple[object, ...], _Namings]] = Recent(_STATES)
"""By the state of a store and the view of it."""


class _Named(NamedTuple):
    """A passage that names a subject, how it does, and the link that leads to its text."""

    passage: Candidate
    naming: _Naming
    at: int

    @property
    def span(self) -> Span:
        """The passage in its text."""
        return self.passage.window or (0, len(self.passage.node.text))

    def told(self, part: Part) -> "_Telling | None":
        """What a part takes of the passage, if anything: all of it, or where it names the subject alone."""
        naming = self.naming
        if part.links == "one":
            inside = [each for each in naming.places if naming.alone and _within(each, [naming.alone])]
            return _Telling(self, naming.alone, inside, len(inside)) if naming.alone else None
        if part.links == "several":
            return _Telling(self, self.span, naming.beside, len(naming.places)) if naming.others else None
        return _Telling(self, self.span, naming.places, len(naming.places))


class _Telling(NamedTuple):
    """As much of a passage as a part takes, which places in it are meant, and how often it names the subject."""

    named: _Named
    window: Span
    places: Sequence[Span]
    mentions: int


@dataclass(frozen=True, slots=True)
class _Cast:
    """The names of all who may stand in some texts, and who is linked with which."""

    linked: Mapping[int, Sequence[int]]
    names: Mapping[int, tuple[str, ...]]

    @classmethod
    def of(
        cls, texts: Sequence[int], subjects: Collection[int], kinds: Sequence[str], snapshot: Snapshot
    ) -> "_Cast":
        """All whom the texts are linked with, and the subjects."""
        linked = linked_with(texts, kinds, snapshot)
        others = snapshot.nodes(sorted({each for listed in linked.values() for each in listed} | {*subjects}))
        return cls(linked, {number: names_of(row.node) for number, row in others.items()})

    def naming(self, subject: int, text: Node, span: Span, kinds: Sequence[str]) -> _Naming:
        """How a passage of the text names the subject."""
        places = named_in(text.text, self.names.get(subject, ()), span)
        if not places:
            return _Naming()
        if text.kind in kinds:
            return _Naming(tuple(places), others=True, beside=tuple(places))
        others = list(self._others(subject, text, span, places))
        if not others:
            return _Naming(tuple(places), alone=span)
        units = sentences_within(text.text, span)
        return _Naming(tuple(places), True, beside(units, places, others), longest_alone(units, places, others))

    def _others(self, subject: int, text: Node, span: Span, own: Sequence[Span]) -> Iterator[Span]:
        """Where the passage names somebody else, outside where it names the subject."""
        mine = self.names.get(subject, ())
        for other in self.linked.get(text.id, ()):
            theirs = [name for name in self.names.get(other, ()) if name not in mine] if other != subject else ()
            yield from (place for place in named_in(text.text, theirs, span) if not _within(place, own))


@dataclass(frozen=True, slots=True)
class Tellings:
    """The opened texts around some subjects, in passages."""

    near: Neighbours
    opened: Mapping[Way, Mapping[int, int]]
    """The texts that are opened for a subject, and the link that leads to each."""
    divided: Mapping[int, Sequence[Candidate]]
    known: _Namings
    cast: Callable[[], _Cast]
    """Read only for passages that nobody asked for since the store last changed."""
    named: dict[Way, list[_Named]] = field(default_factory=dict)
    """What was found for one part, and serves the others that go the same way."""

    @classmethod
    def of(
        cls,
        subjects: Sequence[Candidate],
        parts: Sequence[Part],
        near: Neighbours,
        snapshot: Snapshot,
        divide: Divide,
        relevance: Mapping[int, float],
    ) -> "Tellings":
        """The texts that parts with passages need; nothing is read where there is no such part."""
        own = frozenset(each.node.id for each in subjects)
        telling = [part for part in parts if part.via and part.unit == "passage"]
        ways = {_way(each, part): (each, part) for each in subjects for part in telling}
        ranked = {way: _ranked(near, near.places(*asked), own, relevance) for way, asked in ways.items()}
        opened, rows = _opened(ranked, snapshot)
        ids = sorted(rows)
        whole = [Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch) for row in rows.values()]
        divided: dict[int, list[Candidate]] = {}
        for each in divide(whole) if whole else ():
            divided.setdefault(each.node.id, []).append(each)
        state = (snapshot.identity, snapshot.sequence, snapshot.view, tuple(near.kinds))
        cast = cache(lambda: _Cast.of(ids, own, near.kinds, snapshot))
        return cls(near, opened, divided, _NAMINGS.get_or_make(state, _Namings), cast)

    def passages(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """The passages that a part takes, each with how often it names the subject as a share of the most."""
        way = _way(subject, part)
        if way not in self.named:
            self.named[way] = list(self._naming_passages(way))
        taken = [telling for each in self.named[way] if (telling := each.told(part)) is not None]
        again = [_share_of(subject.node.text, each) for each in taken]
        spare = again.count(0.0) >= (part.limit or 1)
        taken = [each for each, share in zip(taken, again, strict=True) if share <= (0.0 if spare else _MOSTLY)]
        most = max((each.mentions for each in taken), default=1)
        return tuple([self._reached(subject, each, most) for each in taken])

    def _naming_passages(self, way: Way) -> Iterator[_Named]:
        for text, at in self.opened[way].items():
            for passage in self.divided.get(text, ()):
                naming = self._naming(way[0], passage)
                if naming.places:
                    yield _Named(passage, naming, at)

    def _naming(self, subject: int, passage: Candidate) -> _Naming:
        node, span = passage.node, passage.window or (0, len(passage.node.text))
        slot = (subject, node.id, span)
        naming = self.known.get(slot)
        if naming is None:
            if len(self.known) >= _REMEMBERED:
                self.known.clear()
            naming = self.known[slot] = self.cast().naming(subject, node, span, self.near.kinds)
        return naming

    def _reached(self, subject: Candidate, telling: _Telling, most: int) -> Candidate:
        named = telling.named
        reached = self.near.reached(subject, named.passage, named.at)
        parts = {**reached.parts, "usage": round(telling.mentions / most, 9)}
        spans = tuple(telling.places[:_MENTIONS])
        return told(reached, parts, spans=spans, window=telling.window, passage=named.span)


def _way(subject: Candidate, part: Part) -> Way:
    return subject.node.id, part.via, part.direction


def _opened(
    ranked: Mapping[Way, Mapping[int, int]], snapshot: Snapshot
) -> tuple[dict[Way, Mapping[int, int]], dict[int, NodeRow]]:
    """For every way the texts that are opened, with the link that leads to each; and all of these texts."""
    opened: dict[Way, Mapping[int, int]] = {
        way: dict(islice(texts.items(), _OPENED)) for way, texts in ranked.items()
    }
    rows = dict(snapshot.nodes(sorted({text for texts in opened.values() for text in texts})))
    for way, texts in ranked.items():
        held = sum(len(rows[text].node.text) for text in opened[way] if text in rows)
        if len(texts) > _OPENED and held <= _LITTLE:
            opened[way] = texts
    rows |= snapshot.nodes(sorted({text for texts in opened.values() for text in texts if text not in rows}))
    return opened, rows


def _ranked(
    around: Neighbours, places: Sequence[int], subjects: Collection[int], relevance: Mapping[int, float]
) -> dict[int, int]:
    """The texts at some links, those to open first before others, and the link that leads to each.

    What defines another subject of the page is told there, and not here once more.
    """
    near = around.near
    found: dict[int, int] = {}
    for at in places:
        text = int(near.neighbour[at])
        if text not in subjects:
            found.setdefault(text, at)
    weights, tags = near.weight, near.tag
    order = {text: (-relevance.get(text, 0.0), -float(weights[at]), int(tags[at])) for text, at in found.items()}
    return {text: found[text] for text in sorted(order, key=order.__getitem__)}


def _share_of(definition: str, telling: _Telling) -> float:
    """How much of a passage is what the subject is defined by, and so is printed above it."""
    low, high = telling.window
    start = telling.named.passage.node.text.find(definition) if definition else -1
    shared = min(high, start + len(definition)) - max(low, start)
    return shared / (high - low) if start >= 0 and shared > 0 else 0.0


def names_of(node: Node) -> tuple[str, ...]:
    """What texts may call a node."""
    return spellings([node.title, *(alias.text for alias in node.aliases)])


def _within(place: Span, spans: Sequence[Span]) -> bool:
    return any(low <= place[0] and place[1] <= high for low, high in spans)
