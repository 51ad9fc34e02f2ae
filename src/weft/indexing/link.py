"""Keep links by names current while nodes change, and weigh the nodes by the links between them.

`MentionLinker` notes nodes before these are written or removed, while the store has their old names, and links
texts with the nodes they name when everything is written. `relations.py` does the same for tags and meaning.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct, field

from weft.indexing.worker import run_in_worker
from weft.links import compute_importance, digest_graph, draw_mentions, find_affected_keys
from weft.model import Edge, Filter, Node, View
from weft.ports import Changes, Index, Snapshot, Store, rows_with_keys

SHARED_TENANT: Final = "shared"
"""The tenant that every other may link into without declaring so."""

_MIN_PASSAGES_ASKED: Final = 2_000
"""Passages that the index is asked for at least when older texts are searched for a name. It is never asked for
fewer than hold the term, so none is missed; raising it only makes the answers larger."""

_MAX_PASSAGES_FOR_IMPORTANCE: Final = 50_000
"""In larger tenants only the importance that sources give counts: PageRank over all nodes would delay each run."""

_WEIGHED_SOURCE: Final = ":importance"
_WEIGHED_UNIT: Final = "state"
"""The source and unit under which the state of the store is kept in which a tenant's nodes were weighed, and a
digest of the graph that they were weighed by."""


KeysByTenant = dict[str, dict[str, None]]
"""Keys by tenant, each once, in the order in which they came."""


class MentionLinker(Struct):
    """The texts to scan for names, and the nodes whose names others may mention now or no longer."""

    store: Store
    index: Index
    texts: KeysByTenant = field(default_factory=dict)
    renamed: KeysByTenant = field(default_factory=dict)
    weights: dict[str, dict[str, float] | None] = field(default_factory=dict)
    """The importance that written nodes had, by tenant; None where others were written since all were weighed."""

    def before_write(self, changed: Sequence[Node], unchanged: Sequence[Node]) -> None:
        """Note nodes that are about to be written; the unchanged ones may not have been linked yet."""
        for node in (*changed, *unchanged):
            self._begin(node.tenant)
            self.texts.setdefault(node.tenant, {})[node.key] = None
        # Only new or different names are looked for in older texts: that costs far more than the write itself.
        stored_names = self._stored_names(changed)
        self.search_names([node for node in changed if stored_names.get(node.ref) != _names(node)])

    def search_names(self, nodes: Sequence[Node]) -> None:
        """Search older texts for the nodes' names too, as if the names were new."""
        for node in nodes:
            self.renamed.setdefault(node.tenant, {})[node.key] = None

    def before_removal(self, refs: Sequence[tuple[str, str]]) -> None:
        """Note nodes that are about to be removed: a name they shared then means the others alone."""
        keys_by_tenant: dict[str, list[str]] = {}
        for tenant, key in refs:
            # Should its key be written again in this run, nobody would know how much the node weighed.
            self.weights[tenant] = None
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
            passages, state = self._read_state(tenant)
            stamp = self._read_stamp(tenant)
            # Many edits change no node and no link, such as a comment between two functions.
            if passages > _MAX_PASSAGES_FOR_IMPORTANCE or stamp[0] == state:
                continue
            graph = self.store.graph(tenant)
            digest, weights = digest_graph(graph), self.weights.get(tenant)
            # Others change a text and no link. A node that was written then gets its importance back.
            if weights is not None and digest == stamp[1]:
                own = {key for key, has_own in zip(graph.keys, graph.has_own, strict=True) if has_own}
                importance = {(tenant, key): value for key, value in weights.items() if key not in own}
            else:
                importance = dict(compute_importance(graph, tenant))
            self.store.write(Changes(importance=importance))
            stamped = f"{self._read_state(tenant)[1]} {digest}"
            self.store.write(Changes(units=((tenant, _WEIGHED_SOURCE, _WEIGHED_UNIT, stamped),)))

    def _begin(self, tenant: str) -> None:
        """Note before the first write to a tenant whether its nodes still are as they were weighed last."""
        if tenant not in self.weights:
            self.weights[tenant] = {} if self._read_stamp(tenant)[0] == self._read_state(tenant)[1] else None

    def _read_state(self, tenant: str) -> tuple[int, str]:
        """Return how many passages a tenant has, and what changes whenever its nodes, links or weights do."""
        with self.store.snapshot(View((tenant,))) as snapshot:
            return snapshot.statistics(()).passages, f"{snapshot.identity}-{snapshot.sequence}"

    def _read_stamp(self, tenant: str) -> tuple[str, str]:
        """Return the state in which a tenant's nodes were weighed last, and the digest of their graph."""
        state, _, digest = self.store.units(tenant, _WEIGHED_SOURCE).get(_WEIGHED_UNIT, "").partition(" ")
        return state, digest

    def _stored_names(self, nodes: Sequence[Node]) -> dict[tuple[str, str], tuple[str, ...]]:
        """Return the names that the store has now for those of the nodes that it holds."""
        keys_by_tenant: KeysByTenant = {}
        for node in nodes:
            keys_by_tenant.setdefault(node.tenant, {})[node.key] = None
        stored = [key for tenant, keys in keys_by_tenant.items() for key in self.store.hashes(tenant, list(keys))]
        if not stored:
            return {}
        with self.store.snapshot(View(tuple(keys_by_tenant))) as snapshot:
            rows = rows_with_keys(snapshot, stored)
        for row in rows.values():
            if (weights := self.weights.get(row.node.tenant)) is not None:
                weights.setdefault(row.node.key, row.node.importance)
        return {row.node.ref: _names(row.node) for row in rows.values()}

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
