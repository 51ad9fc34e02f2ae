"""Sources into the store: only what changed is read, prepared and written; then links and the search index."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.link import each_mentions
from weft.model import DEFAULT_TENANT, EdgeSet, Filter, Node, View
from weft.ports import Changes, Embedder, Index, PreparedNode, Problem, Source, Store, TokenCounter, Unit
from weft.prepare import content_hash, prepare

Progress = Callable[[str, int, int | None], None]
"""Told (stage, done, total) as work goes on; the total is None while unknown."""

_BATCH: Final = 1_000
_CATCH_UP: Final = 50_000
_PROPOSED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Report:
    """What indexing did."""

    sources: tuple[str, ...] = ()
    units: int = 0
    units_changed: int = 0
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    links: int = 0
    problems: tuple[Problem, ...] = ()
    sequence: int = 0


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
    links: int = 0
    problems: list[Problem] = field(default_factory=list)
    touched: dict[str, dict[str, None]] = field(default_factory=dict)
    stamps: list[tuple[str, str, str, str]] = field(default_factory=list)
    since_catch_up: int = 0


def ingest(
    sources: Sequence[Source], shop: Workshop, tenant: str = DEFAULT_TENANT, progress: Progress | None = None
) -> Report:
    """Bring the store up to what the sources hold; interrupted, it leaves whole batches and goes on next time."""
    tell = progress or _untold
    tally = _Tally()
    with shop.store.writing():
        if shop.embed is not None:
            shop.store.remember_embedder(shop.embed.name, shop.embed.dimensions)
        for source in sources:
            _ingest_source(source, shop, tenant, tally, tell)
        shop.index.catch_up(shop.store)
        _link(shop, tally, tell)
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
        links=tally.links,
        problems=tuple(tally.problems),
        sequence=sequence,
    )


def _untold(stage: str, done: int, total: int | None) -> None:
    """Nobody watches the progress."""


def _ingest_source(source: Source, shop: Workshop, tenant: str, tally: _Tally, tell: Progress) -> None:
    known = shop.store.units(tenant, source.name)
    present = dict(source.units())
    changed = [name for name, stamp in present.items() if known.get(name) != stamp]
    tally.units += len(present)
    tally.units_changed += len(changed)
    _forget(source, shop, tenant, sorted(known.keys() - present.keys()), tally)
    held: dict[str, set[tuple[str, str]]] = {}
    for batch in _batches(source, changed):
        _write(source, shop, tenant, batch, tally)
        held |= {unit.name: {(node.tenant, node.key) for node in unit.nodes} for unit in batch}
        tell(f"reading {source.name}", len(held), len(changed))
        if tally.since_catch_up >= _CATCH_UP:
            shop.index.catch_up(shop.store)
            tally.since_catch_up = 0
    _remove_gone(source, shop, tenant, held, tally)
    tally.stamps += [(tenant, source.name, name, present[name]) for name in changed]


def _remove_gone(
    source: Source, shop: Workshop, tenant: str, held: Mapping[str, set[tuple[str, str]]], tally: _Tally
) -> None:
    """Remove what changed units no longer hold, once all are read: a node may have moved to a later one."""
    gone = [
        slot
        for unit, slots in held.items()
        for slot in shop.store.unit_keys(source.name, _owned(tenant, unit))
        if slot not in slots
    ]
    if gone:
        shop.store.write(Changes(removes=tuple(gone)))
        tally.removed += len(gone)


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


def _write(source: Source, shop: Workshop, tenant: str, batch: Sequence[Unit], tally: _Tally) -> None:
    nodes = {(node.tenant, node.key): (node, _owned(tenant, unit.name)) for unit in batch for node in unit.nodes}
    fresh, known = _parted(list(nodes.values()), shop)
    edges = tuple(
        EdgeSet(_maker(source, unit.name), owner, tuple(edge for edge in unit.edges if edge.tenant == owner))
        for unit in batch
        for owner in sorted({tenant, *(edge.tenant for edge in unit.edges)})
    )
    shop.store.write(Changes(upserts=prepare(fresh, shop.embed, shop.count) + known, edges=edges))
    for owner, key in nodes:
        tally.touched.setdefault(owner, {})[key] = None
    tally.written += len(fresh)
    tally.since_catch_up += len(fresh)
    tally.unchanged += len(known)
    tally.problems += [problem for unit in batch for problem in unit.problems]


def _owned(tenant: str, unit: str) -> str:
    return f"{tenant}/{unit}"


def _maker(source: Source, unit: str) -> str:
    """Edges are remembered by unit, so that reading one file again replaces only what that file said."""
    return f"{source.maker}#{unit}"


def _parted(
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


def _forget(source: Source, shop: Workshop, tenant: str, units: Sequence[str], tally: _Tally) -> None:
    """Remove what units that no longer exist had brought."""
    for unit in units:
        gone = shop.store.unit_keys(source.name, _owned(tenant, unit))
        owners = sorted({tenant, *(owner for owner, _ in gone)})
        edges = tuple(EdgeSet(_maker(source, unit), owner, ()) for owner in owners)
        shop.store.write(Changes(removes=gone, edges=edges, units=((tenant, source.name, unit, ""),)))
        tally.removed += len(gone)


def _link(shop: Workshop, tally: _Tally, tell: Progress) -> None:
    for tenant in sorted(tally.touched):
        changed = tuple(tally.touched[tenant])
        done = 0
        for each in each_mentions(shop.store, tenant, changed, _containing(shop, tenant)):
            shop.store.write(Changes(edges=(each,)))
            done += len(each.scope or ())
            tally.links += len(each.edges)
            tell("linking", done, None)


def _containing(shop: Workshop, tenant: str) -> Callable[[Sequence[int]], Sequence[int]]:
    """A look-up of nodes whose text holds the rarest of some terms, for names that are new among older texts."""

    def containing(term_hashes: Sequence[int]) -> Sequence[int]:
        with shop.store.snapshot(View((tenant,))) as snapshot:
            frequency = snapshot.statistics(term_hashes).frequency
            rarest = min(term_hashes, key=lambda each: (frequency.get(each, 0), each), default=None)
            if rarest is None or not frequency.get(rarest, 0):
                return ()
            found = shop.index.lexical(snapshot, [rarest], Filter(), _PROPOSED)
            return sorted({row.node_id for row in snapshot.passages(found.passage_ids.tolist())})

    return containing
