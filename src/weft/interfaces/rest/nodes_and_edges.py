"""/api/nodes and /api/edges: create, read, change, delete, write in batches and list."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Path
from fastapi import Query as QueryParameters
from msgspec.structs import replace
from starlette.responses import Response

from weft.api import Weft
from weft.assemblers.knowledge.lists import split_content
from weft.indexing.link import SHARED_TENANT
from weft.indexing.prepare import content_hash
from weft.indexing.write import MAKER
from weft.interfaces.rest.access import Caller, CurrentCaller, Service
from weft.interfaces.rest.convert import (
    Conditions,
    aliases_from,
    answer,
    cursor_numbers,
    edge_shape,
    node_from,
    node_shape,
    note_header,
    page_of,
    plain_content,
    tagged,
)
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import (
    LARGEST_ID,
    EdgeBatch,
    EdgeChange,
    EdgeInput,
    EdgeListing,
    NodeBatch,
    NodeChange,
    NodeInput,
    NodeListing,
)
from weft.interfaces.rest.responses import BatchOutput, EdgeOutput, EdgePage, NodeOutput, NodePage
from weft.interfaces.rest.served_store import Served
from weft.model import Edge, Filter, Node, View
from weft.sources.values import to_text
from weft.store.records import FIRST_CURSOR, ListedEdge

node_router = APIRouter(tags=["nodes"], route_class=StrictRoute)
edge_router = APIRouter(tags=["edges"], route_class=StrictRoute)

_MAX_EDGES_OF_A_PAIR: Final = 1000
"""Edges read between two nodes to find the one of a type: more than a pair has types of edges."""

CurrentConditions = Annotated[Conditions, Depends()]
NodeId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="The node's id.")]
EdgeId = Annotated[
    str,
    Path(
        pattern=r"^[1-9][0-9]{0,14}:[a-z][a-z0-9_]{0,63}:[1-9][0-9]{0,14}$",
        description="Source id, edge type and target id, as in `42:related:55`.",
    ),
]


# --- /api/nodes --------------------------------------------------------------------------------------------


def node_of(service: Served, caller: Caller, shown: int) -> Node:
    """Return the node with an id; one that the caller may not see is as absent as one that is not there."""
    weft, number = service.weft(), service.ids().read(shown)
    tenants = weft.store.tenants() if caller.tenants is None else tuple(sorted(caller.tenants))
    with weft.store.snapshot(View(tenants)) as snapshot:
        row = snapshot.nodes([number]).get(number)
    if row is None:
        raise Problem(404, f"There is no node {shown} that this caller may read. GET /api/nodes lists those.")
    return row.node


def _read_stored(weft: Weft, tenant: str, keys: list[str]) -> list[Node]:
    """Return the stored nodes of a tenant with these keys, in order."""
    with weft.store.snapshot(View((tenant,))) as snapshot:
        found = snapshot.find(keys)
        rows = snapshot.nodes([found[key][0] for key in keys])
    return [rows[found[key][0]].node for key in keys]


def _with_times(weft: Weft, nodes: list[Node]) -> list[Node]:
    """Return the nodes with the times of their creation and last change; unchanged ones keep the stored times."""
    now, dated = datetime.now(UTC), {(node.tenant, node.key): node for node in nodes}
    known: dict[tuple[str, str], Node] = {}
    for tenant in {node.tenant for node in nodes}:
        keys = list(weft.store.hashes(tenant, [node.key for node in nodes if node.tenant == tenant]))
        known |= {(tenant, node.key): node for node in _read_stored(weft, tenant, keys)}
    for ref, node in dated.items():
        stored = known.get(ref)
        if stored is None:
            dated[ref] = replace(node, created=now, modified=now)
            continue
        # Importance is calculated from links: a node that was sent again does not carry it.
        kept = replace(node, created=stored.created, modified=stored.modified, importance=stored.importance)
        is_same = content_hash(kept, None) == content_hash(stored, None)
        dated[ref] = replace(kept, importance=node.importance, modified=stored.modified if is_same else now)
    return list(dated.values())


@node_router.post("/api/nodes", status_code=201, response_model=NodeOutput)
def create_node(
    body: NodeInput, service: Service, caller: CurrentCaller, conditions: CurrentConditions
) -> Response:
    """Store a new node; a key that is taken is a conflict."""
    caller.check_write(body.tenant_id)
    weft, node = service.weft(), node_from(body)
    # One transaction for the check and the write, or two requests with one key could both find it free.
    with weft.store.writing():
        if weft.store.hashes(node.tenant, [node.key]):
            (known,) = _read_stored(weft, node.tenant, [node.key])
            taken_by = service.ids().show(known.id)
            raise Problem(409, f"Key {node.key!r} is taken by node {taken_by}. Change that one with PATCH.", "key")
        written = weft.put(_with_times(weft, [node]))
    stored = node_shape(_read_stored(weft, node.tenant, [node.key])[0], service.ids())
    return tagged(stored, conditions, 201, written.note)


@node_router.put("/api/nodes", response_model=BatchOutput)
def upsert_nodes(body: NodeBatch, service: Service, caller: CurrentCaller) -> Response:
    """Create or replace nodes by their keys, all or none."""
    for node_input in body.nodes:
        caller.check_write(node_input.tenant_id)
    weft, nodes = service.weft(), [node_from(node_input) for node_input in body.nodes]
    with weft.store.writing():
        # Of a key that is sent twice the last node counts, as if they had been sent one after the other.
        report = weft.put(_with_times(weft, nodes))
    shown, ids = service.ids(), dict[tuple[str, str], int]()
    for tenant in dict.fromkeys(node.tenant for node in nodes):
        keys = list(dict.fromkeys(node.key for node in nodes if node.tenant == tenant))
        ids |= {(tenant, node.key): shown.show(node.id) for node in _read_stored(weft, tenant, keys)}
    ids_in_order = [ids[node.tenant, node.key] for node in nodes]
    counted = {"ids": ids_in_order, "written": report.written, "unchanged": report.unchanged}
    return answer(counted, 200, report.note)


@node_router.get("/api/nodes", response_model=NodePage)
def list_nodes(
    listing: Annotated[NodeListing, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return the next nodes by id."""
    (after,), ids = cursor_numbers(listing.cursor, 1), service.ids()
    wanted = Filter(kinds=tuple(listing.node_type), tags=tuple(listing.tag))
    nodes = service.weft().nodes(
        tenants=caller.readable(listing.tenant_id), filter=wanted, after=ids.read(after), limit=listing.limit + 1
    )
    return page_of(
        "nodes", nodes, listing.limit, lambda node: node_shape(node, ids), lambda node: str(ids.show(node.id))
    )


