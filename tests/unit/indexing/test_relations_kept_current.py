"""Links by tags and by meaning: few however popular a tag is, and current after every change."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from weft import Node, Weft
from weft.errors import InvalidInput
from weft.indexing.relations import RelationLinker
from weft.links.similar import RING_NEIGHBOURS
from weft.model import View


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / ".weft") as opened:
        yield opened


def node(number: int, *tags: str, text: str = "", title: str = "") -> Node:
    return Node(f"app:{number:04d}", "faq", title=title or f"Title {number}", text=text, tags=tags)


def edges(weft: Weft, kind: str) -> dict[tuple[str, str], float]:
    listed = weft.store.edges_after(View(), (0, 0, 0), 100_000)
    return {(each.edge.source, each.edge.target): each.edge.weight for each in listed if each.edge.type == kind}


def test_a_popular_tag_makes_a_few_edges_a_node(weft: Weft) -> None:
    weft.put([node(number, "all") for number in range(200)])
    weft.link(similar=None)
    assert len(edges(weft, "shared_tag")) == 200 * RING_NEIGHBOURS


def test_the_weight_is_how_much_of_their_tags_two_nodes_share(weft: Weft) -> None:
    weft.put([node(1, "a", "b"), node(2, "b", "c"), node(3, "z")])
    weft.link(similar=None)
    assert edges(weft, "shared_tag") == {("app:0001", "app:0002"): 0.333333}


def test_nodes_of_a_knowledge_base_are_linked_unasked_and_it_can_be_taken_away(weft: Weft) -> None:
    weft.put([node(1, "a"), node(2, "a")])
    assert edges(weft, "shared_tag") == {("app:0001", "app:0002"): 1.0}
    weft.link(shared_tags=False, similar=None)
    weft.put([node(3, "a")])
    assert edges(weft, "shared_tag") == {}


def test_other_nodes_and_entities_found_in_prose_are_not_linked_unasked(weft: Weft) -> None:
    others = [replace(node(number, "a"), kind="note", key=f"app:n{number}") for number in range(3)]
    found = [replace(node(number, "a"), kind="entity", key=f"book:entity/{number}") for number in range(3)]
    weft.put([node(1, "a"), node(2, "a"), *others, *found])
    assert set(edges(weft, "shared_tag")) == {("app:0001", "app:0002")}
    assert {key for pair in edges(weft, "similar") for key in pair} <= {"app:0001", "app:0002"}


def test_a_node_that_becomes_another_kind_loses_its_links(weft: Weft) -> None:
    weft.put([node(1, "a"), node(2, "a")])
    weft.put([replace(node(2, "a"), kind="note")])
    assert (edges(weft, "shared_tag"), edges(weft, "similar")) == ({}, {})


def test_links_drawn_unasked_one_by_one_are_those_drawn_at_once(tmp_path: Path) -> None:
    nodes = [node(number, "a" if number % 2 else "b", "c") for number in range(30)]
    drawn = []
    for name, batches in (("one", [[each] for each in nodes]), ("all", [nodes])):
        with Weft.open(tmp_path / name / ".weft") as weft:
            for batch in batches:
                weft.put(batch)
            drawn.append((edges(weft, "shared_tag"), edges(weft, "similar")))
    assert drawn[0] == drawn[1]


def test_similar_links_kept_current_are_those_drawn_at_once(tmp_path: Path) -> None:
    choose = random.Random(7)
    words = ("refund", "order", "parcel", "carrier", "label", "customer", "invoice", "credit", "bank", "card")

    def said(number: int) -> Node:
        return node(number, title=f"Q {number}", text=" ".join(choose.choices(words, k=12)))

    now = {}
    with Weft.open(tmp_path / "kept" / ".weft") as weft:
        for number in (*range(25), *range(0, 25, 3)):
            now[number] = said(number)
            weft.put([now[number]])
        for number in (4, 11, 18):
            del now[number]
            weft.delete(f"app:{number:04d}")
        kept = edges(weft, "similar")
    with Weft.open(tmp_path / "once" / ".weft") as weft:
        weft.put(list(now.values()))
        assert len(kept) > 5 * len(now) / 2
        assert kept == edges(weft, "similar")


def test_a_very_large_write_is_not_linked_unasked(weft: Weft) -> None:
    few = [node(number, "a") for number in range(5)]
    weft.put(few)
    many = [replace(each, tags=("b",)) for each in few]
    for _ in range(2):
        linker = RelationLinker(weft.store, weft.reader.index, max_automatic_nodes=3)
        linker.before_write(many)
        assert linker.link() == 0
    assert (edges(weft, "shared_tag"), edges(weft, "similar")) == ({}, {})
    weft.put([node(6, "a"), node(7, "a")])
    assert edges(weft, "shared_tag") == {}
    weft.link(similar=None)
    assert edges(weft, "shared_tag")


def test_a_file_that_is_read_again_before_an_answer_keeps_its_links_current(tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()

    def write(**tags: str) -> None:
        for name, tag in tags.items():
            (desk / f"{name}.md").write_text(f"---\ntype: faq\ntags: [{tag}]\n---\n# {name}\n\nOf {name}.\n")

    write(one="a", two="a", three="b")
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(desk)
        assert set(edges(weft, "shared_tag")) == {("desk:one.md", "desk:two.md")}
    write(two="b")
    with Weft.open(tmp_path / ".weft", embedder=None, refresh_seconds=1000.0) as weft:
        weft.context("two")
        assert set(edges(weft, "shared_tag")) == {("desk:three.md", "desk:two.md")}
        (desk / "three.md").unlink()
        weft.context("three")
        assert edges(weft, "shared_tag") == {}


CHANGES = st.lists(
    st.tuples(st.integers(0, 24), st.lists(st.sampled_from("abc"), max_size=3, unique=True), st.booleans()),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=15)
@given(changes=CHANGES)
def test_edges_kept_current_are_those_drawn_at_once(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, list[str], bool]]
) -> None:
    with Weft.open(tmp_path_factory.mktemp("kept") / ".weft", embedder=None) as weft:
        weft.put([node(number, "a") for number in range(0, 25, 2)])
        weft.link(similar=None)
        for number, tags, gone in changes:
            if gone:
                weft.delete(f"app:{number:04d}")
            else:
                weft.put([node(number, *tags)])
        kept = edges(weft, "shared_tag")
        weft.link(shared_tags=False, similar=None)
        weft.link(similar=None)
        assert kept == edges(weft, "shared_tag")


SAID = (
    ("Refund for a damaged parcel", "The carrier pays the refund when a parcel arrives damaged."),
    ("Refund of a damaged parcel", "When a parcel arrives damaged the carrier pays the refund."),
    ("Reset the password", "Open the sign-in page and confirm on your telephone."),
)


def test_nodes_that_say_nearly_the_same_are_linked_whatever_came_first(tmp_path: Path) -> None:
    found = []
    for order in ((0, 1, 2), (2, 1, 0)):
        with Weft.open(tmp_path / str(order) / ".weft") as weft:
            weft.link(shared_tags=False, similar=0.75)
            for place in order:
                weft.put([node(place, title=SAID[place][0], text=SAID[place][1])])
            found.append(edges(weft, "similar"))
    assert found[0] == found[1]
    assert set(found[0]) == {("app:0000", "app:0001"), ("app:0001", "app:0000")}
    assert all(0.75 <= weight <= 1.0 for weight in found[0].values())


def test_a_removed_neighbour_is_forgotten_and_the_next_one_takes_its_place(weft: Weft) -> None:
    weft.link(shared_tags=False, similar=0.6)
    same = [node(number, title=SAID[0][0], text=f"{SAID[0][1]} {number}") for number in range(9)]
    weft.put(same)
    before = edges(weft, "similar")
    assert all(sum(source == each.key for source, _ in before) == 5 for each in same)
    gone = next(target for source, target in before if source == "app:0000")
    weft.delete(gone)
    after = edges(weft, "similar")
    assert all(gone not in pair for pair in after)
    assert sum(source == "app:0000" for source, _ in after) == 5


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5])
def test_a_threshold_that_links_everything_or_nothing_is_refused(weft: Weft, threshold: float) -> None:
    with pytest.raises(InvalidInput, match="threshold"):
        weft.link(similar=threshold)
