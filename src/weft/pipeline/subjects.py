"""Fill the parts of subjects with linked nodes, and with passages of linked texts that name a subject.

A subject is a person or thing that a `for_each` section is about. `Neighbours` serves the parts that print whole
nodes, `SubjectPassages` those that print passages.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Node, Step
from weft.ports import Adjacency, NodeRow, Snapshot
from weft.profiles.types import Part
from weft.runtime.cache import LruCache
from weft.text import find_name_spans, name_spellings, split_sentences

if TYPE_CHECKING:
    from numpy.typing import NDArray


_MAX_NEIGHBOURS: Final = 64
"""Links of a subject that are read, the strongest; a hero is linked with every scene of a novel."""
_MAX_TEXTS: Final = 12
"""Texts of a subject that are read: those that the question found, then those that name it most."""
_FEW_CHARS: Final = 12_000
"""If those hold no more characters than this, all linked texts are read: chunks are shorter than scenes."""
_MIN_STRETCH_CHARS: Final = 240
"""Characters that make a stretch a passage of its own. Two sentences, one of which names others, are about all."""
_MAX_REPEATED_SHARE: Final = 1 / 3
"""The share of a passage that may repeat the subject's definition where there are few other passages."""
_MAX_MENTIONS: Final = 4
"""Mentions of a passage that an excerpt of it is made around."""
_MAX_CACHED_STATES: Final = 8
"""States of stores of which namings are kept."""
_MAX_CACHED_NAMINGS: Final = 16_384
"""Namings kept of one state: a novel with its whole cast has fewer."""

Span = tuple[int, int]
SplitIntoPassages = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]
Route = tuple[int, tuple[str, ...], str]
"""From a subject, by id, over links of some types in a direction."""


class SubjectPart(Struct, frozen=True):
    """The candidates of one part of one subject."""

    subject: Candidate
    part: Part
    candidates: tuple[Candidate, ...]


def fill_parts(
    subjects: Sequence[Candidate],
    parts: Sequence[Part],
    kinds: Sequence[str],
    snapshot: Snapshot,
    split: SplitIntoPassages,
    relevance: Mapping[int, float],
) -> tuple[SubjectPart, ...]:
    """Return what may fill every part of every subject, in order and unscored.

    `split` cuts nodes into passages; `relevance`, by node id, is what is known of the texts before they are read,
    and decides which of very many are.
    """
    neighbours = Neighbours.read(subjects, parts, kinds, snapshot)
    passages = SubjectPassages.read(subjects, parts, neighbours, snapshot, split, relevance)
    return tuple(
        SubjectPart(subject, part, _part_candidates(subject, part, neighbours, passages))
        for subject in subjects
        for part in parts
    )


def _part_candidates(
    subject: Candidate, part: Part, neighbours: "Neighbours", passages: "SubjectPassages"
) -> tuple[Candidate, ...]:
    if not part.via:
        return (_with_own_mention(subject),)
    # Both answer alike, so that a profile changes the unit and nothing else.
    source = passages if part.unit == "passage" else neighbours
    return source.candidates(subject, part)


class Neighbours(Struct, frozen=True):
    """The links of some subjects, and the nodes they lead to for parts that print whole nodes."""

    near: Adjacency
    kinds: Sequence[str]
    stored: Mapping[int, NodeRow]
    linked: Mapping[int, Sequence[int]]

    @classmethod
    def read(
        cls, subjects: Sequence[Candidate], parts: Sequence[Part], kinds: Sequence[str], snapshot: Snapshot
    ) -> "Neighbours":
        """Read the links of the subjects; nodes are read only where a part prints them."""
        near = snapshot.adjacency([subject.node.id for subject in subjects if subject.node.id], _MAX_NEIGHBOURS)
        node_parts = [part for part in parts if part.via and part.unit == "node"]
        ids = sorted({node for part in node_parts for node in near.neighbour[_followed(part, near)].tolist()})
        # Reading the links of all neighbours is dear, and only parts that count them need it.
        counts_links = any(part.links != "any" for part in node_parts)
        linked = _linked_nodes(ids, kinds, snapshot) if counts_links else {}
        return cls(near, kinds, snapshot.nodes(ids), linked)

    def edges(self, subject: Candidate, part: Part) -> list[int]:
        """Return the indices of the links that a part follows from a subject, strongest first."""
        mask = (self.near.owner == subject.node.id) & _followed(part, self.near)
        return [int(edge) for edge in np.flatnonzero(mask)]

    def candidates(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """Return the nodes that a part takes, each once."""
        taken: dict[int, Candidate] = {}
        for edge in self.edges(subject, part):
            node = int(self.near.neighbour[edge])
            if node not in taken and node in self.stored and _takes(part, len(self.linked.get(node, ()))):
                row = self.stored[node]
                found = Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch)
                taken[node] = self.reach(subject, found, edge)
        return tuple(taken.values())

    def reach(self, subject: Candidate, found: Candidate, edge: int) -> Candidate:
        """Return the candidate as it is reached from a subject over a link."""
        near, node = self.near, found.node
        weight = float(near.weight[edge])
        # The further from where the walk began, the less: the subject's own score times the link.
        walk = round(subject.parts.get("walk", 0.0) * weight, 9)
        direction = "out" if near.outward[edge] else "in"
        step = Step(node.key, near.edge_types[near.edge_type[edge]], weight, direction, node.id)
        return replace(
            found,
            parts={**found.parts, "edge": weight, "walk": walk},
            probe=subject.probe,
            distance=subject.distance + 1,
            root=subject.root,
            path=(*subject.path, step),
        )


