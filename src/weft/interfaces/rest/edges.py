"""/api/edges: draw, read, change, delete, in batches, and list."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi import Query as QueryParameters
from msgspec.structs import replace
from starlette.responses import Response

from weft.api import Weft
from weft.indexing.link import SHARED_TENANT
from weft.indexing.write import MAKER
from weft.interfaces.rest.access import Caller, Service, Who
from weft.interfaces.rest.convert import answer, cursor_numbers, edge_shape, page_of
from weft.interfaces.rest.nodes import node_of
from weft.interfaces.rest.problems import Problem, StrictRoute
from weft.interfaces.rest.requests import EdgeBatch, EdgeChange, EdgeInput, EdgeListing
from weft.interfaces.rest.responses import EdgeOutput, EdgePage
from weft.model import Edge, View
from weft.store.records import FIRST_CURSOR, ListedEdge

router = APIRouter(tags=["edges"], route_class=StrictRoute)

EdgeId = Annotated[
    str,
    Path(
        pattern=r"^[1-9][0-9]{0,14}:[a-z][a-z0-9_]{0,63}:[1-9][0-9]{0,14}$",
        description="Source id, edge type and target id, as in `42:related:55`.",
    ),
]


def _drawn(weft: Weft, who: Caller, given: EdgeInput) -> Edge:
    """Return the edge that a request describes, if the caller may draw it and it would lead somewhere."""
    source, target = node_of(weft, who, given.source_id), node_of(weft, who, given.target_id)
    who.check_write(source.tenant)
    elsewhere = target.tenant != source.tenant
    if elsewhere and target.tenant not in (SHARED_TENANT, *weft.store.shared(source.tenant)):
        raise Problem(
            409,
            f"Tenant {source.tenant!r} does not link into {target.tenant!r}. Declare it on the server with "
            f"`weft share {source.tenant} {target.tenant}`.",
            "target_id",
        )
    return Edge(
        source=source.key,
        target=target.key,
        type=given.edge_type,
        weight=given.weight,
        confidence=given.confidence,
        evidence=given.evidence,
        tenant=source.tenant,
        target_tenant=target.tenant if elsewhere else None,
    )


def _listed(weft: Weft, who: Caller, edge_id: str) -> ListedEdge:
    source, edge_type, target = edge_id.split(":")
    ends = (int(source), int(target))
    view = View(weft.store.tenants() if who.tenants is None else tuple(sorted(who.tenants)))
    found = weft.store.edges_after(view, FIRST_CURSOR, 1000, ends)
    edge = next((each for each in found if each.edge.type == edge_type), None)
    if edge is None:
        raise Problem(404, f"There is no edge {edge_id} that this caller may read.")
    return edge


def _own(weft: Weft, listed: ListedEdge) -> tuple[Edge, list[Edge]]:
    """Return the edge as direct writes drew it, and what else they drew from the same node."""
    edge = listed.edge
    drawn = weft.store.edges_by_maker(edge.tenant, edge.source, MAKER)
    same = [each for each in drawn if (each.type, each.target, each.target_tenant) == _far_end(edge)]
    if not same:
        raise Problem(
            409,
            f"This edge was drawn by {', '.join(listed.makers)} and would come back. Change it at its source.",
        )
    return same[0], [each for each in drawn if each != same[0]]


def _far_end(edge: Edge) -> tuple[str, str, str | None]:
    return edge.type, edge.target, edge.target_tenant


def _ends(weft: Weft, who: Caller, given: Sequence[EdgeInput]) -> list[Edge]:
    return [_drawn(weft, who, each) for each in given]


@router.post("/api/edges", status_code=201, response_model=EdgeOutput)
def create_edge(given: EdgeInput, service: Service, who: Who) -> Response:
    """Draw a new edge; one that direct writes drew before is a conflict."""
    weft = service.weft()
    with weft.store.writing():
        edge = _drawn(weft, who, given)
        drawn = weft.store.edges_by_maker(edge.tenant, edge.source, MAKER)
        if any(_far_end(each) == _far_end(edge) for each in drawn):
            raise Problem(409, "This edge is there already. Change it with PATCH.")
        weft.put(edges=[edge])
    return answer(edge_shape(_listed(weft, who, _id(given))), 201)


def _id(given: EdgeInput) -> str:
    return f"{given.source_id}:{given.edge_type}:{given.target_id}"


@router.put("/api/edges", response_model=EdgePage)
def upsert_edges(given: EdgeBatch, service: Service, who: Who) -> Response:
    """Draw edges or change those that are there, all or none."""
    weft = service.weft()
    with weft.store.writing():
        weft.put(edges=_ends(weft, who, given.edges))
    shapes = [edge_shape(_listed(weft, who, each)) for each in dict.fromkeys(map(_id, given.edges))]
    return answer({"edges": shapes, "next_cursor": None})


@router.get("/api/edges", response_model=EdgePage)
def list_edges(given: Annotated[EdgeListing, QueryParameters()], service: Service, who: Who) -> Response:
    """Return the next edges by source, type and target."""
    source, kind, target = cursor_numbers(given.cursor, 3)
    view = View(who.readable(given.tenant_id))
    found = service.weft().store.edges_after(
        view, (source, kind, target), given.limit + 1, (given.source_id, given.target_id)
    )
    return page_of("edges", found, given.limit, edge_shape, lambda edge: "-".join(map(str, edge.cursor)))


@router.get("/api/edges/{edge_id}", response_model=EdgeOutput)
def read_edge(edge_id: EdgeId, service: Service, who: Who) -> Response:
    """Return one edge."""
    return answer(edge_shape(_listed(service.weft(), who, edge_id)))


@router.patch("/api/edges/{edge_id}", response_model=EdgeOutput)
def change_edge(edge_id: EdgeId, given: EdgeChange, service: Service, who: Who) -> Response:
    """Change the weight, confidence or evidence of an edge that was drawn here."""
    weft = service.weft()
    with weft.store.writing():
        listed = _listed(weft, who, edge_id)
        who.check_write(listed.edge.tenant)
        own, others = _own(weft, listed)
        named = {name: value for name, value in given.model_dump(exclude_unset=True).items() if value is not None}
        changed = [replace(own, **named), *others]
        weft.replace_edges(own.source, changed, tenant=own.tenant)
    return answer(edge_shape(_listed(weft, who, edge_id)))


@router.delete("/api/edges/{edge_id}", status_code=204)
def delete_edge(edge_id: EdgeId, service: Service, who: Who) -> Response:
    """Remove an edge that was drawn here."""
    weft = service.weft()
    with weft.store.writing():
        listed = _listed(weft, who, edge_id)
        who.check_write(listed.edge.tenant)
        own, others = _own(weft, listed)
        weft.replace_edges(own.source, others, tenant=own.tenant)
    return Response(status_code=204)
