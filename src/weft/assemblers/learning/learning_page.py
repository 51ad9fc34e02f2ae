"""Make one page of all searches' answers: choose the best results, cut them to their cap, fit and print them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.assemblers.learning.item_cutter import MIN_CAP_TOKENS, ItemCutter
from weft.assemblers.learning.results import (
    Answer,
    ContextItem,
    FormattedContext,
    read_candidates,
    read_metadata,
    warn,
)
from weft.model import Candidate, Context, Item, Request
from weft.pipeline.assemble import assemble
from weft.pipeline.query import Reading
from weft.pipeline.score import score
from weft.ports import TokenCounter
from weft.profiles.types import Profile, Section
from weft.store.empty import EmptyIndex, EmptySnapshot
from weft.tokens import counter_for

_MAX_ITEM_FRACTION: Final = 0.25
"""The part of its source's budget that one item may cost, as the design fixes it."""
_CONSIDERED_FACTOR: Final = 1.5
"""The factor by which more is considered than fits: some of it repeats other items and is left out."""

_TRUNCATED: Final = "*(truncated"
"""How the note begins that ends a shortened item."""

Found = Mapping[str, Sequence[Candidate]]
"""The candidates of each search, by its name, which is also that of its probe."""


class PageBuilder(Struct, frozen=True):
    """The builder of one page: its profile, budget and clock, and the source of the items of each search."""

    profile: Profile
    request: Request
    sources: Mapping[str, str]
    now: datetime

    def build(self, answers: Sequence[Answer]) -> FormattedContext:
        """Return the page and its items, with a note for each source that failed."""
        count, _ = counter_for(self.request.token_model)
        cutters = {
            answer.name: ItemCutter.for_section(self.sources[answer.name], self._section(answer.name), count)
            for answer in answers
        }
        notes = tuple(f"{answer.name}: {answer.failure}." for answer in answers if answer.failure)
        found = {answer.name: self._read(answer) for answer in answers}
        considered = self._choose_considered(found, cutters)
        # Printing every item to count it takes longer than the page itself. So only those that look long are cut
        # at first, by about what they cost, and if one turns out to cost more than its cap, all are counted.
        for exact in (False, True):
            candidates = [
                candidate
                for name, estimated in considered.items()
                for candidate in self._cut(name, estimated, cutters[name], exact)
            ]
            if not candidates:
                return FormattedContext(notes=notes)
            context = self._assemble(candidates, count)
            printed = list(printed_items(context))
            if exact or not self._exceeds_cap(printed, count):
                break
        items = sorted(self._make_items(printed, found), key=lambda item: -item.relevance)
        return FormattedContext(
            markdown=context.text,
            items=items,
            token_count=context.tokens,
            sources_used=dict(Counter(item.source for item in items)),
            # Nothing was searched or walked for this page, so its only notes are those on its budget.
            notes=(*notes, *context.notes, *self._note_cut(found, items)),
        )

    def _note_cut(self, found: Found, items: Sequence[ContextItem]) -> tuple[str, ...]:
        """Return a note on what was found and is not, or not wholly, on the page; the log gets the numbers too."""
        printed = Counter(item.source for item in items)
        total = Counter(self.sources[name] for name, candidates in found.items() for _ in candidates)
        left_out = {source: total[source] - printed[source] for source in total if total[source] > printed[source]}
        shortened = sum(_TRUNCATED in item.content for item in items)
        if not left_out and not shortened:
            return ()
        warn("items_cut", left_out=left_out, shortened=shortened, max_tokens=self._budget)
        counts = ", ".join(f"{count} of {total[source]} ({source})" for source, count in left_out.items())
        parts = [f"left out: {counts}"] if left_out else []
        parts += [f"shortened: {shortened}"] if shortened else []
        return (f"Of what was found, {'; '.join(parts)}.",)

    def _read(self, answer: Answer) -> tuple[Candidate, ...]:
        source, limit = self.sources[answer.name], self._section(answer.name).limit
        return read_candidates(source, answer.results, answer.name)[:limit]

    def _section(self, probe: str) -> Section:
        return next(section for section in self.profile.sections if probe in section.probes)

    @property
    def _budget(self) -> int:
        return self.request.max_tokens if isinstance(self.request.max_tokens, int) else 0

    def _cap(self, probe: str) -> int:
        """Return what one item may cost: a quarter of what its source gets before anything is redistributed."""
        # By source: sections of one source, as in a premortem, count as one share.
        shares = {self.sources[section.probes[0]]: section.share for section in self.profile.sections}
        return int(_MAX_ITEM_FRACTION * self._section(probe).share / sum(shares.values()) * self._budget)

    def _choose_considered(
        self, found: Found, cutters: Mapping[str, ItemCutter]
    ) -> dict[str, list[tuple[Candidate, int]]]:
        """Return the best candidates of each search with their estimated costs, as many as may fit.

        That is the share of their section, and what the other sections leave of theirs.
        """
        ranked = {name: self._rank(name, candidates) for name, candidates in found.items() if candidates}
        costs = {name: self._estimate(name, candidates, cutters[name]) for name, candidates in ranked.items()}
        parts = {name: self._section(name).share for name in ranked}
        shares = {name: self._budget * part / sum(parts.values()) for name, part in parts.items()}
        spare = sum(max(share - sum(costs[name]), 0.0) for name, share in shares.items())
        return {
            name: [
                (candidate, cost)
                for candidate, cost, spent_before in zip(
                    candidates, costs[name], accumulate(costs[name], initial=0), strict=False
                )
                if spent_before < _CONSIDERED_FACTOR * (shares[name] + spare)
            ]
            for name, candidates in ranked.items()
        }

    def _rank(self, probe: str, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates, each key once, in the order in which the page will place them."""
        rule = self._section(probe).score or self.profile.score
        # Reversed, so that of two results with one key the better, which comes first, is kept.
        by_key = {candidate.node.key: candidate for candidate in reversed(candidates)}
        relevant = [
            candidate
            if "relevance" in candidate.parts
            else replace(candidate, parts={"relevance": candidate.score, **candidate.parts})
            for candidate in by_key.values()
        ]
        scored = score(relevant, rule, self.profile.lenses[0], self.now, ())
        return [by_key[candidate.node.key] for candidate in scored]

    def _estimate(self, probe: str, candidates: Sequence[Candidate], cutter: ItemCutter) -> list[int]:
        # Just above the cap an item will be cut, so that it never costs more than this.
        most = max(self._cap(probe), MIN_CAP_TOKENS) + 1
        return [min(cutter.estimate(candidate), most) for candidate in candidates]

    def _cut(
        self, probe: str, estimated: Sequence[tuple[Candidate, int]], cutter: ItemCutter, exact: bool
    ) -> Iterator[Candidate]:
        """Cut the candidates to their cap: all of them exactly, or only those that look long, approximately."""
        cap = self._cap(probe)
        for candidate, cost in estimated:
            fitting = cutter.cut(candidate, cap, exact=exact) if exact or cost > cap else candidate
            if fitting is not None:
                yield fitting

    def _assemble(self, candidates: Sequence[Candidate], count: TokenCounter) -> Context:
        reading = Reading(EmptySnapshot(tuple(candidate.node for candidate in candidates)), EmptyIndex(), None)
        request = replace(self.request, candidates=tuple(candidates))
        return assemble(request, self.profile, reading, count, self.now)

    def _exceeds_cap(self, printed: Sequence[tuple[Item, str]], count: TokenCounter) -> bool:
        """Return whether an item costs more than its cap.

        The page's own counts are at most a token or two too high, so only items above the cap are counted again.
        """
        capped = [(max(self._cap(item.candidate.probe), MIN_CAP_TOKENS), item, text) for item, text in printed]
        return any(item.tokens > cap and count.count(text) > cap for cap, item, text in capped)

    def _make_items(self, printed: Sequence[tuple[Item, str]], found: Found) -> Iterator[ContextItem]:
        """Yield the printed items with the facts about each as they were before it was cut."""
        whole = {(each.probe, each.node.key): each.node for candidates in found.values() for each in candidates}
        for item, text in printed:
            probe, source = item.candidate.probe, self.sources[item.candidate.probe]
            facts = read_metadata(source, whole[probe, item.candidate.node.key])
            yield ContextItem(source, text, round(min(item.candidate.score, 1.0), 6), facts)


def printed_items(context: Context) -> Iterator[tuple[Item, str]]:
    """Yield the items of a page without groups, in order, each with the lines that the page prints of it."""
    lines = context.text.split("\n")
    ranges = [((entry.tenant, entry.key), entry.last_line - entry.first_line + 1) for entry in context.manifest]
    owners = [owner for owner, length in ranges for _ in range(length)]
    items = [item for section in context.page.sections for item in section.items]
    starts: list[int] = []
    for item in items:
        starts.append(owners.index(item.candidate.node.ref, starts[-1] + 1 if starts else 0))
    for item, start, end in zip(items, starts, [*starts[1:], len(lines)], strict=False):
        last = max(index for index in range(start, end) if owners[index] == item.candidate.node.ref)
        # The line that closes a fence belongs to the frame, and follows directly.
        while last + 1 < end and owners[last + 1] == (None, None) and lines[last + 1].strip():
            last += 1
        yield item, "\n".join(lines[start : last + 1])
