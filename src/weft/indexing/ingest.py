"""Index sources into the store: read what changed, prepare, write and link it, and update the search index.

`ingest` is the whole run from top to bottom. Each source is read unit by unit (`_index_source`): the nodes of
changed units are prepared while the batch before them is written, and what a source no longer holds is removed.
Then the entities of changed stories are found, and at the end links are drawn between everything that was written.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from weft.errors import SourceError
from weft.indexing.chapters import may_hold_stories
from weft.indexing.link import MentionLinker, declare_shared
from weft.indexing.not_read import count_reasons, store_reasons, stored_reasons, unit_reason
from weft.indexing.prepare import PREPARATION, NodePreparer, PendingNodes, content_hash
from weft.indexing.reembed import embed_waiting, settle_embedder
from weft.indexing.relations import RelationLinker
from weft.model import DEFAULT_TENANT, Edge, EdgeSet, Node
from weft.ports import (
    Changes,
    CountsSkipped,
    Embedder,
    HoldsMemory,
    Index,
    ListsSkipped,
    PreparedNode,
    Problem,
    ReportProgress,
    ReportsProgress,
    Resumable,
    Source,
    Store,
    TokenCounter,
    Unit,
    ignore_progress,
)

Progress = ReportProgress

_NODES_PER_BATCH: Final = 1_000
"""Nodes that are written in one transaction: more keep more in memory, fewer pay for more transactions."""
_NODES_PER_CATCH_UP: Final = 50_000
"""Written nodes after which the search index catches up during a run. Until then, questions scan the new nodes one
by one: raising it makes them slower during long runs, lowering it the run itself."""
_IDENTITY_UNIT: Final = ""
"""The unit whose stamp is the identity of the source: no file has this name."""
NOT_LINKED: Final = "written, but not linked"
"""The stamp of a unit until the run that wrote it is done."""
RELINK: Final = ":relink"
"""The source under whose units the keys of texts are kept that named a node which a refresh removed."""


class Report(Struct, frozen=True):
    """The outcome of an indexing run, in counts."""

    sources: tuple[str, ...] = ()
    units: int = 0
    units_changed: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    entities: int = 0
    links: int = 0
    problems: tuple[Problem, ...] = ()
    sequence: int = 0
    redacted: int = 0
    """Secrets that were taken out of the units that were read."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Nodes in the units that were read, by kind."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Counts of the files and folders that were left out, or read in part, by reason."""
    not_read: Mapping[str, str] = field(default_factory=dict)
    """Why a file, or a folder (its name ends in `/`), was left out, by `<source>:<path>`."""


class IndexingContext(Struct, frozen=True):
    """The store, search index, embedder and token counter that indexing works with."""

    store: Store
    index: Index
    embed: Embedder | None
    count: TokenCounter


class _Run(Struct):
    """One indexing run: its tools, its counts so far, and the unit stamps to store at its end."""

    indexing: IndexingContext
    tenant: str
    progress: Progress
    preparer: NodePreparer
    mentions: MentionLinker
    relations: RelationLinker
    units: int = 0
    units_changed: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    entities: int = 0
    written_since_catch_up: int = 0
    problems: list[Problem] = field(default_factory=list)
    stamps: list[tuple[str, str, str, str]] = field(default_factory=list)
    redacted: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    not_read: dict[str, str] = field(default_factory=dict)
    unit_reasons: dict[str, str] = field(default_factory=dict)
    """Why a unit of the current source gave no nodes, by its name."""

    def unit_name(self, unit: str) -> str:
        """Return the name under which a node remembers its unit."""
        return unit_name(self.tenant, unit)


class _Batch(Struct, frozen=True):
    """Units that were read: their changed nodes, which are being prepared, and those stored as they are."""

    units: Sequence[Unit]
    refs: Collection[tuple[str, str]]
    changed: Sequence[tuple[Node, str]]
    unchanged: tuple[PreparedNode, ...]
    prepared: PendingNodes


def unit_name(tenant: str, unit: str) -> str:
    """Return the name under which the nodes of a tenant remember their unit: two may index the same file."""
    return f"{tenant}/{unit}"


def ingest(
    sources: Sequence[Source],
    indexing: IndexingContext,
    tenant: str = DEFAULT_TENANT,
    progress: Progress | None = None,
) -> Report:
    """Bring the store up to what the sources hold; the next run completes one that was interrupted."""
    store, index = indexing.store, indexing.index
    with store.writing():
        settle_embedder(store, indexing.embed)
        with NodePreparer(indexing.embed, indexing.count) as preparer:
            linkers = MentionLinker(store, index), RelationLinker(store, index)
            run = _Run(indexing, tenant, progress or ignore_progress, preparer, *linkers)
            _relink_texts(run)
            for source in sources:
                _index_source(source, run)
            _index_stories([source.name for source in sources], run)
        # After the sources: the passages of what was read anew have their vectors already.
        embed_waiting(store, indexing.embed, run.progress)
        # Linking looks new names up in the search index, which must hold what was just written.
        index.catch_up(store)
        links = run.mentions.link(lambda done: run.progress("linking", done, None)) + run.relations.link()
        run.mentions.update_importance()
        # Stamps are stored only now: units that are written but not linked are looked at again after an
        # interruption.
        store.write(Changes(units=tuple(run.stamps)))
        sequence = index.catch_up(store)
    return Report(
        sources=tuple(source.name for source in sources),
        units=run.units,
        units_changed=run.units_changed,
        written=run.written,
        unchanged=run.unchanged,
        removed=run.removed,
        entities=run.entities,
        links=links,
        problems=tuple(run.problems),
        sequence=sequence,
        redacted=run.redacted,
        kinds=dict(sorted(run.kinds.items())),
        passed_over=dict(sorted(run.passed_over.items())),
        not_read=dict(sorted(run.not_read.items())),
    )


def _relink_texts(run: _Run) -> None:
    """Look again for names in the texts that named a node which a refresh between two runs removed."""
    keys = run.indexing.store.units(run.tenant, RELINK)
    if not keys:
        return
    texts = run.indexing.store.hashes(run.tenant, sorted(keys))
    # An entry for a tenant, even an empty one, has its nodes weighed again.
    run.mentions.texts.setdefault(run.tenant, {}).update(dict.fromkeys(texts))
    run.stamps += [(run.tenant, RELINK, key, "") for key in keys]


# --- one source ------------------------------------------------------------------------------------------------


def _index_source(source: Source, run: _Run) -> None:
    """Write the changed units of a source and remove what it no longer holds."""
    stored_stamps = run.indexing.store.units(run.tenant, source.name)
    _check_identity(source, stored_stamps.pop(_IDENTITY_UNIT, None))
    if isinstance(source, Resumable):
        source.resume(_stamps_for_source(stored_stamps, source, run.indexing))
    if isinstance(source, ReportsProgress):
        source.report_progress_to(run.progress)
    stamps = {name: _full_stamp(stamp, source, run.indexing) for name, stamp in source.units()}
    if isinstance(source, CountsSkipped):
        run.passed_over.update(source.count_skipped())
    changed = [name for name, stamp in stamps.items() if stored_stamps.get(name) != stamp]
    run.units += len(stamps)
    run.units_changed += len(changed)
    unlinked = {run.unit_name(name) for name, stamp in stored_stamps.items() if stamp == NOT_LINKED}
    refs_by_unit: dict[str, set[tuple[str, str]]] = {}
    for batch in _prepare_batches(source, changed, run):
        _write_batch(source, batch, run, unlinked)
        refs_by_unit |= {unit.name: {node.ref for node in unit.nodes} for unit in batch.units}
        run.progress(f"reading {source.name}", len(refs_by_unit), len(changed))
        if run.written_since_catch_up >= _NODES_PER_CATCH_UP:
            run.indexing.index.catch_up(run.indexing.store)
            run.written_since_catch_up = 0
    if isinstance(source, HoldsMemory):
        source.release_memory()
    _remove_missing_nodes(source, refs_by_unit, run)
    _remove_missing_units(source, sorted(stored_stamps.keys() - stamps.keys()), run)
    _note_not_read(source, stamps.keys(), refs_by_unit.keys(), run)
    # A unit that could not be read has no entry here, keeps its old stamp and is tried again next time.
    run.stamps += [(run.tenant, source.name, name, stamps[name]) for name in refs_by_unit]
    run.stamps.append((run.tenant, source.name, _IDENTITY_UNIT, source.identity()))


def _note_not_read(source: Source, listed: Collection[str], read: Collection[str], run: _Run) -> None:
    """Report and store why files of a source were not read; of units that did not change, what is stored stays."""
    stored = stored_reasons(run.indexing.store, run.tenant, source.name)
    reasons = {name: reason for name, reason in stored.items() if name in listed and name not in read}
    reasons |= source.list_skipped() if isinstance(source, ListsSkipped) else {}
    reasons |= run.unit_reasons
    run.unit_reasons.clear()
    store_reasons(run.indexing.store, run.tenant, source.name, reasons)
    run.passed_over.update(count_reasons(reasons))
    run.not_read |= {f"{source.name}:{name}": reason for name, reason in reasons.items()}


def _check_identity(source: Source, stored_identity: str | None) -> None:
    """Refuse a source whose name belongs to another one: each would remove what the other brought."""
    if stored_identity is not None and source.identity() not in ("", stored_identity):
        raise SourceError(
            f"A source named {source.name!r} was indexed from another place. Give this one a name of its own with "
            f"--source NAME, or take the other out first with: weft remove {source.name}"
        )


def _full_stamp(stamp: str, source: Source, indexing: IndexingContext) -> str:
    """Extend a unit's stamp by the versions of reader, preparation and embedder: a new one reads it again."""
    embedder = indexing.embed.name if indexing.embed is not None else ""
    return " ".join([stamp, source.maker, PREPARATION, embedder])