@node_router.get("/api/nodes/{node_id}", response_model=NodeOutput)
def read_node(node_id: NodeId, service: Service, caller: CurrentCaller, conditions: CurrentConditions) -> Response:
    """Return one node, whole, with its ETag."""
    return tagged(node_shape(node_of(service, caller, node_id), service.ids()), conditions)


@node_router.patch("/api/nodes/{node_id}", response_model=NodeOutput)
def change_node(
    node_id: NodeId, body: NodeChange, service: Service, caller: CurrentCaller, conditions: CurrentConditions
) -> Response:
    """Change what is named of a node; its links are drawn anew."""
    weft = service.weft()
    with weft.store.writing():
        known = node_of(service, caller, node_id)
        caller.check_write(known.tenant)
        conditions.check(node_shape(known, service.ids()))
        # A node is written by its key; the store keeps the id that it gave to it.
        written = weft.put(_with_times(weft, [replace(known, id=0, **_changes(body))]))
    return tagged(node_shape(node_of(service, caller, node_id), service.ids()), conditions, 200, written.note)


def _changes(body: NodeChange) -> dict[str, Any]:
    sent = body.model_dump(exclude_unset=True)
    changes: dict[str, Any] = {}
    if sent.get("node_type"):
        changes["kind"] = sent["node_type"]
    for name in ("title", "summary"):
        # A null title means "leave it"; a null summary removes it, because a node may go without one.
        if name in sent and (sent[name] is not None or name == "summary"):
            changes[name] = to_text(sent[name] or "")
    if sent.get("content") is not None:
        changes["text"], changes["fields"] = split_content(plain_content(sent["content"]))
    if sent.get("tags") is not None:
        changes["tags"] = tuple(dict.fromkeys(sent["tags"]))
    if sent.get("aliases") is not None:
        changes["aliases"] = aliases_from(sent["aliases"])
    return changes