def _followed(part: Part, near: Adjacency) -> "NDArray[np.bool_]":
    """Return which links are of a type and direction that the part follows."""
    follows = np.array([name in part.via for name in near.edge_types] or [False])
    mask: NDArray[np.bool_] = follows[near.edge_type]
    if part.direction != "both":
        mask = mask & (near.outward == (1 if part.direction == "out" else 0))
    return mask


def _linked_nodes(ids: Sequence[int], kinds: Sequence[str], snapshot: Snapshot) -> dict[int, list[int]]:
    """Return the different nodes of the subjects' kinds that each node is linked with, strongest first."""
    near = snapshot.adjacency(ids, _MAX_NEIGHBOURS)
    of_kind = np.array([not kinds or kind in kinds for kind in near.kinds] or [True])[near.kind]
    linked: dict[int, dict[int, None]] = {}
    for owner, other in zip(near.owner[of_kind].tolist(), near.neighbour[of_kind].tolist(), strict=True):
        linked.setdefault(owner, {})[other] = None
    return {owner: list(others) for owner, others in linked.items()}


def _takes(part: Part, linked: int) -> bool:
    """Return whether a part takes a node that is linked with so many subjects."""
    return part.links == "any" or (linked > 1) == (part.links == "several")


class _Naming(Struct, frozen=True):
    """The mentions of a subject in a passage, those beside others, and the stretch that names nobody else."""

    mentions: tuple[Span, ...] = ()
    names_others: bool = False
    shared_mentions: tuple[Span, ...] = ()
    own_stretch: Span | None = None


class _NamingCache(dict[tuple[int, int, Span], _Naming]):
    """Namings by subject, text and passage; it is emptied when full, which changes no answer."""


_NAMING_CACHES: Final[LruCache[tuple[object, ...], _NamingCache]] = LruCache(_MAX_CACHED_STATES)
"""One cache for each state of a store and view of it: questions return to the same passages."""


class _NamingPassage(NamedTuple):
    """A passage that names a subject, how it does, and the link that leads to its text."""

    passage: Candidate
    naming: _Naming
    edge: int

    @property
    def span(self) -> Span:
        """The passage's span in its text."""
        return self.passage.window or (0, len(self.passage.node.text))

    def take(self, part: Part) -> "_TakenPassage | None":
        """Return what a part takes of the passage: all of it, the stretch about the subject alone, or nothing."""
        naming = self.naming
        # Only the stretch about the subject alone, not the rest of a passage that is about others too.
        if part.links == "one":
            if naming.own_stretch is None:
                return None
            inside = [span for span in naming.mentions if _is_within(span, [naming.own_stretch])]
            return _TakenPassage(self, naming.own_stretch, inside, len(inside))
        if part.links == "several":
            if not naming.names_others:
                return None
            return _TakenPassage(self, self.span, naming.shared_mentions, len(naming.mentions))
        return _TakenPassage(self, self.span, naming.mentions, len(naming.mentions))


class _TakenPassage(NamedTuple):
    """As much of a passage as a part takes, the mentions to quote, and how often it names the subject."""

    source: _NamingPassage
    window: Span
    mentions: Sequence[Span]
    mention_count: int


