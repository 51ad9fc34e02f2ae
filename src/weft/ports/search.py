"""Declare the engines that answer a question: embedders, token counters and search indexes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

from weft.model import Filter
from weft.ports.stores import Snapshot, Store

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Scores, Vectors


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors; a store remembers its `name` and accepts no other's vectors."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Return one unit vector per text, in their order; the same text always gets the same vector."""
        ...


class TokenCounter(Protocol):
    """One tokenizer's way to count and cut text.

    A counter must be hashable, because caches use it as part of their keys.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The identity of the tokenizer: two counters of one name count every text the same."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of the text; a counter that estimates must err upwards."""
        ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text: the same numbers as `count`, in one call."""
        ...

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of the text that `count` puts at `max_tokens` or fewer."""
        ...


class Proposals(Struct, frozen=True):
    """The passages that an index proposes, with their scores; for vectors these are exact cosines.

    `notes` say in words what the search could not take into account.
    """

    passage_ids: "Ids"
    scores: "Scores"
    notes: tuple[str, ...] = ()


class Index(Protocol):
    """A search engine over data derived from a store. It proposes passages; the caller orders them.

    An engine must return only passages that exist in the snapshot and pass the filter, whatever the state of its
    derived data: what it has not caught up with is scanned from the snapshot. The final order is computed from the
    snapshot by the caller, so that every engine leads to the same page.
    """

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return the `limit` most promising passages that contain any of the terms, best first.

        All passages that tie with the last one are included: the caller decides between them.
        """
        ...

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the `limit` passages nearest to the vector, with their exact cosines.

        All passages that tie with the last one are included: the caller decides between them.
        """
        ...

    def catch_up(self, store: Store) -> int:
        """Bring the derived data up to the store's sequence number, and return that number."""
        ...

    def status(self) -> Mapping[str, str | int]:
        """Return facts about the derived data for `weft status`, by name."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


@runtime_checkable
class CombinedIndex(Protocol):
    """An index that runs both searches of a question at once, where its server does that faster than in turn."""

    def search_both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Return exactly what `lexical` and `semantic` would; `limits` holds the limit of each."""
        ...
