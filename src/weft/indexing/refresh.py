"""Read a few changed files of a source again and write them, without listing the source or drawing links."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from weft.indexing.ingest import NOT_LINKED, RELINK, IndexingContext, edge_sets, separate_unchanged, unit_name
from weft.indexing.link import MentionLinker, declare_shared
from weft.indexing.prepare import NodePreparer
from weft.indexing.relations import RelationLinker, read_link_settings
from weft.model import EdgeSet
from weft.ports import Changes, HasTree, Source, Unit


class _TreeSource(Source, HasTree, Protocol):
    """A source of files."""


def refresh_files(
    source: "_TreeSource",
    tenant: str,
    indexing: IndexingContext,
    *,
    names: Sequence[str],
    changed: Sequence[str],
    gone: Sequence[str],
    is_over: Callable[[], bool],
) -> Iterator[str]:
    """Write changed files one by one and remove those that are gone, until it is over; yield what was done.

    `names` are all files of the source. At least one file is read, however slow that is.
    """
    settings = read_link_settings(indexing.store, tenant)
    # Where all nodes are linked by tags and meaning, one file may change very many links.
    if not (settings.kinds or settings.are_none):
        return
    with NodePreparer(indexing.embed, indexing.count) as preparer:
        # What is gone costs nothing to read, and must not be answered with.
        for name in gone:
            if _remove_unit(source, tenant, name, indexing):
                yield name
            if is_over():
                return
        for unit in source.reread(names, changed):
            if unit.stamp:
                _write_unit(source, tenant, unit, indexing, preparer)
                yield unit.name
            if is_over():
                return


def _write_unit(
    source: Source, tenant: str, unit: Unit, indexing: IndexingContext, preparer: NodePreparer
) -> None:
    store = indexing.store
    owned = {node.ref: (node, unit_name(tenant, unit.name)) for node in unit.nodes}
    changed, unchanged = separate_unchanged(list(owned.values()), indexing)
    missing = [ref for ref in store.unit_keys(source.name, unit_name(tenant, unit.name)) if ref not in owned]
    declare_shared(store, unit.edges)
    relations = RelationLinker(store, indexing.index)
    relations.before_write([node for node, _ in changed])
    upserts = preparer.submit_nodes(changed)() + unchanged
    edges = edge_sets(source, tenant, unit.name, unit.edges, store)
    store.write(Changes(upserts=upserts, edges=edges, units=((tenant, source.name, unit.name, NOT_LINKED),)))
    relations.link()
    _remove_nodes(missing, (), tenant, indexing)


def _remove_unit(source: Source, tenant: str, name: str, indexing: IndexingContext) -> bool:
    """Remove the nodes of a file that is gone; return whether it had a unit of its own name."""
    refs = indexing.store.unit_keys(source.name, unit_name(tenant, name))
    edges = edge_sets(source, tenant, name, (), indexing.store)
    if not refs and not edges:
        return False
    _remove_nodes(refs, edges, tenant, indexing)
    indexing.store.write(Changes(units=((tenant, source.name, name, ""),)))
    return True


def _remove_nodes(
    refs: Sequence[tuple[str, str]], edges: tuple[EdgeSet, ...], tenant: str, indexing: IndexingContext
) -> None:
    if not refs and not edges:
        return
    mentions = MentionLinker(indexing.store, indexing.index)
    relations = RelationLinker(indexing.store, indexing.index)
    mentions.before_removal(refs)
    relations.before_removal(refs)
    relink = tuple((owner, RELINK, key, "1") for owner, keys in mentions.texts.items() for key in keys)
    indexing.store.write(Changes(removes=tuple(refs), edges=edges, units=relink))
    relations.link()
