"""Sources into the store: only what changed is read, prepared and written; then links and the search index."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from weft.link import affected, each_mentions
from weft.model import DEFAULT_TENANT, Edge, EdgeSet, Filter, Node, View
from weft.ports import Changes, Embedder, Index, PreparedNode, Problem, Source, Store, TokenCounter, Unit
from weft.prepare import PREPARATION, content_hash, prepare

Progress = Callable[[str, int, int | None], None]
"""Told (stage, done, total) as work goes on; the total is None while unknown."""

_BATCH: Final = 1_000
_CATCH_UP: Final = 50_000


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
    again: dict[str, dict[str, None]] = field(default_factory=dict)
    gone: dict[tuple[str, str], None] = field(default_factory=dict)
    forgotten: list[tuple[Source, str]] = field(default_factory=list)
    stamps: list[tuple[str, str, str, str]] = field(default_factory=list)
    since_catch_up: int = 0

    def tenants(self) -> list[str]:
        """The tenants in which anything is to be linked."""
        return sorted(self.touched.keys() | self.again.keys())


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
        _remove(shop, tally)
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
    present = {name: _stamp(stamp, source, shop) for name, stamp in source.units()}
    tally.units += len(present)
    changed = [name for name in present if known.get(name) != present[name]]
    tally.units_changed += len(changed)
    done = 0
    for batch in _batches(source, changed):
        _write(source, shop, tenant, batch, tally)
        done += len(batch)
        tell(f"reading {source.name}", done, len(changed))
        if tally.since_catch_up >= _CATCH_UP:
            shop.index.catch_up(shop.store)
            tally.since_catch_up = 0
    tally.stamps += [(tenant, source.name, name, present[name]) for name in changed]
    gone = sorted(known.keys() - present.keys())
    tally.forgotten += [(source, _owned(tenant, name)) for name in gone]
    tally.stamps += [(tenant, source.name, name, "") for name in gone]


def _stamp(stamp: str, source: Source, shop: Workshop) -> str:
    """A unit is read again when it changed, and also when it would be understood or prepared differently."""
    return " ".join([stamp, source.maker, PREPARATION, shop.embed.name if shop.embed is not None else ""])


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
    held = [slot for unit in batch for slot in shop.store.unit_keys(source.name, _owned(tenant, unit.name))]
    fresh, known = _parted(list(nodes.values()), shop)
    edges = tuple(
        each for unit in batch for each in _edge_sets(source, shop, _owned(tenant, unit.name), unit.edges)
    )
    shop.store.write(Changes(upserts=prepare(fresh, shop.embed, shop.count) + known, edges=edges))
    for owner, key in nodes:
        tally.touched.setdefault(owner, {})[key] = None
    tally.gone.update(dict.fromkeys(slot for slot in held if slot not in nodes))
    tally.written += len(fresh)
    tally.since_catch_up += len(fresh)
    tally.unchanged += len(known)
    tally.problems += [problem for unit in batch for problem in unit.problems]


def _owned(tenant: str, unit: str) -> str:
    return f"{tenant}/{unit}"


def _edge_sets(source: Source, shop: Workshop, unit: str, edges: Sequence[Edge]) -> list[EdgeSet]:
    """A unit's edges by the tenant they start in, and nothing wherever it had drawn some before.

    Edges are remembered by unit, so that reading one file again replaces only what that file said.
    """
    name, _, version = source.maker.rpartition("@")
    maker = f"{name}#{unit}@{version}"
    drawn: dict[tuple[str, str], list[Edge]] = {each: [] for each in shop.store.drawn(f"{name}#{unit}@")}
    for edge in edges:
        drawn.setdefault((maker, edge.tenant), []).append(edge)
    return [EdgeSet(by, tenant, tuple(mine)) for (by, tenant), mine in drawn.items()]


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


def _remove(shop: Workshop, tally: _Tally) -> None:
    """Remove what no unit holds any more; a node that only moved to another unit was written there and stays."""
    edges = [each for source, unit in tally.forgotten for each in _edge_sets(source, shop, unit, ())]
    for source, unit in tally.forgotten:
        tally.gone.update(dict.fromkeys(shop.store.unit_keys(source.name, unit)))
    gone: dict[str, list[str]] = {}
    for owner, key in tally.gone:
        if key not in tally.touched.get(owner, {}):
            gone.setdefault(owner, []).append(key)
    for tenant, named in _reading(shop, gone):
        again = affected(shop.store, tenant, named, _containing(shop, tenant))
        tally.again.setdefault(tenant, {}).update(dict.fromkeys(again))
    removes = tuple((owner, key) for owner, keys in gone.items() for key in keys)
    shop.store.write(Changes(removes=removes, edges=tuple(edges)))
    tally.removed += len(removes)


def _reading(
    shop: Workshop, named: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, dict[str, tuple[str, ...]]]]:
    """Each tenant whose texts may name any of these nodes, with those it may name."""
    with shop.store.everything() as snapshot:
        tenants = snapshot.view.tenants
    for tenant in tenants:
        near = {each: tuple(named[each]) for each in (tenant, *shop.store.shared(tenant)) if each in named}
        if near:
            yield tenant, near


def _link(shop: Workshop, tally: _Tally, tell: Progress) -> None:
    named = {
        tenant: {**tally.again.get(tenant, {}), **tally.touched.get(tenant, {})} for tenant in tally.tenants()
    }
    for tenant, near in _reading(shop, named):
        renamed = {each: tuple(tally.touched[each]) for each in near if each in tally.touched}
        done = 0
        for each in each_mentions(
            shop.store, tenant, near.get(tenant, ()), _containing(shop, tenant), renamed=renamed
        ):
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
            found = shop.index.lexical(snapshot, [rarest], Filter(), frequency[rarest])
            return sorted({row.node_id for row in snapshot.passages(found.passage_ids.tolist())})

    return containing
