"""What searchers found becomes one page: the best of it considered, cut to its cap, fitted and told."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from typing import Final

from weft.assemblers.learning.cut_items import LEAST, Scissors
from weft.assemblers.learning.found import ContextItem, FormattedContext, candidates_of, metadata_of
from weft.assemblers.learning.searches import Answer
from weft.frozen import dataclass
from weft.model import Candidate, Context, Item, Request
from weft.pipeline.assemble import assemble
from weft.pipeline.reading import Desk
from weft.pipeline.score import score
from weft.ports import TokenCounter
from weft.profiles.types import Profile, Section
from weft.scoring.candidates import told
from weft.store.empty import HandedIndex, HandedSnapshot
from weft.tokens import counter_for

_ITEM_SHARE: Final = 0.25
_MARGIN: Final = 1.5
"""How much more than has room is looked at: some of it will repeat what is told already."""

Found = Mapping[str, Sequence[Candidate]]
"""What was found, by the probe of the section it goes to."""


@dataclass(frozen=True, slots=True)
class PageMaker:
    """One page to be made: its profile, budget and clock, and what the items of each probe are called."""

    profile: Profile
    request: Request
    sources: Mapping[str, str]
    now: datetime

    def formatted(self, answers: Sequence[Answer]) -> FormattedContext:
        """The page and its items; of a source that failed, a note."""
        count, _ = counter_for(self.request.token_model)
        scissors = {
            answer.name: Scissors.of(self.sources[answer.name], self._section(answer.name), count)
            for answer in answers
        }
        notes = tuple(f"{answer.name}: {answer.failure}." for answer in answers if answer.failure)
        found = {answer.name: self._found(answer) for answer in answers}
        considered = self._considered(found, scissors)
        # Printing every item to count it takes longer than the page itself. So only those that look long are cut
        # at first, by about what they cost, and where one turns out to cost more than its cap, all are counted.
        for exact in (False, True):
            candidates = [
                each for name, mine in considered.items() for each in self._cut(name, mine, scissors[name], exact)
            ]
            if not candidates:
                return FormattedContext(notes=notes)
            context = self._page(candidates, count)
            shown = list(contents_of(context))
            if exact or not self._exceeds(shown, count):
                break
        items = sorted(self._items(shown, found), key=lambda each: -each.relevance)
        return FormattedContext(
            markdown=context.text,
            items=items,
            token_count=context.tokens,
            sources_used=dict(Counter(item.source for item in items)),
            notes=(*notes, *(note for note in context.notes if "budget" in note)),
        )

    def _found(self, answer: Answer) -> tuple[Candidate, ...]:
        source, limit = self.sources[answer.name], self._section(answer.name).limit
        return candidates_of(source, answer.found, answer.name)[:limit]

    def _section(self, probe: str) -> Section:
        return next(each for each in self.profile.sections if probe in each.probes)

    @property
    def _budget(self) -> int:
        return self.request.max_tokens if isinstance(self.request.max_tokens, int) else 0

    def _cap(self, probe: str) -> int:
        """What one item may cost: a quarter of what its source gets before anything is redistributed."""
        shares = {self.sources[each.probes[0]]: each.share for each in self.profile.sections}
        return int(_ITEM_SHARE * self._section(probe).share / sum(shares.values()) * self._budget)

    def _considered(
        self, found: Found, scissors: Mapping[str, Scissors]
    ) -> dict[str, list[tuple[Candidate, int]]]:
        """The best of each search with about what they cost, as many as may find room.

        That is the share of their section, and what the other sections leave of theirs.
        """
        ranked = {name: self._ranked(name, mine) for name, mine in found.items() if mine}
        costs = {name: self._estimates(name, mine, scissors[name]) for name, mine in ranked.items()}
        parts = {name: self._section(name).share for name in ranked}
        shares = {name: self._budget * part / sum(parts.values()) for name, part in parts.items()}
        spare = sum(max(share - sum(costs[name]), 0.0) for name, share in shares.items())
        return {
            name: [
                (each, cost)
                for each, cost, before in zip(mine, costs[name], accumulate(costs[name], initial=0), strict=False)
                if before < _MARGIN * (shares[name] + spare)
            ]
            for name, mine in ranked.items()
        }

    def _ranked(self, probe: str, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates in the order in which the page will place them."""
        rule = self._section(probe).score or self.profile.score
        known = {each.node.key: each for each in reversed(found)}
        relevant = [
            each if "relevance" in each.parts else told(each, {"relevance": each.score, **each.parts})
            for each in known.values()
        ]
        return [known[each.node.key] for each in score(relevant, rule, self.profile.lenses[0], self.now, ())]

    def _estimates(self, probe: str, found: Sequence[Candidate], scissors: Scissors) -> list[int]:
        most = max(self._cap(probe), LEAST) + 1
        return [min(scissors.estimate(each), most) for each in found]

    def _cut(
        self, probe: str, considered: Sequence[tuple[Candidate, int]], scissors: Scissors, exact: bool
    ) -> Iterator[Candidate]:
        """The candidates cut to what their source allows: all of them exactly, or those that look long, about."""
        cap = self._cap(probe)
        for each, cost in considered:
            fitting = scissors.cut(each, cap, exact=exact) if exact or cost > cap else each
            if fitting is not None:
                yield fitting

    def _page(self, candidates: Sequence[Candidate], count: TokenCounter) -> Context:
        desk = Desk(HandedSnapshot(tuple(each.node for each in candidates)), HandedIndex(), None)
        request = replace(self.request, candidates=tuple(candidates))
        return assemble(request, self.profile, desk, count, self.now)

    def _exceeds(self, shown: Sequence[tuple[Item, str]], count: TokenCounter) -> bool:
        """Whether an item costs more than its cap; what the page counted is a token or two too much at most."""
        capped = [(max(self._cap(item.candidate.probe), LEAST), item, text) for item, text in shown]
        return any(item.tokens > cap and count.count(text) > cap for cap, item, text in capped)

    def _items(self, shown: Sequence[tuple[Item, str]], found: Found) -> Iterator[ContextItem]:
        """What is printed, with the facts about each item from before it was cut."""
        whole = {(each.probe, each.node.key): each.node for mine in found.values() for each in mine}
        for item, text in shown:
            probe, source = item.candidate.probe, self.sources[item.candidate.probe]
            facts = metadata_of(source, whole[probe, item.candidate.node.key])
            yield ContextItem(source, text, round(min(item.candidate.score, 1.0), 6), facts)


def contents_of(context: Context) -> Iterator[tuple[Item, str]]:
    """The items of a page of plain sections in their order, each with the lines that the page prints of it."""
    lines = context.text.split("\n")
    spans = [((each.tenant, each.key), each.last_line - each.first_line + 1) for each in context.manifest]
    owners = [owner for owner, length in spans for _ in range(length)]
    items = [item for placed in context.page.sections for item in placed.items]
    starts: list[int] = []
    for item in items:
        starts.append(owners.index(_owner(item), starts[-1] + 1 if starts else 0))
    for item, start, end in zip(items, starts, [*starts[1:], len(lines)], strict=False):
        last = max(place for place in range(start, end) if owners[place] == _owner(item))
        # What closes a fence is nobody's, and stands right below.
        while last + 1 < end and owners[last + 1] == (None, None) and lines[last + 1].strip():
            last += 1
        yield item, "\n".join(lines[start : last + 1])


def _owner(item: Item) -> tuple[str, str]:
    return item.candidate.node.tenant, item.candidate.node.key