class _KnownNames(Struct, frozen=True):
    """The names of all nodes that some texts may mention, and which text is linked with which nodes."""

    linked: Mapping[int, Sequence[int]]
    names: Mapping[int, tuple[str, ...]]

    @classmethod
    def read(
        cls, texts: Sequence[int], subjects: Collection[int], kinds: Sequence[str], snapshot: Snapshot
    ) -> "_KnownNames":
        """Read the names of the subjects and of all nodes that the texts are linked with."""
        # Only nodes that a text is linked with can be named in it: the linker has read every text.
        linked = _linked_nodes(texts, kinds, snapshot)
        rows = snapshot.nodes(sorted({node for nodes in linked.values() for node in nodes} | {*subjects}))
        return cls(linked, {node: _spelled_names(row.node) for node, row in rows.items()})

    def find_naming(self, subject: int, text: Node, span: Span, kinds: Sequence[str]) -> _Naming:
        """Return how a passage of the text names the subject."""
        mentions = find_name_spans(text.text, self.names.get(subject, ()), span)
        if not mentions:
            return _Naming()
        # The text of another subject is about that one, so this subject is never alone in it.
        if text.kind in kinds:
            return _Naming(tuple(mentions), names_others=True, shared_mentions=tuple(mentions))
        others = list(self._mentions_of_others(subject, text, span, mentions))
        if not others:
            return _Naming(tuple(mentions), own_stretch=span)
        low, high = span
        units = [(low + start, low + end) for start, end in split_sentences(text.text[low:high])]
        shared = [unit for unit in units if _overlaps(unit, others)]
        beside_others = [mention for mention in mentions if _overlaps(mention, shared)]
        stretch = _longest_own_stretch(units, mentions, others)
        return _Naming(tuple(mentions), True, tuple(beside_others or mentions), stretch)

    def _mentions_of_others(self, subject: int, text: Node, span: Span, own: Sequence[Span]) -> Iterator[Span]:
        """Yield where the passage names another node, outside the mentions of the subject."""
        # Two nodes may share a name; then the mention is taken to mean the subject.
        own_names = self.names.get(subject, ())
        for other in self.linked.get(text.id, ()):
            if other != subject:
                names = [name for name in self.names.get(other, ()) if name not in own_names]
                mentions = find_name_spans(text.text, names, span)
                yield from (mention for mention in mentions if not _is_within(mention, own))


def _longest_own_stretch(units: Sequence[Span], own: Sequence[Span], others: Sequence[Span]) -> Span | None:
    """Return the longest run of sentences that mentions the subject and nobody else, if it is long enough."""
    runs = [list(run) for shared, run in groupby(units, key=lambda unit: _overlaps(unit, others)) if not shared]
    stretches = [(run[0][0], run[-1][1]) for run in runs]
    own_stretches = [
        stretch
        for stretch in stretches
        if stretch[1] - stretch[0] >= _MIN_STRETCH_CHARS and _overlaps(stretch, own)
    ]
    return max(own_stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]), default=None)


def _overlaps(stretch: Span, spans: Sequence[Span]) -> bool:
    return any(start < stretch[1] and end > stretch[0] for start, end in spans)


def _is_within(inner: Span, spans: Sequence[Span]) -> bool:
    return any(low <= inner[0] and inner[1] <= high for low, high in spans)


class SubjectPassages(Struct, frozen=True):
    """The texts around some subjects, in passages."""

    neighbours: Neighbours
    texts: Mapping[Route, Mapping[int, int]]
    """The texts that are read for a route, and the link that leads to each."""
    passages: Mapping[int, Sequence[Candidate]]
    namings: _NamingCache
    load_names: Callable[[], _KnownNames]
    """Called only for passages that no question asked for since the store last changed."""
    by_route: dict[Route, list[_NamingPassage]] = field(default_factory=dict)
    """The passages found for one part, which serve the others with the same route."""

    @classmethod
    def read(
        cls,
        subjects: Sequence[Candidate],
        parts: Sequence[Part],
        neighbours: Neighbours,
        snapshot: Snapshot,
        split: SplitIntoPassages,
        relevance: Mapping[int, float],
    ) -> "SubjectPassages":
        """Read the texts that parts with passages need; nothing is read where there is no such part."""
        subject_ids = frozenset(subject.node.id for subject in subjects)
        passage_parts = [part for part in parts if part.via and part.unit == "passage"]
        # Parts with the same route read the same texts, which are then read once.
        routes = {_route(subject, part): (subject, part) for subject in subjects for part in passage_parts}
        ranked = {
            route: _rank_texts(neighbours.near, neighbours.edges(*ends), subject_ids, relevance)
            for route, ends in routes.items()
        }
        texts, rows = _choose_texts(ranked, snapshot)
        ids = sorted(rows)
        whole = [Candidate(row.node, text_tokens=row.text_tokens, sketch=row.sketch) for row in rows.values()]
        passages: dict[int, list[Candidate]] = {}
        for passage in split(whole) if whole else ():
            passages.setdefault(passage.node.id, []).append(passage)
        state = (snapshot.identity, snapshot.sequence, snapshot.view, tuple(neighbours.kinds))
        # Once for all subjects of the page, and not at all where every naming is cached.
        load_names = cache(lambda: _KnownNames.read(ids, subject_ids, neighbours.kinds, snapshot))
        return cls(neighbours, texts, passages, _NAMING_CACHES.get_or_make(state, _NamingCache), load_names)

    def candidates(self, subject: Candidate, part: Part) -> tuple[Candidate, ...]:
        """Return the passages that a part takes, with the part `usage`: how often each names the subject."""
        route = _route(subject, part)
        if route not in self.by_route:
            self.by_route[route] = list(self._find_passages(route))
        taken = [passage for source in self.by_route[route] if (passage := source.take(part)) is not None]
        repeated = [_repeated_share(subject.node.text, passage) for passage in taken]
        # The definition stands above the passages; one that repeats it is taken only where others are few.
        max_share = 0.0 if repeated.count(0.0) >= (part.limit or 1) else _MAX_REPEATED_SHARE
        taken = [passage for passage, share in zip(taken, repeated, strict=True) if share <= max_share]
        # On a scale of the subject's own, so that a minor character's best passage also has 1.
        most = max((passage.mention_count for passage in taken), default=1)
        return tuple([self._make_candidate(subject, passage, most) for passage in taken])

    def _find_passages(self, route: Route) -> Iterator[_NamingPassage]:
        for text, edge in self.texts[route].items():
            for passage in self.passages.get(text, ()):
                naming = self._find_naming(route[0], passage)
                if naming.mentions:
                    yield _NamingPassage(passage, naming, edge)

    def _find_naming(self, subject: int, passage: Candidate) -> _Naming:
        node, span = passage.node, passage.window or (0, len(passage.node.text))
        key = (subject, node.id, span)
        naming = self.namings.get(key)
        if naming is None:
            if len(self.namings) >= _MAX_CACHED_NAMINGS:
                self.namings.clear()
            naming = self.load_names().find_naming(subject, node, span, self.neighbours.kinds)
            self.namings[key] = naming
        return naming

    def _make_candidate(self, subject: Candidate, taken: _TakenPassage, most: int) -> Candidate:
        source = taken.source
        reached = self.neighbours.reach(subject, source.passage, source.edge)
        parts = {**reached.parts, "usage": round(taken.mention_count / most, 9)}
        spans = tuple(taken.mentions[:_MAX_MENTIONS])
        return replace(
            reached, parts=parts, spans=spans, window=taken.window, passage=source.span, text_tokens=None
        )


