"""Cut the lists of a knowledge answer to a token budget: 60 % for entry points, 30 % context, 10 % entities."""

from collections.abc import Mapping
from typing import Final

import orjson
import xxhash
from msgspec import Struct

from weft.assemblers.knowledge.lists import node_content
from weft.model import Candidate, Node
from weft.ports import TokenCounter
from weft.tokens import DEFAULT_ENCODING

SHARES_PERCENT: Final = {"entry_points": 60.0, "context_nodes": 30.0, "entities": 10.0}
"""The share of the budget that each list may spend first, as the design fixes it; keys as in `tokens_used`."""

_MAX_REMEMBERED_COUNTS: Final = 50_000
"""Token counts kept in memory, at about 100 bytes each; more would only help services with very many nodes."""
_remembered_counts: dict[tuple[str, bytes], int] = {}


class Lists(Struct, frozen=True):
    """The candidates of an answer by the list that they belong to, best first."""

    entry_points: tuple[Candidate, ...] = ()
    context: tuple[Candidate, ...] = ()
    entities: tuple[Candidate, ...] = ()

    def by_name(self) -> dict[str, tuple[Candidate, ...]]:
        """Return the lists under the names of `tokens_used`."""
        return dict(zip(SHARES_PERCENT, (self.entry_points, self.context, self.entities), strict=True))


class Spending(Struct, frozen=True):
    """The kept candidates, their tokens in total and by list, and the tokens of each list's smallest dropped one.

    Without a budget nothing is counted, and everything but `kept` is None.
    """

    kept: Lists
    total: int | None = None
    by_list: Mapping[str, int] | None = None
    smallest_dropped: Mapping[str, int] | None = None


def spend(lists: Lists, budget: int | None, count: TokenCounter) -> Spending:
    """Keep what fits into the budget; an oversize item does not starve the rest, and unused shares move on."""
    if budget is None:
        return Spending(lists)
    candidates, costs = lists.by_name(), _Costs(count)
    taken: dict[tuple[str, int], int] = {}
    left = budget
    # First every list spends its own share, then what is left is offered to all in turn.
    for shares in (SHARES_PERCENT, dict.fromkeys(SHARES_PERCENT, 100.0)):
        for name, members in candidates.items():
            available = min(int(budget * shares[name] / 100), left)
            for index, candidate in enumerate(members):
                if (name, index) not in taken and costs.fits(name, candidate, available):
                    taken[name, index] = cost = costs.exact(name, candidate.node)
                    available, left = available - cost, left - cost
    return _summarise(candidates, taken, costs)


def _summarise(
    candidates: Mapping[str, tuple[Candidate, ...]], taken: Mapping[tuple[str, int], int], costs: "_Costs"
) -> Spending:
    kept, used, smallest_dropped = {}, dict.fromkeys(SHARES_PERCENT, 0), {}
    for name, members in candidates.items():
        kept[name] = tuple(each for index, each in enumerate(members) if (name, index) in taken)
        used[name] = sum(cost for (owner, _), cost in taken.items() if owner == name)
        dropped = [costs.at_least(name, each) for index, each in enumerate(members) if (name, index) not in taken]
        if dropped:
            smallest_dropped[name] = min(dropped)
    return Spending(Lists(*kept.values()), sum(used.values()), used, smallest_dropped)


class _Costs:
    """The tokens of items, counted only when needed: most items that do not fit are never counted."""

    def __init__(self, count: TokenCounter) -> None:
        self._count, self._known = count, dict[tuple[str, int], int]()

    def fits(self, name: str, candidate: Candidate, available: int) -> bool:
        """Tell whether an item of a list costs no more than the available tokens."""
        # In the order of their cost: the exact count is needed only if the lower bound fits.
        return (
            available > 0
            and self._text_tokens(candidate) <= available
            and self.exact(name, candidate.node) <= available
        )

    def at_least(self, name: str, candidate: Candidate) -> int:
        """Return the tokens of an item, or those of its text if the item was never counted."""
        known = self._known.get((name, candidate.node.id))
        return known or self._text_tokens(candidate) or self.exact(name, candidate.node)

    def _text_tokens(self, candidate: Candidate) -> int:
        """Return the stored count of the text, a lower bound, if the same tokenizer made it; else 0."""
        return (candidate.text_tokens or 0) if self._count.name == DEFAULT_ENCODING else 0

    def exact(self, name: str, node: Node) -> int:
        """Return the tokens of an item of a list."""
        key = (name, node.id)
        if key not in self._known:
            text = entity_text(node) if name == "entities" else node_text(node)
            self._known[key] = _count_remembered(self._count, text)
        return self._known[key]


def _count_remembered(count: TokenCounter, text: str) -> int:
    """Count the tokens of a text, remembering the count: the same nodes come up in many answers."""
    key = (count.name, xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")))
    known = _remembered_counts.get(key)
    if known is None:
        if len(_remembered_counts) >= _MAX_REMEMBERED_COUNTS:
            _remembered_counts.clear()
        known = _remembered_counts[key] = count.count(text)
    return known


def node_text(node: Node) -> str:
    """Return the text by which a node is counted: title, summary and content."""
    content = orjson.dumps(node_content(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """Return the text by which an entity is counted: title, path and schemas."""
    values = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([value for value in values if value]).decode()
