"""Sources into the store: only what changed is read, prepared and written; then links and the search index."""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.indexing.link import Relating, Relinking, declare_shared
from weft.indexing.prepare import PREPARATION, Prepared, Preparing, content_hash
from weft.indexing.stories import changed_stories
from weft.model import DEFAULT_TENANT, Edge, EdgeSet, Node
from weft.ports import (
    Changes,
    Embedder,
    Index,
    PreparedNode,
    Problem,
    Releasing,
    Remarking,
    Resumable,
    Source,
    Store,
    Tell,
    Telling,
    TokenCounter,
    Unit,
    untold,
)

Progress = Tell

_BATCH: Final = 1_000
_CATCH_UP: Final = 50_000
_PLACE: Final = ""
"""The unit under which a source's place is remembered: no file has this name."""
_WRITTEN: Final = "written, but not linked"
"""The stamp of a unit until the run that wrote it is done."""


@dataclass(frozen=True, slots=True)
class Report:
    """What indexing did."""

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
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Nodes in what was read, by kind."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """Files and folders that were left out, or read in part, by reason."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What indexing works with."""

    store: Store
    index: Index
    embed: Embedder | None
    count: TokenCounter


@dataclass(slots=True)
class _Tally:
    """The report while it is being made, and what waits for linking."""

    units: int = 0
    units_changed: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    entities: int = 0
    problems: list[Problem] = field(default_factory=list)
    stamps: list[tuple[str, str, str, str]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    since_catch_up: int = 0


def ingest(
    sources: Sequence[Source], shop: Workshop, tenant: str = DEFAULT_TENANT, progress: Progress | None = None
) -> Report:
    """Bring the store up to what the sources hold; interrupted, it leaves whole batches and goes on next time."""
    tell = progress or untold
    tally = _Tally()
    relinking, relating = Relinking(shop.store, shop.index), Relating(shop.store, shop.index)
    with shop.store.writing():
        if shop.embed is not None:
            shop.store.remember_embedder(shop.embed.name, shop.embed.dimensions)
        job = _Job(shop, tenant, tally, relinking, relating, tell)
        with Preparing(shop.embed, shop.count) as preparing:
            for source in sources:
                _ingest_source(source, job, preparing)
            _tell_stories([source.name for source in sources], job, preparing)
        shop.index.catch_up(shop.store)
        links = relinking.run(lambda done: tell("linking", done, None)) + relating.run()
        relinking.weigh()
        # Stamps are kept only now: what was written but not yet linked is looked at again after an interruption.
        shop.store.write(Changes(units=tuple(tally.stamps)))
        sequence = shop.index.catch_up(shop.store)
    return Report(
        sources=tuple(source.name for source in sources),
        units=tally.units,
        units_changed=tally.units_changed,
        written=tally.written,
        unchanged=tally.unchanged,
        removed=tally.removed,
        entities=tally.entities,
        links=links,
        problems=tuple(tally.problems),
        sequence=sequence,
        kinds=dict(sorted(tally.kinds.items())),
        passed_over=dict(sorted(tally.passed_over.items())),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """Indexing one source: what it works with and what it tells."""

    shop: Workshop
    tenant: str
    tally: _Tally
    relinking: Relinking
    relating: Relating
    tell: Progress

    def owned(self, unit: str) -> str:
        """The name under which a node remembers its unit."""
        return f"{self.tenant}/{unit}"


@dataclass(frozen=True, slots=True)
class _Batch:
    """Units that were read: their fresh nodes, being prepared, and those that are stored as they are."""

    units: Sequence[Unit]
    slots: Collection[tuple[str, str]]
    fresh: Sequence[tuple[Node, str]]
    known: tuple[PreparedNode, ...]
    prepared: Prepared


def _ingest_source(source: Source, job: _Job, preparing: Preparing) -> None:
    known = job.shop.store.units(job.tenant, source.name)
    _check_place(source, known.pop(_PLACE, None))
    if isinstance(source, Resumable):
        source.resume(_bare(known, source, job.shop))
    if isinstance(source, Telling):
        source.tell_to(job.tell)
    present = {name: _stamp(stamp, source, job.shop) for name, stamp in source.units()}
    if isinstance(source, Remarking):
        job.tally.passed_over.update(source.remarks())
    changed = [name for name, stamp in present.items() if known.get(name) != stamp]
    job.tally.units += len(present)
    job.tally.units_changed += len(changed)
    held: dict[str, set[tuple[str, str]]] = {}
    unlinked = {job.owned(name) for name, stamp in known.items() if stamp == _WRITTEN}
    for batch in _prepared(source, changed, job, preparing):
        _write(source, batch, job, unlinked)
        held |= {unit.name: {(node.tenant, node.key) for node in unit.nodes} for unit in batch.units}
        job.tell(f"reading {source.name}", len(held), len(changed))
        _keep_up(job)
    if isinstance(source, Releasing):
        source.let_go()
    _remove_gone(source, held, job)
    _forget(source, sorted(known.keys() - present.keys()), job)
    # Stamps are written at the very end: what is stored but not yet linked is looked at again if interrupted.
    job.tally.stamps += [(job.tenant, source.name, name, present[name]) for name in held]
    job.tally.stamps.append((job.tenant, source.name, _PLACE, source.identity()))


def _tell_stories(sources: Sequence[str], job: _Job, preparing: Preparing) -> None:
    """Find anew who and what is in the stories that changed."""
    for retold in changed_stories(job.shop.store, job.tenant, sources):
        fresh, known = parted([(node, retold.unit) for node in retold.nodes], job.shop)
        job.relinking.writing([node for node, _ in fresh], ())
        job.relating.changing((node.tenant, node.key, node.tags) for node, _ in fresh)
        upserts = preparing.prepared(fresh)() + known
        _remove(retold.gone, (), job)
        job.shop.store.write(Changes(upserts=upserts, edges=retold.edges, aliases=retold.aliases))
        job.tally.entities += len(retold.nodes)
        job.tally.stamps.append(retold.remembered())
        job.tell(f"telling {retold.source}", len(retold.nodes), len(retold.nodes))


def _stamp(stamp: str, source: Source, shop: Workshop) -> str:
    """A unit is read again when it changed, and also when it would be understood or prepared differently."""
    return " ".join([stamp, source.maker, PREPARATION, shop.embed.name if shop.embed is not None else ""])


def _bare(known: Mapping[str, str], source: Source, shop: Workshop) -> dict[str, str]:
    """The stamps as the source gave them; empty for units that must be read again whatever the source says."""
    added = _stamp("", source, shop)
    return {name: stamp.removesuffix(added) if stamp.endswith(added) else "" for name, stamp in known.items()}


def _check_place(source: Source, remembered: str | None) -> None:
    if remembered is not None and source.identity() not in ("", remembered):
        raise SourceError(
            f"A source named {source.name!r} was indexed from another place. Give this one a name of its own with "
            f"--source NAME, or take the other out first with: weft remove {source.name}"
        )


def _keep_up(job: _Job) -> None:
    """Let readers of a long run find what is written, without scanning it."""
    if job.tally.since_catch_up >= _CATCH_UP:
        job.shop.index.catch_up(job.shop.store)
        job.tally.since_catch_up = 0


def _remove_gone(source: Source, held: Mapping[str, set[tuple[str, str]]], job: _Job) -> None:
    """Remove what changed units no longer hold, once all are read: a node may have moved to a later one."""
    store = job.shop.store
    gone = [
        slot for unit in held for slot in store.unit_keys(source.name, job.owned(unit)) if slot not in held[unit]
    ]
    _remove(gone, (), job)


def _remove(gone: Sequence[tuple[str, str]], edges: tuple[EdgeSet, ...], job: _Job) -> None:
    if gone or edges:
        job.relinking.removing(gone)
        job.relating.changing((tenant, key, ()) for tenant, key in gone)
        job.shop.store.write(Changes(removes=tuple(gone), edges=edges))
        job.tally.removed += len(gone)


def _batches(source: Source, changed: Sequence[str]) -> Iterator[list[Unit]]:
    """Changed units, read, in groups of about a thousand nodes."""
    batch: list[Unit] = []
    size = 0
    for name in changed:
        unit = source.read(name)
        batch.append(unit)
        size += len(unit.nodes) + 1
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _prepared(source: Source, changed: Sequence[str], job: _Job, preparing: Preparing) -> Iterator[_Batch]:
    """Changed units in batches; while one is written, those after it are read and prepared."""
    waiting: deque[_Batch] = deque()
    for units in _batches(source, changed):
        job.tally.problems += [problem for unit in units for problem in unit.problems]
        readable = [unit for unit in units if unit.stamp]
        job.tally.kinds.update(node.kind for unit in readable for node in unit.nodes)
        nodes = {(node.tenant, node.key): (node, job.owned(unit.name)) for unit in readable for node in unit.nodes}
        if any(not nodes.keys().isdisjoint(batch.slots) for batch in waiting):
            # A node that two units hold is compared with what the earlier one made of it.
            yield from waiting
            waiting.clear()
        fresh, known = parted(list(nodes.values()), job.shop)
        waiting.append(_Batch(readable, nodes.keys(), fresh, known, preparing.prepared(fresh)))
        if len(waiting) > preparing.ahead:
            yield waiting.popleft()
    yield from waiting


def _write(source: Source, batch: _Batch, job: _Job, unlinked: Collection[str]) -> None:
    """Write the changed nodes; those of `unlinked` units were written by a run that could not link them."""
    edges = tuple(each for unit in batch.units for each in _edge_sets(source, unit.name, unit.edges, job))
    declare_shared(job.shop.store, [edge for unit in batch.units for edge in unit.edges])
    job.relinking.writing([node for node, _ in batch.fresh], [each.node for each in batch.known])
    job.relating.changing((node.tenant, node.key, node.tags) for node, _ in batch.fresh)
    job.relinking.naming([each.node for each in batch.known if each.unit in unlinked])
    upserts = batch.prepared() + batch.known
    written = tuple((job.tenant, source.name, unit.name, _WRITTEN) for unit in batch.units)
    job.shop.store.write(Changes(upserts=upserts, edges=edges, units=written))
    job.tally.written += len(batch.fresh)
    job.tally.since_catch_up += len(batch.fresh)
    job.tally.unchanged += len(batch.known)


def _edge_sets(source: Source, unit: str, edges: Sequence[Edge], job: _Job) -> tuple[EdgeSet, ...]:
    """A unit's edges by the tenant they start in, and nothing wherever it had drawn some before.

    Edges are remembered by unit, so that reading one file again replaces only what that file said, in whatever
    tenant and by whatever version of the source.
    """
    name, _, version = source.maker.rpartition("@")
    drawer = f"{name}#{job.owned(unit)}@"
    drawn: dict[tuple[str, str], list[Edge]] = {each: [] for each in job.shop.store.drawn(drawer)}
    for edge in edges:
        drawn.setdefault((drawer + version, edge.tenant), []).append(edge)
    return tuple(EdgeSet(maker, tenant, tuple(mine)) for (maker, tenant), mine in drawn.items())


def parted(
    nodes: Sequence[tuple[Node, str]], shop: Workshop
) -> tuple[list[tuple[Node, str]], tuple[PreparedNode, ...]]:
    """The nodes that must be prepared, and those stored as they are, which only tell their unit."""
    by_tenant: dict[str, list[str]] = {}
    for node, _ in nodes:
        by_tenant.setdefault(node.tenant, []).append(node.key)
    stored = {tenant: shop.store.hashes(tenant, keys) for tenant, keys in by_tenant.items()}
    fresh: list[tuple[Node, str]] = []
    known: list[PreparedNode] = []
    for node, unit in nodes:
        digest = stored[node.tenant].get(node.key)
        if digest is not None and digest == content_hash(node, shop.embed):
            known.append(PreparedNode(node, digest, (), 0, b"", unit))
        else:
            fresh.append((node, unit))
    return fresh, tuple(known)


def _forget(source: Source, units: Sequence[str], job: _Job) -> None:
    """Remove what units that no longer exist had brought."""
    for unit in units:
        gone = job.shop.store.unit_keys(source.name, job.owned(unit))
        _remove(gone, _edge_sets(source, unit, (), job), job)
        job.tally.stamps.append((job.tenant, source.name, unit, ""))
