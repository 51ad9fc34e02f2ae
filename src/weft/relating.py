"""Links by tags and by meaning, drawn where a tenant wants them and kept current as its nodes change."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.link.similar import NEAREST, SIMILAR_EDGE, SIMILAR_MAKER, nearest
from weft.link.tags import TAG_EDGE, TAG_MAKER, following, tag_edges, touched_by
from weft.model import Edge, EdgeSet, View
from weft.ports import Changes, Index, Snapshot, Store

SETTINGS: Final = ":links"
"""The source under whose units a tenant's wishes are remembered: no source has this name."""

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which links a tenant wants drawn; `similar` is the least cosine, None for no such links."""

    shared_tags: bool = False
    similar: float | None = None


def wishes_of(store: Store, tenant: str) -> Wishes:
    """What was last wished for a tenant."""
    units = store.units(tenant, SETTINGS)
    least = units.get(SIMILAR_EDGE)
    return Wishes(TAG_EDGE in units, float(least) if least else None)


@dataclass(slots=True)
class Relating:
    """What is about to change while writing: nodes by tenant, with the tags they have and had."""

    store: Store
    index: Index
    tags: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    beside: dict[str, set[str]] = field(default_factory=dict)
    _known: dict[str, Wishes] = field(default_factory=dict)

    def changing(self, nodes: Iterable[tuple[str, str, Iterable[str]]]) -> None:
        """Call before nodes, given as (tenant, key, tags to come), are written or removed."""
        by_tenant: dict[str, dict[str, set[str]]] = {}
        for tenant, key, tags in nodes:
            if self._wishes(tenant) != Wishes():
                by_tenant.setdefault(tenant, {})[key] = set(tags)
        for tenant, coming in by_tenant.items():
            self._remember(tenant, coming)

    def _wishes(self, tenant: str) -> Wishes:
        if tenant not in self._known:
            self._known[tenant] = wishes_of(self.store, tenant)
        return self._known[tenant]

    def _remember(self, tenant: str, coming: Mapping[str, set[str]]) -> None:
        mine, beside = self.tags.setdefault(tenant, {}), self.beside.setdefault(tenant, set())
        with self.store.snapshot(View((tenant,))) as snapshot:
            ids = _ids(snapshot, list(coming))
            had = {row.node.key: row.node.tags for row in snapshot.nodes(list(ids.values())).values()}
            if self._wishes(tenant).similar is not None and ids:
                drawn = snapshot.edges(sorted(ids.values()), 100_000)
                beside.update(edge.source for _, _, edge in drawn if edge.type == SIMILAR_EDGE)
        for key, tags in coming.items():
            mine.setdefault(key, set()).update(tags, had.get(key, ()))

    def run(self) -> int:
        """Draw anew what depends on the changes, and return how many edges that are."""
        return sum(self._draw(tenant, self._wishes(tenant)) for tenant in sorted(self.tags))

    def _draw(self, tenant: str, wishes: Wishes) -> int:
        drawn = 0
        if wishes.shared_tags:
            drawn += draw_tags(self.store, tenant, self.tags[tenant])
        if wishes.similar is not None:
            keys = self.beside[tenant] | self.tags[tenant].keys()
            drawn += draw_similar(self.store, self.index, tenant, sorted(keys), wishes.similar, around=True)
        return drawn


def relate_all(store: Store, index: Index, tenant: str, wishes: Wishes, progress: Callable[[int], None]) -> int:
    """Draw all links that are wished for a tenant, take away those that are not, and keep it so from now on."""
    if wishes.similar is not None and not 0.0 < wishes.similar <= 1.0:
        raise InvalidInput(f"A threshold of {wishes.similar} is no nearness. Give more than 0 and at most 1.")
    settings = ((TAG_EDGE, "on" if wishes.shared_tags else ""), (SIMILAR_EDGE, _told(wishes.similar)))
    with store.writing():
        store.write(Changes(units=tuple((tenant, SETTINGS, name, stamp) for name, stamp in settings)))
        nodes = {row.node.key: set(row.node.tags) for row in store.iterate(tenant)}
        drawn = 0
        if wishes.shared_tags:
            drawn += draw_tags(store, tenant, nodes, whole=True)
        else:
            store.write(Changes(edges=(EdgeSet(TAG_MAKER, tenant, ()),)))
        if wishes.similar is None:
            store.write(Changes(edges=(EdgeSet(SIMILAR_MAKER, tenant, ()),)))
            return drawn
        for keys in _batches(sorted(nodes)):
            drawn += draw_similar(store, index, tenant, keys, wishes.similar, around=False)
            progress(drawn)
        return drawn


def _told(threshold: float | None) -> str:
    return "" if threshold is None else repr(threshold)


def draw_tags(store: Store, tenant: str, changed: Mapping[str, Iterable[str]], whole: bool = False) -> int:
    """Draw the tag edges that depend on the changed nodes; `whole` says that these are all there are."""

    @cache
    def carriers(tag: str) -> Sequence[str]:
        return store.tagged(tenant, tag)

    keys = sorted(changed if whole else touched_by(changed, carriers) | changed.keys())
    drawn = 0
    for scope in _batches(keys):
        tags = dict(_tags(store, tenant, scope))
        near = {other for key in tags for tag in tags[key] for other in following(key, carriers(tag))}
        tags |= dict(_tags(store, tenant, sorted(near - tags.keys())))
        present = [key for key in scope if key in tags]
        edges = tuple(edge for key in present for edge in tag_edges(tenant, key, tags, carriers))
        store.write(Changes(edges=(EdgeSet(TAG_MAKER, tenant, edges, tuple(scope)),)))
        drawn += len(edges)
    return drawn


def _tags(store: Store, tenant: str, keys: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    with store.snapshot(View((tenant,))) as snapshot:
        for row in snapshot.nodes(sorted(_ids(snapshot, keys).values())).values():
            yield row.node.key, frozenset(row.node.tags)


def draw_similar(
    store: Store, index: Index, tenant: str, keys: Sequence[str], threshold: float, *, around: bool
) -> int:
    """Draw the nearest neighbours of the nodes; with `around` also of those near enough to have new ones."""
    with store.snapshot(View((tenant,))) as snapshot:
        ids = _ids(snapshot, keys)
        near = {each: nearest(snapshot, index, each, threshold) for each in ids.values()}
        others = {other for found in near.values() for other, _ in found} - near.keys() if around else set()
        near |= {each: nearest(snapshot, index, each, threshold) for each in sorted(others)}
        mentioned = {*near, *(other for found in near.values() for other, _ in found[:NEAREST])}
        named = {number: row.node.key for number, row in snapshot.nodes(sorted(mentioned)).items()}
    edges = tuple(
        Edge(named[one], named[other], SIMILAR_EDGE, cosine, tenant=tenant)
        for one, found in near.items()
        for other, cosine in found[:NEAREST]
    )
    scope = sorted({*keys, *(named[one] for one in near)})
    store.write(Changes(edges=(EdgeSet(SIMILAR_MAKER, tenant, edges, tuple(scope)),)))
    return len(edges)


def _ids(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, int]:
    """Ids of the nodes with exactly these keys."""
    found = snapshot.find(list(keys))
    rows = snapshot.nodes(sorted({each for ids in found.values() for each in ids}))
    wanted = frozenset(keys)
    return {row.node.key: number for number, row in rows.items() if row.node.key in wanted}


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]
