"""Which texts must be read for names again after a change, and the reading of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Final

from weft.errors import InvalidInput
from weft.frozen import dataclass
from weft.indexing.worker import run_in_worker
from weft.links import affected, each_mentions, importance
from weft.links.similar import (
    NEAREST,
    SIMILAR_EDGE,
    SIMILAR_MAKER,
    TAG_EDGE,
    TAG_MAKER,
    following,
    nearest,
    tag_edges,
    touched_by,
)
from weft.model import Edge, EdgeSet, Filter, Node, View
from weft.ports import Changes, Index, Snapshot, Store

_PROPOSED: Final = 2_000
_WEIGHED: Final = 50_000
"""In larger tenants only the importance that sources give counts: PageRank over all of it would delay each run."""

SHARED_TENANT: Final = "shared"
"""The tenant that every other may link into without declaring so."""

Names = dict[str, dict[str, None]]
"""Keys by tenant, each once, in the order they came."""


@dataclass(slots=True)
class Relinking:
    """What changed while indexing: texts to scan, and nodes whose names others may mention now or no longer."""

    store: Store
    index: Index
    texts: Names = field(default_factory=dict)
    named: Names = field(default_factory=dict)

    def writing(self, fresh: Sequence[Node], known: Sequence[Node]) -> None:
        """Call before nodes are written; `known` are unchanged, but may not have been linked yet."""
        for node in (*fresh, *known):
            self.texts.setdefault(node.tenant, {})[node.key] = None
        before = self._names(fresh)
        self.naming([node for node in fresh if before.get((node.tenant, node.key)) != _names(node)])

    def naming(self, nodes: Sequence[Node]) -> None:
        """Look the nodes' names up in older texts, although they are not new."""
        for node in nodes:
            self.named.setdefault(node.tenant, {})[node.key] = None

    def removing(self, gone: Sequence[tuple[str, str]]) -> None:
        """Call before nodes are removed: a name they shared with others weighs more for those afterwards."""
        by_tenant: dict[str, list[str]] = {}
        for tenant, key in gone:
            by_tenant.setdefault(tenant, []).append(key)
            self.texts.get(tenant, {}).pop(key, None)
            self.named.get(tenant, {}).pop(key, None)
        for owner, keys in by_tenant.items():
            for tenant in (owner, *self.store.sharing(owner)):
                touched = affected(self.store, tenant, {owner: keys}, self._containing(tenant))
                self.texts.setdefault(tenant, {}).update(dict.fromkeys(touched))

    def run(self, progress: Callable[[int], None]) -> int:
        """Scan, write the links found, and return how many there are."""
        links = done = 0
        for tenant in sorted({*self.texts, *(each for owner in self.named for each in self.store.sharing(owner))}):
            owners = (tenant, *self.store.shared(tenant))
            renamed = {owner: tuple(self.named[owner]) for owner in owners if self.named.get(owner)}
            texts = tuple(self.texts.get(tenant, ()))
            mentions = each_mentions(
                self.store, tenant, texts, self._containing(tenant), renamed=renamed, run=run_in_worker
            )
            for each in mentions:
                self.store.write(Changes(edges=(each,)))
                links += len(each.edges)
                done += len(each.scope or ())
                progress(done)
        return links

    def weigh(self) -> None:
        """Compute anew how much each node matters in the tenants that changed, where that takes only moments."""
        for tenant in sorted(self.texts):
            with self.store.snapshot(View((tenant,))) as snapshot:
                passages = snapshot.statistics(()).passages
            if passages <= _WEIGHED:
                self.store.write(Changes(importance=importance(self.store, tenant)))

    def _names(self, nodes: Sequence[Node]) -> dict[tuple[str, str], tuple[str, ...]]:
        """What those of the nodes that are stored are called there now."""
        keys: Names = {}
        for node in nodes:
            keys.setdefault(node.tenant, {})[node.key] = None
        stored_keys = [key for tenant, each in keys.items() for key in self.store.hashes(tenant, list(each))]
        if not stored_keys:
            return {}
        with self.store.snapshot(View(tuple(keys))) as snapshot:
            stored = snapshot.nodes(_ids_by_name(snapshot, stored_keys))
        return {(row.node.tenant, row.node.key): _names(row.node) for row in stored.values()}

    def _containing(self, tenant: str) -> Callable[[Sequence[int]], Sequence[int]]:
        """A look-up of nodes whose text holds the rarest of some terms, for names new among older texts."""

        def containing(term_hashes: Sequence[int]) -> Sequence[int]:
            with self.store.snapshot(View((tenant,))) as snapshot:
                frequency = snapshot.statistics(term_hashes).frequency
                rarest = min(term_hashes, key=lambda each: (frequency.get(each, 0), each))
                if not frequency.get(rarest, 0):
                    return ()
                found = self.index.lexical(snapshot, [rarest], Filter(), max(_PROPOSED, frequency[rarest]))
                return sorted({row.node_id for row in snapshot.passages(found.passage_ids.tolist())})

        return containing


def declare_shared(store: Store, edges: Sequence[Edge]) -> None:
    """Let a tenant that draws an edge into the shared tenant link into it from now on."""
    for tenant in sorted({edge.tenant for edge in edges if edge.target_tenant == SHARED_TENANT != edge.tenant}):
        known = store.shared(tenant)
        if SHARED_TENANT not in known:
            store.share(tenant, (*known, SHARED_TENANT))


def _ids_by_name(snapshot: Snapshot, keys: Sequence[str]) -> list[int]:
    return sorted({each for ids in snapshot.find(keys).values() for each in ids})


def _names(node: Node) -> tuple[str, ...]:
    return (node.title, *(alias.text for alias in node.aliases))


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
            ids = _ids_by_key(snapshot, list(coming))
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
        for row in snapshot.nodes(sorted(_ids_by_key(snapshot, keys).values())).values():
            yield row.node.key, frozenset(row.node.tags)


def draw_similar(
    store: Store, index: Index, tenant: str, keys: Sequence[str], threshold: float, *, around: bool
) -> int:
    """Draw the nearest neighbours of the nodes; with `around` also of those near enough to have new ones."""
    with store.snapshot(View((tenant,))) as snapshot:
        ids = _ids_by_key(snapshot, keys)
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


def _ids_by_key(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, int]:
    """Ids of the nodes with exactly these keys."""
    found = snapshot.find(list(keys))
    rows = snapshot.nodes(sorted({each for ids in found.values() for each in ids}))
    wanted = frozenset(keys)
    return {row.node.key: number for number, row in rows.items() if row.node.key in wanted}


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _BATCH):
        yield keys[start : start + _BATCH]
