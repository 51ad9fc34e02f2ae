"""Rank the snippets of a section's candidates, and fill a slot with the best, whichever text they stand in.

A snippet alone is too short to be found by, and a passage too long to be printed for one sentence of it. Both
are measured, by words and by meaning, and what was found out about the node (walk, bridge, name) is added.
Snippets of one text become one item in reading order, under one heading. What a snippet costs is known from its
stored count: only headings are printed to be counted.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from weft.model import Candidate, Detail, Item
from weft.pipeline.neighbours import choose_passages
from weft.pipeline.query import Query, read_cosines, sum_gains
from weft.pipeline.score import score_besides_match, score_factor, weigh_texts
from weft.pipeline.shape_phrases import Shape
from weft.pipeline.slot_filler import MIN_ITEM_TOKENS, UNLIMITED, SlotFiller
from weft.pipeline.slots import Outcome, PageBudget, RankedSnippets, Reason, Slot, find_text_ref
from weft.ports import PassageRow, Snapshot
from weft.profiles.types import Fusion
from weft.scoring.bm25 import TermColumns, score_terms
from weft.scoring.snippets import (
    SCORE_DECIMALS,
    SnippetColumns,
    raise_below_headings,
    share_of_best,
    snippet_cosines,
    stretch,
    unpack_snippets,
)
from weft.text import find_end_without_opening, is_blank, is_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.pipeline.query import Floats

    Integers = NDArray[np.int64]


_OWN_SHARE: Final = 0.5
"""The share of a snippet itself in its words and its meaning; its passage has the rest. Alone, either answers
fewer questions."""
_NAMED_BRIDGE_FACTOR: Final = 2.0
"""The factor for the bridge where the question mentions names: what these lead to holds few words of the
question, and would lie below texts that only repeat them. Without names a bridge is as often a lookalike."""
_SHORT_TEXT_TOKENS: Final = 160
"""A text of so few tokens is printed whole or not at all: a note, a turn of a chat, a small function."""
_SHORT_PART_CHARACTERS: Final = 600
"""The same for a part of a text that was asked for, whose tokens are not counted: a paragraph or two."""
_ENDLESS: Final = 2**62
"""Stands for the end of a text where all of it counts."""

_MAX_COMPLETED_TOKENS: Final = 500
"""A longer text is never completed."""
_COMPLETED_SHARE: Final = 0.5
"""A text of which so much is printed is printed whole, before other texts get more room: a few gaps save little
and cost a reader the thread."""
_MIN_FIRST_TOKENS: Final = 20
"""A part of a text with fewer tokens is printed only beside others: alone it is a fragment."""
_GAP_TOKENS: Final = 4
"""The most that the mark for left-out text costs."""
_JOIN_TOKENS: Final = 1
"""The cost of joining a snippet to the one before it."""
_MAX_SAVED_TOKENS: Final = _GAP_TOKENS - _JOIN_TOKENS
"""How much less than its own tokens a snippet can cost: between two others it takes away the mark of a gap."""
_CHARACTERS_PER_TOKEN: Final = 4
"""The guess for snippets that were stored without a count."""
_MAX_LINE: Final = 120
"""Characters of a line before a snippet of code that are shown with it; a longer one is data or prose."""
_FLOW_PART: Final = f"shape_{Shape.FLOW}"
_DEFINITION_PART: Final = f"shape_{Shape.DEFINITION}"
_LEADING_MARKS: Final = (":", "?")
"""A snippet that ends in one of these leads to the next: a list, an example, an answer."""


def score_snippets(
    candidates: Sequence[Candidate],
    query: Query,
    fusion: Fusion,
    weights: Mapping[str, float],
    snapshot: Snapshot,
    prints_fields: bool = False,
) -> RankedSnippets:
    """Score the snippets of the candidates' passages that speak to the question, or of all where none does.

    Where a section `prints_fields`, candidates without a text are ranked too.
    """
    passages, owners = choose_passages(candidates, snapshot)
    embedder = snapshot.embedder()
    stored = snapshot.snippets([row.id for row in passages])
    columns = unpack_snippets(passages, stored, embedder[0] if embedder else None)
    owner = np.array(owners, dtype=np.int64)[columns.passage]
    words = _match_words(columns, passages, query, fusion)
    meaning = _match_meaning(columns, passages, query, snapshot)
    measured = fusion.snippet_lexical * words + fusion.snippet_semantic * meaning
    factors = np.array([score_factor(candidate, weights) for candidate in candidates])
    others = np.array(list(map(score_besides_match, candidates, repeat(weights), factors.tolist())))
    if query.mentions_names:
        bridges = [candidate.parts.get("bridge", 0.0) for candidate in candidates]
        others += (_NAMED_BRIDGE_FACTOR - 1) * weights.get("bridge", 0.0) * factors * np.array(bridges)
    prose, heads = weigh_texts(candidates, owner.tolist(), columns.start.tolist(), columns.end.tolist())
    score = factors[owner] * measured * prose * heads + others[owner]
    # What a shape wants of a text is wanted for its own sake, the rest of the text is not.
    shaped = np.array([weights.get("shape", 0.0) * candidate.parts.get("shape", 0.0) for candidate in candidates])
    if shaped.any():
        score -= np.where(_is_wanted(candidates, owner, columns), 0.0, shaped[owner])
    # In code, a line with `#` is a comment.
    texts = ["" if is_code(candidate.node.language) else candidate.node.text for candidate in candidates]
    score = raise_below_headings(np.round(score, SCORE_DECIMALS), texts, owner, columns)
    found = _scored(candidates, columns, owner, np.round(score, SCORE_DECIMALS))
    return _add_textless(found, candidates, fusion, others.tolist()) if prints_fields else found


def _add_textless(
    found: RankedSnippets, candidates: Sequence[Candidate], fusion: Fusion, others: Sequence[float]
) -> RankedSnippets:
    """Add the candidates that are a name with fields, measured as a whole: an item of an outline has no text."""
    for owner, candidate in enumerate(candidates):
        if not candidate.node.text.strip():
            words = fusion.snippet_lexical * candidate.parts.get("lexical", 0.0)
            meaning = fusion.snippet_semantic * candidate.parts.get("semantic", 0.0)
            found.owner.append(owner)
            found.start.append(0)
            found.end.append(0)
            found.tokens.append(0)
            found.score.append(round(words + meaning + others[owner], SCORE_DECIMALS))
    return found


def _is_wanted(candidates: Sequence[Candidate], owner: "Integers", columns: SnippetColumns) -> "NDArray[np.bool_]":
    """Return which snippets stand in the part that was asked for, where only a part of their text was."""
    spans = [candidate.spans[0] if candidate.spans else (0, _ENDLESS) for candidate in candidates]
    asked = np.array(spans, dtype=np.int64).reshape(-1, 2)[owner]
    return (columns.start < asked[:, 1]) & (asked[:, 0] < columns.end)


def _scored(
    candidates: Sequence[Candidate], columns: SnippetColumns, owner: "Integers", score: "Floats"
) -> RankedSnippets:
    """Return the snippets with their scores; a short text is one snippet, as good as its best one."""
    windows = [candidate.window for candidate in candidates]
    start, end, tokens = columns.start, columns.end, columns.tokens
    if any(windows):
        limits = np.array([window or (0, _ENDLESS) for window in windows], dtype=np.int64)[owner]
        start, end = np.maximum(start, limits[:, 0]), np.minimum(end, limits[:, 1])
        # The count of a part that was cut out for the question is not stored.
        tokens = np.where(np.array([window is None for window in windows])[owner], tokens, 0)
        inside = start < end
        owner, start, end, tokens = (each[inside] for each in (owner, start, end, tokens))
        score = score[inside]
    is_short = [_stays_together(candidate.text_tokens, candidate.window) for candidate in candidates]
    follows = np.append(False, owner[1:] == owner[:-1]) & np.array(is_short, dtype=np.bool_)[owner]
    first = np.flatnonzero(~follows)
    if len(first):
        owner, start, end = owner[first], start[first], end[np.append(first[1:], len(end)) - 1]
        score, tokens = np.maximum.reduceat(score, first), tokens[first]
    whole = [
        candidate.text_tokens or 0 if short and candidate.window is None else 0
        for candidate, short in zip(candidates, is_short, strict=True)
    ]
    own_tokens = np.array(whole, dtype=np.int64)[owner]
    tokens = np.where(own_tokens > 0, own_tokens, tokens)
    found = RankedSnippets(owner.tolist(), start.tolist(), end.tolist(), tokens.tolist(), score.tolist(), [])
    if any(windows):
        found.put_in_order([window is not None for window in windows])
    return found


def _stays_together(text_tokens: int | None, window: tuple[int, int] | None) -> bool:
    """Return whether a text, or the part of it that was asked for, is short enough to be one snippet."""
    if window is not None:
        return window[1] - window[0] <= _SHORT_PART_CHARACTERS
    return text_tokens is not None and text_tokens <= _SHORT_TEXT_TOKENS


def _match_words(
    columns: SnippetColumns, passages: Sequence[PassageRow], query: Query, fusion: Fusion
) -> "Floats":
    """Return how well each snippet and its passage match the words of the question, from 0 to 1."""
    own = _score(columns.terms, query, fusion)
    around = _score(TermColumns.of(passages), query, fusion)
    return _OWN_SHARE * share_of_best(own) + (1 - _OWN_SHARE) * share_of_best(around)[columns.passage]


def _score(texts: TermColumns, query: Query, fusion: Fusion) -> "Floats":
    # Their own mean length: a snippet must not look short beside passages.
    mean = float(texts.lengths.sum()) / max(len(texts.lengths), 1)
    statistics = replace(query.statistics, mean_length=mean)
    return sum_gains(score_terms(texts, query.terms, statistics, fusion.title_weight))


def _match_meaning(
    columns: SnippetColumns, passages: Sequence[PassageRow], query: Query, snapshot: Snapshot
) -> "Floats":
    """Return how near each snippet and its passage are to the question, from 0 for the farthest to 1."""
    if query.vector is None:
        return np.zeros(len(columns.start))
    around = read_cosines(passages, {}, query, snapshot)[columns.passage]
    own = snippet_cosines(columns, query.vector)
    if query.quality_vector is not None:
        from weft.pipeline.quality import blend_snippets

        own = blend_snippets(own, columns, [row.id for row in passages], query.quality_vector, snapshot)
    own = np.where(np.isnan(own), around, own)
    return _OWN_SHARE * stretch(own) + (1 - _OWN_SHARE) * stretch(around)


# --- filling a slot ----------------------------------------------------------------------------------------


class SnippetFiller(Struct):
    """A slot and the snippets that stand in it; `share_tokens` is its first budget."""

    slot: Slot
    page: PageBudget
    share_tokens: float
    snippets: RankedSnippets
    chosen: set[int] = field(default_factory=set)
    item_tokens: dict[int, int] = field(default_factory=dict)
    """The cost of each candidate's item, by the candidate's index."""
    names_only: SlotFiller | None = None
    """Fills the slot instead where there is no room for a single snippet."""
    spent_on_snippets: int = 0
    code: list[bool] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)
    """The definitions that the question asks for of which nothing stands yet, by their candidates' indexes."""
    signed: set[int] = field(default_factory=set)
    """The definitions of which the signature was placed by itself."""

    def __post_init__(self) -> None:
        """Look up once which candidates are code, and which of them are asked for."""
        self.code = [is_code(candidate.node.language) for candidate in self.slot.candidates]
        asked = [_DEFINITION_PART in candidate.parts for candidate in self.slot.candidates]
        self.missing = {owner for owner, is_asked in enumerate(asked) if is_asked and self.code[owner]}

    @property
    def spent(self) -> int:
        """The tokens of its items, and of the headings that it was the first to need."""
        return self.spent_on_snippets + (self.names_only.spent if self.names_only else 0)

    def units(self) -> Iterator[tuple[float, int]]:
        """Yield score and index of everything that can be placed."""
        yield from ((self.snippets.score[index], index) for index in self.snippets.order)

    def offer(self, tokens: float, *, relaxed: bool = False) -> None:
        """Offer so many tokens, if the page has them, to every snippet in turn."""
        end = self.spent + min(tokens, self.page.remaining)
        if self.names_only is None:
            for index in self.snippets.order:
                left = end - self.spent_on_snippets
                if left < MIN_ITEM_TOKENS:
                    return
                # Most snippets stand already, or are too long for what is left, even if they close gaps.
                may_fit = self.snippets.tokens[index] <= left + _MAX_SAVED_TOKENS
                if index not in self.chosen and (may_fit or self.snippets.owner[index] in self.missing):
                    self.try_place(index, left, relaxed=relaxed)
        if not self.item_tokens:
            self.names_only = self.names_only or SlotFiller(self.slot, self.page, self.share_tokens)
            self.names_only.offer(end - self.spent, relaxed=relaxed)

    def try_place(self, index: int, tokens: float, *, relaxed: bool = False) -> None:
        """Place a snippet if the tokens pay for it, and with it the next one, if it leads to that."""
        end = self.spent + tokens
        if index in self.chosen:
            return
        if self._is_above_signature(index):
            self._place_signature(index, tokens)
        if not self._place(index, end - self.spent, relaxed=relaxed):
            self._place_signature(index, tokens)
            return
        following = index + 1
        if self._leads_on(index) and following not in self.chosen and self._adjoins(index):
            self._place(following, tokens - self._cost(index), relaxed=relaxed)
        self._complete(self.snippets.owner[index], end - self.spent, relaxed=relaxed)

    def _complete(self, owner: int, tokens: float, *, relaxed: bool) -> None:
        """Place the rest of a text of which most is printed, if the tokens pay for all of it."""
        whole = self.slot.candidates[owner].text_tokens
        if whole is None or whole > _MAX_COMPLETED_TOKENS or self.item_tokens[owner] < _COMPLETED_SHARE * whole:
            return
        # Of a step of a flow, the lines that call on are wanted, and then the next step.
        if _FLOW_PART in self.slot.candidates[owner].parts and not relaxed:
            return
        # The snippets of a text stand together.
        first, last = bisect_left(self.snippets.owner, owner), bisect_right(self.snippets.owner, owner)
        rest = [index for index in range(first, last) if index not in self.chosen]
        if sum([self.snippets.tokens[index] + _JOIN_TOKENS for index in rest]) <= min(tokens, self.page.remaining):
            for index in rest:
                self._place(index, tokens, relaxed=relaxed)

    def _place(self, index: int, tokens: float, *, relaxed: bool) -> bool:
        owner = self.snippets.owner[index]
        is_new = owner not in self.item_tokens
        cost, tokens = self._cost(index), min(tokens, self.page.remaining)
        if cost > tokens:
            return False
        shown = self.slot.candidates[owner], self.snippets.start[index], self.snippets.end[index]
        may_stand = self._may_begin(owner, index) if is_new else self._may_follow(index)
        if not may_stand or self.page.shows_story(*shown):
            return False
        headings = self._headings() if is_new else 0
        frame = self._frame(owner, shown[1]) if is_new else 0
        total, item_tokens = cost + frame + headings, self.item_tokens.get(owner, frame) + cost
        limit = self.slot.limit_of_text(self.share_tokens, is_code=self.code[owner], is_new=is_new)
        if total > tokens or (not relaxed and item_tokens > limit):
            return False
        self.chosen.add(index)
        self._book(shown, owner, item_tokens, total)
        return True

    def _place_signature(self, index: int, tokens: float) -> None:
        """Place the bare signature of a missing definition, if its best snippet is too long or a comment."""
        owner = self.snippets.owner[index]
        signature = self._signature_before(owner, _ENDLESS)
        if owner not in self.missing or signature is None or not self._may_begin(owner, index):
            return
        frame, headings = self._frame(owner, _ENDLESS), self._headings()
        if frame + headings <= min(tokens, self.page.remaining):
            self.signed.add(owner)
            self._book((self.slot.candidates[owner], *signature), owner, frame, frame + headings)

    def _is_above_signature(self, index: int) -> bool:
        """Return whether a snippet is a comment above the signature of a definition that is still to be shown."""
        signature = self._signature_before(self.snippets.owner[index], _ENDLESS)
        return signature is not None and self.snippets.end[index] <= signature[0]

    def _headings(self) -> int:
        """Return the cost of the headings that an item here is the first to need."""
        return sum([cost for name, cost in self.slot.headings if name not in self.page.printed_headings])

    def _book(self, shown: tuple[Candidate, int, int], owner: int, item_tokens: int, total: int) -> None:
        """Note on the page what is shown of a candidate, and its cost."""
        self.missing.discard(owner)
        self.item_tokens[owner] = item_tokens
        self.spent_on_snippets += total
        self.page.spent += total
        self.page.printed_headings.update([name for name, _ in self.slot.headings])
        self.page.add_text(self.slot.name, *shown)

    def _may_begin(self, owner: int, index: int) -> bool:
        if self.slot.limit is not None and len(self.item_tokens) >= self.slot.limit:
            return False
        candidate = self.slot.candidates[owner]
        if self.snippets.tokens[index] < min(_MIN_FIRST_TOKENS, candidate.text_tokens or 0):
            return False
        # The line that opens a class, whose definitions are found by themselves, tells nobody anything.
        text = candidate.node.text.strip()
        is_bare = self.code[owner] and text.endswith((":", "{")) and "\n" not in text
        if is_bare and not candidate.members and not candidate.parts.get("shape"):
            return False
        return self.page.repeats or find_text_ref(candidate) not in self.page.printed_in

    def _may_follow(self, index: int) -> bool:
        """Return whether a further part of a text may be printed: not between two gaps if it is a fragment."""
        return not 0 < self.snippets.tokens[index] < _MIN_FIRST_TOKENS or self._count_joined(index) > 0

    def _count_joined(self, index: int) -> int:
        """Count the snippets right before and behind this one that are printed: 0, 1 or 2."""
        before = index - 1 in self.chosen and self._adjoins(index - 1)
        return before + (index + 1 in self.chosen and self._adjoins(index))

    def _cost(self, index: int) -> int:
        """Return what a snippet adds to the page: its tokens, and the mark of a gap where it makes one."""
        snippets = self.snippets
        tokens = snippets.tokens[index] or (snippets.end[index] - snippets.start[index]) // _CHARACTERS_PER_TOKEN
        # A record, which is longer than any other snippet: what a page has beside it is known.
        is_whole = _SHORT_TEXT_TOKENS < tokens == self.slot.candidates[snippets.owner[index]].text_tokens
        return tokens + _JOIN_TOKENS + (0 if is_whole else _GAP_TOKENS * (1 - self._count_joined(index)))

    def _frame(self, owner: int, start: int) -> int:
        """Return the cost of an item that begins here, besides its snippets: its heading, and its signature."""
        signature = self._signature_before(owner, start)
        key = owner, signature is not None
        frames = self.snippets.frames
        if key not in frames:
            spans = (signature,) if signature else ()
            frames[key] = self.page.cost(self.slot, Item(self.slot.candidates[owner], Detail.EXCERPT, spans))
        return frames[key]

    def _signature_before(self, owner: int, start: int) -> tuple[int, int] | None:
        """Return the signature of a definition if a part that begins here does not hold it."""
        signature = self.snippets.signature_of(owner, self.slot.candidates[owner])
        return signature if signature is not None and signature[1] <= start else None

    def _adjoins(self, index: int) -> bool:
        return self.snippets.adjoins_next(index, self.slot.candidates)

    def _leads_on(self, index: int) -> bool:
        text = self.slot.candidates[self.snippets.owner[index]].node.text
        return text[: self.snippets.end[index]].rstrip().endswith(_LEADING_MARKS)

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each candidate, when all is placed."""
        if self.names_only is not None:
            yield from self.names_only.outcomes()
            return
        spans = self._spans()
        left = f"{max(int(self.page.remaining), 0)} tokens left" if self.page.total != UNLIMITED else ""
        explain = cache(lambda reason, slot: reason.format(left=left, limit=self.slot.limit, slot=slot))
        for owner, candidate in enumerate(self.slot.candidates):
            item, elsewhere = None, ""
            if owner in spans:
                whole = self._is_whole(owner, spans[owner])
                detail = Detail.WHOLE if whole else Detail.EXCERPT
                item = Item(candidate, detail, () if whole else tuple(spans[owner]), self.item_tokens[owner])
                reason = Reason.FITS_WHOLE if whole else Reason.REDUCED
            elif self.slot.limit is not None and len(spans) >= self.slot.limit:
                reason = Reason.ITEM_LIMIT
            elif not self.page.repeats and (elsewhere := self.page.printed_in.get(find_text_ref(candidate), "")):
                reason = Reason.PRINTED_ELSEWHERE
            else:
                reason = Reason.NO_ROOM
            yield Outcome(self.slot.name, candidate, item, reason, explain(reason, elsewhere))

    def _spans(self) -> dict[int, list[tuple[int, int]]]:
        """Return the printed spans by candidate, neighbours as one."""
        spans: dict[int, list[tuple[int, int]]] = {owner: [] for owner in self.signed}
        last = -2
        for index in sorted(self.chosen):
            own = spans.setdefault(self.snippets.owner[index], [])
            if own and last == index - 1 and self._adjoins(last):
                own[-1] = (own[-1][0], self.snippets.end[index])
            else:
                own.append((self.snippets.start[index], self.snippets.end[index]))
            last = index
        for owner, own in spans.items():
            text = self.slot.candidates[owner].node.text
            if not self.code[owner]:
                own[:] = [(start, find_end_without_opening(text, start, end)) for start, end in own]
                continue
            # A sentence of a comment may begin in the middle of a line, which code never does.
            own[:] = [(text.rfind("\n", max(at - _MAX_LINE, 0), at) + 1 or at, end) for at, end in own]
            signature = self._signature_before(owner, _ENDLESS if owner in self.signed else own[0][0])
            if signature is not None and not any(start <= signature[0] < end for start, end in own):
                own.append(signature)
                own.sort()
        return spans

    def _is_whole(self, owner: int, spans: list[tuple[int, int]]) -> bool:
        text = self.slot.candidates[owner].node.text
        start, end = spans[0]
        return len(spans) == 1 and is_blank(text, 0, start) and is_blank(text, end, len(text))
