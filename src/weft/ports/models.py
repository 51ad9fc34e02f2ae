"""What reads texts: embedders and token counters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from weft.ports.arrays import Vectors


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; `name` is its identity, remembered by the store."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "Vectors": ...


class TokenCounter(Protocol):
    """Counts and cuts text as one tokenizer sees it; `name` is its identity.

    What it counted may be remembered by it, so that it must be hashable.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...

    def count_many(self, texts: Sequence[str]) -> list[int]: ...

    def cut(self, text: str, max_tokens: int) -> str: ...
