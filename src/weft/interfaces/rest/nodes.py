"""/api/nodes: create, read, change, delete, upsert in batches and list."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi import Query as QueryParameters
from msgspec.structs import replace
from starlette.responses import Response

from weft.api import Weft
from weft.assemblers.knowledge.lists import split_content
from weft.interfaces.rest.access import Caller, Service, Who
from weft.interfaces.rest.convert import (
    aliases_from,
    answer,
    cursor_numbers,
    node_from,
    node_shape,
    page_of,
    plain_content,
)
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import LARGEST_ID, NodeBatch, NodeChange, NodeInput, NodeListing
from weft.interfaces.rest.responses import BatchOutput, NodeOutput, NodePage
from weft.model import Filter, Node, View
from weft.sources.values import to_text

router = APIRouter(tags=["nodes"], route_class=StrictRoute)

NodeId = Annotated[int, Path(ge=1, le=LARGEST_ID, description="The node's id.")]


def node_of(weft: Weft, who: Caller, number: int) -> Node:
    """Return the node with an id; one that the caller may not see is as absent as one that is not there."""
    tenants = weft.store.tenants() if who.tenants is None else tuple(sorted(who.tenants))
    with weft.store.snapshot(View(tenants)) as snapshot:
        row = snapshot.nodes([number]).get(number)
    if row is None:
        raise Problem(404, f"There is no node {number} that this caller may read.")
    return row.node


def stored(weft: Weft, tenant: str, keys: list[str]) -> list[Node]:
    """Return the nodes with these keys, in order."""
    with weft.store.snapshot(View((tenant,))) as snapshot:
        found = snapshot.find(keys)
        rows = snapshot.nodes([found[key][0] for key in keys])
    return [rows[found[key][0]].node for key in keys]


@router.post("/api/nodes", status_code=201, response_model=NodeOutput)
def create_node(given: NodeInput, service: Service, who: Who) -> Response:
    """Store a new node; a key that is taken is a conflict."""
    who.check_write(given.tenant_id)
    weft, node = service.weft(), node_from(given)
    with weft.store.writing():
        if weft.store.hashes(node.tenant, [node.key]):
            (known,) = stored(weft, node.tenant, [node.key])
            raise Problem(409, f"Key {node.key!r} is taken by node {known.id}. Change that one with PATCH.", "key")
        weft.put([node])
    return answer(node_shape(stored(weft, node.tenant, [node.key])[0]), 201)


@router.put("/api/nodes", response_model=BatchOutput)
def upsert_nodes(given: NodeBatch, service: Service, who: Who) -> Response:
    """Create or replace nodes by their keys, all or none."""
    for each in given.nodes:
        who.check_write(each.tenant_id)
    weft, nodes = service.weft(), [node_from(each) for each in given.nodes]
    done = weft.put(list({(node.tenant, node.key): node for node in nodes}.values()))
    ids: dict[tuple[str, str], int] = {}
    for tenant in dict.fromkeys(node.tenant for node in nodes):
        keys = list(dict.fromkeys(node.key for node in nodes if node.tenant == tenant))
        ids |= {(tenant, node.key): node.id for node in stored(weft, tenant, keys)}
    listed = [ids[node.tenant, node.key] for node in nodes]
    return answer({"ids": listed, "written": done.written, "unchanged": done.unchanged})


@router.get("/api/nodes", response_model=NodePage)
def list_nodes(given: Annotated[NodeListing, QueryParameters()], service: Service, who: Who) -> Response:
    """Return the next nodes by id."""
    (after,) = cursor_numbers(given.cursor, 1)
    wanted = Filter(kinds=tuple(given.node_type), tags=tuple(given.tag))
    nodes = service.weft().nodes(
        tenants=who.readable(given.tenant_id), filter=wanted, after=after, limit=given.limit + 1
    )
    return page_of("nodes", nodes, given.limit, node_shape, lambda node: str(node.id))


@router.get("/api/nodes/{node_id}", response_model=NodeOutput)
def read_node(node_id: NodeId, service: Service, who: Who) -> Response:
    """Return one node, whole."""
    return answer(node_shape(node_of(service.weft(), who, node_id)))


@router.patch("/api/nodes/{node_id}", response_model=NodeOutput)
def change_node(node_id: NodeId, given: NodeChange, service: Service, who: Who) -> Response:
    """Change what is named of a node; its links are drawn anew."""
    weft = service.weft()
    with weft.store.writing():
        known = node_of(weft, who, node_id)
        who.check_write(known.tenant)
        weft.put([replace(known, id=0, **_changes(given))])
    return answer(node_shape(node_of(weft, who, node_id)))


def _changes(given: NodeChange) -> dict[str, Any]:
    named = given.model_dump(exclude_unset=True)
    changes: dict[str, Any] = {}
    if named.get("node_type"):
        changes["kind"] = named["node_type"]
    for name in ("title", "summary"):
        if name in named and (named[name] is not None or name == "summary"):
            changes[name] = to_text(named[name] or "")
    if named.get("content") is not None:
        changes["text"], changes["fields"] = split_content(plain_content(named["content"]))
    if named.get("tags") is not None:
        changes["tags"] = tuple(dict.fromkeys(named["tags"]))
    if named.get("aliases") is not None:
        changes["aliases"] = aliases_from(named["aliases"])
    return changes


@router.delete("/api/nodes/{node_id}", status_code=204)
def delete_node(node_id: NodeId, service: Service, who: Who) -> Response:
    """Remove a node; its id is never used again."""
    weft = service.weft()
    with weft.store.writing():
        known = node_of(weft, who, node_id)
        who.check_write(known.tenant)
        weft.delete(known.key, tenant=known.tenant)
    return Response(status_code=204)