def _stamps_for_source(stored: Mapping[str, str], source: Source, indexing: IndexingContext) -> dict[str, str]:
    """Return the stamps as the source gave them; empty for units that must be read again in any case."""
    versions = _full_stamp("", source, indexing)
    return {
        name: stamp.removesuffix(versions) if stamp.endswith(versions) else "" for name, stamp in stored.items()
    }


# --- reading and preparing ---------------------------------------------------------------------------------------


def _prepare_batches(source: Source, changed: Sequence[str], run: _Run) -> Iterator[_Batch]:
    """Read the changed units in batches; while one batch is written, those after it are read and prepared."""
    waiting: deque[_Batch] = deque()
    for units in _read_batches(source, changed):
        run.problems += [problem for unit in units for problem in unit.problems]
        readable = [unit for unit in units if unit.stamp]
        run.kinds.update(node.kind for unit in readable for node in unit.nodes)
        run.redacted += sum(unit.redacted for unit in readable)
        run.unit_reasons |= {unit.name: reason for unit in readable if (reason := unit_reason(unit))}
        nodes = {node.ref: (node, run.unit_name(unit.name)) for unit in readable for node in unit.nodes}
        if any(not nodes.keys().isdisjoint(batch.refs) for batch in waiting):
            # A node in two units is compared with what is stored, so the earlier batch must be written first.
            yield from waiting
            waiting.clear()
        fresh, unchanged = separate_unchanged(list(nodes.values()), run.indexing)
        waiting.append(_Batch(readable, nodes.keys(), fresh, unchanged, run.preparer.submit_nodes(fresh)))
        if len(waiting) > run.preparer.lookahead:
            yield waiting.popleft()
    yield from waiting


