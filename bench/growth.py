"""How costs grow with the number of nodes, and what machines and money follow for larger stores, as Markdown.

    python -m bench.growth                        # reads bench/out/backends.json, at least two sizes of it
    python -m bench.growth --at 1e8,1e9 --layouts 1e7:500,1e8:10000 --questions 200 --memory-price 3

The growth table is what `bench.backends` measured and the law fitted to it (`bench/laws.py`); the layouts follow
from the laws of PostgreSQL searching by itself and from the prices (`bench/layout.py`). Measure all sizes in one
run on an otherwise idle machine: points of different hours give a law of the hours.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from math import ceil, log10
from pathlib import Path
from typing import Any

from bench.laws import COSTS, Cost, fitted, laws_of, points_of, sizes_of
from bench.layout import BUSY, Layout, Terms, laid_out

ROWS = {
    "embedded": ("embedded", ("store", "search", "asking")),
    "server": ("PostgreSQL", tuple(COSTS)),
    "files": ("`files`", ("search", "building", "asking", "server")),
}
"""The engines by their names in the bench and in the table, and what of their costs is told."""
BYTES = ("B", "kB", "MB", "GB", "TB", "PB")


def growth_table(measured: Mapping[str, Any], ahead: Sequence[float]) -> Iterator[str]:
    """Return each cost at the sizes measured, its exponent, and what follows at larger sizes."""
    sizes = sizes_of(measured)
    heads = [*map(power, sizes), "b", *(f"at {power(each)}" for each in ahead)]
    yield f"| cost | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    for engine, (label, names) in ROWS.items():
        for cost in (COSTS[name] for name in names):
            points = dict(points_of(measured, engine, cost))
            if len(points) > 1:
                yield _row(f"{label}: {cost.label}", cost, [points.get(size) for size in sizes], points, ahead)


def _row(
    label: str, cost: Cost, cells: Sequence[float | None], points: Mapping[float, float], ahead: Sequence[float]
) -> str:
    law = fitted(list(points.items()))
    told = ["" if value is None else amount(value, cost.unit) for value in cells]
    coming = [amount(law.at(each), cost.unit) for each in ahead]
    return f"| {label} | {' | '.join([*told, f'{law.exponent:.2f}', *coming])} |"


def facts(measured: Mapping[str, Any]) -> Iterator[str]:
    """Return when and how busy the machine was, the bytes of a node, and how much dearer a question became."""
    sizes = sizes_of(measured)
    runs = (f"{power(size)} on {_told(measured, size)}" for size in sizes)
    yield f"Measured: {', '.join(runs)}."
    smaller, largest = sizes[-2:]
    for engine, (label, _) in ROWS.items():
        before, took = (measured[str(size)].get(engine) for size in (smaller, largest))
        if before and took:
            node = took["store_bytes_per_node"] + took["index_bytes_per_node"]
            more = _question(took) / _question(before)
            yield (
                f"- {label}: {amount(node, 'B')} a node at {power(largest)}, a question costs {more:.2f} times "
                f"the processor time that it costs at {power(smaller)}."
            )


def _told(measured: Mapping[str, Any], size: int) -> str:
    return f"{measured[str(size)]['date']} (load average {measured[str(size)]['load']:.1f} at its start)"


def _question(figures: Mapping[str, float]) -> float:
    return figures["client_processor_ms"] + figures["server_processor_ms"]


def layout_table(measured: Mapping[str, Any], wanted: Mapping[float, int], terms: Terms) -> Iterator[str]:
    """Return the machines for so many nodes of so many tenants, what they cost, and what costs most."""
    laws = laws_of(measured, "server")
    if lacking := ", ".join(COSTS[name].label for name in COSTS if name not in laws):
        yield f"No layouts: at two sizes or more the server was not measured for {lacking}."
        return
    yield (
        f"{terms.questions:g} questions a second, {terms.touched:.0%} of the store touched by them, cores busy to "
        f"{BUSY:.0%}; a month {terms.memory_price:g} USD for a GB of memory, {terms.storage_price:g} for a GB of "
        f"SSD, {terms.core_price:g} for a core (assumptions; put in your own).\n"
    )
    heads = ("layout", "cores", "making a shard's search indexes", "a month", "bottleneck")
    yield f"| nodes | tenants | storage | of it searched | {' | '.join(heads)} |"
    yield "|---:|---:|---:|---:|---|---:|---:|---:|---|"
    for nodes, tenants in wanted.items():
        yield _layout(laid_out(nodes, laws, terms), tenants)


def _layout(layout: Layout, tenants: int) -> str:
    cells = (
        power(layout.nodes),
        f"{tenants:,}",
        amount(layout.storage, "B"),
        amount(layout.searched, "B"),
        machines(layout, tenants),
        f"{layout.cores:,}",
        f"{layout.building_hours:,.1f} h of processor time",
        f"{rounded(layout.month):,.0f} USD",
        layout.bottleneck,
    )
    return f"| {' | '.join(cells)} |"


def machines(layout: Layout, tenants: int) -> str:
    """Return the layout in words."""
    if layout.shards == 1:
        return f"one server of {layout.memory:g} GB"
    if tenants < layout.shards:
        spread = f"a tenant spread over {ceil(layout.shards / tenants):,}"
    else:
        spread = f"{ceil(tenants / layout.shards):,} tenants each"
    return f"{layout.shards:,} shards of {layout.memory:g} GB with a replica, {spread}"


def power(nodes: float) -> str:
    """Return a number of nodes as tables say it."""
    exponent = log10(nodes)
    return f"10^{exponent:.0f}" if exponent.is_integer() else f"{nodes:,.0f}"


def amount(value: float, unit: str) -> str:
    """Return a cost to three digits; bytes in the unit that leaves the fewest of them before the point."""
    if unit != "B":
        return f"{rounded(value):,.0f}" if value >= 100 else f"{value:.3g}"
    step = min(int(log10(max(value, 1)) // 3), len(BYTES) - 1)
    return f"{value / 1000**step:,.3g} {BYTES[step]}"


def rounded(value: float) -> float:
    """Return the value to three digits."""
    return float(f"{value:.3g}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent / "out" / "backends.json")
    parser.add_argument("--at", default="1e8,1e10", help="sizes to which the laws are carried on")
    parser.add_argument("--layouts", default="1e6:100,1e8:10000,1e10:10000", help="nodes:tenants, ...")
    for term in fields(Terms):
        parser.add_argument(f"--{term.name.replace('_', '-')}", type=float, default=term.default)
    given = parser.parse_args()
    measured = json.loads(given.file.read_text("utf-8")) if given.file.exists() else {}
    if len(sizes_of(measured)) < 2:
        parser.error(f"{given.file} holds fewer than two sizes: run `python -m bench.backends --sizes ...` first")
    pairs = (each.split(":") for each in given.layouts.split(","))
    terms = Terms(*(getattr(given, term.name) for term in fields(Terms)))
    wanted = {float(nodes): int(tenants) for nodes, tenants in pairs}
    tables = (growth_table(measured, [*map(float, given.at.split(","))]), facts(measured))
    for table in (*tables, layout_table(measured, wanted, terms)):
        print("\n".join(table), end="\n\n")


if __name__ == "__main__":
    main()
