"""Describe the slots of a page: the places that take items, and the outcome of each candidate for one."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import FOUND_ENTITY, Candidate, Detail, Item, Node
from weft.pipeline.plan import Plan
from weft.pipeline.retrieve import Gathered
from weft.pipeline.score import best_first
from weft.pipeline.subjects import SubjectPart
from weft.profiles import fill
from weft.profiles.types import Block, Order, Part, Section
from weft.scoring.snippets import SCORE_DECIMALS
from weft.text import find_signature, is_blank, is_code

_PART_STEP: Final = 0.02
"""The amount by which each further snippet of a part that was asked for counts less than the one before it."""
_POINTERS_SHARE: Final = 0.1
"""The share of a section's budget that its related pointers get: a few lines beside the items."""
_STORY_KINDS: Final = frozenset({"scene", "chapter"})
"""The kinds of the pieces of a story, whose lines also define the people and things that it names."""
_SHOWN_SHARE: Final = 0.5
"""The share of a span's lines beyond which it is a repeat where other items show them."""
_QUOTING_BLOCKS: Final = frozenset({"text", "code", "bullet"})
"""The blocks that print an item's text."""
_MAX_CODE_SHARE: Final = 0.4
"""The share of the page that one definition may take while others have something to say."""
_ANSWER_TOKENS: Final = 1_000
"""The tokens up to which a text may go beyond its share: an answer in several parts needs so many."""
_BEYOND_SHARE: Final = 2.0
"""How many times its share a text may then take: four fifths of a page instead of two. With three, one of six
answers that stand in long documents was lost at 700 tokens."""
_LEFT_TOKENS: Final = 150
"""The tokens that such a text leaves to others, enough for the best part of another one."""
_MIN_BEYOND: Final = 0.6
"""The share of the page that it may take even where fewer tokens are left to others."""

HeadingCost = Callable[[str, "str | Candidate"], int]
"""Returns the tokens of a heading, by its kind (section, group or part) and its words or subject."""


class RankedSnippets(Struct, frozen=True):
    """Snippets as parallel lists, each candidate's together and in reading order; `order` lists them best first.

    `owner` is the index of a snippet's candidate. Neighbours in the lists with one owner and only blanks between
    their spans are neighbours in the text.
    """

    owner: list[int]
    start: list[int]
    end: list[int]
    tokens: list[int]
    score: list[float]
    order: list[int]
    frames: dict[tuple[int, bool], int] = field(default_factory=dict)
    """The cost of a candidate's item besides its text, without and with its signature, once it was asked for."""
    signatures: dict[int, tuple[int, int] | None] = field(default_factory=dict)
    """The lines of a candidate's signature, which stand above any excerpt of its code."""

    def signature_of(self, owner: int, candidate: Candidate) -> tuple[int, int] | None:
        """Return the lines of the signature of an owner's definition; None for anything else."""
        if owner not in self.signatures:
            # What was cut out for the question, such as a call, is shown alone.
            is_signed = is_code(candidate.node.language) and candidate.window is None
            known = str(candidate.node.fields.get("signature") or "") if is_signed else ""
            self.signatures[owner] = find_signature(candidate.node.text, known)
        return self.signatures[owner]

    def adjoins_next(self, index: int, candidates: Sequence[Candidate]) -> bool:
        """Return whether a snippet and the following one are neighbours in one text."""
        following = index + 1
        if following >= len(self.owner) or self.owner[index] != self.owner[following]:
            return False
        return is_blank(candidates[self.owner[index]].node.text, self.end[index], self.start[following])

    def put_best_first(self) -> None:
        """List the snippets best first; candidates come in their total order, and ties keep it."""
        self.order[:] = best_first(self.score)

    def put_in_order(self, is_part: Sequence[bool]) -> None:
        """Score the snippets of each part that was asked for so that it is read from its beginning."""
        best: dict[int, float] = {}
        for owner, score in zip(self.owner, self.score, strict=True):
            best[owner] = max(score, best.get(owner, score))
        for index, owner in enumerate(self.owner):
            if is_part[owner]:
                self.score[index] = best[owner]
                best[owner] = round(best[owner] - _PART_STEP, SCORE_DECIMALS)


