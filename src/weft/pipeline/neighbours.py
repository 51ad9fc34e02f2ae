"""Bring what stands beside the found pieces: the turn after a question, the scene after the one found.

Turns of a chat, scenes of a chapter and parts of a text are nodes of their own, whose keys count up. The answer to
a turn often shares no word with the question, but stands right after a turn that does. Each piece therefore passes
shares of its relevance on to those beside it, and those that no search found become candidates. A link that names
a heading, as `[[Runbook#Rolling back]]`, speaks for the part of the other note that stands under it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item, Node, NodeRef, Step
from weft.pipeline.plan import Plan, passes_filter
from weft.pipeline.query import Query, Scale
from weft.pipeline.retrieve import add_relevance
from weft.pipeline.shape_phrases import Speaker
from weft.pipeline.standing import SUMMARY
from weft.ports import NodeRow, PassageRow, Snapshot
from weft.render.node_values import turn_heading
from weft.text import name_words, without_anchor
from weft.text.terms import STOP_WORDS

SIGNAL: Final = "neighbours"
"""The part of a score that says how relevant the pieces beside a candidate are."""
_SHARES: Final = ((1, 0.5), (-1, 0.33), (2, 0.2))
"""Which pieces get something of a piece's relevance, by their distance after it, and how much: an answer follows
its question more often than the reverse. On dialogues these shares brought the most evidence."""
_FOCUS: Final = 4
"""The power of a relevance that is passed on: only what surely speaks to the question speaks for what stands
beside it. With 1, every piece of a long chat gets about the same from the others."""
_LINKED_SHARE: Final = 0.4
"""The value of what stands under a linked heading, as that of a part which a shape of the question asks for."""
_MAX_SPREADING: Final = 20
"""Candidates, best first, whose neighbours are looked up where no search found them."""
_MAX_WIDENED: Final = 30
"""Candidates, best first, of which the passages beside those found are read too; more only cost time."""
_NUMBERED: Final = re.compile(r"(?s)(.*[#@:./_-])(\d{1,9})\Z")
"""A key that ends in a number of its own."""
_LINKED_HEADING: Final = re.compile(
    r"\[\[(?P<note>[^\[\]|#\n]+)#(?P<heading>[^\[\]|\n]+)|\]\((?P<path>[^()\s#:]+)#(?P<anchor>[^()\s]+)\)"
)
"""A wikilink or a Markdown link to a heading of another note."""
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_DIGITS: Final = re.compile(r"\d+")
_CHAPTER: Final = "chapter"
"""Stands for the heading of a chapter's scenes, which is that of the first one printed."""
_WITH_TEXT: Final = (Detail.WHOLE, Detail.EXCERPT)
_MAX_ACKNOWLEDGEMENT_CHARACTERS: Final = 40
_MAX_ACKNOWLEDGING_WORDS: Final = 2
"""A turn of so few words besides fillers answers nothing that was asked, unless a number is among them."""
_WORD: Final = re.compile(r"[^\W_]+")
_EDGE_TYPE: Final = "beside"
"""The type of the step in the path of a candidate that was found beside another one."""


class _Place(Struct, frozen=True):
    """The place of a node in a sequence: its key before the number, the number, and how many digits that has."""

    tenant: str
    prefix: str
    number: int
    width: int

    def moved(self, by: int) -> "_Place | None":
        """Return the place so many pieces further on; None before the beginning."""
        return replace(self, number=self.number + by) if self.number + by >= 0 else None

    @property
    def key(self) -> str:
        """The key of the node at this place."""
        return f"{self.prefix}{self.number:0{self.width}d}"


def add_neighbours(
    candidates: Sequence[Candidate], plan: Plan, query: Query, scale: Scale, snapshot: Snapshot
) -> tuple[Candidate, ...]:
    """Return the candidates with what their neighbours pass on to them, and the neighbours that were not found."""
    candidates = _follow_headings(candidates)
    placed = {place: candidate for candidate in candidates if (place := _place_of(candidate.node)) is not None}
    if not placed:
        return tuple(candidates)
    fresh = _find_unfound(placed, plan, snapshot)
    measured = add_relevance(fresh, query, scale, plan.profile.fusion, snapshot)
    everything = [*candidates, *measured]
    placed |= {place: candidate for candidate in measured if (place := _place_of(candidate.node)) is not None}
    received = _pass_on(placed)
    return tuple([_with_received(candidate, received) for candidate in everything])


