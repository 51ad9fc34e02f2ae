"""The lists of a knowledge answer: who enters, what surrounds, which entities, and what it may cost."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import Edge, Node, Weft
from weft.assemblers.knowledge.knowledge_context import KnowledgeContext, KnowledgeRequest
from weft.assemblers.knowledge.lists import node_content, node_text, split_content
from weft.errors import InvalidInput
from weft.tokens import counter_for

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """The help desk."""
    with Weft.open(tmp_path_factory.mktemp("reading") / ".weft") as opened:
        opened.index(EXAMPLES / "helpdesk")
        yield opened


def node(key: str, kind: str = "faq", title: str = "", text: str = "", **more: object) -> Node:
    return Node(key=f"app:{key}", kind=kind, title=title or key.title(), text=text, **more)  # type: ignore[arg-type]


def titles(answer: KnowledgeContext) -> list[str]:
    return [each.title for each in answer.context]


def ask(weft: Weft, query: str, *tenants: str, **more: object) -> KnowledgeContext:
    return weft.knowledge(KnowledgeRequest(query=query, **more), tenants=tenants or ("default",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("hops", "weight", "score"),
    [(1, 1.0, 0.50), (2, 1.0, 0.33), (3, 1.0, 0.25), (1, 0.8, 0.40), (2, 0.8, 0.27), (3, 0.8, 0.20)],
)
def test_context_scores_are_those_of_the_documents_table(
    weft: Weft, hops: int, weight: float, score: float
) -> None:
    chain = [node("zebra"), *(node(f"step{number}", "policy") for number in range(1, hops + 1))]
    edges = [Edge(one.key, two.key, "related") for one, two in pairwise(chain)]
    edges[-1] = Edge(edges[-1].source, edges[-1].target, "parent", weight)
    weft.put(chain, edges)
    answer = ask(weft, "zebra", entry_types=("faq",), max_depth=hops)
    last = next(each for each in answer.context if each.title == f"Step{hops}")
    assert round(last.score, 2) == score
    assert (last.distance, last.edge_type, len(last.path)) == (hops, "parent", hops + 1)
    assert last.path[0] == answer.entry_points[0].id
    assert last.path[-1] == last.id
    assert answer.stats.max_depth_reached == hops


def test_the_first_visit_wins_and_a_refused_type_is_not_walked_through(weft: Weft) -> None:
    nodes = [node("zebra"), node("near", "concept"), node("wall", "example"), node("behind", "concept")]
    edges = [
        Edge("app:zebra", "app:near", "related", 0.5),
        Edge("app:zebra", "app:wall", "related"),
        Edge("app:wall", "app:near", "related"),
        Edge("app:wall", "app:behind", "related"),
    ]
    weft.put(nodes, edges)
    everything = ask(weft, "zebra", entry_types=("faq",))
    assert [(each.title, each.score) for each in everything.context] == [
        ("Wall", 0.5),
        ("Behind", 0.333333),
        ("Near", 0.25),
    ]
    only = ask(weft, "zebra", entry_types=("faq",), expansion_types=("concept",))
    assert titles(only) == ["Near"]


def test_limits_and_depth_are_honoured(weft: Weft) -> None:
    nodes = [node(f"zebra{number}", title=f"Zebra {number}") for number in range(6)]
    around = [node(f"c{number}", "concept") for number in range(9)]
    edges = [Edge("app:zebra0", each.key, "related", 0.1 * number) for number, each in enumerate(around, 1)]
    weft.put([*nodes, *around], edges)
    answer = ask(weft, "zebra", entry_types=("faq",), entry_limit=3, context_limit=2)
    assert len(answer.entry_points) == 3
    all_around = ask(weft, "zebra", entry_types=("faq",), context_limit=2)
    assert titles(all_around) == ["C8", "C7"]
    assert ask(weft, "zebra", expand=False).context == ()
    assert ask(weft, "zebra", max_depth=0).context == ()


@pytest.mark.parametrize(
    "wrong", [{"max_depth": 11}, {"max_depth": -1}, {"entry_limit": 0}, {"context_limit": -1}, {"entry_types": ()}]
)
def test_limits_that_mean_nothing_are_refused(weft: Weft, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"Give|Name"):
        ask(weft, "zebra", **wrong)


def test_flags_add_schemas_and_examples_to_the_types_searched(reading: Weft) -> None:
    plain = ask(reading, "orders schema refund rate", "analytics")
    assert {each.node_type for each in plain.entry_points} == {"faq"}
    both = ask(reading, "orders schema refund rate", "analytics", include_schemas=True, include_examples=True)
    assert {"schema_index", "schema_field", "example"} <= {each.node_type for each in both.entry_points}


def test_entities_are_found_among_the_nodes_and_one_step_away_even_without_expansion(weft: Weft) -> None:
    far = [node(f"e{number}", "entity", fields={"entity_path": f"a.{number}"}) for number in range(12)]
    edges = [Edge("app:zebra", each.key, "related") for each in far[:11]]
    edges.append(Edge("app:e0", "app:e11", "related"))
    weft.put([node("zebra"), *far], edges)
    answer = ask(weft, "zebra", expand=False)
    assert answer.context == ()
    assert len(answer.entities) == 10
    assert answer.entities[0].entity_path.startswith("a.")
    assert "E11" not in {each.title for each in answer.entities}
    assert ask(weft, "zebra", include_entities=False).entities == ()


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(1, 3000), model=st.sampled_from(["gpt-4", "gpt-4o", "cl100k_base"]))
def test_the_budget_is_never_exceeded_and_the_books_add_up(reading: Weft, budget: int, model: str) -> None:
    request = KnowledgeRequest("how do I process a refund", max_tokens=budget, max_depth=3)
    answer = reading.knowledge(request, tenants=("support", "shared", "finance"), token_model=model)
    used = answer.stats.tokens_used
    assert used is not None
    assert answer.stats.total_tokens == sum(used.values()) <= budget
    count, _ = counter_for(model)
    texts = [
        node_text(reading.show(str(each.id), tenants=("support", "shared", "finance"))[0])
        for each in answer.context
    ]
    assert used["context_nodes"] == sum(count.count_many(texts))


def test_an_oversize_entry_starves_nothing_behind_it_and_a_note_counts_it(weft: Weft) -> None:
    huge = node("huge", title="Zebra zebra zebra", text="zebra word " * 3000)
    small = [node(f"s{number}", title=f"Zebra {number}", text="Stripes.") for number in range(4)]
    weft.put([huge, *small])
    answer = ask(weft, "zebra", max_tokens=400)
    assert len(answer.entry_points) == 4
    assert any("1 of 5 entry points did not fit" in note for note in answer.notes)


def test_without_a_budget_nothing_is_counted(reading: Weft) -> None:
    stats = ask(reading, "refund", "support").stats
    assert stats.total_tokens is None
    assert stats.tokens_used is None


def test_tenants_that_are_not_asked_for_are_neither_found_nor_walked_into(reading: Weft) -> None:
    alone = ask(reading, "refund approval", "support", max_depth=3)
    assert "Four-eyes rule" not in titles(alone)
    together = ask(reading, "refund approval", "support", "shared", max_depth=3, entry_types=("playbook",))
    assert "Four-eyes rule" in titles(together)


# --- the document's troubleshooting: each symptom leads to its cause ---


def test_empty_entry_points_are_explained(reading: Weft) -> None:
    assert "check tenant_ids" in ask(reading, "refund", "nobody").notes[0]
    assert "widen entry_types" in ask(reading, "refund", "support", entry_types=("example",)).notes[0]
    assert "query is empty" in ask(reading, " ", "support").notes[0]


def test_no_graph_expansion_is_explained(weft: Weft) -> None:
    weft.put([node("zebra"), node("lonely", title="Lonely giraffe"), node("c", "concept")])
    assert "no links" in ask(weft, "giraffe").notes[0]
    weft.put(edges=[Edge("app:zebra", "app:c", "related")])
    assert "expansion_types" in ask(weft, "zebra", entry_types=("faq",), expansion_types=("playbook",)).notes[0]
    assert "max_depth" in ask(weft, "zebra", max_depth=0).notes[0]


def test_a_budget_that_was_too_small_is_explained(reading: Weft) -> None:
    answer = ask(reading, "refund", "support", max_tokens=150)
    assert any("did not fit into max_tokens 150" in note for note in answer.notes)
    assert answer.stats.tokens_used is not None


# --- content ---


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"text": "Said."},
        {"question": "Why?", "answer": "So."},
        {"text": "Said.", "steps": ["a", "b"]},
        {"text": 3},
    ],
)
def test_content_comes_back_as_it_was_given(content: dict[str, object]) -> None:
    text, fields = split_content(content)  # type: ignore[arg-type]
    assert node_content(node("a", text=text, fields=fields)) == content
