"""The lists of an answer cut to a token budget: 60 parts entry points, 30 context, 10 entities."""

from collections.abc import Mapping
from typing import Final

import orjson
import xxhash

from weft.facades.content import content_of
from weft.frozen import dataclass
from weft.model import Candidate, Node
from weft.ports import TokenCounter
from weft.tokens import DEFAULT_ENCODING

SHARES: Final = {"entry_points": 60.0, "context_nodes": 30.0, "entities": 10.0}
_MOST_COUNTS: Final = 50_000
_COUNTS: Final[dict[tuple[str, bytes], int]] = {}


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
    named, costs = lists.by_name(), _Costs(count)
    taken: dict[tuple[str, int], int] = {}
    left = budget
    # First every list spends its own share, then what is left is offered to all in turn.
    for shares in (SHARES, dict.fromkeys(SHARES, 100.0)):
        for name, members in named.items():
            room = min(int(budget * shares[name] / 100), left)
            for place, each in enumerate(members):
                if (name, place) not in taken and costs.fits(name, each, room):
                    taken[name, place] = cost = costs.exact(name, each.node)
                    room, left = room - cost, left - cost
    return _spending(named, taken, costs)


def _spending(
    named: Mapping[str, tuple[Candidate, ...]], taken: Mapping[tuple[str, int], int], costs: "_Costs"
) -> Spending:
    kept, used, dropped = {}, dict.fromkeys(SHARES, 0), {}
    for name, members in named.items():
        kept[name] = tuple(each for place, each in enumerate(members) if (name, place) in taken)
        used[name] = sum(cost for (owner, _), cost in taken.items() if owner == name)
        others = [costs.least(name, each) for place, each in enumerate(members) if (name, place) not in taken]
        if others:
            dropped[name] = min(others)
    return Spending(Lists(*kept.values()), sum(used.values()), used, dropped)


class _Costs:
    """What items cost, counted when first asked: most that do not fit are never counted."""

    def __init__(self, count: TokenCounter) -> None:
        self._count, self._known = count, dict[tuple[str, int], int]()

    def fits(self, name: str, candidate: Candidate, room: int) -> bool:
        """Whether there is room for an item."""
        return room > 0 and self._at_least(candidate) <= room and self.exact(name, candidate.node) <= room

    def least(self, name: str, candidate: Candidate) -> int:
        """The tokens of an item, or those of its text where it was never counted."""
        known = self._known.get((name, candidate.node.id))
        return known or self._at_least(candidate) or self.exact(name, candidate.node)

    def _at_least(self, candidate: Candidate) -> int:
        """The stored count of the text, where the same tokenizer made it."""
        return (candidate.text_tokens or 0) if self._count.name == DEFAULT_ENCODING else 0

    def exact(self, name: str, node: Node) -> int:
        """The tokens of an item."""
        key = (name, node.id)
        if key not in self._known:
            self._known[key] = _counted(self._count, entity_text(node) if name == "entities" else node_text(node))
        return self._known[key]


def _counted(count: TokenCounter, text: str) -> int:
    """The tokens of a text; the same nodes come up in many answers, so counts are remembered."""
    key = (count.name, xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass")))
    known = _COUNTS.get(key)
    if known is None:
        if len(_COUNTS) >= _MOST_COUNTS:
            _COUNTS.clear()
        known = _COUNTS[key] = count.count(text)
    return known


def node_text(node: Node) -> str:
    """What is counted of a node: title, summary and content."""
    content = orjson.dumps(content_of(node), option=orjson.OPT_NON_STR_KEYS).decode()
    return "\n".join(part for part in (node.title, node.summary, content) if part)


def entity_text(node: Node) -> str:
    """What is counted of an entity: title, path and schemas."""
    told = [node.title, node.fields.get("entity_path"), node.fields.get("related_schemas")]
    return orjson.dumps([each for each in told if each]).decode()