def _read_batches(source: Source, changed: Sequence[str]) -> Iterator[list[Unit]]:
    """Read the changed units, in groups of about a thousand nodes."""
    batch: list[Unit] = []
    size = 0
    for name in changed:
        unit = source.read(name)
        batch.append(unit)
        # A unit without nodes counts too: a thousand empty files are a batch.
        size += len(unit.nodes) + 1
        if size >= _NODES_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def separate_unchanged(
    nodes: Sequence[tuple[Node, str]], indexing: IndexingContext
) -> tuple[list[tuple[Node, str]], tuple[PreparedNode, ...]]:
    """Separate the (node, unit) pairs that must be prepared from the nodes that are stored as they are."""
    keys_by_tenant: dict[str, list[str]] = {}
    for node, _ in nodes:
        keys_by_tenant.setdefault(node.tenant, []).append(node.key)
    stored = {tenant: indexing.store.hashes(tenant, keys) for tenant, keys in keys_by_tenant.items()}
    changed: list[tuple[Node, str]] = []
    unchanged: list[PreparedNode] = []
    for node, unit in nodes:
        digest = stored[node.tenant].get(node.key)
        if digest is not None and digest == content_hash(node, indexing.embed):
            # Without passages the store keeps those it has.
            unchanged.append(PreparedNode(node, digest, (), 0, b"", unit))
        else:
            changed.append((node, unit))
    return changed, tuple(unchanged)


# --- writing and removing ------------------------------------------------------------------------------------


