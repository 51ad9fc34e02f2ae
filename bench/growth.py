"""How costs grow with the number of nodes: a power law for each, fitted to what `bench.backends` measured.

    python -m bench.growth                        # reads bench/out/backends.json, at least two sizes of it
    python -m bench.growth --at 1e8,1e10

A cost is taken to be `a * nodes ** b`; a and b are those of the straight line through the measured points on
logarithmic scales. A b of 1 is linear, of 0 constant. Through two points there always is one.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weft.frozen import dataclass

PER_NODE, TOTAL = True, False
COSTS = (
    ("bytes of the store", "store_bytes_per_node", PER_NODE),
    ("bytes of the search", "index_bytes_per_node", PER_NODE),
    ("processor s, search indexes", "index_processor_seconds", TOTAL),
    ("processor ms of a question, asking side", "client_processor_ms", TOTAL),
    ("processor ms of a question, server", "server_processor_ms", TOTAL),
)


@dataclass(frozen=True, slots=True)
class Law:
    """What something costs at so many nodes."""

    factor: float
    exponent: float

    def at(self, nodes: float) -> float:
        """The cost that is to be expected."""
        return float(self.factor * nodes**self.exponent)


def fitted(points: Sequence[tuple[float, float]]) -> Law:
    """The law nearest to the points (nodes, cost), by least squares of the logarithms."""
    nodes, costs = np.log(np.array(points)).T
    exponent, logarithm = np.polyfit(nodes, costs, 1)
    return Law(float(np.exp(logarithm)), float(exponent))


def points_of(measured: Mapping[str, Any], engine: str, name: str, per_node: bool) -> list[tuple[float, float]]:
    """(nodes, cost) for every size at which an engine was measured and the cost is not nothing."""
    points = []
    for size in sorted(int(each) for each in measured if each.isdigit()):
        value = measured[str(size)].get(engine, {}).get(name)
        if value:
            points.append((float(size), value * size if per_node else float(value)))
    return points


def main() -> None:
    """Print each cost at the sizes measured, its exponent, and what follows at larger sizes."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--file", type=Path, default=Path(__file__).parent / "out" / "backends.json")
    parser.add_argument("--at", default="1e8,1e10")
    parser.add_argument("--engines", default="embedded,server,files")
    given = parser.parse_args()
    measured = json.loads(given.file.read_text("utf-8"))
    ahead = [float(each) for each in given.at.split(",")]
    print(f"| engine, cost | measured (nodes: cost) | b | {' | '.join(f'at {each:.0e}' for each in ahead)} |")
    print(f"|---|---|---:|{'---:|' * len(ahead)}")
    for engine in given.engines.split(","):
        for label, name, per_node in COSTS:
            points = points_of(measured, engine, name, per_node)
            if len(points) > 1:
                print(_line(f"{engine}, {label}", points, ahead))


def _line(label: str, points: Sequence[tuple[float, float]], ahead: Sequence[float]) -> str:
    law = fitted(points)
    told = ", ".join(f"{nodes:.0e}: {cost:.3g}" for nodes, cost in points)
    return f"| {label} | {told} | {law.exponent:.2f} | {' | '.join(f'{law.at(each):.3g}' for each in ahead)} |"


if __name__ == "__main__":
    main()