class Slot(Struct, frozen=True):
    """A place on the page that takes items: a section, or one part of one subject of a section.

    `headings` are printed before its first item, outermost first, as (name, tokens); slots may share them.
    `cap` is the fraction of the slot's first budget that one item may cost; it always leaves what the smallest
    excerpt needs. With `relax` it gives way to a short text, and in the end, when nothing else wants the room, to
    all; `max_item_tokens` never does. `quotes` says that whole items print their text, so that one costs at least
    its text's tokens. A slot that `shows_subject` prints what the heading above it names, however often; one that
    `reprints` takes a passage of which less than half stands elsewhere. `groups` names the groups it belongs to,
    outermost first: what it cannot spend goes to the rest of its group first.
    """

    name: str
    candidates: tuple[Candidate, ...]
    share: float = 1.0
    headings: tuple[tuple[str, int], ...] = ()
    limit: int | None = None
    cap: float | None = None
    relax: bool = False
    max_pointers: int | None = None
    ladder: tuple[Detail, ...] = ()
    quotes: bool = True
    max_item_tokens: int | None = None
    shows_subject: bool = False
    reprints: bool = False
    groups: tuple[str, ...] = ()
    snippets: RankedSnippets | None = None
    """The snippets of its candidates, where these are printed by snippet."""

    def limit_of_text(self, share_tokens: float, *, is_code: bool, is_new: bool) -> float:
        """Return what a text that is printed by snippet may cost: with its first snippet, or a further one."""
        if self.cap is None:
            return float("inf")
        cap = share_tokens * self.cap
        most = max(share_tokens - _LEFT_TOKENS, share_tokens * _MIN_BEYOND)
        beyond = max(cap, min(cap * _BEYOND_SHARE, most))
        if is_code:
            # The best snippet of a definition is not passed over for a worse one that is shorter.
            return beyond if is_new else min(cap, share_tokens * _MAX_CODE_SHARE)
        return max(cap, min(beyond, _ANSWER_TOKENS))


class PlacedSlot(Struct, frozen=True):
    """A slot with the section, and for `for_each` the subject and part, that it prints."""

    slot: Slot
    section: Section
    heading: str
    subject: Candidate | None = None
    part: Part | None = None

    @property
    def order(self) -> Order:
        """The order in which its items are printed."""
        return self.part.order if self.part else self.section.order


class Reason(StrEnum):
    """Why a candidate is printed as it is, or not at all; the values are templates for the ledger's text."""

    FITS_WHOLE = "fits whole"
    FITS_AS_PASSAGE = "the passage fits whole"
    FITS_AT_TOP_LEVEL = "fits as {detail}, the most that the section prints of it"
    REDUCED = "reduced to fit: {left}"
    OPENS_FILE = "only its signature, as the one piece of its file"
    PRINTED_ELSEWHERE = "already printed in {slot}"
    ITEM_LIMIT = "the section's limit of {limit} items is reached"
    NOTHING_TO_PRINT = "has nothing to print as {levels}"
    NO_ROOM = "no room: {left}"
    NO_ROOM_NOR_POINTER = "no room: {left}, and the section's limit of {limit} pointers is reached"
    NOT_ASKED_FOR = "not among what the question asks a list of"
    BELOW_FLOOR = "relevance {relevance}, below {floor}"
    PAGE_TOO_SMALL = "no room: the budget is below the smallest page"

    @property
    def wants_room(self) -> bool:
        """Whether the candidate would show more on a page with more room."""
        return self in _WANTING_ROOM


_WANTING_ROOM: Final = frozenset(
    {Reason.REDUCED, Reason.OPENS_FILE, Reason.NO_ROOM, Reason.NO_ROOM_NOR_POINTER, Reason.PAGE_TOO_SMALL}
)


