"""Copy one store into another, whatever engines they are: streamed, resumable, and compared at the end."""

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from weft.errors import InvalidInput, StoreError
from weft.model import DEFAULT_TENANT
from weft.ports import Changes, ExportableStore, Index, Store

_NODES_PER_PORTION: Final = 5000
"""Nodes that are read and written together: more take more memory, fewer more transactions."""
_PROGRESS_SOURCE: Final = ":copy"
"""The source under whose units a copy stores how far it came: no real source has this name."""

Progress = Callable[[str, int, int | None], None]


class Copyable(Store, ExportableStore, Protocol):
    """A store that can be copied from and to."""


class CopyResult(Struct, frozen=True):
    """The outcome of a copy: what both stores hold now, and after which node an earlier copy was resumed."""

    nodes: int
    edges: int
    fingerprint: str
    resumed_after: int = 0


def copy_store(
    source: Copyable,
    target: Copyable,
    index: Index,
    progress: Progress,
    *,
    nodes_per_portion: int = _NODES_PER_PORTION,
) -> CopyResult:
    """Copy everything that the source holds into the target; an interrupted copy is resumed by the next call.

    The source is read portion by portion. Should it change meanwhile, the comparison at the end says so.
    """
    books = source.state()
    resumed_after = _find_resume_point(source, target)
    with target.writing():
        if books.embedder is not None:
            target.remember_embedder(*books.embedder)
        _copy_nodes(source, target, resumed_after, nodes_per_portion, progress)
        target.write(source.dangling_edges())
        for tenant, shared in books.shared.items():
            target.share(tenant, shared)
        # Units come last: an interrupted copy must not look like a store whose sources are all indexed.
        target.write(Changes(units=books.units))
        progress("building the search index", 0, None)
        index.catch_up(target)
        progress("comparing", 0, None)
        copied, reached = source.fingerprint(), target.fingerprint()
        if copied != reached:
            raise StoreError(
                f"The copy differs: {copied.nodes:,} nodes and {copied.edges:,} links were to be copied, "
                f"{reached.nodes:,} and {reached.edges:,} are there now ({copied.digest} against "
                f"{reached.digest}). If the source was written to meanwhile, run the same command again; "
                "otherwise copy into an empty store."
            )
        target.write(Changes(units=((DEFAULT_TENANT, _PROGRESS_SOURCE, books.identity, ""),)))
    return CopyResult(copied.nodes, copied.edges, copied.digest, resumed_after)


def _find_resume_point(source: Copyable, target: Copyable) -> int:
    """Return the id after which an earlier copy of the same state stopped, 0 for none; refuse a target in use."""
    books, target_books = source.state(), target.state()
    if books.identity == target_books.identity:
        raise InvalidInput("Both stores are the same one. Name another with --to.")
    stamp = target.units(DEFAULT_TENANT, _PROGRESS_SOURCE).get(books.identity)
    if stamp is None:
        if target_books.nodes and target.fingerprint() != source.fingerprint():
            raise InvalidInput(
                f"The store to copy to holds {target_books.nodes:,} nodes that did not come from this one. Copy "
                "into an empty store: choose another folder, or another ?schema=NAME."
            )
        return 0
    sequence, _, last_id = stamp.partition(" ")
    return int(last_id) if int(sequence) == books.sequence else 0


def _copy_nodes(
    source: Copyable, target: Copyable, after: int, nodes_per_portion: int, progress: Progress
) -> None:
    """Copy the nodes after an id with their edges and aliases, storing with each portion how far the copy came."""
    books = source.state()
    done = books.nodes - source.count_nodes_after(after)
    while portion := source.next_batch(after, nodes_per_portion):
        after, changes = portion.last_id, portion.changes
        stamp = (DEFAULT_TENANT, _PROGRESS_SOURCE, books.identity, f"{books.sequence} {after}")
        target.write(
            Changes(upserts=changes.upserts, edges=changes.edges, aliases=changes.aliases, units=(stamp,))
        )
        done += len(changes.upserts)
        progress("copying nodes", done, books.nodes)
