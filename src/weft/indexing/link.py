"""Keep links current while nodes change: which texts to scan for names, and the links by tags and by meaning.

Both linkers note nodes before these are written or removed, while the store still has their old names and
tags, and draw their links when everything is written. `MentionLinker` links texts with the nodes they name.
`RelationLinker` links nodes that share tags or are near in meaning: those of a knowledge base by itself, all of a
tenant where its `LinkSettings` ask for that, and none where they say so.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct, field

from weft.errors import InvalidInput
from weft.indexing.worker import run_in_worker
from weft.links import compute_importance, draw_mentions, find_affected_keys
from weft.links.similar import (
    MAX_SIMILAR_NODES,
    SIMILAR_EDGE,
    SIMILAR_MAKER,
    TAG_EDGE,
    TAG_MAKER,
    draw_tag_edges,
    find_keys_to_relink,
    find_nearest,
    ring_neighbours,
)
from weft.model import FOUND_ENTITY, KNOWLEDGE_KINDS, Edge, EdgeSet, Filter, Node, NodeRef, View
from weft.ports import Changes, Index, Snapshot, Store

SHARED_TENANT: Final = "shared"
"""The tenant that every other may link into without declaring so."""

SETTINGS_SOURCE: Final = ":links"
"""The source under whose units a tenant's link settings are stored: no real source has this name."""

_MIN_PASSAGES_ASKED: Final = 2_000
"""Passages that the index is asked for at least when older texts are searched for a name. It is never asked for
fewer than hold the term, so none is missed; raising it only makes the answers larger."""

_MAX_PASSAGES_FOR_IMPORTANCE: Final = 50_000
"""In larger tenants only the importance that sources give counts: PageRank over all nodes would delay each run."""

_WEIGHED_SOURCE: Final = ":importance"
_WEIGHED_UNIT: Final = "state"
"""The source and unit under which the state of the store is kept in which a tenant's nodes were weighed."""

_MAX_EDGES_OF_CHANGED: Final = 100_000
"""Edges read around the nodes of one change, to find those whose nearest neighbours may be others now. It bounds
memory; neighbours beyond it keep their old similar edges until they change themselves."""

_MAX_AUTOMATIC_NODES: Final = 5_000
"""Nodes whose relations are drawn at once without being asked for, in some ten seconds. Where more are written in
one run, `weft link` draws them."""

_KEYS_PER_WRITE: Final = 500
"""Nodes whose relation edges are computed and written together: more take more memory, fewer more transactions."""

KeysByTenant = dict[str, dict[str, None]]
"""Keys by tenant, each once, in the order in which they came."""


# --- mentions --------------------------------------------------------------------------------------------------


