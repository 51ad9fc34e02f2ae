"""Describe what both SQL engines need to write changes: numbers of names, states of keys, touched tenants."""

from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from msgspec import Struct

from weft.errors import StoreError
from weft.ports import Changes, PreparedNode

_MAX_PACKED_NUMBER: Final = 0xFFFF
"""Neighbour lists keep kinds and edge types in two bytes."""


class NameNumbers(ABC):
    """The numbers that stand for names in the tables; an engine says how `_number` looks one up or assigns it."""

    def tenant(self, name: str) -> int:
        """Return the number of a tenant, assigned now if it has none."""
        return self._number("tenants", name)

    def kind(self, name: str) -> int:
        """Return the number of a kind, assigned now if it has none."""
        return self._packed_number("kinds", name)

    def edge_type(self, name: str) -> int:
        """Return the number of an edge type, assigned now if it has none."""
        return self._packed_number("edge_types", name)

    def maker(self, name: str) -> int:
        """Return the number of a maker, assigned now if it has none."""
        return self._number("makers", name)

    def facet(self, name: str) -> int:
        """Return the number of a facet, assigned now if it has none."""
        return self._number("facet_names", name)

    def _packed_number(self, table: str, name: str) -> int:
        """Return the number, or raise StoreError when neighbour lists cannot hold it."""
        number = self._number(table, name)
        if number > _MAX_PACKED_NUMBER:
            raise StoreError(
                f"{name!r} would be number {number} of {table}; a store holds at most {_MAX_PACKED_NUMBER}. "
                "Kinds and edge types are meant to be few: put what differs from node to node into fields or tags."
            )
        return number

    @abstractmethod
    def _number(self, table: str, name: str) -> int:
        """Return the number of a name in a table, assigned now if it has none."""


class StoredKey(NamedTuple):
    """The stored state of a key: its number and, if it has a node, the node's number, hash, kind and unit."""

    key_id: int
    node_id: int | None
    content_hash: str | None
    kind_id: int | None
    unit: str | None


class NumberedNode(Struct, frozen=True):
    """A node to be written and the numbers that it is written under."""

    prepared: PreparedNode
    node_id: int
    tenant_id: int
    kind_id: int
    key_id: int


def touched_tenants(changes: Changes) -> list[str]:
    """Return the tenants whose pages the changes may alter; an edge alters only what readers of its start see."""
    owners = {prepared.node.tenant for prepared in changes.upserts}
    owners.update(tenant for tenant, _ in (*changes.removes, *changes.importance))
    owners.update(edge_set.tenant for edge_set in changes.edges)
    owners.update(alias_set.tenant for alias_set in changes.aliases)
    return sorted(owners)
