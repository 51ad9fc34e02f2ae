"""The passages that tell of a subject: where its texts name it, alone or together with others."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Final

from weft.candidates import told
from weft.frozen import dataclass
from weft.model import Candidate, Node
from weft.ports import Snapshot
from weft.profile import Part
from weft.recent import Recent
from weft.subjects.neighbours import Neighbours, fits, linked_with
from weft.text import named_in, spellings

Divide = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]
Span = tuple[int, int]

_OPENED: Final = 12
"""How many texts of a subject are opened: those that the question found, then those that name it most."""
_REMEMBERED: Final = 16_384
_MENTIONS: Final = 4
"""How many places of a passage are pointed out to whoever makes an excerpt of it."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """How a passage names a subject: where, how often, and whether it names others too (1) or not (0)."""

    places: tuple[Span, ...] = ()
    count: int = 0
    others: int = 0


_NAMINGS: Final[Recent[tuple[object, ...], _Naming]] = Recent(_REMEMBERED)
"""By the state of a store and the view of it, the subject, and the passage: what questions return to."""


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
        others = text.kind in kinds or self._names_others(subject, text, span, places)
        return _Naming(tuple(places[:_MENTIONS]), len(places), int(others))

    def _names_others(self, subject: int, text: Node, span: Span, own: Sequence[Span]) -> bool:
        """Whether the passage names somebody else, outside where it names the subject."""
        mine = self.names.get(subject, ())
        for other in self.linked.get(text.id, ()):
            theirs = [name for name in self.names.get(other, ()) if name not in mine] if other != subject else ()
            if any(not _within(place, own) for place in named_in(text.text, theirs, span)):
                return True
        return False


@dataclass(frozen=True, slots=True)
class Tellings:
    """The opened texts around some subjects, in passages."""

    near: Neighbours
    subjects: frozenset[int]
    divided: Mapping[int, Sequence[Candidate]]
    relevance: Mapping[int, float]
    state: tuple[object, ...]
    cast: Callable[[], _Cast]
    """Read only for passages that nobody asked for since the store last changed."""

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
        state = (snapshot.identity, snapshot.sequence, snapshot.view, tuple(near.kinds))
        closed = cls(near, own, {}, relevance, state, lambda: _Cast({}, {}))
        telling = [part for part in parts if part.via and part.unit == "passage"]
        ids = sorted({text for each in subjects for part in telling for text in closed.texts(each, part)})
        if not ids:
            return closed
        rows = snapshot.nodes(ids)
        whole = [Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch) for row in rows.values()]
        divided: dict[int, list[Candidate]] = {}
        for each in divide(whole):
            divided.setdefault(each.node.id, []).append(each)
        cast = cache(lambda: _Cast.of(ids, own, near.kinds, snapshot))
        return cls(near, own, divided, relevance, state, cast)

    def texts(self, subject: Candidate, part: Part) -> dict[int, int]:
        """The texts of a subject that are opened, and the link that leads to each.

        What defines another subject of the page is told there, and not here once more.
        """
        near = self.near.near
        found: dict[int, int] = {}
        for at in self.near.places(subject, part):
            text = int(near.neighbour[at])
            if text not in self.subjects:
                found.setdefault(text, at)
        best = sorted(
            found,
            key=lambda text: (
                -self.relevance.get(text, 0.0),
                -float(near.weight[found[text]]),
                int(near.tag[found[text]]),
            ),
        )
        return {text: found[text] for text in best[:_OPENED]}

    def passages(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """The passages that a part takes, each with how often it names the subject as a share of the most."""
        named = [
            (each, naming, at)
            for text, at in self.texts(subject, part).items()
            for each in self.divided.get(text, ())
            if (naming := self._naming(subject.node.id, each)).count and fits(part, 1 + naming.others)
        ]
        most = max((naming.count for _, naming, _ in named), default=1)
        return tuple(self._reached(subject, each, naming, at, most) for each, naming, at in named)

    def _naming(self, subject: int, passage: Candidate) -> _Naming:
        node, span = passage.node, passage.window or (0, len(passage.node.text))
        slot = (*self.state, subject, node.id, span)
        return _NAMINGS.get_or_make(slot, lambda: self.cast().naming(subject, node, span, self.near.kinds))

    def _reached(self, subject: Candidate, passage: Candidate, naming: _Naming, at: int, most: int) -> Candidate:
        reached = self.near.reached(subject, passage, at)
        parts = {**reached.parts, "usage": round(naming.count / most, 9)}
        return told(reached, parts, spans=naming.places, window=passage.window or (0, len(passage.node.text)))


def names_of(node: Node) -> tuple[str, ...]:
    """What texts may call a node."""
    return spellings([node.title, *(alias.text for alias in node.aliases)])


def _within(place: Span, spans: Sequence[Span]) -> bool:
    return any(low <= place[0] and place[1] <= high for low, high in spans)
