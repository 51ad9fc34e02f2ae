"""Keep values in the store, and find them anew when enough experiences were resolved since the last time."""

from typing import TYPE_CHECKING, Final

from weft.errors import InvalidInput
from weft.indexing.ingest import IndexingContext
from weft.indexing.write import delete, put
from weft.memory.experience_nodes import experience_from_node
from weft.memory.experiences import Experience
from weft.memory.memory_store import newest_nodes
from weft.memory.values import Value, find_values, shrink_value, value_from_node, value_node
from weft.memory.vocabulary import AXES, EXPERIENCE, VALUE, check_word
from weft.model import DEFAULT_TENANT, Edge, EdgeSet, Filter, View
from weft.ports import Changes, Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


EMERGES_FROM: Final = "emerges_from"
"""The type of edges from a value to the experiences it emerges from."""

_MAKER: Final = "values@1"
"""The maker of the edges below, with its version: another maker's edges are left alone."""
_STATE_SOURCE: Final = ":values"
"""The source under whose units the state of the last run is kept: no real source has this name."""
_RESOLVED_UNIT: Final = "resolved"
"""The unit whose stamp is the number of experiences that the values were found among."""
_MIN_CHANGES: Final = 5
"""Experiences that must be resolved before values are found anew: fewer hardly make or move a cluster."""
_MIN_CHANGED_SHARE: Final = 0.1
"""The share of all experiences that must be, so that many experiences are not clustered for every few new ones."""
_MAX_EDGES: Final = 1_000_000
"""Edges of all values that are read, each to one experience."""
_ALL: Final = 1_000_000
"""A limit that lists all values: every one of them stands for several experiences."""


def refresh_values(indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT) -> tuple[Value, ...]:
    """Find the values of a tenant anew on every axis, and link each with the experiences it emerges from."""
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        if snapshot.embedder() is None:
            raise InvalidInput(
                "Values are found by meaning, and this store has no vectors. Store experiences with an embedder, "
                "such as --embedder static."
            )
        resolved = _count_resolved(snapshot)
        # Clustering takes long, so it reads a snapshot and does not hold the lock.
        found = tuple(value for axis in AXES for value in _find_on_axis(snapshot, axis))
    with indexing.store.writing():
        keys = {value.key for value in found}
        stored = [value.key for value in list_values(indexing, tenant=tenant, limit=_ALL)]
        # Values that are found again keep their nodes and whatever links lead to them.
        delete(indexing, [(tenant, key) for key in stored if key not in keys])
        put(indexing, [value_node(value) for value in found])
        edges = tuple(edge for value in found for edge in _member_edges(value))
        state = ((tenant, _STATE_SOURCE, _RESOLVED_UNIT, str(resolved)),)
        # Edges and state in one write: a crash in between could leave values without edges that count as current.
        indexing.store.write(Changes(edges=(EdgeSet(_MAKER, tenant, edges),), units=state))
        indexing.index.catch_up(indexing.store)
    return found


