"""The passages that tell of a subject: where its texts name it, alone or together with others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from weft.model import Candidate, Node
from weft.ports import Snapshot
from weft.profile import Part
from weft.subjects.neighbours import Neighbours, fits, linked_with
from weft.text import named_in, spellings

Divide = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]
Span = tuple[int, int]

_OPENED: Final = 12
"""How many texts of a subject are opened: those that the question found, then those that name it most."""
_MENTIONS: Final = 4
"""How many places of a passage are pointed out to whoever makes an excerpt of it."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """A passage that names a subject: how often, and whether it names others too (1) or not (0)."""

    passage: Candidate
    count: int
    others: int


@dataclass(frozen=True, slots=True)
class Tellings:
    """The opened texts around some subjects, in passages, and the names of all who may stand in them."""

    near: Neighbours
    subjects: frozenset[int]
    divided: Mapping[int, Sequence[Candidate]]
    linked: Mapping[int, Sequence[int]]
    names: Mapping[int, tuple[str, ...]]
    relevance: Mapping[int, float]
    found: dict[tuple[object, ...], list[tuple["_Naming", int]]] = field(default_factory=dict)

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
        closed = cls(near, own, {}, {}, {}, relevance)
        telling = [part for part in parts if part.via and part.unit == "passage"]
        ids = sorted({text for each in subjects for part in telling for text in closed.texts(each, part)})
        if not ids:
            return closed
        rows = snapshot.nodes(ids)
        whole = [Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch) for row in rows.values()]
        divided: dict[int, list[Candidate]] = {}
        for each in divide(whole):
            divided.setdefault(each.node.id, []).append(each)
        linked = linked_with(ids, near.kinds, snapshot)
        others = snapshot.nodes(sorted({each for listed in linked.values() for each in listed} | own))
        names = {number: names_of(row.node) for number, row in others.items()}
        return cls(near, own, divided, linked, names, relevance)

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
        told = [(each, at) for each, at in self._naming(subject, part) if fits(part, 1 + each.others)]
        most = max((each.count for each, _ in told), default=1)
        return tuple(self._reached(subject, each, at, most) for each, at in told)

    def _naming(self, subject: Candidate, part: Part) -> list[tuple["_Naming", int]]:
        """The passages of its texts that name a subject, looked for once for all parts with the same links."""
        slot = (subject.node.id, part.via, part.direction)
        if slot not in self.found:
            self.found[slot] = [
                (naming, at)
                for text, at in self.texts(subject, part).items()
                for each in self.divided.get(text, ())
                if (naming := self._named(subject, each)) is not None
            ]
        return self.found[slot]

    def _named(self, subject: Candidate, passage: Candidate) -> "_Naming | None":
        text, span = passage.node.text, passage.window or (0, len(passage.node.text))
        places = named_in(text, self.names.get(subject.node.id, ()), span)
        if not places:
            return None
        quoted = replace(passage, spans=tuple(places[:_MENTIONS]), window=span)
        return _Naming(quoted, len(places), self._others(subject, passage.node, span, places))

    def _reached(self, subject: Candidate, naming: "_Naming", at: int, most: int) -> Candidate:
        reached = self.near.reached(subject, naming.passage, at)
        return replace(reached, parts={**reached.parts, "usage": round(naming.count / most, 9)})

    def _others(self, subject: Candidate, text: Node, span: Span, own: Sequence[Span]) -> int:
        """1 if the passage is about or names somebody else, outside where it names the subject; otherwise 0."""
        if text.kind in self.near.kinds:
            return 1
        mine = self.names.get(subject.node.id, ())
        for other in self.linked.get(text.id, ()):
            if other == subject.node.id:
                continue
            theirs = [name for name in self.names.get(other, ()) if name not in mine]
            if any(not _within(place, own) for place in named_in(text.text, theirs, span)):
                return 1
        return 0


def names_of(node: Node) -> tuple[str, ...]:
    """What texts may call a node."""
    return spellings([node.title, *(alias.text for alias in node.aliases)])


def _within(place: Span, spans: Sequence[Span]) -> bool:
    return any(low <= place[0] and place[1] <= high for low, high in spans)
