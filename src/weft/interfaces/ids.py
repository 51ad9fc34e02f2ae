"""The ids of nodes as callers see them: they do not tell in which order, or how many, nodes are stored.

A store counts the nodes of all tenants with one counter. Two ids of it would tell a tenant how much the others
wrote in between, so that callers get each id scrambled under a secret of the store: always the same for the same
node, in every process, and without a table.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Final

from weft.errors import UnknownName
from weft.ports.stores import Snapshot

_HALF_BITS: Final = 24
_HALF: Final = (1 << _HALF_BITS) - 1
"""An id is scrambled in two halves. 48 bits are 15 digits, which JSON's numbers hold exactly."""
_MOST_DIGITS: Final = 15
_ROUNDS: Final = 4
"""Rounds of the Feistel network: four make a permutation that cannot be told from a random one."""
_REMEMBERED: Final = 65_536
"""Ids whose scrambled form is remembered: scrambling takes some microseconds, and a page has dozens."""


class PublicIds:
    """The ids of one store as its callers see them, and back."""

    def __init__(self, identity: str) -> None:
        self._secret = blake2b(identity.encode(), digest_size=32, person=b"weft-node-ids").digest()
        self.show = lru_cache(_REMEMBERED)(self._show)

    def _show(self, id: int) -> int:
        """Return the id that callers get for a stored one; nodes that are not stored have none."""
        if not 0 < id < 1 << 2 * _HALF_BITS:
            return id
        # No caller gets 0. The permutation leads from it to another id, and nothing else leads there.
        return self._scramble(id) or self._scramble(0)

    def read(self, shown: int) -> int:
        """Return the stored id that a caller means."""
        if not 0 < shown < 1 << 2 * _HALF_BITS:
            return shown
        return self._unscramble(shown) or self._unscramble(0)

    def resolve(self, name: str, snapshot: Snapshot) -> str:
        """Return a name as the store knows it: a number may be the id of a node, as callers see it."""
        if not (name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS):
            return name
        stored = self.read(int(name))
        if row := snapshot.nodes([stored]).get(stored):
            return row.node.key
        found = snapshot.find([name]).get(name, ())
        if int(name) not in found:
            return name
        # What the store itself numbers so must not be found: the numbers could be tried one by one.
        others = [id for id in found if id != int(name)]
        if not others:
            raise UnknownName("node", name, ())
        return snapshot.nodes(others)[others[0]].node.key

    def _scramble(self, id: int) -> int:
        left, right = id >> _HALF_BITS, id & _HALF
        for turn in range(_ROUNDS):
            left, right = right, left ^ self._mix(turn, right)
        return left << _HALF_BITS | right

    def _unscramble(self, shown: int) -> int:
        left, right = shown >> _HALF_BITS, shown & _HALF
        for turn in reversed(range(_ROUNDS)):
            left, right = right ^ self._mix(turn, left), left
        return left << _HALF_BITS | right

    def _mix(self, turn: int, half: int) -> int:
        mixed = blake2b(bytes((turn,)) + half.to_bytes(3, "big"), digest_size=3, key=self._secret).digest()
        return int.from_bytes(mixed, "big")