def leave_out_of_values(indexing: IndexingContext, experience_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
    """Take an experience whose outcome no longer holds out of the values that emerged from it.

    What is left of a value is told in the words of its new middle; too few members are no value. Nothing is
    clustered anew, so it takes no time and no extra.
    """
    with indexing.store.writing(), indexing.store.snapshot(View((tenant,))) as snapshot:
        members = _read_members(snapshot)
        hit = [value for value, ids in members if experience_id in ids]
        if not hit:
            return
        left = [_shrink(snapshot, value, ids - {experience_id}) for value, ids in members if experience_id in ids]
        kept = [value for value in left if value is not None]
        delete(indexing, [(tenant, value.key) for value in hit if value.key not in {each.key for each in kept}])
        put(indexing, [value_node(value) for value in kept])
        edges = tuple(edge for value in kept for edge in _member_edges(value))
        scope = tuple(sorted({value.key for value in (*hit, *kept)}))
        indexing.store.write(Changes(edges=(EdgeSet(_MAKER, tenant, edges, scope),)))
        indexing.index.catch_up(indexing.store)


def _read_members(snapshot: Snapshot) -> list[tuple[Value, set[str]]]:
    """Return all values with the ids of the experiences that each emerges from."""
    nodes = newest_nodes(snapshot, Filter(kinds=(VALUE,)), _ALL)
    drawn = snapshot.edges(sorted(node.id for node in nodes if node.id), _MAX_EDGES) if nodes else ()
    members: dict[int, set[str]] = {}
    for source, _, edge in drawn:
        if edge.type == EMERGES_FROM:
            members.setdefault(source, set()).add(edge.target.removeprefix(f"{EXPERIENCE}:"))
    return [(value_from_node(node), members.get(node.id or 0, set())) for node in nodes]


def _shrink(snapshot: Snapshot, value: Value, members: set[str]) -> Value | None:
    """Return a value of these of its experiences alone, or None if they are too few."""
    experiences = _read_resolved(snapshot, members)
    ids = snapshot.matching_ids(Filter(kinds=(EXPERIENCE,), where=(("axis", value.axis),))).tolist()
    owners = {id: str(row.node.fields.get("experience_id", "")) for id, row in snapshot.nodes(ids).items()}
    usable = sorted((id for id, owner in owners.items() if owner in experiences), key=lambda id: owners[id])
    if not usable:
        return None
    return shrink_value(value, [experiences[owners[id]] for id in usable], _mean_vectors(snapshot, usable))


def values_are_due(indexing: IndexingContext, *, tenant: str = DEFAULT_TENANT) -> bool:
    """Return whether enough experiences were resolved, or removed, since the values were found last."""
    last = int(indexing.store.units(tenant, _STATE_SOURCE).get(_RESOLVED_UNIT, "0"))
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        # Absolute, because forgetting experiences moves clusters as well.
        changed = abs(_count_resolved(snapshot) - last)
    return changed >= max(_MIN_CHANGES, _MIN_CHANGED_SHARE * last)


def list_values(
    indexing: IndexingContext, *, axis: str | None = None, limit: int = 50, tenant: str = DEFAULT_TENANT
) -> tuple[Value, ...]:
    """Return the values, the largest first, on request of one axis only."""
    where = () if axis is None else (("axis", check_word("axis", axis, AXES)),)
    with indexing.store.snapshot(View((tenant,))) as snapshot:
        found = [
            value_from_node(node) for node in newest_nodes(snapshot, Filter(kinds=(VALUE,), where=where), _ALL)
        ]
    return tuple(sorted(found, key=lambda value: (-value.size, value.axis, value.exemplar))[:limit])


def _count_resolved(snapshot: Snapshot) -> int:
    """Count the experiences that have their outcome: only those have a node on the axis of strategies."""
    return len(snapshot.matching_ids(Filter(kinds=(EXPERIENCE,), where=(("axis", "strategy"),))))


def _find_on_axis(snapshot: Snapshot, axis: str) -> tuple[Value, ...]:
    """Find the values of one axis among the resolved experiences."""
    ids = snapshot.matching_ids(Filter(kinds=(EXPERIENCE,), where=(("axis", axis),))).tolist()
    rows = snapshot.nodes(ids)
    experience_ids = {id: str(rows[id].node.fields.get("experience_id", "")) for id in ids if id in rows}
    # Nodes of one axis hold a part only; a value is stated and weighted by the whole experience.
    experiences = _read_resolved(snapshot, set(experience_ids.values()))
    usable = [id for id, experience_id in experience_ids.items() if experience_id in experiences]
    if not usable:
        return ()
    on_axis = [experiences[experience_ids[id]] for id in usable]
    return find_values(axis, on_axis, _mean_vectors(snapshot, usable))


def _read_resolved(snapshot: Snapshot, wanted: set[str]) -> dict[str, Experience]:
    """Read the resolved ones of the wanted experiences, by id."""
    ids = snapshot.matching_ids(Filter(kinds=(EXPERIENCE,), where=(("axis", "full"),))).tolist()
    experiences = (experience_from_node(row.node) for row in snapshot.nodes(ids).values())
    return {each.id: each for each in experiences if each.id in wanted and each.resolved is not None}


def _mean_vectors(snapshot: Snapshot, node_ids: list[int]) -> "NDArray[np.float64]":
    """Return the direction of each node's whole text: the mean of its passages' vectors, of unit length."""
    import numpy as np

    rows = snapshot.passages_of_nodes(node_ids)
    row_by_node = {node: row for row, node in enumerate(node_ids)}
    vectors = snapshot.vectors([row.id for row in rows]).astype(np.float64)
    total = np.zeros((len(node_ids), vectors.shape[1]))
    # `add.at` adds repeated rows up, which plain indexing would overwrite.
    np.add.at(total, [row_by_node[row.node_id] for row in rows], vectors)
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.asarray(np.divide(total, lengths, out=np.zeros_like(total), where=lengths > 0))


def _member_edges(value: Value) -> list[Edge]:
    return [
        Edge(value.key, f"{EXPERIENCE}:{member}", EMERGES_FROM, max(similarity, 0.0), tenant=value.tenant)
        for member, similarity in value.members
    ]
