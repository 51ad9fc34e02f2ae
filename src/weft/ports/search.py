"""What reads texts: embedders and token counters."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from weft.frozen import dataclass
from weft.model import Filter
from weft.ports.stores import Snapshot, Store

if TYPE_CHECKING:
    from weft.ports.arrays import Ids, Scores, Vectors


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


@dataclass(frozen=True, slots=True)
class Proposals:
    """Passages an index proposes; for vectors, `scores` are exact cosines. `notes` say what is missing."""

    passage_ids: "Ids"
    scores: "Scores"
    notes: tuple[str, ...] = ()


class Index(Protocol):
    """Derived search over a store. It proposes; ordering is computed from the snapshot by the caller.

    Both searches return only passages that exist in the snapshot and pass the filter, whatever the state of
    the derived files: what the index has not caught up with is scanned from the snapshot.
    """

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        ...

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        ...

    def catch_up(self, store: Store) -> int:
        """Bring the derived files up to the store's sequence and return it."""
        ...

    def status(self) -> Mapping[str, str | int]: ...

    def close(self) -> None: ...


@runtime_checkable
class SideBySide(Protocol):
    """An index that searches for the words and the meaning of a question at once."""

    def both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """What `lexical` and `semantic` return, with a limit each."""
        ...
