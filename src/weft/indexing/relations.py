"""Draw links between nodes that share tags or are near in meaning, and keep them current.

The nodes of a knowledge base are linked by themselves, all nodes of a tenant where its `LinkSettings` ask
for it, and none where they say so.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct, field

from weft.errors import InvalidInput
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
from weft.model import FOUND_ENTITY, Edge, EdgeSet, Filter, Node, NodeRef, View
from weft.ports import KNOWLEDGE_KINDS, Changes, Index, Snapshot, Store, matching_nodes, rows_with_keys

SETTINGS_SOURCE: Final = ":links"
"""The source under whose units a tenant's link settings are stored: no real source has this name."""
_MAX_EDGES_OF_CHANGED: Final = 100_000
"""Edges read around the nodes of one change, to find those whose nearest neighbours may be others now. It bounds
memory; neighbours beyond it keep their old similar edges until they change themselves."""
_MAX_AUTOMATIC_NODES: Final = 5_000
"""Nodes whose relations are drawn at once without being asked for, in some ten seconds. Where more are written in
one run, `weft link` draws them."""
_KEYS_PER_WRITE: Final = 500
"""Nodes whose relation edges are computed and written together: more take more memory, fewer more transactions."""


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
        """Return whether a node of this kind and key is linked."""
        return not self.kinds or (kind in self.kinds and FOUND_ENTITY not in key)


DEFAULT_THRESHOLD: Final = 0.75
"""The least cosine of similar nodes. A lower value draws more links, and more of them by chance."""
AUTOMATIC: Final = LinkSettings(shared_tags=True, similar=DEFAULT_THRESHOLD, kinds=KNOWLEDGE_KINDS)
"""The settings of a tenant for which none were stored."""
_OFF: Final = "off"
"""The stamp of links that are not to be drawn."""
_AUTOMATIC_UNIT: Final = "automatic"
"""The unit whose stamp says that all links of the automatic settings were drawn once, or are too many for that."""
_DRAWN: Final = "drawn"
_TOO_MANY: Final = "too many"
_ROUNDING: Final = 1e-5
"""By how much two cosines of the same vectors may differ."""


def read_link_settings(store: Store, tenant: str) -> LinkSettings:
    """Read the link settings that were last stored for a tenant, or return the automatic ones."""
    units = store.units(tenant, SETTINGS_SOURCE)
    if TAG_EDGE not in units and SIMILAR_EDGE not in units:
        return LinkSettings() if units.get(_AUTOMATIC_UNIT) == _TOO_MANY else AUTOMATIC
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
            drawn += _draw_similar_edges(store, index, tenant, keys, settings)
            progress(drawn)
        return drawn


def _setting_units(tenant: str, settings: LinkSettings) -> tuple[tuple[str, str, str, str], ...]:
    """Return the units that store the settings; automatic ones are those that nothing is stored for."""
    if settings.kinds:
        return ((tenant, SETTINGS_SOURCE, _AUTOMATIC_UNIT, _DRAWN),)
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
        nodes = matching_nodes(snapshot, Filter(kinds=settings.kinds))
    return {node.key: set(node.tags) for node in nodes if settings.takes(node.kind, node.key)}


class RelationLinker(Struct):
    """The changed nodes by tenant with the tags they have and had, and the nodes that were similar to them."""

    store: Store
    index: Index
    max_automatic_nodes: int = _MAX_AUTOMATIC_NODES
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
        """Return whether a tenant holds nodes that its settings link."""
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
            if settings.kinds and len(self.tags[tenant]) > self.max_automatic_nodes:
                self._leave_out(tenant)
                continue
            if settings.shared_tags:
                drawn += _draw_tag_edges(self.store, tenant, self.tags[tenant], settings)
            if settings.similar is not None:
                keys = sorted(self.similar_keys[tenant] | self.tags[tenant].keys())
                drawn += _draw_similar_edges(
                    self.store, self.index, tenant, keys, settings, self.tags[tenant].keys()
                )
        return drawn

    def _link_at_first(self, tenant: str, settings: LinkSettings) -> int:
        """Draw all automatic links of a tenant, unless there are too many nodes to do so unasked."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            nodes = len(snapshot.matching_ids(Filter(kinds=settings.kinds)))
        if nodes > self.max_automatic_nodes:
            self._leave_out(tenant)
            return 0
        return draw_all_links(self.store, self.index, tenant, settings, lambda done: None)

    def _leave_out(self, tenant: str) -> None:
        """Take away what was drawn of a tenant's automatic links, and draw none until `weft link` is run."""
        # None rather than some: links in a part of the graph would look complete.
        gone = tuple(EdgeSet(maker, tenant, ()) for maker in (TAG_MAKER, SIMILAR_MAKER))
        self.store.write(Changes(edges=gone, units=((tenant, SETTINGS_SOURCE, _AUTOMATIC_UNIT, _TOO_MANY),)))


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
    changed: Collection[str] = (),
) -> int:
    """Draw edges to the nearest neighbours of the nodes, and those of the neighbours of `changed` ones.

    A neighbour of a changed node may have that node among its nearest now.
    """
    with store.snapshot(View((tenant,))) as snapshot:

        def nearest(ids: Iterable[int]) -> dict[int, tuple[tuple[int, float], ...]]:
            kinds, threshold = settings.kinds, settings.similar or 0.0
            return {id: find_nearest(snapshot, index, id, threshold, kinds) for id in ids}

        ids = _ids_by_key(snapshot, keys)
        rows = snapshot.nodes(sorted(ids.values()))
        near = nearest(id for id, row in rows.items() if settings.takes(row.node.kind, row.node.key))
        near |= nearest(_find_gaining(snapshot, [ids[key] for key in changed if key in ids], near))
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


def _find_gaining(
    snapshot: Snapshot, changed: Sequence[int], near: Mapping[int, Sequence[tuple[int, float]]]
) -> list[int]:
    """Return the neighbours of changed nodes that may have them among their nearest now."""
    best: dict[int, float] = {}
    for id in changed:
        for other, cosine in near.get(id, ()):
            if other not in near:
                best[other] = max(best.get(other, 0.0), cosine)
    passages = Counter(row.node_id for row in snapshot.passages_of_nodes([*changed, *best]))
    weights: dict[int, list[float]] = {}
    for source, _, edge in snapshot.edges(sorted(best), _MAX_EDGES_OF_CHANGED) if best else ():
        if edge.type == SIMILAR_EDGE and source in best:
            weights.setdefault(source, []).append(edge.weight)
    # Between nodes of one passage nearness is the same both ways, so the edges of a neighbour tell whether the
    # changed node can be one of its nearest. In a large tenant that saves nearly all searches of a write.
    are_short = all(passages[id] == 1 for id in changed)
    return sorted(
        other
        for other, cosine in best.items()
        if not (are_short and passages[other] == 1)
        or len(weights.get(other, ())) < MAX_SIMILAR_NODES
        or min(weights[other]) <= cosine + _ROUNDING
    )


def _ids_by_key(snapshot: Snapshot, keys: Sequence[str]) -> dict[str, int]:
    return {row.node.key: id for id, row in rows_with_keys(snapshot, keys).items()}


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), _KEYS_PER_WRITE):
        yield keys[start : start + _KEYS_PER_WRITE]
