"""Names of nodes found in the texts of others."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from weft.links import MENTIONS_MAKER, draw_mentions, find_affected_keys
from weft.links.name_index import Lexicon, Matcher, openings
from weft.model import STORY_MAKER, Alias, Edge, EdgeSet, Node, View
from weft.ports import Changes, NameRow, PreparedNode
from weft.scoring.bm25 import term_hash
from weft.store.sqlite.store import SqliteStore
from weft.text import analyze
from weft.text.terms import fold_text


def link_mentions(
    store: SqliteStore, tenant: str, changed: Sequence[str], *options: Any, **named: Any
) -> tuple[EdgeSet, ...]:
    return tuple(draw_mentions(store, tenant, changed, *options, **named))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path / ".weft")
    yield opened
    opened.close()


def node(key: str, title: str, text: str = "", *aliases: str, tenant: str = "default") -> Node:
    return Node(key, "note", tenant, title, text=text, aliases=tuple(Alias(alias, "test") for alias in aliases))


def called(each: Node) -> NameRow:
    return NameRow(each.tenant, each.key, each.title, each.aliases)


def put(store: SqliteStore, *nodes: Node) -> None:
    store.write(Changes(upserts=tuple(PreparedNode(each, repr(each), (), 0, b"") for each in nodes)))


def link(store: SqliteStore, *changed: str, tenant: str = "default", **options: object) -> list[Edge]:
    sets = link_mentions(store, tenant, changed, **options)  # type: ignore[arg-type]
    for each in sets:
        assert each.maker == MENTIONS_MAKER
        store.write(Changes(edges=(each,)))
    return [edge for each in sets for edge in each.edges]


def found(text: str, *named: Node) -> dict[str, float]:
    """Key and weight of what one text mentions."""
    lexicon = Lexicon()
    for each in named:
        lexicon.add(called(each))
    weights: dict[str, float] = {}
    for match in Matcher(lexicon.usable()).find(text):
        for owner, sure in match.owners:
            weights.setdefault(owner.key, round(sure / match.sharers, 3))
    return weights


MARA = node("mara", "Mara Venn")
CACTUS = node("cactus", "Cactus")


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("We met Mara Venn there.", 1.0),
        ("We met Mara\nVenn's brother.", 1.0),
        ("we met mara venn there", 0.6),
        ("MARA VENN", 0.6),
        ("(Mara Venn)", 1.0),
    ],
)
def test_a_title_of_several_words_is_found_in_any_case(text: str, weight: float) -> None:
    assert found(text, MARA) == {"mara": weight}


@pytest.mark.parametrize("text", ["Mara Vennish", "AMara Venn", "Mara_Venn", "Mara. Venn", "mara_venn2", ""])
def test_only_whole_words_in_one_piece_match(text: str) -> None:
    assert found(text, MARA) == {}


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("He joined Cactus in May.", 1.0),
        ("He joined. Cactus was loud.", 0.6),
        ("He joined [[Cactus]] and (Cactus).", 1.0),
        ("a cactus grew", None),
        ("a CACTUS grew", None),
        ("at Cactus Records in Leeds", 0.3),
        ("the Prickly Cactus", 0.3),
    ],
)
def test_a_single_word_must_be_written_like_a_name(text: str, weight: float | None) -> None:
    assert found(text, CACTUS) == ({} if weight is None else {"cactus": weight})


def test_a_single_lower_case_title_matches_as_written_or_with_a_capital() -> None:
    refund = node("refund", "refund")
    assert found("ask for a refund", refund) == {"refund": 0.6}
    assert found("see Refund there", refund) == {"refund": 0.6}


def test_an_article_may_have_any_case_but_the_telling_word_may_not() -> None:
    other = node("other", "The Beacon")
    assert found("on the Beacon that night", other) == {"other": 1.0}
    assert found("on the beacon that night", other) == {}


def test_names_of_filler_words_match_only_as_written() -> None:
    assert found("then The Who played", node("who", "The Who")) == {"who": 1.0}
    assert found("the who and the what", node("who", "The Who")) == {}
    assert found("asked the WHO", node("who", "WHO")) == {"who": 1.0}


@pytest.mark.parametrize("title", ["It", "On", "The", "1984", "2024-05-01", "C3", "  ", "..."])
def test_names_that_would_be_everywhere_are_not_looked_for(title: str) -> None:
    assert found(f"It is on the list: {title} and so on {title}", node("x", title)) == {}


def test_accents_and_typographic_signs_do_not_matter() -> None:
    assert found("with Beyonce Knowles", node("b", "Beyoncé Knowles")) == {"b": 1.0}
    assert found("the King\u2019s Road", node("k", "King's Road")) == {"k": 1.0}
    assert found("Ine\u0301s Or\u00e1l spoke", node("i", "Inés Oral")) == {"i": 1.0}


def test_names_in_scripts_without_spaces_need_no_boundary() -> None:
    assert found("我住在上海市中心", node("s", "上海")) == {"s": 1.0}
    assert found("東京タワーを見た", node("t", "東京タワー")) == {"t": 1.0}
    assert found("我住在上海市", node("one", "上")) == {}


def test_longer_names_win_over_the_names_inside_them() -> None:
    york, city = node("york", "New York"), node("city", "New York City")
    assert found("in New York City today", york, city) == {"city": 1.0}
    assert found("in New York Cityscape today", york, city) == {"york": 1.0}


def test_a_name_that_is_not_meant_does_not_hide_one_inside_it() -> None:
    outer, inner = node("outer", "The North Sea"), node("inner", "Sea")
    assert found("the north Sea", node("outer", "North of"), inner) == {"inner": 1.0}
    assert found("the North Sea", outer, inner) == {"outer": 1.0}


def test_aliases_and_names_without_their_disambiguator_are_less_sure() -> None:
    assert found("ask the Ferrywoman", node("m", "Mara Venn", "", "Ferrywoman")) == {"m": 0.8}
    assert found("after Blue Harbour came", node("h", "Blue Harbour (album)")) == {"h": 0.8}
    assert found("saw Mercury rise", node("p", "Mercury (planet)")) == {"p": 0.4}
    assert found("saw Mercury Records rise", node("p", "Mercury (planet)")) == {}


def test_owners_of_one_name_share_its_weight_until_there_are_too_many() -> None:
    twins = [node(f"t{number}", "Grey Tower") for number in range(9)]
    assert found("at Grey Tower", *twins[:2]) == {"t0": 0.5, "t1": 0.5}
    assert len(found("at Grey Tower", *twins[:8])) == 8
    assert found("at Grey Tower", *twins) == {}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_and_names_are_matched_without_error_and_in_order(text: str, titles: list[str]) -> None:
    lexicon = Lexicon()
    for number, title in enumerate(titles):
        lexicon.add(called(node(str(number), title)))
    matches = Matcher(lexicon.usable()).find(text)
    assert all(0 <= match.start < match.end <= len(text) for match in matches)
    assert all(left.end <= right.start for left, right in pairwise(matches))


@settings(max_examples=200, deadline=None)
@given(st.text("ab上海 .-'é", max_size=30), st.lists(st.text("ab上海 .-'é", max_size=8), max_size=5))
def test_leaving_out_names_that_cannot_begin_in_a_text_changes_nothing(text: str, titles: list[str]) -> None:
    every, some = Lexicon(), Lexicon(frozenset(openings(fold_text(text)[0])))
    for number, title in enumerate(titles):
        every.add(called(node(str(number), title)))
        some.add(called(node(str(number), title)))
    assert Matcher(some.usable()).find(text) == Matcher(every.usable()).find(text)


def test_a_mention_becomes_an_edge_with_the_name_and_its_place(store: SqliteStore) -> None:
    put(store, MARA, node("log", "Log", "Today Mara Venn came. Mara Venn left."))
    assert link(store, "mara", "log") == [
        Edge("log", "mara", "mentions", 1.0, 1.0, "Mara Venn @6", "default", None)
    ]


def test_a_text_does_not_mention_itself_but_its_namesakes(store: SqliteStore) -> None:
    put(store, node("a", "Grey Tower", "Grey Tower stands."), node("b", "Grey Tower", "It fell."))
    assert {(edge.source, edge.target) for edge in link(store, "a", "b")} == {("a", "b"), ("b", "a")}


def test_summaries_and_titles_are_read_too(store: SqliteStore) -> None:
    report = replace(node("r", "Audit of Grey Tower"), summary="Written by Mara Venn.")
    put(store, MARA, node("t", "Grey Tower"), report)
    assert {edge.target for edge in link(store, "r")} == {"mara", "t"}


def test_a_new_name_is_found_in_older_texts(store: SqliteStore) -> None:
    put(store, node("old", "Old", "Once Mara Venn came."), node("other", "Other", "Nobody came."))
    assert link(store, "old", "other") == []
    put(store, MARA)
    assert [(edge.source, edge.target) for edge in link(store, "mara")] == [("old", "mara")]


def test_older_texts_are_looked_up_by_terms_where_the_caller_can(store: SqliteStore) -> None:
    put(store, node("old", "Old", "Once Mara Venn came."), MARA)
    asked: list[Sequence[int]] = []

    def containing(terms: Sequence[int]) -> Sequence[int]:
        asked.append(terms)
        with store.snapshot(View()) as snapshot:
            return [each for ids in snapshot.find(["old"]).values() for each in ids]

    assert [(edge.source, edge.target) for edge in link(store, "mara", containing=containing)] == [("old", "mara")]
    assert asked == [tuple(sorted(map(term_hash, analyze("mara venn"))))]


@pytest.mark.parametrize("text", ["See {}.", "It is in src/weft/{}, below.", "core.{}-3", "`{}()`"])
@pytest.mark.parametrize(
    "name", ["budget.py", "HTMLParser.feed", "HTMLParser", "lord-of-rings", "C++ core", "U.S. Army"]
)
def test_a_name_is_looked_up_by_terms_of_all_texts_with_it(store: SqliteStore, name: str, text: str) -> None:
    asked: list[Sequence[int]] = []

    def containing(terms: Sequence[int]) -> Sequence[int]:
        asked.append(terms)
        return ()

    put(store, node("file", name))
    link(store, "file", containing=containing)
    assert asked and set(asked[0]) <= set(map(term_hash, analyze(text.format(name))))


def test_a_name_that_is_gone_takes_its_edges_with_it(store: SqliteStore) -> None:
    put(store, node("log", "Log", "Mara Venn came."), MARA)
    link(store, "log", "mara")
    put(store, node("mara", "Ines Oral"))
    assert link(store, "mara") == []
    with store.snapshot(View()) as snapshot:
        ids = [each for found_ids in snapshot.find(["log"]).values() for each in found_ids]
        assert snapshot.edges(ids) == []


def test_a_new_owner_of_a_name_takes_its_share_and_gives_it_back(store: SqliteStore) -> None:
    put(store, node("log", "Log", "At Grey Tower."), node("one", "Grey Tower"))
    link(store, "log", "one")
    put(store, node("two", "Grey Tower"))
    assert {(edge.target, edge.weight) for edge in link(store, "two")} >= {("one", 0.5), ("two", 0.5)}
    again = find_affected_keys(store, "default", {"default": ["two"]})
    assert "log" in again
    store.write(Changes(removes=(("default", "two"),)))
    assert ("log", "one", 1.0) in {(edge.source, edge.target, edge.weight) for edge in link(store, *again)}


def test_only_declared_tenants_are_linked_to(store: SqliteStore) -> None:
    text = "Mara Venn of Grey Tower."
    put(store, node("log", "Log", text, tenant="a"), node("m", "Mara Venn", tenant="b"))
    put(store, node("g", "Grey Tower", tenant="c"))
    assert link(store, "log", tenant="a") == []
    store.share("a", ["b"])
    assert [(edge.target, edge.tenant, edge.target_tenant) for edge in link(store, "log", tenant="a")] == [
        ("m", "a", "b")
    ]


def test_a_new_name_in_a_shared_tenant_is_found_in_older_texts(store: SqliteStore) -> None:
    put(store, node("log", "Log", "Mara Venn came.", tenant="a"))
    store.share("a", ["b"])
    put(store, node("m", "Mara Venn", tenant="b"))
    edges = link(store, tenant="a", renamed={"b": ["m"]})
    assert [(edge.source, edge.target, edge.target_tenant) for edge in edges] == [("log", "m", "b")]


def test_linking_step_by_step_gives_the_same_as_all_at_once(store: SqliteStore, tmp_path: Path) -> None:
    nodes = [
        node("a", "Grey Tower", "Mara Venn built it with Ines Oral."),
        node("b", "Mara Venn", "She left New York for New York City.", "Ferrywoman"),
        node("c", "New York", "Grey Tower is far."),
        node("d", "New York City", "The Ferrywoman came."),
        node("e", "Ines Oral", "Born in New York City."),
    ]
    for each in nodes:
        put(store, each)
        link(store, each.key)
    whole = SqliteStore.open(tmp_path / "whole")
    put(whole, *reversed(nodes))
    link(whole, *(each.key for each in nodes))
    assert _stored(store) == _stored(whole)
    whole.close()


def _stored(store: SqliteStore) -> list[tuple[str, str, float, str]]:
    with store.snapshot(View()) as snapshot:
        ids = [int(each) for row in store.iterate("default") for each in (row.node.id,)]
        return sorted((edge.source, edge.target, edge.weight, edge.evidence) for _, _, edge in snapshot.edges(ids))


def test_a_text_that_names_everything_keeps_a_bounded_number_of_targets(store: SqliteStore) -> None:
    names = [
        node(f"n{number:03}", f"Tower {chr(97 + number // 26)}{chr(97 + number % 26)}x") for number in range(300)
    ]
    put(store, *names, node("all", "All", ", ".join(each.title for each in names)))
    edges = link(store, "all")
    assert [edge.target for edge in edges] == [f"n{number:03}" for number in range(200)]


def test_progress_counts_every_text(store: SqliteStore) -> None:
    put(store, MARA, CACTUS)
    result: list[int] = []
    link(store, "mara", "cactus", progress=result.append)
    assert sum(result) == 2


def test_prose_names_code_only_by_words_that_cannot_be_prose(store: SqliteStore) -> None:
    symbols = [("fit", "fit"), ("Context", "Context"), ("all", "fit_all"), ("row", "NameRow"), ("m", "Budget.fit")]
    put(store, *(replace(node(f"code:{key}", title), language="python") for key, title in symbols))
    put(store, node("doc", "Doc", "Context must fit: fit_all and Budget.fit ask a NameRow."))
    assert {edge.target for edge in link(store, "doc")} == {"code:all", "code:row", "code:m"}


def test_code_is_not_searched_for_names(store: SqliteStore) -> None:
    put(store, node("mara", "Mara Venn"), replace(node("code:a", "a", "# by Mara Venn"), language="python"))
    assert link(store, "mara", "code:a") == []


def test_a_name_that_only_prose_was_found_to_use_is_linked_by_whoever_found_it() -> None:
    robb = replace(
        node("robb", "Robb Hollin"), aliases=(Alias("Robb", f"{STORY_MAKER}book@1"), Alias("Bobby", "v"))
    )
    assert found("Then Robb rode. Later Bobby slept.", robb).keys() == {"robb"}
    assert found("Then Robb rode.", robb) == {}
