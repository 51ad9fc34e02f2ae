"""Write nodes and edges directly, a few at a time: they are linked, and found by the next question."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import InvalidInput, WeftError
from weft.indexing.ingest import IndexingContext, separate_unchanged
from weft.indexing.link import MentionLinker, declare_shared
from weft.indexing.prepare import prepare
from weft.indexing.reembed import embed_waiting, settle_embedder
from weft.indexing.relations import RelationLinker
from weft.model import MAX_TEXT_CHARACTERS, Edge, EdgeSet, Node
from weft.ports import Changes, ignore_progress
from weft.runtime import deadline

MAKER: Final = "put@1"
"""The maker of edges that are written directly."""

_MAX_NAME_CHARACTERS: Final = 500
"""Keys, kinds and tenants are indexed by every store, so they must stay short."""


class Written(Struct, frozen=True):
    """The outcome of a direct write, in counts; `note` says what could not be brought up to date after it."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0
    links: int = 0
    sequence: int = 0
    note: str = ""


def put(
    indexing: IndexingContext, nodes: Sequence[Node], edges: Sequence[Edge] = (), *, mentions: bool = True
) -> Written:
    """Store the nodes, new or changed, and add or strengthen the edges, in one write.

    Without `mentions`, names in their texts are not looked for, which takes seconds in a large tenant.
    """
    for node in nodes:
        # All are checked before anything is written, so that a refused node leaves nothing half done.
        check_node(node)
    store = indexing.store
    mention_linker, relation_linker = MentionLinker(store, indexing.index), RelationLinker(store, indexing.index)
    with store.writing():
        settle_embedder(store, indexing.embed)
        declare_shared(store, edges)
        # Unchanged nodes are not written again, not even their unit: they stay with the source that brought them.
        changed, unchanged = separate_unchanged([(_with_source(node), "") for node in nodes], indexing)
        if mentions:
            mention_linker.before_write([node for node, _ in changed], ())
        relation_linker.before_write([node for node, _ in changed])
        upserts = prepare(changed, indexing.embed, indexing.count)
        # An empty scope replaces none of the edges that are there.
        edge_sets = tuple(
            EdgeSet(MAKER, tenant, tuple(edge for edge in edges if edge.tenant == tenant), ())
            for tenant in sorted({edge.tenant for edge in edges})
        )
        sequence = store.write(Changes(upserts=upserts, edges=edge_sets))
        deadline.lift()
        written = Written(len(changed), len(unchanged), sequence=sequence)
        try:
            embed_waiting(store, indexing.embed, ignore_progress)
        except (WeftError, OSError) as error:
            return replace(written, note=_lag_note(error))
        return _link(indexing, mention_linker, relation_linker, written)


def link_written(indexing: IndexingContext, nodes: Sequence[Node], write: Callable[[], None]) -> None:
    """Write nodes by a function, then draw their links and bring the index up to date."""
    mention_linker = MentionLinker(indexing.store, indexing.index)
    relation_linker = RelationLinker(indexing.store, indexing.index)
    mention_linker.before_write(nodes, ())
    relation_linker.before_write(nodes)
    write()
    _link(indexing, mention_linker, relation_linker, Written())


def delete(indexing: IndexingContext, refs: Sequence[tuple[str, str]]) -> Written:
    """Remove the nodes of the given (tenant, key); keys that name nothing are left alone."""
    store = indexing.store
    mention_linker, relation_linker = MentionLinker(store, indexing.index), RelationLinker(store, indexing.index)
    with store.writing():
        keys_by_tenant: dict[str, list[str]] = {}
        for tenant, key in dict.fromkeys(refs):
            keys_by_tenant.setdefault(tenant, []).append(key)
        # Only keys that are stored count as removed, and only their names are looked up in other texts.
        stored = [(tenant, key) for tenant, keys in keys_by_tenant.items() for key in store.hashes(tenant, keys)]
        mention_linker.before_removal(stored)
        relation_linker.before_removal(stored)
        sequence = store.write(Changes(removes=tuple(stored)))
        deadline.lift()
        return _link(indexing, mention_linker, relation_linker, Written(removed=len(stored), sequence=sequence))


def replace_edges(indexing: IndexingContext, tenant: str, source: str, edges: Sequence[Edge]) -> Written:
    """Make these all the edges that direct writes drew from one node."""
    with indexing.store.writing():
        sequence = indexing.store.write(Changes(edges=(EdgeSet(MAKER, tenant, tuple(edges), (source,)),)))
        deadline.lift()
        try:
            return Written(sequence=indexing.index.catch_up(indexing.store))
        except (WeftError, OSError) as error:
            return Written(sequence=sequence, note=_lag_note(error))


def check_node(node: Node) -> None:
    """Refuse a node that no store can hold."""
    for what, name in (("key", node.key), ("kind", node.kind), ("tenant", node.tenant)):
        if not name.strip() or len(name) > _MAX_NAME_CHARACTERS:
            raise InvalidInput(
                f"{name[:60]!r} is no {what} for a node. Give 1 to {_MAX_NAME_CHARACTERS} characters, not all "
                "blank."
            )
    if len(node.text) > MAX_TEXT_CHARACTERS:
        raise InvalidInput(
            f"The text of {node.key!r} has {len(node.text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are "
            "kept. Split it into several nodes."
        )


def _with_source(node: Node) -> Node:
    """Return the node with the source that its key names, unless it has one."""
    if node.origin.source:
        return node
    return replace(node, origin=replace(node.origin, source=node.key.partition(":")[0]))


def _link(
    indexing: IndexingContext, mentions: MentionLinker, relations: RelationLinker, written: Written
) -> Written:
    """Draw the links of what was written, bring the index up to date, and add both to the outcome.

    What was written is stored by now. Where the rest fails, on a full disk for example, the outcome says so
    instead of an error, which would be taken for a write that was refused.
    """
    try:
        links = mentions.link(lambda done: None) + relations.link()
        return replace(written, links=links, sequence=indexing.index.catch_up(indexing.store))
    except (WeftError, OSError) as error:
        return replace(written, note=_lag_note(error))


def _lag_note(error: Exception) -> str:
    return (
        f"Stored, and found by questions; but its links or the search files are behind ({error}). Remove the "
        "cause; the next write brings the search files up to date."
    )
