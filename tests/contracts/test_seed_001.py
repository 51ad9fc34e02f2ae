"""The requirements of the design of the knowledge base's context pipeline, in its order.

`docs/designs.md` lists what differs on purpose; the client and LangChain examples run as they are written in
`tests/integration/test_rest_clients.py`.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from rest_service import EXAMPLES, Service, make_service
from weft import Edge, Node, Weft
from weft.assemblers.knowledge.knowledge_context import KnowledgeContext, KnowledgeRequest
from weft.assemblers.knowledge.lists import SHARES_PERCENT, EdgeType, entity_text, node_text
from weft.errors import InvalidInput
from weft.indexing.relations import SETTINGS_SOURCE
from weft.interfaces.rest.requests import ContextRequest
from weft.model import View
from weft.ports import KNOWLEDGE_KINDS, Changes
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


def types(weft: Weft, tenant: str = "default") -> set[str]:
    """Return the types of all edges of a tenant."""
    return {each.edge.type for each in weft.store.edges_after(View((tenant,)), (0, 0, 0), 10_000)}


# --- Overview, The Context Endpoint ---


def test_the_documented_request_is_answered_with_the_documented_fields(helpdesk: Weft) -> None:
    request = {
        "entry_types": ("faq", "playbook", "permission_rule"),
        **{"entry_limit": 10, "expand": True, "max_depth": 2, "context_limit": 50, "include_entities": True},
        **{"include_schemas": False, "include_examples": False, "max_tokens": 8000},
    }
    answer = ask(helpdesk, "How do I process a refund request?", *TENANTS, **request)
    entry, around, entity = answer.entry_points[0], answer.context[0], answer.entities[0]
    common = ("id", "node_type", "title", "summary", "content", "tags", "score")
    assert [name for name in dir(entry) if not name.startswith("_")] == sorted((*common, "match_source"))
    assert [name for name in dir(around) if not name.startswith("_")] == sorted(
        (*common, "distance", "path", "edge_type")
    )
    assert all((entity.id, entity.title, entity.entity_path, entity.related_schemas))
    assert answer.stats.total_tokens == sum((answer.stats.tokens_used or {}).values()) <= 8000


# --- Step 1: Entry Point Search ---


@pytest.mark.parametrize(
    ("query", "embedder", "source"),
    [
        ("refund", None, "bm25"),
        ("reimbursement of purchasers", "static", "vector"),
        ("refund", "static", "hybrid"),
    ],
)
def test_match_source_says_how_a_result_was_matched(
    tmp_path: Path, query: str, embedder: str | None, source: str
) -> None:
    with Weft.open(tmp_path / ".weft", embedder=embedder) as opened:
        opened.put([Node("app:b", "faq", title="Refund", text="A customer gets the money back.")])
        assert [each.match_source for each in ask(opened, query).entry_points] == [source]


def test_default_entry_types_are_faq_playbook_permission_rule_and_concept(weft: Weft) -> None:
    weft.put([Node(f"app:{kind}", kind, title=f"Refund {kind}", text="Refund.") for kind in KNOWLEDGE_KINDS])
    found = {each.node_type for each in ask(weft, "refund", entry_limit=50).entry_points}
    assert found == {"faq", "playbook", "permission_rule", "concept"}


@pytest.mark.parametrize(
    ("flag", "added"), [("include_schemas", {"schema_index", "schema_field"}), ("include_examples", {"example"})]
)
def test_optional_types_are_enabled_by_flags(weft: Weft, flag: str, added: set[str]) -> None:
    weft.put([Node(f"app:{kind}", kind, title=f"Refund {kind}", text="Refund.") for kind in KNOWLEDGE_KINDS])
    found = {each.node_type for each in ask(weft, "refund", entry_limit=50, **{flag: True}).entry_points}
    assert found == {"faq", "playbook", "permission_rule", "concept", *added}


def test_entry_limit_is_the_most_entry_points_returned(helpdesk: Weft) -> None:
    assert len(ask(helpdesk, QUERY, *TENANTS, entry_limit=3).entry_points) == 3


# --- Step 2: Graph Expansion ---


def put_chain(weft: Weft, weight: float = 1.0) -> None:
    """Store four nodes in a row, of which the query finds the first."""
    titles = ("Refund", "Ledger", "Vault", "Guard")
    weft.put(
        [Node(f"app:{index}", "policy", title=title, text=f"{title}.") for index, title in enumerate(titles)],
        [Edge(f"app:{index}", f"app:{index + 1}", "related", weight) for index in range(3)],
    )


@pytest.mark.parametrize(("weight", "scores"), [(1.0, [0.5, 0.333333, 0.25]), (0.8, [0.4, 0.266667, 0.2])])
def test_scores_are_distance_decay_times_edge_weight(weft: Weft, weight: float, scores: list[float]) -> None:
    put_chain(weft, weight)
    answer = ask(weft, "refund", entry_types=("policy",), entry_limit=1, max_depth=3)
    assert [(each.distance, each.score) for each in answer.context] == list(zip((1, 2, 3), scores, strict=True))


def test_neighbours_are_taken_in_both_directions(weft: Weft) -> None:
    put_chain(weft)
    answer = ask(weft, "vault", entry_types=("policy",), entry_limit=1, max_depth=1)
    assert {each.title for each in answer.context} == {"Ledger", "Guard"}


def test_a_path_leads_from_the_entry_point_to_the_node(weft: Weft) -> None:
    put_chain(weft)
    answer = ask(weft, "refund", entry_types=("policy",), entry_limit=1)
    first, second, third, _ = (weft.show(f"app:{index}")[0].id for index in range(4))
    assert [each.path for each in answer.context] == [(first, second), (first, second, third)]


def test_max_depth_is_2_unless_it_is_given(weft: Weft) -> None:
    put_chain(weft)
    assert ask(weft, "refund", entry_types=("policy",), entry_limit=1).stats.max_depth_reached == 2
    assert ask(weft, "refund", entry_types=("policy",), entry_limit=1, max_depth=1).stats.max_depth_reached == 1


def test_expand_false_returns_entry_points_only(helpdesk: Weft) -> None:
    answer = ask(helpdesk, QUERY, *TENANTS, expand=False)
    assert answer.entry_points
    assert answer.context == ()


def test_expansion_types_bound_the_walk(helpdesk: Weft) -> None:
    answer = ask(helpdesk, QUERY, *TENANTS, expansion_types=("concept",))
    assert {each.node_type for each in answer.context} == {"concept"}


def test_context_limit_is_the_most_context_nodes_returned(helpdesk: Weft) -> None:
    assert len(ask(helpdesk, QUERY, *TENANTS, context_limit=4).context) == 4


def test_circles_are_walked_once(weft: Weft) -> None:
    put_chain(weft)
    weft.put([], [Edge("app:3", "app:0", "related")])
    answer = ask(weft, "refund", entry_types=("policy",), entry_limit=1, max_depth=10)
    assert sorted(each.title for each in answer.context) == ["Guard", "Ledger", "Vault"]


# --- Edge Types ---


def faq(name: str, text: str = "", *tags: str) -> Node:
    return Node(f"app:{name}", "faq", title=name, text=text or f"{name} is told here.", tags=tags)


def test_shared_tag_edges_are_generated_from_tags_without_a_command(weft: Weft) -> None:
    weft.put([faq("Refunds", "", "money"), faq("Wire transfers", "", "money"), faq("Parking", "", "site")])
    answer = ask(weft, "refunds", entry_limit=1)
    assert [(each.title, each.edge_type) for each in answer.context] == [("Wire transfers", "shared_tag")]


def test_similar_edges_are_generated_from_embeddings_without_a_command(weft: Weft) -> None:
    same = "The carrier pays the refund when a parcel arrives damaged."
    weft.put([faq("Damaged parcel", same), faq("Parcel damaged", same), faq("Sign in", "Open the page.")])
    answer = ask(weft, "damaged parcel", entry_limit=1)
    assert [(each.title, each.edge_type) for each in answer.context] == [("Parcel damaged", "similar")]


def test_generated_edges_are_kept_current(weft: Weft) -> None:
    weft.put([faq("Refunds", "", "money"), faq("Wire transfers", "", "money")])
    weft.put([faq("Wire transfers", "", "bank")])
    assert types(weft) == set()
    weft.put([faq("Iban", "", "bank")])
    assert [each.title for each in ask(weft, "wire transfers", entry_limit=1).context] == ["Iban"]
    weft.delete("app:Iban")
    assert types(weft) == set()


def test_generated_edges_reach_nodes_that_were_stored_before_them(weft: Weft) -> None:
    weft.link(shared_tags=False, similar=None)
    weft.put([faq("Refunds", "", "money"), faq("Wire transfers", "", "money")])
    assert types(weft) == set()
    for name in ("shared_tag", "similar"):
        # As a store of an earlier version has it: nothing says whether links were wanted.
        weft.store.write(Changes(units=(("default", SETTINGS_SOURCE, name, ""),)))
    weft.put([faq("Parking", "", "site")])
    assert types(weft) == {"shared_tag"}


def test_nodes_of_other_kinds_are_linked_by_command_only(weft: Weft) -> None:
    weft.put(
        [Node(f"app:{number}", "note", title=f"N{number}", text="Same text.", tags=("a",)) for number in (1, 2)]
    )
    assert types(weft) == set()
    weft.link()
    assert types(weft) == {"shared_tag", "similar"}


def test_edges_outside_the_five_types_are_told_by_one_of_the_five(service: Service) -> None:
    edges = [
        Edge("app:a", "app:b", "approves"),
        Edge("app:a", "app:c", "contains"),
        Edge("app:a", "app:d", "parent"),
    ]
    nodes = [
        Node(f"app:{name}", "policy", title=f"Rule {name}", text=f"{name}{name}.", tenant="t") for name in "abcd"
    ]
    service.served.weft().put(nodes, [replace(edge, tenant="t", target_tenant="t") for edge in edges])
    answer = service.ask("rule a", "t", entry_types=["policy"], entry_limit=1)
    told = {each["title"]: each["edge_type"] for each in answer["context"]}
    assert told == {"Rule b": "related", "Rule c": "parent", "Rule d": "parent"}


def test_no_answer_names_an_edge_outside_the_five(helpdesk: Weft) -> None:
    named = {each.edge_type for each in ask(helpdesk, QUERY, *TENANTS, max_depth=3).context}
    assert named <= set(get_args(EdgeType))
    assert set(get_args(EdgeType)) == {"related", "parent", "example_of", "shared_tag", "similar"}


# --- Step 3: Entity Collection ---


def test_entities_are_those_among_the_nodes_and_those_linked_with_them_at_most_ten(weft: Weft) -> None:
    entities = [Node(f"app:e{number}", "entity", title=f"Order {number}") for number in range(15)]
    weft.put([faq("Refunds"), *entities], [Edge("app:Refunds", each.key, "related") for each in entities])
    found = ask(weft, "refunds", expand=False).entities
    assert len(found) == 10
    assert {each.title for each in found} <= {each.title for each in entities}


def test_entities_carry_their_path_and_schemas(helpdesk: Weft) -> None:
    found = {each.title: each for each in ask(helpdesk, QUERY, *TENANTS).entities}
    assert found["Refund Request"].entity_path == "orders.refund_requests"
    assert found["Refund Request"].related_schemas == ("orders", "payments")


# --- Step 4: Token Budget Management ---


def test_the_allocation_is_60_30_10() -> None:
    assert SHARES_PERCENT == {"entry_points": 60, "context_nodes": 30, "entities": 10}


def test_each_list_spends_its_share_when_there_is_enough_of_all(weft: Weft) -> None:
    many = [
        Node(f"app:{kind}{number}", kind, title=f"{title} {number}", text=f"{title} {number} is told.")
        for kind, title in (("faq", "Refund"), ("policy", "Ledger"))
        for number in range(60)
    ]
    weft.put(many, [Edge(f"app:faq{number}", f"app:policy{number}", "related") for number in range(60)])
    used = ask(weft, "refund", max_tokens=1000, entry_limit=60).stats.tokens_used or {}
    assert 550 < used["entry_points"] <= 750
    assert 250 < used["context_nodes"] <= 400


def test_tokens_are_counted_by_the_model_that_is_named(helpdesk: Weft) -> None:
    answer = ask(helpdesk, QUERY, *TENANTS, max_tokens=8000)
    shown = [helpdesk.show(str(each.id), tenants=TENANTS)[0] for each in answer.entry_points]
    assert (answer.stats.tokens_used or {})["entry_points"] == sum(COUNT.count(node_text(node)) for node in shown)


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


@pytest.mark.parametrize("model", ["gpt-4", "gpt-4o", "gpt2", "text-davinci-003", "davinci", "none-such"])
def test_every_token_model_is_counted_within_the_budget_and_the_note_names_one_that_is_taken(
    service: Service, model: str
) -> None:
    service.served.weft().index(EXAMPLES / "helpdesk")
    answer = service.ask(QUERY, *TENANTS, max_tokens=900, token_model=model)
    assert 0 < answer["stats"]["total_tokens"] <= 900
    named = [note for note in answer["notes"] if repr(model) in note]
    assert len(named) == (model not in {"gpt-4", "gpt-4o"})
    for note in named:
        assert "cl100k_base" in note
        again = service.ask(QUERY, *TENANTS, max_tokens=900, token_model="cl100k_base")
        assert not [each for each in again["notes"] if "cl100k_base" in each]


def test_from_its_own_cost_on_the_best_entry_point_is_there_at_every_budget(helpdesk: Weft) -> None:
    best = ask(helpdesk, QUERY, *TENANTS).entry_points[0]
    cost = COUNT.count(node_text(helpdesk.show(str(best.id), tenants=TENANTS)[0]))
    for budget in (cost, cost + 1, *range(cost + 10, 3 * cost, 10)):
        assert ask(helpdesk, QUERY, *TENANTS, max_tokens=budget).entry_points[0].id == best.id
    below = ask(helpdesk, QUERY, *TENANTS, max_tokens=cost - 1)
    assert best.id not in {each.id for each in below.entry_points}
    assert f"The best entry point is shown with max_tokens {cost} or more." in below.notes


# --- Request Parameters ---


def test_the_parameters_and_their_defaults_are_the_documented_ones() -> None:
    documented: dict[str, Any] = {
        **{"query": "", "entry_types": None, "entry_limit": 10, "expand": True, "expansion_types": None},
        **{"max_depth": 2, "context_limit": 50, "include_entities": True, "include_schemas": False},
        **{"include_examples": False, "max_tokens": None, "token_model": "gpt-4"},
    }
    fields = ContextRequest.model_fields
    assert {name: fields[name].default for name in documented} == documented
    assert fields["tenant_ids"].get_default(call_default_factory=True) == []
    assert set(inspect.signature(KnowledgeRequest).parameters) >= documented.keys() - {"token_model"}


def test_without_tenants_nothing_is_read(service: Service) -> None:
    service.served.weft().put([Node("app:a", "faq", title="Refund", text="Refund.", tenant="t")])
    answer = service.ask("refund")
    assert (answer["entry_points"], answer["context"], answer["entities"]) == ([], [], [])


def test_for_several_tenants_the_graph_includes_all_of_them(helpdesk: Weft) -> None:
    both = {each.id for each in ask(helpdesk, QUERY, "support", "shared", entry_limit=99).entry_points}
    one = {each.id for each in ask(helpdesk, QUERY, "support", entry_limit=99).entry_points}
    assert both > one


def test_without_max_tokens_there_is_no_limit_and_no_count(helpdesk: Weft) -> None:
    stats = ask(helpdesk, QUERY, *TENANTS).stats
    assert (stats.total_tokens, stats.tokens_used) == (None, None)


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


# --- nodes of the store ---


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


# --- Troubleshooting ---


def test_empty_entry_points_are_explained_by_tenant_type_and_query(helpdesk: Weft) -> None:
    assert "check tenant_ids" in ask(helpdesk, QUERY, "nobody").notes[0]
    assert "widen entry_types" in ask(helpdesk, QUERY, "support", entry_types=("spell",)).notes[0]
    assert "query is empty" in ask(helpdesk, " ", "support").notes[0]


def test_no_graph_expansion_is_explained_by_edges_types_and_depth(weft: Weft) -> None:
    weft.put([Node("app:a", "policy", title="Refund", text="Refund.")])
    assert "no links" in ask(weft, "refund", entry_types=("policy",)).notes[0]
    put_chain(weft)
    refused = ask(weft, "refund", entry_types=("policy",), entry_limit=1, expansion_types=("faq",))
    assert "expansion_types" in refused.notes[0]
    assert "max_depth" in ask(weft, "refund", entry_types=("policy",), max_depth=0).notes[0]


def test_fewer_results_than_expected_are_explained_by_the_budget(helpdesk: Weft) -> None:
    assert any(
        "did not fit into max_tokens 200" in note for note in ask(helpdesk, QUERY, *TENANTS, max_tokens=200).notes
    )