class Outcome(Struct, frozen=True, gc=False):
    """The item that one candidate of a slot became, or None, and why; `explanation` is the reason in words."""

    slot: str
    candidate: Candidate
    item: Item | None
    reason: Reason
    explanation: str


def section_slot(
    plan: Plan,
    section: Section,
    candidates: tuple[Candidate, ...],
    heading_cost: HeadingCost,
    snippets: RankedSnippets | None = None,
) -> PlacedSlot:
    """Return the slot of a section that prints items."""
    heading = fill(section.heading, plan.values)
    slot = Slot(
        name=section.name,
        candidates=candidates,
        share=section.share,
        headings=((section.name, heading_cost("section", heading)),),
        limit=section.limit,
        cap=section.item_cap,
        relax=section.relax,
        max_pointers=section.pointers,
        ladder=_ladder(plan, section.detail),
        quotes=_prints_text(section.blocks),
        # A text may be shown in part by one section, and another part of it by this one.
        reprints=section.unit == "passage",
        snippets=snippets,
    )
    return PlacedSlot(slot, section, heading)


def pointers_slot(beside: PlacedSlot, pointers: tuple[Candidate, ...]) -> PlacedSlot:
    """Return the slot of the related pointers that stand beside a section's items, under its heading."""
    # Everything else, the heading above all, is shared with the section's own slot.
    section = beside.section
    slot = replace(
        beside.slot,
        name=pointers_slot_name(section),
        candidates=pointers,
        share=section.share * _POINTERS_SHARE,
        ladder=(Detail.POINTER,),
    )
    return replace(beside, slot=slot)


def pointers_slot_name(section: Section) -> str:
    """Return the name of the slot of a section's related pointers, as the ledger prints it."""
    return f"{section.name}/asides"


def part_slot(
    plan: Plan, section: Section, filled: SubjectPart, share: float, heading_cost: HeadingCost
) -> PlacedSlot:
    """Return the slot of one part of a subject, under the section's heading."""
    heading = fill(section.heading, plan.values)
    subject, part = filled.subject, filled.part
    # With the tenant, because subjects of two tenants may have one key.
    group = "/".join([section.name, *subject.node.ref])
    slot = Slot(
        name=f"{group}/{part.name}",
        candidates=filled.candidates,
        share=share,
        headings=(
            (section.name, heading_cost("section", heading)),
            (group, heading_cost("group", subject)),
            (f"{group}/{part.name}", heading_cost("part", part.label)),
        ),
        limit=part.limit,
        max_item_tokens=part.item_tokens,
        # The subject itself may be printed already as an item of another section.
        shows_subject=not part.via,
        cap=section.item_cap,
        relax=section.relax,
        max_pointers=section.pointers,
        ladder=_ladder(plan, part.detail),
        quotes=_prints_text(part.blocks),
        # What a part leaves goes to the same subject, and then to the other subjects of the section.
        groups=(section.name, group),
    )
    return PlacedSlot(slot, section, heading, subject, part)


def _prints_text(blocks: Sequence[Block]) -> bool:
    """Return whether items print their text without a limit of their own."""
    return any(
        block.limit is None and not block.fields and (block.block in _QUOTING_BLOCKS or "{text}" in block.form)
        for block in blocks
    )


def _ladder(plan: Plan, detail: tuple[Detail, ...]) -> tuple[Detail, ...]:
    """Return the levels of detail allowed; a very small budget gets names and types only."""
    # An excerpt would take such a page for itself, while names tell a reader what to ask for.
    if plan.prints_names_only:
        return (Detail.POINTER,)
    return detail


Cost = Callable[[Slot, Item], int]
Shorten = Callable[[Candidate, int], tuple[tuple[int, int], ...]]

TextRef = tuple[str, str, tuple[int, int] | None]
"""Tells a candidate's text from all others: tenant and key of its node, and the span if it is only a passage."""


