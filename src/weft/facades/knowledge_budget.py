"""The lists of an answer cut to a token budget: 60 parts entry points, 30 context, 10 entities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from weft.budget import Leaf, fit
from weft.facades.content import content_of
from weft.model import Candidate, Detail, Item, Node
from weft.ports import TokenCounter
from weft.tokens import DEFAULT_ENCODING

SHARES: Final = {"entry_points": 60.0, "context_nodes": 30.0, "entities": 10.0}


@dataclass(frozen=True, slots=True)
class Lists:
    """Candidates by the list they go to, best first."""

    entry_points: tuple[Candidate, ...] = ()
    context: tuple[Candidate, ...] = ()
    entities: tuple[Candidate, ...] = ()

    def by_name(self) -> dict[str, tuple[Candidate, ...]]:
        """The lists under the names of `tokens_used`."""
        return dict(zip(SHARES, (self.entry_points, self.context, self.entities), strict=True))


@dataclass(frozen=True, slots=True)
class Spending:
    """What is kept, what it costs, and what the smallest left-out item of each list would have cost."""

    kept: Lists
    total: int | None = None
    by_list: Mapping[str, int] | None = None
    smallest_dropped: Mapping[str, int] | None = None


def spend(lists: Lists, budget: int | None, count: TokenCounter) -> Spending:
    """The lists within the budget; an oversize item never starves the rest, and unused shares move on."""
    if budget is None:
        return Spending(lists)
    costs = _Costs(count, {})
    leaves = [
        Leaf(name, _countable(each, count), SHARES[name], ladder=(Detail.WHOLE,))
        for name, each in lists.by_name().items()
    ]
    outcomes = fit(leaves, budget, select="share", cost=costs.of_item, shorten=_never, repeat=True)
    items: dict[str, list[Item]] = {name: [] for name in SHARES}
    dropped: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.item is not None:
            items[outcome.leaf].append(outcome.item)
        else:
            cost = costs.about(outcome.leaf, outcome.candidate)
            dropped[outcome.leaf] = min(cost, dropped.get(outcome.leaf, cost))
    used = {name: sum(item.tokens for item in listed) for name, listed in items.items()}
    kept = Lists(*(tuple(item.candidate for item in listed) for listed in items.values()))
    return Spending(kept, sum(used.values()), used, dropped)


@dataclass(frozen=True, slots=True)
class _Costs:
    """What items cost, counted when first asked: most that do not fit are never counted."""

    count: TokenCounter
    known: dict[tuple[str, int], int]

    def of_item(self, leaf: Leaf, item: Item) -> int:
        """The tokens of an item."""
        return self._exact(leaf.name, item.candidate.node)

    def about(self, name: str, candidate: Candidate) -> int:
        """The tokens of an item, or at least those of its text where it was never counted."""
        known = self.known.get((name, candidate.node.id))
        return known or candidate.text_tokens or self._exact(name, candidate.node)

    def _exact(self, name: str, node: Node) -> int:
        key = (name, node.id)
        if key not in self.known:
            self.known[key] = self.count.count(entity_text(node) if name == "entities" else node_text(node))
        return self.known[key]


def _never(candidate: Candidate, room: int) -> tuple[tuple[int, int], ...]:
    """Nodes are given whole or not at all."""
    return ()


def _countable(members: tuple[Candidate, ...], count: TokenCounter) -> tuple[Candidate, ...]:
    """The candidates; where another tokenizer counts, without their stored count, which must not decide then."""
    if count.name == DEFAULT_ENCODING:
        return members
    return tuple(replace(each, text_tokens=None) for each in members)


def node_text(node: Node) -> str:
    """What is counted of a node: title, summary and content."""
    content = orjson.dumps(content_of(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """What is counted of an entity: title, path and schemas."""
    told = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([each for each in told if each]).decode()
