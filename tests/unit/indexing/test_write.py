"""Direct writes: what is put is found, linked and listed; what is deleted is gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Edge, Filter, Node, Weft
from weft.errors import InvalidInput
from weft.model import View


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def node(key: str, title: str, text: str = "", **more: object) -> Node:
    return Node(key=f"app:{key}", kind="policy", title=title, text=text, **more)  # type: ignore[arg-type]


def test_what_is_put_is_found_by_the_next_question(weft: Weft) -> None:
    done = weft.put([node("a", "Lost parcel", "Ask the carrier.")])
    assert (done.written, done.unchanged) == (1, 0)
    (found,) = weft.search("parcel carrier").candidates
    assert found.node.key == "app:a"
    assert found.node.origin.source == "app"
    assert weft.put([node("a", "Lost parcel", "Ask the carrier.")]).unchanged == 1


def test_a_put_edge_is_walked_and_can_be_replaced(weft: Weft) -> None:
    weft.put([node("a", "One"), node("b", "Two")], [Edge("app:a", "app:b", "related", 0.8)])
    ((other, edge),) = weft.related("app:a")
    assert (other.key, edge.weight) == ("app:b", 0.8)
    weft.put(edges=[Edge("app:a", "app:b", "parent")])
    assert len(weft.related("app:a")) == 2
    weft.replace_edges("app:a", [Edge("app:a", "app:b", "parent")])
    assert [edge.type for _, edge in weft.related("app:a")] == ["parent"]


def test_names_in_texts_are_linked_when_nodes_come_and_go(weft: Weft) -> None:
    weft.put([node("a", "First", "See the Carrier Claim form.")])
    weft.put([node("b", "Carrier Claim")])
    assert [edge.type for _, edge in weft.related("app:a")] == ["mentions"]
    assert weft.delete("app:b", "app:none").removed == 1
    assert weft.related("app:a") == ()
    assert weft.show("app:b") == ()


def test_edges_into_the_shared_tenant_need_no_declaration_and_others_do(weft: Weft) -> None:
    shared = node("s", "Rule", tenant="shared")
    other = node("o", "Other", tenant="other")
    edges = [
        Edge("app:a", "app:s", "related", target_tenant="shared"),
        Edge("app:a", "app:o", "related", target_tenant="other"),
    ]
    weft.put([node("a", "One"), shared, other], edges)
    seen = {found.key for found, _ in weft.related("app:a", tenants=("default", "shared", "other"))}
    assert seen == {"app:s"}
    weft.share("default", "shared", "other")
    seen = {found.key for found, _ in weft.related("app:a", tenants=("default", "shared", "other"))}
    assert seen == {"app:s", "app:o"}
    assert {found.key for found, _ in weft.related("app:a", tenants=("default",))} == set()


def test_nodes_are_listed_by_page_and_filter(weft: Weft) -> None:
    weft.put([node(str(number), f"Title {number}", tags=("odd",) if number % 2 else ()) for number in range(7)])
    seen: list[Node] = []
    while page := weft.nodes(after=seen[-1].id if seen else 0, limit=3):
        seen += page
    assert [each.title for each in seen] == [f"Title {number}" for number in range(7)]
    odd = weft.nodes(filter=Filter(tags=("odd",)), after=seen[1].id, limit=1)
    assert [each.title for each in odd] == ["Title 3"]
    assert weft.nodes(tenants=("nobody",)) == ()


def test_edges_are_listed_by_page_with_their_makers(weft: Weft) -> None:
    weft.put(
        [node("a", "Alpha", "Beta is near."), node("b", "Beta")],
        [Edge("app:a", "app:b", "mentions", 0.5), Edge("app:b", "app:a", "related")],
    )
    first = weft.store.edges_after(View(), (0, 0, 0), 1)
    rest = weft.store.edges_after(View(), first[-1].cursor, 10)
    listed = [*first, *rest]
    assert [(each.edge.source, each.edge.type) for each in listed] == [("app:a", "mentions"), ("app:b", "related")]
    assert listed[0].makers == ("link:mentions@1", "put@1")
    assert listed[0].edge.weight == 0.6
    assert weft.store.edges_after(View(("nobody",)), (0, 0, 0), 10) == []


def test_a_tenants_version_moves_only_with_its_own_knowledge(weft: Weft) -> None:
    weft.put([node("a", "One"), node("b", "Two", tenant="other")])
    before = weft.store.tenant_versions(View()), weft.store.tenant_versions(View(("other",)))
    weft.put([node("c", "Three", tenant="other")])
    assert weft.store.tenant_versions(View()) == before[0]
    assert weft.store.tenant_versions(View(("other",))) != before[1]
    weft.put(edges=[Edge("app:a", "app:x", "related")])
    assert weft.store.tenant_versions(View()) != before[0]


@pytest.mark.parametrize("wrong", [Node("", "policy"), Node("app:x", " "), Node("k" * 501, "faq")])
def test_a_node_that_cannot_be_kept_is_refused_with_the_reason(weft: Weft, wrong: Node) -> None:
    with pytest.raises(InvalidInput, match="Give 1 to 500 characters"):
        weft.put([wrong])