_DOUBTED_TOKENS, _DOUBTED_SHARE = 1_000, 0.5
"""The tokens of a page that may not answer its question, or its share of a larger budget. Where as many questions
have an answer as have none, so have those that come so near the floor."""


_MIN_DOUBTED_TERMS: Final = 6
"""A question of fewer terms stands or falls by them; one of more may share few of them with its answer."""


def doubts(plan: Plan, gathered: Gathered) -> bool:
    """Return whether a question of several words comes near enough to the floor that something may answer it."""
    is_near = plan.doubt <= gathered.relevance < plan.floor
    return is_near and sum(gathered.query.terms.values()) >= _MIN_DOUBTED_TERMS


def doubtful_budget(budget: int | None) -> int:
    """Return the budget of a page that may not answer its question."""
    return max(min(budget or _DOUBTED_TOKENS, _DOUBTED_TOKENS), int(_DOUBTED_SHARE * (budget or 0)))


class PageBudget(Struct):
    """The budget of a page, what is spent of it, which headings and which texts stand on the page so far.

    `repeats` lets one node appear in several slots. `printed_in` names the first slot of each text; those in
    `mostly_shown` are shown for the most part, so that nothing would be gained by printing them again.
    `story_lines` are the lines of stories on the page, by file, each with the key of the node that shows it.
    """

    total: float
    cost: Cost
    shorten: Shorten
    repeats: bool = False
    spent: int = 0
    printed_headings: set[str] = field(default_factory=set)
    printed_in: dict[TextRef, str] = field(default_factory=dict)
    mostly_shown: set[TextRef] = field(default_factory=set)
    story_lines: dict[tuple[str, str], dict[int, str]] = field(default_factory=dict)

    @property
    def remaining(self) -> float:
        """The tokens that may still be spent."""
        return self.total - self.spent

    def shows_story(self, candidate: Candidate, start: int, end: int) -> bool:
        """Return whether another item shows most of a span: what defines a person stands in a scene too."""
        if not _is_of_story(candidate.node):
            return False
        shown, lines = self._story_lines(candidate, start, end)
        others = [line for line in lines if shown.get(line, candidate.node.key) != candidate.node.key]
        return len(others) > _SHOWN_SHARE * len(lines)

    def add_text(self, slot: str, candidate: Candidate, start: int, end: int) -> None:
        """Keep that a slot shows a span of a candidate's text."""
        self.printed_in.setdefault(find_text_ref(candidate), slot)
        if _is_of_story(candidate.node):
            shown, lines = self._story_lines(candidate, start, end)
            for line in lines:
                shown.setdefault(line, candidate.node.key)

    def _story_lines(self, candidate: Candidate, start: int, end: int) -> tuple[dict[int, str], range]:
        """Return the lines of the candidate's file that are shown, and those of a span of its text."""
        node = candidate.node
        first = (node.origin.first_line or 0) + node.text.count("\n", 0, start)
        shown = self.story_lines.setdefault((node.tenant, str(node.origin.file)), {})
        return shown, range(first, first + node.text.count("\n", start, end) + 1)


def _is_of_story(node: Node) -> bool:
    """Return whether a node is a piece of a story, or somebody or something that a story names."""
    return node.origin.first_line is not None and (node.kind in _STORY_KINDS or FOUND_ENTITY in node.key)


def find_text_ref(candidate: Candidate) -> TextRef:
    """Return what tells a candidate's text from all others."""
    passage = candidate.passage or candidate.window
    is_whole = passage == (0, len(candidate.node.text))
    return candidate.node.tenant, candidate.node.key, None if is_whole else passage


# --- records: where nearly all that was found is a paragraph or an abstract, a text is the unit ----------------