class MentionLinker(Struct):
    """The texts to scan for names, and the nodes whose names others may mention now or no longer."""

    store: Store
    index: Index
    texts: KeysByTenant = field(default_factory=dict)
    renamed: KeysByTenant = field(default_factory=dict)

    def before_write(self, changed: Sequence[Node], unchanged: Sequence[Node]) -> None:
        """Note nodes that are about to be written; the unchanged ones may not have been linked yet."""
        for node in (*changed, *unchanged):
            self.texts.setdefault(node.tenant, {})[node.key] = None
        # Only new or different names are looked for in older texts: that costs far more than the write itself.
        stored_names = self._stored_names(changed)
        self.search_names([node for node in changed if stored_names.get((node.tenant, node.key)) != _names(node)])

    def search_names(self, nodes: Sequence[Node]) -> None:
        """Search older texts for the nodes' names too, as if the names were new."""
        for node in nodes:
            self.renamed.setdefault(node.tenant, {})[node.key] = None

    def before_removal(self, refs: Sequence[tuple[str, str]]) -> None:
        """Note nodes that are about to be removed: a name they shared then means the others alone."""
        keys_by_tenant: dict[str, list[str]] = {}
        for tenant, key in refs:
            keys_by_tenant.setdefault(tenant, []).append(key)
            # Noted earlier in this run, perhaps; a removed node has neither a text to scan nor names to find.
            self.texts.get(tenant, {}).pop(key, None)
            self.renamed.get(tenant, {}).pop(key, None)
        for owner, keys in keys_by_tenant.items():
            # Asked now, because after the removal the store no longer knows which names the nodes had.
            for tenant in (owner, *self.store.linking_tenants(owner)):
                touched = find_affected_keys(self.store, tenant, {owner: keys}, self._text_search(tenant))
                self.texts.setdefault(tenant, {}).update(dict.fromkeys(touched))

    def link(self, progress: Callable[[int], None]) -> int:
        """Scan the noted texts, write the mentions found, and return how many there are."""
        links = done = 0
        # A name that is new in a shared tenant may stand in the texts of all tenants that link into it.
        sharing = (tenant for owner in self.renamed for tenant in self.store.linking_tenants(owner))
        for tenant in sorted({*self.texts, *sharing}):
            owners = (tenant, *self.store.shared(tenant))
            renamed = {owner: tuple(self.renamed[owner]) for owner in owners if self.renamed.get(owner)}
            texts = tuple(self.texts.get(tenant, ()))
            mentions = draw_mentions(
                self.store, tenant, texts, self._text_search(tenant), renamed=renamed, run=run_in_worker
            )
            for edge_set in mentions:
                self.store.write(Changes(edges=(edge_set,)))
                links += len(edge_set.edges)
                done += len(edge_set.scope or ())
                progress(done)
        return links

    def update_importance(self) -> None:
        """Compute the importance of all nodes anew in the changed tenants that are small enough."""
        for tenant in sorted(self.texts):
            with self.store.snapshot(View((tenant,))) as snapshot:
                passages, state = snapshot.statistics(()).passages, f"{snapshot.identity}-{snapshot.sequence}"
            # Many edits change no node and no link, such as a comment between two functions.
            is_known = self.store.units(tenant, _WEIGHED_SOURCE).get(_WEIGHED_UNIT) == state
            if passages <= _MAX_PASSAGES_FOR_IMPORTANCE and not is_known:
                weighed = self.store.write(Changes(importance=compute_importance(self.store, tenant)))
                stamp = f"{snapshot.identity}-{weighed}"
                self.store.write(Changes(units=((tenant, _WEIGHED_SOURCE, _WEIGHED_UNIT, stamp),)))

    def _stored_names(self, nodes: Sequence[Node]) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the names that the store has now for those of the nodes that it holds."""
        keys_by_tenant: KeysByTenant = {}
        for node in nodes:
            keys_by_tenant.setdefault(node.tenant, {})[node.key] = None
        stored = [key for tenant, keys in keys_by_tenant.items() for key in self.store.hashes(tenant, list(keys))]
        if not stored:
            return {}
        with self.store.snapshot(View(tuple(keys_by_tenant))) as snapshot:
            ids = {id for found in snapshot.find(stored).values() for id in found}
            rows = snapshot.nodes(sorted(ids))
        return {(row.node.tenant, row.node.key): _names(row.node) for row in rows.values()}

    def _text_search(self, tenant: str) -> Callable[[Sequence[int]], Sequence[int]]:
        """Return a search for nodes whose text holds all of some terms: new names in older texts."""

        def nodes_containing(term_hashes: Sequence[int]) -> Sequence[int]:
            with self.store.snapshot(View((tenant,))) as snapshot:
                frequency = snapshot.statistics(term_hashes).frequency
                # The rarest term alone gives few texts; only of these the other terms are looked at.
                rarest = min(term_hashes, key=lambda term: (frequency.get(term, 0), term))
                if not frequency.get(rarest, 0):
                    return ()
                limit = max(_MIN_PASSAGES_ASKED, frequency[rarest])
                found = self.index.lexical(snapshot, [rarest], Filter(), limit)
                ids = sorted({row.node_id for row in snapshot.passages(found.passage_ids.tolist())})
                return _keep_with_terms(snapshot, ids, term_hashes) if len(term_hashes) > 1 else ids

        return nodes_containing


def _keep_with_terms(snapshot: Snapshot, ids: Sequence[int], term_hashes: Sequence[int]) -> list[int]:
    """Keep the nodes that have each of the terms in one of their passages."""
    import numpy as np

    rows = snapshot.passages_of_nodes(ids)
    hashes = np.frombuffer(b"".join([row.term_hashes for row in rows]), "<u4")
    owners = np.repeat([row.node_id for row in rows], [len(row.term_counts) for row in rows])
    wanted = np.unique(np.array(term_hashes, "<u4"))
    hit = np.isin(hashes, wanted)
    # Several passages of a node may have the same term, which counts once.
    pairs = np.unique(owners[hit] * len(wanted) + np.searchsorted(wanted, hashes[hit]))
    found, counts = np.unique(pairs // len(wanted), return_counts=True)
    return [int(node_id) for node_id in found[counts == len(wanted)]]


def _names(node: Node) -> tuple[str, ...]:
    return (node.title, *(alias.text for alias in node.aliases))


def declare_shared(store: Store, edges: Sequence[Edge]) -> None:
    """Let a tenant that draws an edge into the shared tenant link into it from now on."""
    for tenant in sorted({edge.tenant for edge in edges if edge.target_tenant == SHARED_TENANT != edge.tenant}):
        declared = store.shared(tenant)
        if SHARED_TENANT not in declared:
            store.share(tenant, (*declared, SHARED_TENANT))


# --- links by tags and by meaning ------------------------------------------------------------------------------


class LinkSettings(Struct, frozen=True):
    """The relation links that a tenant has drawn; `similar` is the least cosine, None for no such links.

    With `kinds`, only nodes of these are linked, and of these not the entities that were found in prose.
    """

    shared_tags: bool = False
    similar: float | None = None
    kinds: tuple[str, ...] = ()

    @property
    def are_none(self) -> bool:
        """Whether no links are drawn at all."""
        return not self.shared_tags and self.similar is None

    def takes(self, kind: str, key: str) -> bool:
        """Tell whether a node of this kind and key is linked."""
        return not self.kinds or (kind in self.kinds and FOUND_ENTITY not in key)


DEFAULT_THRESHOLD: Final = 0.75
"""The least cosine of similar nodes. A lower value draws more links, and more of them by chance."""
AUTOMATIC: Final = LinkSettings(shared_tags=True, similar=DEFAULT_THRESHOLD, kinds=KNOWLEDGE_KINDS)
"""The settings of a tenant for which none were stored."""
_OFF: Final = "off"
"""The stamp of links that are not to be drawn."""
_AUTOMATIC_UNIT: Final = "automatic"
"""The unit whose stamp says that all links of the automatic settings were drawn once."""


def read_link_settings(store: Store, tenant: str) -> LinkSettings:
    """Read the link settings that were last stored for a tenant, or return the automatic ones."""
    units = store.units(tenant, SETTINGS_SOURCE)
    if TAG_EDGE not in units and SIMILAR_EDGE not in units:
        return AUTOMATIC
    threshold = units.get(SIMILAR_EDGE, _OFF)
    return LinkSettings(units.get(TAG_EDGE, _OFF) != _OFF, None if threshold == _OFF else float(threshold))


def draw_all_links(
    store: Store, index: Index, tenant: str, settings: LinkSettings, progress: Callable[[int], None]
) -> int:
    """Draw all links that the settings ask for, remove the others, and store the settings for later changes."""
    if settings.similar is not None and not 0.0 < settings.similar <= 1.0:
        raise InvalidInput(f"A threshold of {settings.similar} is no nearness. Give more than 0 and at most 1.")
    with store.writing():
        store.write(Changes(units=_setting_units(tenant, settings)))
        tags_by_key = _read_linked(store, tenant, settings)
        drawn = 0
        if settings.shared_tags:
            drawn += _draw_tag_edges(store, tenant, tags_by_key, settings, is_whole=True)
        else:
            # An empty set without a scope takes away all that this maker drew before.
            store.write(Changes(edges=(EdgeSet(TAG_MAKER, tenant, ()),)))
        if settings.similar is None:
            store.write(Changes(edges=(EdgeSet(SIMILAR_MAKER, tenant, ()),)))
            return drawn
        for keys in _batches(sorted(tags_by_key)):
            drawn += _draw_similar_edges(store, index, tenant, keys, settings, with_neighbours=False)
            progress(drawn)
        return drawn


def _setting_units(tenant: str, settings: LinkSettings) -> tuple[tuple[str, str, str, str], ...]:
    """Return the units that store the settings; automatic ones are those that nothing is stored for."""
    if settings.kinds:
        return ((tenant, SETTINGS_SOURCE, _AUTOMATIC_UNIT, "drawn"),)
    stamps = (
        (TAG_EDGE, "on" if settings.shared_tags else _OFF),
        (SIMILAR_EDGE, _OFF if settings.similar is None else repr(settings.similar)),
    )
    return tuple((tenant, SETTINGS_SOURCE, name, stamp) for name, stamp in stamps)


def _read_linked(store: Store, tenant: str, settings: LinkSettings) -> dict[str, set[str]]:
    """Return the tags of all nodes that the settings link, by key."""
    if not settings.kinds:
        return {row.node.key: set(row.node.tags) for row in store.iterate(tenant)}
    with store.snapshot(View((tenant,))) as snapshot:
        rows = snapshot.nodes(snapshot.matching_ids(Filter(kinds=settings.kinds)).tolist())
    linked = (row.node for row in rows.values() if settings.takes(row.node.kind, row.node.key))
    return {node.key: set(node.tags) for node in linked}


class RelationLinker(Struct):
    """The changed nodes by tenant with the tags they have and had, and the nodes that were similar to them."""

    store: Store
    index: Index
    tags: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    similar_keys: dict[str, set[str]] = field(default_factory=dict)
    _settings: dict[str, LinkSettings] = field(default_factory=dict)
    _with_links: dict[str, bool] = field(default_factory=dict)

    def before_write(self, nodes: Sequence[Node]) -> None:
        """Note nodes that are about to be written."""
        by_tenant: dict[str, dict[str, Node]] = {}
        for node in nodes:
            by_tenant.setdefault(node.tenant, {})[node.key] = node
        for tenant, changed in by_tenant.items():
            settings = self._tenant_settings(tenant)
            linked = {key for key, node in changed.items() if settings.takes(node.kind, key)}
            # Most tenants have no such links, and then what is stored of the changed nodes need not be read.
            if not settings.are_none and (linked or self._has_links(tenant)):
                self._note(tenant, {key: node.tags for key, node in changed.items()}, linked)

    def before_removal(self, refs: Sequence[NodeRef]) -> None:
        """Note nodes that are about to be removed."""
        by_tenant: dict[str, dict[str, tuple[str, ...]]] = {}
        for tenant, key in refs:
            by_tenant.setdefault(tenant, {})[key] = ()
        for tenant, keys in by_tenant.items():
            if not self._tenant_settings(tenant).are_none and self._has_links(tenant):
                self._note(tenant, keys, set())

    def _tenant_settings(self, tenant: str) -> LinkSettings:
        if tenant not in self._settings:
            self._settings[tenant] = read_link_settings(self.store, tenant)
        return self._settings[tenant]

    def _has_links(self, tenant: str) -> bool:
        """Tell whether a tenant holds nodes that its settings link."""
        kinds = self._tenant_settings(tenant).kinds
        if kinds and tenant not in self._with_links:
            with self.store.snapshot(View((tenant,))) as snapshot:
                self._with_links[tenant] = len(snapshot.matching_ids(Filter(kinds=kinds))) > 0
        return self._with_links.get(tenant, True)

    def _note(self, tenant: str, new_tags: Mapping[str, Sequence[str]], linked: set[str]) -> None:
        """Note one tenant's changed nodes with their stored tags, and the nodes with similar edges to them.

        `linked` are the keys of those that are to be linked; the others are noted if they were linked before.
        """
        settings = self._tenant_settings(tenant)
        noted, similar_keys = self.tags.setdefault(tenant, {}), self.similar_keys.setdefault(tenant, set())
        with self.store.snapshot(View((tenant,))) as snapshot:
            ids = _ids_by_key(snapshot, list(new_tags))
            stored = {row.node.key: row.node for row in snapshot.nodes(list(ids.values())).values()}
            were_linked = {key for key, node in stored.items() if settings.takes(node.kind, key)}
            linked_ids = sorted(ids[key] for key in were_linked)
            if settings.similar is not None and linked_ids:
                edges = snapshot.edges(linked_ids, _MAX_EDGES_OF_CHANGED)
                similar_keys.update(edge.source for _, _, edge in edges if edge.type == SIMILAR_EDGE)
        for key in sorted(linked | were_linked):
            # Old tags count too: the other carriers of a tag that was taken away are linked anew.
            old_tags = stored[key].tags if key in stored else ()
            noted.setdefault(key, set()).update(new_tags[key], old_tags)

    def link(self) -> int:
        """Draw the links that depend on the noted changes, and return how many there are."""
        drawn = 0
        for tenant in sorted(tenant for tenant, noted in self.tags.items() if noted):
            settings = self._tenant_settings(tenant)
            if settings.kinds and _AUTOMATIC_UNIT not in self.store.units(tenant, SETTINGS_SOURCE):
                drawn += self._link_at_first(tenant, settings)
                continue
            if len(self.tags[tenant]) > _MAX_AUTOMATIC_NODES and settings.kinds:
                # Forgotten rather than drawn in part: a smaller change later must not look complete.
                self.store.write(Changes(units=((tenant, SETTINGS_SOURCE, _AUTOMATIC_UNIT, ""),)))
                continue
            if settings.shared_tags:
                drawn += _draw_tag_edges(self.store, tenant, self.tags[tenant], settings)
            if settings.similar is not None:
                keys = sorted(self.similar_keys[tenant] | self.tags[tenant].keys())
                drawn += _draw_similar_edges(self.store, self.index, tenant, keys, settings, with_neighbours=True)
        return drawn

    def _link_at_first(self, tenant: str, settings: LinkSettings) -> int:
        """Draw all automatic links of a tenant, unless there are too many nodes to do so unasked."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            nodes = len(snapshot.matching_ids(Filter(kinds=settings.kinds)))
        if nodes > _MAX_AUTOMATIC_NODES:
            return 0
        return draw_all_links(self.store, self.index, tenant, settings, lambda done: None)