@node_router.delete("/api/nodes/{node_id}", status_code=204)
def delete_node(
    node_id: NodeId, service: Service, caller: CurrentCaller, conditions: CurrentConditions
) -> Response:
    """Remove a node; its id is never used again."""
    weft = service.weft()
    with weft.store.writing():
        known = node_of(service, caller, node_id)
        caller.check_write(known.tenant)
        conditions.check(node_shape(known, service.ids()))
        written = weft.delete(known.key, tenant=known.tenant)
    return Response(status_code=204, headers=note_header(written.note))


# --- /api/edges --------------------------------------------------------------------------------------------


def _make_edge(service: Served, caller: Caller, edge_input: EdgeInput) -> Edge:
    """Return the edge that a request describes; refuse one that the caller may not draw or that leads nowhere."""
    source = node_of(service, caller, edge_input.source_id)
    target = node_of(service, caller, edge_input.target_id)
    weft = service.weft()
    caller.check_write(source.tenant)
    crosses_tenants = target.tenant != source.tenant
    if crosses_tenants and target.tenant not in (SHARED_TENANT, *weft.store.shared(source.tenant)):
        raise Problem(
            403,
            f"Tenant {source.tenant!r} does not link into {target.tenant!r}. Declare it on the server with "
            f"`weft share {source.tenant} {target.tenant}`.",
            "target_id",
        )
    return Edge(
        source=source.key,
        target=target.key,
        type=edge_input.edge_type,
        weight=edge_input.weight,
        confidence=edge_input.confidence,
        evidence=edge_input.evidence,
        tenant=source.tenant,
        target_tenant=target.tenant if crosses_tenants else None,
    )


def _find_edge(service: Served, caller: Caller, edge_id: str) -> ListedEdge:
    weft, ids = service.weft(), service.ids()
    source, edge_type, target = edge_id.split(":")
    ends = (ids.read(int(source)), ids.read(int(target)))
    view = View(weft.store.tenants() if caller.tenants is None else tuple(sorted(caller.tenants)))
    found = weft.store.edges_after(view, FIRST_CURSOR, _MAX_EDGES_OF_A_PAIR, ends)
    # One pair of nodes may be linked by several types of edges; the store filters by the ends only.
    edge = next((listed for listed in found if listed.edge.type == edge_type), None)
    if edge is None:
        raise Problem(404, f"There is no edge {edge_id} that this caller may read. GET /api/edges lists those.")
    return edge


def _split_drawn(weft: Weft, listed: ListedEdge) -> tuple[Edge, list[Edge]]:
    """Return the edge as direct writes drew it, and what else they drew from the same node."""
    edge = listed.edge
    drawn = weft.store.edges_by_maker(edge.tenant, edge.source, MAKER)
    same = [other for other in drawn if _far_end(other) == _far_end(edge)]
    if not same:
        raise Problem(
            409,
            f"This edge was drawn by {', '.join(listed.makers)} and would come back. Change it at its source.",
        )
    return same[0], [other for other in drawn if other != same[0]]


def _far_end(edge: Edge) -> tuple[str, str, str | None]:
    return edge.type, edge.target, edge.target_tenant


@edge_router.post("/api/edges", status_code=201, response_model=EdgeOutput)
def create_edge(body: EdgeInput, service: Service, caller: CurrentCaller) -> Response:
    """Draw a new edge; one that direct writes drew before is a conflict."""
    weft = service.weft()
    with weft.store.writing():
        edge = _make_edge(service, caller, body)
        drawn = weft.store.edges_by_maker(edge.tenant, edge.source, MAKER)
        if any(_far_end(other) == _far_end(edge) for other in drawn):
            raise Problem(409, "This edge is there already. Change it with PATCH.")
        written = weft.put(edges=[edge])
    return answer(_shape_edge(service, caller, _edge_id(body)), 201, written.note)