# Of a long text a page prints the snippets that matter, because most of it is about other things. A record of a
# few hundred tokens was written as one thing: its sentences lean on each other, and its own score knows more than
# that of a sentence, namely what better records say already.
_MAX_RECORD_TOKENS: Final = 500
"""The tokens of the longest record: an abstract, a section of a form, an answer of a help desk."""
_MIN_RECORD_SHARE: Final = 0.9
"""The share of records among the candidates from which on they are ranked as such. The scores of wholes and of
snippets do not compare: where both stand side by side, all are snippets."""
_MAX_PAGE_SHARE: Final = 0.1
"""The share of the page that a record takes at most in the mean. On a page of fewer than ten records, snippets of
more of them answer more questions."""
_HEADING_TOKENS: Final = 10
"""The guess for what a page spends on a record beside its text."""
_PART_FACTOR: Final = 0.1
"""The factor for parts of a record that does not fit whole: they fill what whole records leave."""
_PIECES: Final = frozenset({"commit", "message", "scene"})
"""Kinds that are pieces of something longer, or say little in most of their words."""


def are_records(candidates: Sequence[Candidate], budget: int) -> bool:
    """Return whether nearly all candidates are records, of which a page of this budget holds several."""
    records = [candidate.text_tokens or 0 for candidate in candidates if is_record(candidate)]
    if not records or len(records) < _MIN_RECORD_SHARE * len(candidates):
        return False
    # A part that the shape of the question asks for is ranked by itself.
    if any(candidate.parts.get("shape") for candidate in candidates):
        return False
    return sum(records) <= _MAX_PAGE_SHARE * budget * len(records)


def is_record(candidate: Candidate) -> bool:
    """Return whether a candidate is a short text of its own, not a piece of something and not code."""
    node, tokens = candidate.node, candidate.text_tokens or 0
    is_whole = candidate.window is None and node.kind not in _PIECES and not is_code(node.language)
    return is_whole and 0 < tokens <= _MAX_RECORD_TOKENS and bool(node.text.strip())


def score_records(snippets: RankedSnippets, candidates: Sequence[Candidate], budget: int) -> RankedSnippets:
    """Return the records that the budget holds as one snippet each, with its own score; of other texts, the best
    snippet has the score of its text."""
    best: dict[int, float] = {}
    for owner, score in zip(snippets.owner, snippets.score, strict=True):
        best[owner] = max(score, best.get(owner, 0.0))
    is_short = [is_record(candidate) for candidate in candidates]
    whole = _choose_whole(candidates, is_short, budget)
    scores = [candidate.score for candidate in candidates]
    rows: list[tuple[int, int, int, int, float]] = []
    last = -1
    for owner, start, end, tokens, score in zip(
        snippets.owner, snippets.start, snippets.end, snippets.tokens, snippets.score, strict=True
    ):
        if owner not in whole:
            share = score / best[owner] if best[owner] > 0 else 0.0
            share *= _PART_FACTOR if is_short[owner] else 1.0
            rows.append((owner, start, end, tokens, round(share * scores[owner], SCORE_DECIMALS)))
        # All snippets of a candidate stand together, and the first one stands for all.
        elif last != owner:
            text, tokens = candidates[owner].node.text, candidates[owner].text_tokens or 0  # noqa: PLW2901
            rows.append((owner, 0, len(text), tokens, round(scores[owner], SCORE_DECIMALS)))
        last = owner
    owners, starts, ends, tokens_of, scores_of = zip(*rows, strict=True) if rows else ((),) * 5
    return RankedSnippets([*owners], [*starts], [*ends], [*tokens_of], [*scores_of], [])


def _choose_whole(candidates: Sequence[Candidate], is_short: Sequence[bool], budget: int) -> set[int]:
    """Return the records that the budget holds, the best first; parts of others fill what is left."""
    whole: set[int] = set()
    for index, candidate in enumerate(candidates):
        tokens = (candidate.text_tokens or 0) + _HEADING_TOKENS
        if tokens <= budget and is_short[index]:
            whole.add(index)
            budget -= tokens
    return whole
