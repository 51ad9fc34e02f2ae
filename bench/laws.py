"""How costs grow with the number of nodes: a power law for each, fitted to what `bench.backends` measured.

A cost is taken to be `a * nodes ** b`; a and b are those of the straight line through the measured points on
logarithmic scales. A b of 1 is linear, of 0 constant. Through two points there always is one. More nodes make
nothing cheaper: a cost that seems to fall is taken for constant.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Law:
    """The cost of something as a function of the number of nodes."""

    factor: float
    exponent: float

    def at(self, nodes: float) -> float:
        """Return the cost that is to be expected."""
        return float(self.factor * nodes**self.exponent)


@dataclass(frozen=True, slots=True)
class Cost:
    """Something that was measured: what it is called, its unit, and where it stands among an engine's figures."""

    label: str
    unit: str
    name: str
    total: Callable[[float, int], float] = lambda value, nodes: value


def _times_nodes(value: float, nodes: int) -> float:
    return value * nodes


def _seconds(rate: float, nodes: int) -> float:
    return nodes / rate


COSTS: Mapping[str, Cost] = {
    "store": Cost("bytes of the store", "B", "store_bytes_per_node", _times_nodes),
    "search": Cost("bytes of the search", "B", "index_bytes_per_node", _times_nodes),
    "loading": Cost("processor s of loading", "s", "load_nodes_per_processor_second", _seconds),
    "building": Cost("processor s of making the search indexes", "s", "index_processor_seconds"),
    "asking": Cost("processor ms of a question, asking side", "ms", "client_processor_ms"),
    "server": Cost("processor ms of a question, server", "ms", "server_processor_ms"),
}


def fitted(points: Points) -> Law:
    """Return the law nearest to the points (nodes, cost), by least squares of the logarithms."""
    nodes, costs = np.log(np.array(points)).T
    exponent, logarithm = np.polyfit(nodes, costs, 1)
    if exponent < 0:
        return Law(float(np.exp(costs.mean())), 0.0)
    return Law(float(np.exp(logarithm)), float(exponent))


def sizes_of(measured: Mapping[str, Any]) -> list[int]:
    """Return the numbers of nodes that were measured."""
    return sorted(int(each) for each in measured if each.isdigit())


def points_of(measured: Mapping[str, Any], engine: str, cost: Cost) -> list[tuple[float, float]]:
    """Return (nodes, cost) for every size at which an engine was measured and the cost is not nothing."""
    figures = {size: measured[str(size)].get(engine, {}).get(cost.name) for size in sizes_of(measured)}
    return [(float(size), cost.total(value, size)) for size, value in figures.items() if value]


def laws_of(measured: Mapping[str, Any], engine: str) -> dict[str, Law]:
    """Return the law of each cost that an engine was measured for at two sizes or more."""
    points = {name: points_of(measured, engine, cost) for name, cost in COSTS.items()}
    return {name: fitted(each) for name, each in points.items() if len(each) > 1}