def _draw_tag_edges(
    store: Store,
    tenant: str,
    changed: Mapping[str, Iterable[str]],
    settings: LinkSettings,
    is_whole: bool = False,
) -> int:
    """Draw the tag edges that depend on the changed nodes; `is_whole` says that these are all nodes."""

    @cache
    def carriers(tag: str) -> Sequence[str]:
        carrying = store.keys_with_tag(tenant, tag, settings.kinds)
        return [key for key in carrying if FOUND_ENTITY not in key] if settings.kinds else carrying

    keys = sorted(changed if is_whole else find_keys_to_relink(changed, carriers) | changed.keys())
    drawn = 0
    for scope in _batches(keys):
        # Two reads a batch: a node's neighbours in the rings are known only once its own tags are.
        tags = _read_tags(store, tenant, scope, settings)
        neighbours = {other for key in tags for tag in tags[key] for other in ring_neighbours(key, carriers(tag))}
        tags |= _read_tags(store, tenant, sorted(neighbours - tags.keys()), settings)
        present = [key for key in scope if key in tags]
        edges = tuple(edge for key in present for edge in draw_tag_edges(tenant, key, tags, carriers))
        store.write(Changes(edges=(EdgeSet(TAG_MAKER, tenant, edges, tuple(scope)),)))
        drawn += len(edges)
    return drawn


