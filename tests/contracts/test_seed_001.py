"""What the design of the knowledge base's context pipeline says of its lists, its limits and its budget."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rest_service import EXAMPLES, Service, make_service
from weft import Edge, Node, Weft
from weft.assemblers.knowledge.knowledge_context import KnowledgeContext, KnowledgeRequest
from weft.assemblers.knowledge.lists import entity_text, node_text
from weft.errors import InvalidInput
from weft.tokens import counter_for

COUNT, _ = counter_for("gpt-4")
TENANTS = ("support", "shared", "finance", "purchasing", "analytics")
QUERY = "refund request process"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


@pytest.fixture(scope="module")
def helpdesk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("helpdesk") / ".weft") as opened:
        opened.index(EXAMPLES / "helpdesk")
        yield opened


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    Weft.open(tmp_path / ".weft").close()
    made = make_service(tmp_path / ".weft")
    yield made
    made.served.close()


def ask(weft: Weft, query: str = QUERY, *tenants: str, **more: object) -> KnowledgeContext:
    request = KnowledgeRequest(query, **more)  # type: ignore[arg-type]
    return weft.knowledge(request, tenants=tenants or ("default",), token_model="gpt-4")


def put_refund_faq(weft: Weft) -> str:
    """Store an FAQ of more than 40 and less than 60 tokens, and small nodes around it; return its title."""
    title = "Refund request process"
    text = (
        "Open the order, choose the refund request, name the reason and the amount, and send it to the lead. " * 2
    )
    faq = Node("app:faq", "faq", title=title, text=text.strip())
    small = [Node(f"app:c{number}", "concept", title=f"Zebra {number}", text="Stripes.") for number in range(3)]
    entity = Node("app:e", "entity", title="Order")
    assert 42 < COUNT.count(node_text(faq)) <= 60
    weft.put([faq, *small, entity], [Edge(faq.key, each.key, "related") for each in (*small, entity)])
    return title


# --- the token budget ---


@pytest.mark.parametrize("budget", [60, 70, 80, 90, 200])
def test_entry_points_come_first_when_shares_are_left_over(weft: Weft, budget: int) -> None:
    title = put_refund_faq(weft)
    answer = ask(weft, max_tokens=budget)
    assert [each.title for each in answer.entry_points][:1] == [title]
    assert answer.stats.total_tokens is not None
    assert answer.stats.total_tokens <= budget


def test_a_larger_budget_never_loses_the_best_entry_point(helpdesk: Weft) -> None:
    ranked = [each.id for each in ask(helpdesk, QUERY, *TENANTS).entry_points]
    best = len(ranked)
    for budget in range(40, 400, 5):
        shown = [ranked.index(each.id) for each in ask(helpdesk, QUERY, *TENANTS, max_tokens=budget).entry_points]
        assert min(shown, default=best) <= best
        best = min(shown, default=best)
    assert best == 0


@pytest.mark.parametrize("budget", [40, 70, 120, 300])
def test_the_note_names_the_truly_smallest(helpdesk: Weft, budget: int) -> None:
    everything, kept = ask(helpdesk, QUERY, *TENANTS), ask(helpdesk, QUERY, *TENANTS, max_tokens=budget)
    for label, text_of, listed, shown in (
        ("entry points", node_text, everything.entry_points, kept.entry_points),
        ("context nodes", node_text, everything.context, kept.context),
        ("entities", entity_text, everything.entities, kept.entities),
    ):
        dropped = {each.id for each in listed} - {each.id for each in shown}
        costs = [COUNT.count(text_of(helpdesk.show(str(key), tenants=TENANTS)[0])) for key in dropped]
        notes = [note for note in kept.notes if f" {label} did not fit" in note]
        assert [f"takes {min(costs)} tokens" in note for note in notes] == [True] * bool(costs)


def test_an_entity_with_a_long_text_costs_only_what_is_listed_of_it(weft: Weft) -> None:
    entity = Node("app:e", "entity", title="Order", text="A long description of orders. " * 200)
    weft.put([Node("app:faq", "faq", title="Refund", text="Ask."), entity], [Edge("app:faq", "app:e", "related")])
    assert [each.title for each in ask(weft, "refund", max_tokens=100).entities] == ["Order"]


# --- content flags and types ---


def test_include_entities_false_means_no_entity_in_any_list(helpdesk: Weft) -> None:
    assert "entity" in {each.node_type for each in ask(helpdesk, QUERY, *TENANTS).context}
    types = ("faq", "entity")
    answer = ask(helpdesk, "refund request", *TENANTS, entry_types=types, include_entities=False)
    assert answer.entry_points
    assert "entity" not in {each.node_type for each in (*answer.entry_points, *answer.context)}
    assert answer.entities == ()


def test_entity_entry_types_without_entities_are_refused(helpdesk: Weft) -> None:
    with pytest.raises(InvalidInput, match="include_entities is false"):
        ask(helpdesk, QUERY, *TENANTS, entry_types=("entity",), include_entities=False)


def test_entry_types_may_be_any_kind_that_the_tenant_holds(service: Service) -> None:
    service.served.weft().put([Node("app:p", "policy", title="Refund policy", text="Thirty days.", tenant="t")])
    found = service.ask("refund policy", "t", entry_types=["policy"])
    assert [each["node_type"] for each in found["entry_points"]] == ["policy"]
    none = service.ask("refund policy", "t", entry_types=["polcy"])
    assert none["entry_points"] == []
    assert "(polcy)" in none["notes"][0]
    assert "They hold: policy." in none["notes"][0]
    page = service.ask("refund policy", "t", entry_types=["policy"], format="markdown")
    assert "Thirty days." in page["text"]


def test_types_of_other_tenants_are_not_named(service: Service) -> None:
    nodes = [
        Node("app:p", kind, title="Refund", tenant=tenant) for kind, tenant in (("plan", "t"), ("spell", "u"))
    ]
    service.served.weft().put(nodes)
    assert "spell" not in str(service.ask("refund", "t", entry_types=["faq"]))


def test_a_folder_of_documents_is_searched_by_default(service: Service, tmp_path: Path) -> None:
    handbook = tmp_path / "handbook"
    handbook.mkdir()
    (handbook / "refunds.md").write_text("# Refunds\n\nA refund is paid within ten days.\n")
    service.served.weft().index(handbook)
    answer = service.ask("when is a refund paid", "default")
    assert "ten days" in str(answer["entry_points"])
    assert "none of the default types" in answer["notes"][0]


# --- writing ---


def test_nodes_written_over_rest_have_their_times(service: Service) -> None:
    node = {"tenant_id": "t", "key": "a", "node_type": "faq", "title": "Refunds", "content": {"answer": "Ask."}}
    made = service.http.post("/api/nodes", json=node).json()
    assert made["created"] == made["modified"]
    again = service.http.put("/api/nodes", json={"nodes": [node]}).json()
    assert (again["written"], again["unchanged"]) == (0, 1)
    address = f"/api/nodes/{made['id']}"
    assert service.http.get(address).json()["modified"] == made["modified"]
    changed = service.http.patch(address, json={"title": "Refunds and returns"}).json()
    assert changed["created"] == made["created"]
    assert changed["modified"] > made["modified"]
