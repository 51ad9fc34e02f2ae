"""The lists of an answer cut to a token budget: 60 parts entry points, 30 context, 10 entities."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from weft.budget import Leaf, fit
from weft.facades.content import content_of
from weft.model import Candidate, Detail, Item, Node
from weft.ports import TokenCounter

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
    named = lists.by_name()
    costs = {name: dict(_costs(name, members, count)) for name, members in named.items()}
    leaves = [
        # The stored count is of the text alone and by another tokenizer, so it must not decide here.
        Leaf(
            name, tuple(replace(each, text_tokens=None) for each in members), SHARES[name], ladder=(Detail.WHOLE,)
        )
        for name, members in named.items()
    ]
    outcomes = fit(
        leaves,
        budget,
        select="share",
        cost=lambda leaf, item: costs[leaf.name][item.candidate.node.id],
        shorten=_never,
        repeat=True,
    )
    items: dict[str, list[Item]] = {name: [] for name in SHARES}
    dropped: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.item is not None:
            items[outcome.leaf].append(outcome.item)
        else:
            cost = costs[outcome.leaf][outcome.candidate.node.id]
            dropped[outcome.leaf] = min(cost, dropped.get(outcome.leaf, cost))
    used = {name: sum(item.tokens for item in listed) for name, listed in items.items()}
    kept = Lists(*(tuple(item.candidate for item in listed) for listed in items.values()))
    return Spending(kept, sum(used.values()), used, dropped)


def _uncounted(members: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The candidates without their stored count, which is of the text alone and by another tokenizer."""
    return tuple(replace(each, text_tokens=None) for each in members)


def _never(candidate: Candidate, room: int) -> tuple[tuple[int, int], ...]:
    """Nodes are given whole or not at all."""
    return ()


def _costs(name: str, members: tuple[Candidate, ...], count: TokenCounter) -> list[tuple[int, int]]:
    told = entity_text if name == "entities" else node_text
    tokens = count.count_many([told(each.node) for each in members])
    return [(each.node.id, cost) for each, cost in zip(members, tokens, strict=True)]


def node_text(node: Node) -> str:
    """What is counted of a node: title, summary and content."""
    content = orjson.dumps(content_of(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """What is counted of an entity: title, path and schemas."""
    told = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([each for each in told if each]).decode()