def _route(subject: Candidate, part: Part) -> Route:
    return subject.node.id, part.via, part.direction


def _rank_texts(
    near: Adjacency, edges: Sequence[int], subjects: Collection[int], relevance: Mapping[int, float]
) -> dict[int, int]:
    """Return the texts that some links lead to, those to read first before others, with the link to each.

    The text of another subject of the page is left out: it is printed there.
    """
    edge_by_text: dict[int, int] = {}
    for edge in edges:
        text = int(near.neighbour[edge])
        if text not in subjects:
            edge_by_text.setdefault(text, edge)
    # The tag is the same in every store, so that ties fall alike whatever ids the nodes have.
    order = {
        text: (-relevance.get(text, 0.0), -float(near.weight[edge]), int(near.tag[edge]))
        for text, edge in edge_by_text.items()
    }
    return {text: edge_by_text[text] for text in sorted(order, key=order.__getitem__)}


def _choose_texts(
    ranked: Mapping[Route, Mapping[int, int]], snapshot: Snapshot
) -> tuple[dict[Route, Mapping[int, int]], dict[int, NodeRow]]:
    """Return the texts to read for every route, with the link to each; and the rows of all these texts."""
    chosen: dict[Route, Mapping[int, int]] = {
        route: dict(islice(texts.items(), _MAX_TEXTS)) for route, texts in ranked.items()
    }
    rows = dict(snapshot.nodes(sorted({text for texts in chosen.values() for text in texts})))
    for route, texts in ranked.items():
        chars = sum(len(rows[text].node.text) for text in chosen[route] if text in rows)
        if len(texts) > _MAX_TEXTS and chars <= _FEW_CHARS:
            chosen[route] = texts
    rows |= snapshot.nodes(sorted({text for texts in chosen.values() for text in texts if text not in rows}))
    return chosen, rows


def _repeated_share(definition: str, taken: _TakenPassage) -> float:
    """Return how much of a passage is the subject's definition, which is printed above it."""
    low, high = taken.window
    start = taken.source.passage.node.text.find(definition) if definition else -1
    # The definition of an entity found in prose is quoted from it, perhaps from this very text.
    shared = min(high, start + len(definition)) - max(low, start)
    return shared / (high - low) if start >= 0 and shared > 0 else 0.0


def _spelled_names(node: Node) -> tuple[str, ...]:
    """Return the spellings under which texts may name a node."""
    return name_spellings([node.title, *(alias.text for alias in node.aliases)])


def _with_own_mention(subject: Candidate) -> Candidate:
    """Point a subject to where its own text names it, unless the question points to a part of the text."""
    text = subject.node.text
    # A span over the whole text points to nothing in it.
    if any(end - start < len(text) for start, end in subject.spans):
        return subject
    mentions = find_name_spans(text, _spelled_names(subject.node), (0, len(text)))
    return replace(subject, spans=tuple(mentions[:1]))