def _shape_edge(service: Served, caller: Caller, edge_id: str) -> dict[str, Any]:
    return edge_shape(_find_edge(service, caller, edge_id), service.ids())


def _edge_id(edge_input: EdgeInput) -> str:
    return f"{edge_input.source_id}:{edge_input.edge_type}:{edge_input.target_id}"


@edge_router.put("/api/edges", response_model=EdgePage)
def upsert_edges(body: EdgeBatch, service: Service, caller: CurrentCaller) -> Response:
    """Draw edges or change those that are there, all or none."""
    weft = service.weft()
    with weft.store.writing():
        written = weft.put(edges=[_make_edge(service, caller, edge_input) for edge_input in body.edges])
    shapes = [_shape_edge(service, caller, edge_id) for edge_id in dict.fromkeys(map(_edge_id, body.edges))]
    return answer({"edges": shapes, "next_cursor": None}, 200, written.note)


@edge_router.get("/api/edges", response_model=EdgePage)
def list_edges(
    listing: Annotated[EdgeListing, QueryParameters()], service: Service, caller: CurrentCaller
) -> Response:
    """Return the next edges by source, type and target."""
    (source, kind, target), ids = cursor_numbers(listing.cursor, 3), service.ids()
    view = View(caller.readable(listing.tenant_id))
    ends = tuple(None if end is None else ids.read(end) for end in (listing.source_id, listing.target_id))
    after = (ids.read(source), ids.read(kind), ids.read(target))
    found = service.weft().store.edges_after(view, after, listing.limit + 1, (ends[0], ends[1]))
    return page_of(
        "edges",
        found,
        listing.limit,
        lambda edge: edge_shape(edge, ids),
        # The number of a type is counted over all tenants too.
        lambda edge: "-".join(str(ids.show(number)) for number in edge.cursor),
    )


@edge_router.get("/api/edges/{edge_id}", response_model=EdgeOutput)
def read_edge(edge_id: EdgeId, service: Service, caller: CurrentCaller, conditions: CurrentConditions) -> Response:
    """Return one edge, with its ETag."""
    return tagged(_shape_edge(service, caller, edge_id), conditions)


@edge_router.patch("/api/edges/{edge_id}", response_model=EdgeOutput)
def change_edge(
    edge_id: EdgeId, body: EdgeChange, service: Service, caller: CurrentCaller, conditions: CurrentConditions
) -> Response:
    """Change the weight, confidence or evidence of an edge that was drawn here."""
    weft = service.weft()
    with weft.store.writing():
        listed = _find_edge(service, caller, edge_id)
        caller.check_write(listed.edge.tenant)
        conditions.check(edge_shape(listed, service.ids()))
        own, others = _split_drawn(weft, listed)
        sent = body.model_dump(exclude_unset=True)
        changes = {name: value for name, value in sent.items() if value is not None}
        # A maker's edges of a node are written as a whole, so the others are sent along unchanged.
        written = weft.replace_edges(own.source, [replace(own, **changes), *others], tenant=own.tenant)
    return tagged(_shape_edge(service, caller, edge_id), conditions, 200, written.note)


@edge_router.delete("/api/edges/{edge_id}", status_code=204)
def delete_edge(
    edge_id: EdgeId, service: Service, caller: CurrentCaller, conditions: CurrentConditions
) -> Response:
    """Remove an edge that was drawn here."""
    weft = service.weft()
    with weft.store.writing():
        listed = _find_edge(service, caller, edge_id)
        caller.check_write(listed.edge.tenant)
        conditions.check(edge_shape(listed, service.ids()))
        own, others = _split_drawn(weft, listed)
        written = weft.replace_edges(own.source, others, tenant=own.tenant)
    return Response(status_code=204, headers=note_header(written.note))
