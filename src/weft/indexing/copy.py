"""Copy one store into another, whatever engines they are: streamed, resumable, and compared at the end."""

from typing import Final, Protocol

from msgspec import Struct

from weft.errors import InvalidInput, StoreError
from weft.model import DEFAULT_TENANT
from weft.ports import Changes, ExportableStore, Index, ReportProgress, Store

_NODES_PER_PORTION: Final = 5000
"""Nodes that are read and written together: more take more memory, fewer more transactions."""
_PROGRESS_SOURCE: Final = ":copy"
"""The source under whose units a copy stores how far it came: no real source has this name."""


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
    progress: ReportProgress,
    *,
    nodes_per_portion: int = _NODES_PER_PORTION,
) -> CopyResult:
    """Copy everything that the source holds into the target; an interrupted copy is resumed by the next call.

    The source is read portion by portion. Should it change meanwhile, the comparison at the end says so.
    """
    # Read first: the stamp of a unit that is written meanwhile must not be copied without its nodes.
    source_state = source.state()
    resumed_after = _find_resume_point(source, target)
    with target.writing():
        if source_state.embedder is not None:
            target.remember_embedder(*source_state.embedder)
        _copy_nodes(source, target, resumed_after, nodes_per_portion, progress)
        target.write(source.dangling_edges())
        for tenant, shared in source_state.shared.items():
            target.share(tenant, shared)
        # Units come last: an interrupted copy must not look like a store whose sources are all indexed.
        target.write(Changes(units=source_state.units))
        progress("building the search index", 0, None)
        index.catch_up(target)
        progress("comparing", 0, None)
        copied, reached = source.fingerprint(), target.fingerprint()
        # Counts alone would not show a node that was changed while it was copied, so digests are compared.
        if copied != reached:
            raise StoreError(
                f"The copy differs: {copied.nodes:,} nodes and {copied.edges:,} links were to be copied, "
                f"{reached.nodes:,} and {reached.edges:,} are there now ({copied.digest} against "
                f"{reached.digest}). If the source was written to meanwhile, run the same command again; "
                "otherwise copy into an empty store."
            )
        # An empty stamp removes the record of progress: the copy is complete, and the next one begins anew.
        target.write(Changes(units=((DEFAULT_TENANT, _PROGRESS_SOURCE, source_state.identity, ""),)))
    return CopyResult(copied.nodes, copied.edges, copied.digest, resumed_after)


def _find_resume_point(source: Copyable, target: Copyable) -> int:
    """Return the id after which an earlier copy of the same state stopped, 0 for none; refuse a target in use."""
    source_state, target_state = source.state(), target.state()
    if source_state.identity == target_state.identity:
        raise InvalidInput("Both stores are the same one. Name another with --to.")
    stamp = target.units(DEFAULT_TENANT, _PROGRESS_SOURCE).get(source_state.identity)
    if stamp is None:
        if target_state.nodes and target.fingerprint() != source.fingerprint():
            raise InvalidInput(
                f"The store to copy to holds {target_state.nodes:,} nodes that did not come from this one. Copy "
                "into an empty store: choose another folder, or another ?schema=NAME."
            )
        return 0
    # Nodes that were copied may have changed with a later write to the source, so the copy begins again.
    sequence, _, last_id = stamp.partition(" ")
    return int(last_id) if int(sequence) == source_state.sequence else 0


def _copy_nodes(
    source: Copyable, target: Copyable, after: int, nodes_per_portion: int, progress: ReportProgress
) -> None:
    """Copy the nodes after an id with their edges and aliases, storing with each portion how far the copy came."""
    source_state = source.state()
    done = source_state.nodes - source.count_nodes_after(after)
    while portion := source.next_batch(after, nodes_per_portion):
        after, changes = portion.last_id, portion.changes
        stamp = (DEFAULT_TENANT, _PROGRESS_SOURCE, source_state.identity, f"{source_state.sequence} {after}")
        target.write(
            Changes(upserts=changes.upserts, edges=changes.edges, aliases=changes.aliases, units=(stamp,))
        )
        done += len(changes.upserts)
        progress("copying nodes", done, source_state.nodes)
