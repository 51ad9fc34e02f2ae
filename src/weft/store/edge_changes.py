"""The edges that a write adds, changes and removes, computed the same way for both engines."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias

from weft.errors import InvalidInput
from weft.model import Edge, EdgeSet

EdgeIdentity: TypeAlias = tuple[int, int, int, int]  # source key, maker, type, target key
EdgeStrength: TypeAlias = tuple[float, float, str]  # weight, confidence, evidence

_MAX_WEIGHT: Final = 3.4028234e38
"""The largest 32-bit float: neighbour lists keep weights in 32 bits, where a larger one would become infinite."""


class EdgeChanges(NamedTuple):
    """The effect of writing a set: the edges that go, those whose values change, and those that are new."""

    gone: list[EdgeIdentity]
    altered: list[EdgeIdentity]
    new: list[EdgeIdentity]
    weakened: list[EdgeIdentity]
    """Those gone or with another weight, whose ends need their neighbour lists derived anew."""

    def __bool__(self) -> bool:
        return bool(self.gone or self.altered or self.new)


def compare_edges(
    present: Mapping[EdgeIdentity, EdgeStrength],
    wanted: Mapping[EdgeIdentity, EdgeStrength],
    scope: set[int] | None,
) -> EdgeChanges:
    """Compare a maker's present edges with the wanted ones; `scope` are the source keys that may lose edges."""
    gone = [edge for edge in present if edge not in wanted and (scope is None or edge[0] in scope)]
    altered = [edge for edge in wanted if edge in present and present[edge] != wanted[edge]]
    new = [edge for edge in wanted if edge not in present]
    weakened = gone + [edge for edge in altered if present[edge][0] != wanted[edge][0]]
    return EdgeChanges(gone, altered, new, weakened)


class EdgeNumbers(Protocol):
    """The numbers that edges are written under; a name that has none yet is given one."""

    def maker(self, name: str) -> int: ...

    def edge_type(self, name: str) -> int: ...

    def key(self, tenant: str, key: str) -> int: ...

    def known_keys(self, tenant: str, keys: Iterable[str]) -> set[int]: ...


def wanted_edges(numbers: EdgeNumbers, edge_set: EdgeSet) -> dict[EdgeIdentity, EdgeStrength]:
    """Return the edges of a set by number, each once and at its strongest; refuse what no store can hold."""
    maker_id = numbers.maker(edge_set.maker)
    wanted: dict[EdgeIdentity, EdgeStrength] = {}
    # Looks up all keys at once, so that numbers.key() below finds them without a query each.
    numbers.known_keys(edge_set.tenant, [key for edge in edge_set.edges for key in (edge.source, edge.target)])
    for edge in edge_set.edges:
        if edge.tenant != edge_set.tenant or not (
            abs(edge.weight) <= _MAX_WEIGHT and math.isfinite(edge.confidence)
        ):
            raise _refusal(edge, edge_set)
        target_tenant = edge_set.tenant if edge.target_tenant is None else edge.target_tenant
        source_key = numbers.key(edge_set.tenant, edge.source)
        identity = (source_key, maker_id, numbers.edge_type(edge.type), numbers.key(target_tenant, edge.target))
        strength = (float(edge.weight), float(edge.confidence), edge.evidence)
        wanted[identity] = max(strength, wanted.get(identity, strength))
    return wanted


def _refusal(edge: Edge, edge_set: EdgeSet) -> InvalidInput:
    where = f"The edge {edge.source!r} -> {edge.target!r} ({edge.type}) by {edge_set.maker!r}"
    if edge.tenant != edge_set.tenant:
        return InvalidInput(
            f"{where} says tenant {edge.tenant!r}, its set says {edge_set.tenant!r}. "
            "An edge starts in the tenant of its set: give both the same one."
        )
    return InvalidInput(
        f"{where} has weight {edge.weight} and confidence {edge.confidence}. "
        f"Allowed are finite numbers, and weights up to {_MAX_WEIGHT:g}: leave the edge out or correct them."
    )
