"""Values in the store: found anew when enough experiences were resolved since they were found last."""

from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput
from weft.indexing.ingest import Workshop
from weft.indexing.write import delete, put
from weft.memory.experience_nodes import experience_of
from weft.memory.experiences import Experience
from weft.memory.memory_store import newest
from weft.memory.values import Value, emerging, value_node, value_of
from weft.memory.vocabulary import AXES, EXPERIENCE, VALUE, one_of
from weft.model import DEFAULT_TENANT, Edge, EdgeSet, Filter, View
from weft.ports import Changes, Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


EMERGES_FROM: Final = "emerges_from"
_MAKER: Final = "values@1"
_STATE: Final = ":values"
"""The source under whose units is remembered how many experiences the values were found among."""
_RESOLVED: Final = "resolved"
_FEWEST_CHANGES: Final = 5
_CHANGED_SHARE: Final = 0.1
_ALL: Final = 1_000_000


def refresh_values(shop: Workshop, *, tenant: str = DEFAULT_TENANT) -> tuple[Value, ...]:
    """Find the values of a tenant anew on every axis, and link each with the experiences it emerges from."""
    with shop.store.snapshot(View((tenant,))) as snapshot:
        if snapshot.embedder() is None:
            raise InvalidInput(
                "Values are found by meaning, and this store has no vectors. Store experiences with an embedder, "
                "such as --embedder static."
            )
        resolved = _resolved(snapshot)
        found = tuple(value for axis in AXES for value in _on_axis(snapshot, axis))
    with shop.store.writing():
        kept = {value.key for value in found}
        known = [value.key for value in list_values(shop, tenant=tenant, limit=_ALL)]
        delete(shop, [(tenant, key) for key in known if key not in kept])
        put(shop, [value_node(value) for value in found])
        edges = tuple(edge for value in found for edge in _links(value))
        state = ((tenant, _STATE, _RESOLVED, str(resolved)),)
        shop.store.write(Changes(edges=(EdgeSet(_MAKER, tenant, edges),), units=state))
        shop.index.catch_up(shop.store)
    return found


def values_are_due(shop: Workshop, *, tenant: str = DEFAULT_TENANT) -> bool:
    """Whether enough experiences were resolved, or taken away, since the values were found last."""
    last = int(shop.store.units(tenant, _STATE).get(_RESOLVED, "0"))
    with shop.store.snapshot(View((tenant,))) as snapshot:
        changed = abs(_resolved(snapshot) - last)
    return changed >= max(_FEWEST_CHANGES, _CHANGED_SHARE * last)


def list_values(
    shop: Workshop, *, axis: str | None = None, limit: int = 50, tenant: str = DEFAULT_TENANT
) -> tuple[Value, ...]:
    """The values, the largest first, perhaps of one axis only."""
    chosen = () if axis is None else (("axis", one_of("axis", axis, AXES)),)
    with shop.store.snapshot(View((tenant,))) as snapshot:
        found = [value_of(node) for node in newest(snapshot, Filter(kinds=(VALUE,), where=chosen), _ALL)]
    return tuple(sorted(found, key=lambda value: (-value.size, value.axis, value.exemplar))[:limit])


def _resolved(snapshot: Snapshot) -> int:
    """How many experiences have their outcome: only those stand on the axis of strategies."""
    return len(snapshot.matching(Filter(kinds=(EXPERIENCE,), where=(("axis", "strategy"),))))


def _on_axis(snapshot: Snapshot, axis: str) -> tuple[Value, ...]:
    ids = snapshot.matching(Filter(kinds=(EXPERIENCE,), where=(("axis", axis),))).tolist()
    rows = snapshot.nodes(ids)
    owners = {each: str(rows[each].node.fields.get("experience_id", "")) for each in ids if each in rows}
    told = _told(snapshot, set(owners.values()))
    usable = [each for each, owner in owners.items() if owner in told]
    if not usable:
        return ()
    return emerging(axis, [told[owners[each]] for each in usable], _vectors(snapshot, usable))


def _told(snapshot: Snapshot, wanted: set[str]) -> dict[str, Experience]:
    """Resolved experiences by id."""
    ids = snapshot.matching(Filter(kinds=(EXPERIENCE,), where=(("axis", "full"),))).tolist()
    told = (experience_of(row.node) for row in snapshot.nodes(ids).values())
    return {each.id: each for each in told if each.id in wanted and each.resolved is not None}


def _vectors(snapshot: Snapshot, nodes: list[int]) -> "NDArray[np.float64]":
    """The direction of each node's text as a whole: the mean of its passages', of unit length."""
    import numpy as np

    rows = snapshot.passages_of(nodes)
    places = {node: place for place, node in enumerate(nodes)}
    vectors = snapshot.vectors([row.id for row in rows]).astype(np.float64)
    total = np.zeros((len(nodes), vectors.shape[1]))
    np.add.at(total, [places[row.node_id] for row in rows], vectors)
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(np.divide(total, lengths, out=np.zeros_like(total), where=lengths > 0))


def _links(value: Value) -> list[Edge]:
    return [
        Edge(value.key, f"{EXPERIENCE}:{member}", EMERGES_FROM, max(near, 0.0), tenant=value.tenant)
        for member, near in value.members
    ]
