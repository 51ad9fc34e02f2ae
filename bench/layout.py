"""Machines and money for a store of any size, from how its costs grow and from prices.

A tenant lives on one shard, so a question asks one shard and costs what it costs there. A shard's memory holds the
search indexes and the part of the store that questions touch; a quarter is left to connections and to building.
From two shards on, each has a replica, which answers half of the questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from bench.laws import Law

GB = 1e9
HELD = 0.75
"""The share of a machine's memory that holds what is searched."""
SMALLEST = 8
"""GB of memory of the smallest machine."""
BUSY = 0.6
"""The share of its time that a core may work before questions wait for each other."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The load that a layout must carry, and the monthly prices of its parts in USD."""

    questions: float = 50.0
    machine: float = 64.0
    touched: float = 0.1
    memory_price: float = 4.0
    storage_price: float = 0.1
    core_price: float = 25.0


@dataclass(frozen=True, slots=True)
class Layout:
    """Machines for so many nodes; bytes, cores and prices are of all of them, hours of one shard."""

    nodes: float
    storage: float
    searched: float
    shards: int
    memory: float
    copies: int
    cores: int
    prices: Mapping[str, float]
    building_hours: float

    @property
    def month(self) -> float:
        """USD a month, replicas included."""
        return sum(self.prices.values())

    @property
    def bottleneck(self) -> str:
        """The most expensive part, with its share of the cost."""
        dearest = max(self.prices, key=lambda name: (self.prices[name], name))
        return f"{dearest} ({self.prices[dearest] / self.month:.0%} of the cost)"


def laid_out(nodes: float, laws: Mapping[str, Law], terms: Terms) -> Layout:
    """Return the layout for so many nodes; the laws are those of the store's and the search's bytes, of the
    processor ms of a question on the asking side and in the server, and of the processor s of making the search
    indexes.
    """
    store, searched = laws["store"].at(nodes), laws["search"].at(nodes)
    needed = (searched + terms.touched * store) / GB
    shards = max(1, ceil(needed / (HELD * terms.machine)))
    memory = terms.machine if shards > 1 else min(terms.machine, smallest_machine(needed))
    copies, each = (2 if shards > 1 else 1), nodes / shards
    spent = (laws["asking"].at(each) + laws["server"].at(each)) / 1000
    cores = max(2, ceil(terms.questions * spent / BUSY / (shards * copies))) * shards * copies
    return Layout(
        nodes,
        store + searched,
        searched,
        shards,
        memory,
        copies,
        cores,
        {
            "memory": copies * shards * memory * terms.memory_price,
            "storage": copies * (store + searched) / GB * terms.storage_price,
            "processor time": cores * terms.core_price,
        },
        laws["building"].at(each) / 3600,
    )


def smallest_machine(needed: float) -> float:
    """Return the memory in GB, a power of two, of which the needed part is not more than may be held."""
    memory = float(SMALLEST)
    while HELD * memory < needed:
        memory *= 2
    return memory