def _follow_headings(candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates; of one that a better one links to by a heading, what stands under it is wanted."""
    linking = [each for each in candidates if "#" in each.node.text and _LINKED_HEADING.search(each.node.text)]
    if not linking:
        return candidates
    index_of = {_name_of(each.node.origin.file or each.node.title): at for at, each in enumerate(candidates)}
    followed = list(candidates)
    for candidate in sorted(linking, key=lambda each: (-_relevance(each), *each.node.ref))[:_MAX_SPREADING]:
        for link in _LINKED_HEADING.finditer(candidate.node.text):
            at = index_of.get(_name_of(link["note"] or link["path"]))
            # A note that matches better itself knows better which of its parts is wanted.
            if at is None or _relevance(candidates[at]) >= _relevance(candidate):
                continue
            span = _find_section(followed[at].node.text, (link["heading"] or link["anchor"]).rpartition("#")[2])
            if span is not None and span not in followed[at].spans:
                parts, value = followed[at].parts, round(_LINKED_SHARE * _relevance(candidate) ** _FOCUS, 6)
                parts = {**parts, "shape": max(value, parts.get("shape", 0.0))}
                followed[at] = replace(followed[at], spans=(span, *followed[at].spans), parts=parts)
    return followed


def _name_of(path: str) -> str:
    """Return the name by which links call a note: the last part of its path, without its ending."""
    return unquote(path).rpartition("/")[2].removesuffix(".md").strip().casefold()


def _find_section(text: str, heading: str) -> tuple[int, int] | None:
    """Return the span from a heading to the next one; None where the text has no such heading."""
    wanted = name_words(unquote(heading))
    headings = list(_HEADING.finditer(text))
    for at, match in enumerate(headings):
        if name_words(without_anchor(match[1])) == wanted:
            return match.start(), headings[at + 1].start() if at + 1 < len(headings) else len(text)
    return None


def gather_pieces(items: Sequence[Item]) -> list[Item]:
    """Return the items with pieces of one session or chapter together, in order, where the best of them stood.

    Turns of one day are marked, so that their heading is printed once, and so are scenes of one chapter. Summaries
    stand in the order of time.
    """
    gathered: dict[object, list[tuple[int, Item]]] = {}
    for index, item in enumerate(items):
        node, place = item.candidate.node, _place_of(item.candidate.node)
        # Without numbers of their own, pieces of one thing are told by their common name.
        name = node.title if node.sequence is None and not turn_heading(node) else ""
        thing = index if place is None else (place.tenant, place.prefix, node.kind, node.origin.file, name)
        if node.kind == SUMMARY:
            time = node.created.timestamp() if node.created else 0
            gathered.setdefault(SUMMARY, []).append((int(time), item))
        else:
            gathered.setdefault(thing, []).append((place.number if place else 0, item))
    # Sorted by the number alone: passages of one node keep their order.
    pieces = [sorted(group, key=lambda piece: piece[0]) for group in gathered.values()]
    return [item for group in pieces for item in _mark_turns([item for _, item in group])]


def _mark_turns(items: Sequence[Item]) -> list[Item]:
    """Return the items of one session or chapter, marked as first below a heading or as following below it."""
    marked: list[Item] = []
    above = ""
    for item in items:
        heading = _shared_heading(item.candidate.node) if item.detail in _WITH_TEXT else ""
        marked.append(replace(item, turn=2 if heading == above else 1) if heading else item)
        above = heading
    return marked


def _shared_heading(node: Node) -> str:
    """Return what the turns of one day, or the scenes of one chapter, have as their heading; empty for others."""
    return _CHAPTER if node.kind == "scene" and node.origin.file else turn_heading(node)


def find_turns_below(candidates: Sequence[Candidate]) -> Mapping[NodeRef, int]:
    """Return 1 for the turn that comes first of its day, which pays for the heading, and 2 for other turns.

    So it is with the scenes of a chapter.
    """
    best: dict[tuple[str, str, str], NodeRef] = {}
    turns: dict[NodeRef, int] = {}
    for candidate in candidates:
        heading = _shared_heading(candidate.node)
        place = _place_of(candidate.node) if heading else None
        if place is not None:
            ref = candidate.node.ref
            turns[ref] = 1 if best.setdefault((place.tenant, place.prefix, heading), ref) == ref else 2
    return turns


def _place_of(node: Node) -> _Place | None:
    match = _NUMBERED.match(node.key)
    # A number that is all of an id counts records in some order; only a part of something has a place in it.
    if match is None or (match[1].endswith(":") and match[1].count(":") < 2):
        return None
    return _Place(node.tenant, match[1], int(match[2]), len(match[2]))


def _find_unfound(placed: Mapping[_Place, Candidate], plan: Plan, snapshot: Snapshot) -> list[Candidate]:
    """Return candidates for the pieces beside the best ones that are no candidates yet."""
    best = sorted(placed.items(), key=lambda pair: (-_relevance(pair[1]), pair[0].key))[:_MAX_SPREADING]
    wanted: dict[str, tuple[Candidate, _Place]] = {}
    for place, candidate in best:
        for by, _ in _SHARES:
            beside = place.moved(by)
            if beside is not None and beside not in placed:
                wanted.setdefault(beside.key, (candidate, beside))
    found = snapshot.find(sorted(wanted)) if wanted else {}
    ids = {number: key for key, numbers in found.items() for number in numbers}
    fresh = []
    for number, row in sorted(snapshot.nodes(sorted(ids)).items()):
        origin, place = wanted[ids[number]]
        is_beside = _place_of(row.node) == place and _belong_together(origin.node, row.node)
        # Looked up by its key, past the searches: the filter of the request is asked here.
        if is_beside and passes_filter(row.node, plan.request.filter):
            fresh.append(_make_candidate(row, origin))
    return fresh


def _make_candidate(row: NodeRow, origin: Candidate) -> Candidate:
    step = Step(row.node.key, _EDGE_TYPE, 1.0, "out", row.node.id)
    return Candidate(
        node=row.node,
        probe=origin.probe,
        match_source=SIGNAL,
        root=origin.root,
        path=(*origin.path, step),
        distance=origin.distance + 1,
        text_tokens=row.text_tokens,
        sketch=row.sketch,
    )


def _belong_together(first: Node, second: Node) -> bool:
    """Return whether two nodes with neighbouring keys are pieces of one thing, not records numbered by chance."""
    if first.kind != second.kind or first.origin.file != second.origin.file:
        return False
    if first.sequence is not None and second.sequence is not None:
        return True
    # The first turn of a session may have a date before the name that all of them have.
    names = sorted((_DIGITS.sub("0", node.title).strip() for node in (first, second)), key=len)
    return bool(names[0]) and names[1].endswith(names[0])


def _pass_on(placed: Mapping[_Place, Candidate]) -> dict[int, float]:
    """Return what each node receives from the pieces beside it, by id."""
    received: dict[int, float] = {}
    for place, candidate in placed.items():
        for by, share in _SHARES:
            beside = place.moved(by)
            other = placed.get(beside) if beside is not None else None
            if other is not None and _belong_together(candidate.node, other.node):
                received[other.node.id] = (
                    received.get(other.node.id, 0.0) + share * _relevance(candidate) ** _FOCUS
                )
    return received


def _relevance(candidate: Candidate) -> float:
    return candidate.parts.get("relevance", 0.0)


def _with_received(candidate: Candidate, received: Mapping[int, float]) -> Candidate:
    value = received.get(candidate.node.id)
    if value is None:
        return candidate
    return replace(candidate, parts={**candidate.parts, SIGNAL: round(value, 6)})


def choose_passages(candidates: Sequence[Candidate], snapshot: Snapshot) -> tuple[list[PassageRow], list[int]]:
    """Return the passages to print of, in the order of their candidates and texts, and the candidate of each.

    These are the passages that were found and, of the best candidates, those right before and behind them: a
    question is often answered beside the words that it shares with a text.
    """
    index_of = {candidate.node.id: index for index, candidate in enumerate(candidates)}
    rows: list[PassageRow] = []
    owners: list[int] = []
    stored = snapshot.passages_of_nodes([candidate.node.id for candidate in candidates if candidate.node.id])
    for node_id, group in groupby(stored, key=attrgetter("node_id")):
        index = index_of[node_id]
        own = [row for row in group if row.passage.end > row.passage.start]
        spans = candidates[index].spans
        if spans and len(own) > 1:
            found = [any(low < row.passage.end and row.passage.start < high for low, high in spans) for row in own]
            reach = 1 if index < _MAX_WIDENED else 0
            own = [row for at, row in enumerate(own) if any(found[max(at - reach, 0) : at + reach + 1])]
        rows += own
        owners += [index] * len(own)
    return rows, owners


def only_acknowledges(candidate: Candidate) -> bool:
    """Return whether a turn of an assistant says nothing but "Noted" or "Good idea", and would only fill."""
    node = candidate.node
    if node.fields.get("role") != Speaker.ASSISTANT or len(node.text) > _MAX_ACKNOWLEDGEMENT_CHARACTERS:
        return False
    words = [word for word in _WORD.findall(node.text) if word.lower() not in STOP_WORDS]
    return len(words) <= _MAX_ACKNOWLEDGING_WORDS and not any(map(str.isdigit, node.text))