def _write_batch(source: Source, batch: _Batch, run: _Run, unlinked: Collection[str]) -> None:
    """Write a batch; the nodes of `unlinked` units were written by an interrupted run that did not link them."""
    store = run.indexing.store
    edges = tuple(
        edge_set
        for unit in batch.units
        for edge_set in edge_sets(source, run.tenant, unit.name, unit.edges, store)
    )
    declare_shared(store, [edge for unit in batch.units for edge in unit.edges])
    run.mentions.before_write([node for node, _ in batch.changed], [prepared.node for prepared in batch.unchanged])
    run.relations.before_write([node for node, _ in batch.changed])
    run.mentions.search_names([prepared.node for prepared in batch.unchanged if prepared.unit in unlinked])
    upserts = batch.prepared() + batch.unchanged
    stamps = tuple((run.tenant, source.name, unit.name, NOT_LINKED) for unit in batch.units)
    store.write(Changes(upserts=upserts, edges=edges, units=stamps))
    run.written += len(batch.changed)
    run.written_since_catch_up += len(batch.changed)
    run.unchanged += len(batch.unchanged)


def edge_sets(source: Source, tenant: str, unit: str, edges: Sequence[Edge], store: Store) -> tuple[EdgeSet, ...]:
    """Group a unit's edges by the tenant they start in, with an empty set wherever it had drawn some before.

    Edges are remembered by unit, so that reading one file again replaces only the edges of that file, in any
    tenant and by any version of the source.
    """
    name, _, version = source.maker.rpartition("@")
    unit_maker = f"{name}#{unit_name(tenant, unit)}@"
    by_maker: dict[tuple[str, str], list[Edge]] = {
        maker_and_tenant: [] for maker_and_tenant in store.edge_makers(unit_maker)
    }
    for edge in edges:
        by_maker.setdefault((unit_maker + version, edge.tenant), []).append(edge)
    return tuple(EdgeSet(maker, tenant, tuple(drawn)) for (maker, tenant), drawn in by_maker.items())


def _remove_missing_nodes(source: Source, refs_by_unit: Mapping[str, set[tuple[str, str]]], run: _Run) -> None:
    """Remove the nodes that changed units no longer hold, once all are read: a node may have moved on."""
    store = run.indexing.store
    missing = [
        ref
        for unit, refs in refs_by_unit.items()
        for ref in store.unit_keys(source.name, run.unit_name(unit))
        if ref not in refs
    ]
    _remove(missing, (), run)


def _remove_missing_units(source: Source, units: Sequence[str], run: _Run) -> None:
    """Remove the nodes and edges of units that no longer exist."""
    for unit in units:
        refs = run.indexing.store.unit_keys(source.name, run.unit_name(unit))
        _remove(refs, edge_sets(source, run.tenant, unit, (), run.indexing.store), run)
        # An empty stamp makes the store forget the unit.
        run.stamps.append((run.tenant, source.name, unit, ""))


def _remove(refs: Sequence[tuple[str, str]], edges: tuple[EdgeSet, ...], run: _Run) -> None:
    """Remove the nodes of the given (tenant, key), and replace the given edge sets."""
    if refs or edges:
        run.mentions.before_removal(refs)
        run.relations.before_removal(refs)
        run.indexing.store.write(Changes(removes=tuple(refs), edges=edges))
        run.removed += len(refs)


# --- stories -------------------------------------------------------------------------------------------------


def _index_stories(sources: Sequence[str], run: _Run) -> None:
    """Find the entities of the stories that changed, and write them in place of those found before."""
    if not may_hold_stories(run.indexing.store, run.tenant):
        return
    # Only stores with stories pay for loading what reads them: a fifth of the time for one edited file of code.
    from weft.indexing.stories import changed_stories

    for story in changed_stories(run.indexing.store, run.tenant, sources):
        changed, unchanged = separate_unchanged([(node, story.unit) for node in story.nodes], run.indexing)
        run.mentions.before_write([node for node, _ in changed], ())
        run.relations.before_write([node for node, _ in changed])
        upserts = run.preparer.submit_nodes(changed)() + unchanged
        _remove(story.removed, (), run)
        run.indexing.store.write(Changes(upserts=upserts, edges=story.edges, aliases=story.aliases))
        run.entities += len(story.nodes)
        run.stamps.append(story.stamped_unit())
        run.progress(f"finding entities in {story.source}", len(story.nodes), len(story.nodes))
