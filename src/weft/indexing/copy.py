"""One store into another, whatever engines they are: streamed, resumable, and compared at the end."""

from collections.abc import Callable
from typing import Final, Protocol

from weft.errors import InvalidInput, StoreError
from weft.frozen import dataclass
from weft.model import DEFAULT_TENANT
from weft.ports import Changes, Exporting, Fingerprint, Index, Store

_PORTION: Final = 5000
_PLACE: Final = ":copy"
"""The source under whose units a copy remembers how far it came: no source has this name."""

Progress = Callable[[str, int, int | None], None]


class Copyable(Store, Exporting, Protocol):
    """A store that can be copied from and to."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did, and what both stores hold now."""

    nodes: int
    edges: int
    fingerprint: str
    resumed_after: int = 0


def copy(source: Copyable, target: Copyable, index: Index, tell: Progress) -> Copied:
    """Bring everything that the source holds into the target; interrupted, it goes on next time.

    The source is read portion by portion. Should it change meanwhile, the comparison at the end says so.
    """
    books = source.books()
    resumed = _begun(source, target)
    with target.writing():
        if books.embedder is not None:
            target.remember_embedder(*books.embedder)
        _copy_portions(source, target, books.nodes, resumed, tell)
        target.write(source.strays())
        for tenant, shared in books.shared.items():
            target.share(tenant, shared)
        target.write(Changes(units=books.units))
        tell("building the search index", 0, None)
        index.catch_up(target)
        reached = _compared(source, target, tell)
        target.write(Changes(units=((DEFAULT_TENANT, _PLACE, books.identity, ""),)))
    return Copied(reached.nodes, reached.edges, reached.digest, resumed)


def _begun(source: Copyable, target: Copyable) -> int:
    """After which node an earlier copy of the same state stopped; refuses a target with something else in it."""
    books, there = source.books(), target.books()
    if books.identity == there.identity:
        raise InvalidInput("Both stores are the same one. Name another with --to.")
    stamp = target.units(DEFAULT_TENANT, _PLACE).get(books.identity)
    if stamp is None:
        if there.nodes and target.fingerprint() != source.fingerprint():
            raise InvalidInput(
                f"The store to copy to holds {there.nodes:,} nodes that did not come from this one. Copy into an "
                "empty store: choose another folder, or another ?schema=NAME."
            )
        return 0
    sequence, _, last = stamp.partition(" ")
    return int(last) if int(sequence) == books.sequence else 0


def _copy_portions(source: Copyable, target: Copyable, total: int, after: int, tell: Progress) -> None:
    books = source.books()
    done = total - source.left(after)
    while portion := source.portion(after, _PORTION):
        after, changes = portion.last, portion.changes
        stamp = (DEFAULT_TENANT, _PLACE, books.identity, f"{books.sequence} {after}")
        target.write(
            Changes(upserts=changes.upserts, edges=changes.edges, aliases=changes.aliases, units=(stamp,))
        )
        done += len(changes.upserts)
        tell("copying nodes", done, total)


def _compared(source: Copyable, target: Copyable, tell: Progress) -> Fingerprint:
    """The fingerprint that both have."""
    tell("comparing", 0, None)
    ours, theirs = source.fingerprint(), target.fingerprint()
    if ours != theirs:
        raise StoreError(
            f"The copy differs: {ours.nodes:,} nodes and {ours.edges:,} links were to be copied, {theirs.nodes:,} "
            f"and {theirs.edges:,} are there now ({ours.digest} against {theirs.digest}). If the source was "
            "written to meanwhile, run the same command again; otherwise copy into an empty store."
        )
    return ours