def _read_tags(
    store: Store, tenant: str, keys: Sequence[str], settings: LinkSettings
) -> dict[str, frozenset[str]]:
    with store.snapshot(View((tenant,))) as snapshot:
        rows = snapshot.nodes(sorted(_ids_by_key(snapshot, keys).values()))
    linked = (row.node for row in rows.values() if settings.takes(row.node.kind, row.node.key))
    return {node.key: frozenset(node.tags) for node in linked}


def _draw_similar_edges(
    store: Store,
    index: Index,
    tenant: str,
    keys: Sequence[str],
    settings: LinkSettings,
    *,
    with_neighbours: bool,
) -> int:
    """Draw edges to the nearest neighbours of the nodes, and on request also those of the neighbours themselves.

    A neighbour of a new node may have that node among its nearest now.
    """
    with store.snapshot(View((tenant,))) as snapshot:

        def nearest(ids: Iterable[int]) -> dict[int, tuple[tuple[int, float], ...]]:
            kinds, threshold = settings.kinds, settings.similar or 0.0
            return {id: find_nearest(snapshot, index, id, threshold, kinds) for id in ids}

        ids = _ids_by_key(snapshot, keys)
        rows = snapshot.nodes(sorted(ids.values()))
        near = nearest(id for id, row in rows.items() if settings.takes(row.node.kind, row.node.key))
        if with_neighbours:
            others = {other for found in near.values() for other, _ in found} - near.keys()
            near |= nearest(sorted(others))
        linked = {*near, *(other for found in near.values() for other, _ in found[:MAX_SIMILAR_NODES])}
        key_by_id = {id: row.node.key for id, row in snapshot.nodes(sorted(linked)).items()}
    edges = tuple(
        Edge(key_by_id[id], key_by_id[other], SIMILAR_EDGE, cosine, tenant=tenant)
        for id, found in near.items()
        for other, cosine in found[:MAX_SIMILAR_NODES]
    )
    # Keys without a node are in the scope too, so that the edges of removed nodes go.
    scope = sorted({*keys, *(key_by_id[id] for id in near)})
    store.write(Changes(edges=(EdgeSet(SIMILAR_MAKER, tenant, edges, tuple(scope)),)))
    return len(edges)


def _ids_by_key(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, int]:
    """Return the ids of the nodes with exactly these keys: `find` also finds nodes by title and alias."""
    found = snapshot.find(list(keys))
    rows = snapshot.nodes(sorted({id for ids in found.values() for id in ids}))
    exact = frozenset(keys)
    return {row.node.key: id for id, row in rows.items() if row.node.key in exact}


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _KEYS_PER_WRITE):
        yield keys[start : start + _KEYS_PER_WRITE]
