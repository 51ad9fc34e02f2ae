"""Measure what a coding agent asks most of a store: where a symbol is defined, and who calls it.

    python -m bench.code STORE [--symbols 200] [--seed 7]

Symbols are drawn from the definitions outside of tests whose name is given once. A definition counts as found if
the page of 500 tokens cites it. Callers are compared with the call edges that the resolver drew when the code was
indexed: those that `related` lists, and those that the page of "who calls X" prints.
"""

import argparse
import random
from collections import Counter
from collections.abc import Sequence

from weft import Weft
from weft.model import Context, Filter, Node, View

_KINDS = ("function", "method", "class")
_VIEW = View(("default",))
_DEFINITION_TOKENS = 500
_CALLER_TOKENS = 4_000
_MOST_CALLERS = 60
"""More callers do not fit on the page, and nobody asks for them by such a question."""


def main() -> None:
    """Read the command line and print both measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("--symbols", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with Weft.open(options.store, create=False, refresh_seconds=0) as weft:
        symbols = read_symbols(weft)
        drawn = chance.sample(symbols, min(options.symbols, len(symbols)))
        print(measure_definitions(weft, drawn))
        called = [node for node in symbols if 0 < len(callers_of(weft, node)) <= _MOST_CALLERS]
        drawn = chance.sample(called, min(options.symbols, len(called)))
        print(measure_callers(weft, drawn))


def read_symbols(weft: Weft) -> list[Node]:
    """Return the definitions outside of tests whose name is given once, by key."""
    with weft.reading(_VIEW) as reading:
        ids = reading.snapshot.matching_ids(Filter(kinds=_KINDS)).tolist()
        nodes = [row.node for row in reading.snapshot.nodes(ids).values()]
    names = Counter(node.title for node in nodes)
    mine = [node for node in nodes if names[node.title] == 1 and "test-code" not in node.tags]
    return sorted(mine, key=lambda node: node.key)


def callers_of(weft: Weft, node: Node) -> set[str]:
    """Return the keys of what calls a definition, as the resolver drew it."""
    with weft.store.snapshot(_VIEW) as snapshot:
        edges = snapshot.edges([node.id], 100_000)
    return {edge.source for _, target, edge in edges if edge.type == "calls" and target == node.id}


def cited_keys(page: Context) -> set[str]:
    """Return the keys of everything that a page prints."""
    return {entry.key for entry in page.manifest if entry.key is not None}


def measure_definitions(weft: Weft, symbols: Sequence[Node]) -> str:
    """Ask where each symbol is defined, and return how many pages cite the definition."""
    missed = []
    for node in symbols:
        page = weft.context(f"where is {node.title} defined?", max_tokens=_DEFINITION_TOKENS)
        if node.key not in cited_keys(page):
            missed.append(node.key)
    share = 1 - len(missed) / len(symbols)
    return f"where is X defined: {share:.1%} of {len(symbols)} at {_DEFINITION_TOKENS} tokens; missed {missed[:5]}"


def measure_callers(weft: Weft, symbols: Sequence[Node]) -> str:
    """Return recall and precision of `related` and of the page against the resolver's edges."""
    found: Counter[str] = Counter()
    for node in symbols:
        truth = callers_of(weft, node)
        listed = {other.key for other, _ in weft.related(node.key, types="calls", direction="in", limit=100_000)}
        page = weft.context(f"who calls {node.title}?", max_tokens=_CALLER_TOKENS)
        printed = cited_keys(page) - {node.key}
        found.update(
            truth=len(truth),
            listed=len(listed),
            listed_right=len(listed & truth),
            printed=len(printed),
            printed_right=len(printed & truth),
        )
    right, printed_right = found["listed_right"], found["printed_right"]
    return (
        f"callers of {len(symbols)} functions: related has {right / found['truth']:.1%} of them, "
        f"{right / max(found['listed'], 1):.1%} right; the page of {_CALLER_TOKENS:,} tokens "
        f"{printed_right / found['truth']:.1%}, {printed_right / max(found['printed'], 1):.1%} right"
    )


if __name__ == "__main__":
    main()
