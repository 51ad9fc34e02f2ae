"""Which texts must be read for names again after a change, and the reading of them."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final

from weft.frozen import dataclass
from weft.link import affected, each_mentions, importance
from weft.model import Edge, Filter, Node, View
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
            for each in each_mentions(self.store, tenant, texts, self._containing(tenant), renamed=renamed):
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
            stored = snapshot.nodes(_ids(snapshot, stored_keys))
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


def _ids(snapshot: Snapshot, keys: Sequence[str]) -> list[int]:
    return sorted({each for ids in snapshot.find(keys).values() for each in ids})


def _names(node: Node) -> tuple[str, ...]:
    return (node.title, *(alias.text for alias in node.aliases))
