"""Signals become scores as the designs state them."""

from datetime import UTC, datetime, timedelta

import pytest

from weft.model import Alias, Candidate, Node
from weft.pipeline.score import raise_asked_person, score
from weft.profiles import load_profile
from weft.profiles.types import Lens, Score

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LENS = Lens("general")


def one(rule: Score, node: Node, lens: Lens = LENS, absent: tuple[str, ...] = (), **rest: object) -> float:
    """The score of a single candidate."""
    return score([Candidate(node, **rest)], rule, lens, NOW, absent)[0].score  # type: ignore[arg-type]


@pytest.mark.parametrize(("distance", "closeness"), [(0, 1.0), (1, 1.0), (2, 0.5), (4, 0.25)])
def test_notes_weigh_distance_meaning_and_age(distance: int, closeness: float) -> None:
    node = Node("k", "note", modified=NOW - timedelta(days=60))
    given = one(load_profile("notes").score, node, distance=distance, parts={"semantic": 0.8})
    assert given == pytest.approx(0.4 * closeness + 0.35 * 0.8 + 0.25 * 0.25, abs=1e-6)


def test_notes_use_the_stated_weights_when_there_is_no_embedder() -> None:
    node = Node("k", "note", modified=NOW - timedelta(days=30))
    assert one(load_profile("notes").score, node, absent=("semantic",), distance=2) == pytest.approx(
        0.6 / 2 + 0.4 / 2
    )


@pytest.mark.parametrize(("distance", "edge", "expected"), [(1, 1.0, 0.5), (2, 0.8, 0.27), (3, 1.0, 0.25)])
def test_knowledge_scores_by_hops_and_the_last_edge(distance: int, edge: float, expected: float) -> None:
    rule = load_profile("knowledge").sections[1].score
    assert rule is not None
    given = one(rule, Node("k", "faq"), distance=distance, parts={"edge": edge})
    assert round(given, 2) == expected


def test_what_is_modified_later_than_now_is_as_fresh_as_can_be_and_what_has_no_date_is_not_fresh() -> None:
    rule = Score(weights={"recency": 1.0})
    assert one(rule, Node("k", "note", modified=NOW + timedelta(days=9))) == 1.0
    assert one(rule, Node("k", "note")) == 0.0


def test_boosts_multiply_and_the_table_is_looked_up() -> None:
    rule = Score(boosts={"table": 0.2, "importance": 0.5}, table_field="tier", table={"gold": 1.0})
    gold, plain = (Node("k", "note", fields={"tier": tier}, importance=0.4) for tier in ("gold", "tin"))
    assert one(rule, gold, parts={"relevance": 0.5}) == pytest.approx(0.5 * 1.2 * 1.2)
    assert one(rule, plain, parts={"relevance": 0.5}) == pytest.approx(0.5 * 1.2)


def test_a_lens_raises_by_kind_and_by_the_strongest_tag() -> None:
    lens = Lens("x", raise_kinds={"task": 2.0}, raise_tags={"a": 1.5, "b": 3.0})
    node = Node("k", "task", tags=("a", "b"))
    assert one(Score(), node, lens, parts={"relevance": 0.1}) == pytest.approx(0.6)


def test_a_tag_that_only_repeats_the_raised_kind_does_not_raise_again() -> None:
    lens = Lens("x", raise_kinds={"person": 1.6}, raise_tags={"person": 1.6, "vip": 2.0})
    for tags, raised in (((), 1.6), (("person",), 1.6), (("person", "vip"), 3.2)):
        (found,) = score([Candidate(Node("t:a", "person", tags=tags))], Score(), lens, NOW, ())
        assert found.parts["raised"] == raised


def test_equal_scores_are_ordered_by_tenant_and_key_and_starts_come_first_where_asked() -> None:
    nodes = [Node("b", "note"), Node("a", "note", tenant="z"), Node("a", "note"), Node("c", "note")]
    found = [Candidate(node, parts={"relevance": 1.0}) for node in nodes[:3]]
    started = Candidate(nodes[3], parts={"start": 1.0})
    ordered = score([*found, started], Score(start_first=True), LENS, NOW, ())
    assert [(each.node.tenant, each.node.key) for each in ordered] == [
        ("default", "c"),
        ("default", "a"),
        ("default", "b"),
        ("z", "a"),
    ]


def test_what_only_quotes_a_passage_has_no_relevance_of_its_own_unless_it_is_called() -> None:
    rule, lens = Score(weights={"relevance": 1.0}), Lens("x", named_with="mentions")
    found, noted = Node("k", "character", fields={"mentions": 3}), Node("k", "character")
    assert one(rule, found, lens, parts={"relevance": 0.8}) == 0.0
    assert one(rule, found, lens, parts={"relevance": 0.8, "named": 1.0}) == 0.8
    assert one(rule, found, lens, parts={"relevance": 0.8, "start": 1.0}) == 0.8
    assert one(rule, noted, lens, parts={"relevance": 0.8}) == 0.8
    assert one(rule, found, parts={"relevance": 0.8}) == 0.8


def test_the_fourth_digit_of_a_score_changes_no_order() -> None:
    def order(first: float, second: float) -> list[str]:
        found = [
            Candidate(Node(key, "note", text=key), parts={"relevance": relevance})
            for key, relevance in (("a", first), ("b", second))
        ]
        return [candidate.node.key for candidate in score(found, Score(), LENS, NOW, ())]

    assert order(0.5002, 0.5004) == order(0.5004, 0.5002) == ["a", "b"]
    assert order(0.501, 0.502) == ["b", "a"]


@pytest.mark.parametrize(
    ("question", "raised"),
    [
        ("Who is Evelyn Howard?", 0.5),
        ("who was Evie?", 0.5),
        ("Who is Evelyn?", 0.0),
        ("Where is Evelyn Howard?", 0.0),
    ],
)
def test_the_node_of_a_person_who_is_asked_about_by_name_is_what_the_question_wants(
    question: str, raised: float
) -> None:
    person = Candidate(Node("s:1", "character", title="Evelyn Howard", aliases=(Alias("Evie"),)))
    scene = Candidate(Node("s:2", "scene", text="Evelyn Howard shook hands."))
    found = raise_asked_person((person, scene), question)
    assert [each.parts.get("shape", 0.0) for each in found] == [raised, 0.0]
