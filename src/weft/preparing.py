"""Nodes prepared beside their writing."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from weft.beside import Beside, Trade
from weft.model import Node
from weft.ports import Embedder, PreparedNode, TokenCounter
from weft.prepare import prepare

Placed = tuple[Node, str]
"""A node with its unit."""
Prepared = Callable[[], tuple[PreparedNode, ...]]
"""Asked for once, when the batch is to be written."""

_DERIVED: Final = attrgetter(*(field.name for field in fields(PreparedNode) if field.name != "node"))
"""What is derived from a node; the node itself need not travel back."""


class Preparing(Beside[Placed, list[Any]]):
    """Prepares batches of nodes, here or in another process."""

    def __init__(self, embed: Embedder | None, count: TokenCounter) -> None:
        super().__init__(Trade(_deriving, (embed, count)))

    def prepared(self, nodes: Sequence[Placed]) -> Prepared:
        """Give a batch; call what is returned to have it prepared."""
        derived = self.submit(nodes)
        return lambda: tuple(PreparedNode(node, *parts) for (node, _), parts in zip(nodes, derived(), strict=True))


def _deriving(embed: Embedder | None, count: TokenCounter) -> Callable[[Sequence[Placed]], list[Any]]:
    return lambda nodes: [_DERIVED(each) for each in prepare(nodes, embed, count)]
