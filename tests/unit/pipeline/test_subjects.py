"""The parts of a subject are filled with what its links lead to."""

from pathlib import Path

import pytest

from weft import Candidate, Edge, Node, Weft
from weft.model import Alias, View
from weft.pipeline.query import Scale, understand
from weft.pipeline.retrieve import split_into_passages
from weft.pipeline.sections import with_relations
from weft.pipeline.subjects import fill_parts
from weft.profiles.types import Fusion, Part

KINDS = ("character", "location")
ALONE = "Ada walked. " * 30
TOGETHER = "Ada met Boris in the hall. " * 30
NEITHER = "It rained on the roofs. " * 100
TEXT = f"# One\n\n{ALONE}\n\n{NEITHER}\n\n{TOGETHER}"
QUOTES = Part("quotes", via=("mentions",), direction="in", unit="passage")


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Weft:
    opened = Weft.open(Path(tmp_path_factory.mktemp("subjects")) / ".weft", embedder=None)
    opened.put(
        [
            Node("s:ada", "character", title="Ada", text="Ada is Boris's mother."),
            Node(
                "s:bo",
                "character",
                title="Boris",
                aliases=(Alias("Boris of the Hall"),),
                text="Ada's child, Boris.",
            ),
            Node("s:one", "chapter", title="One", text=TEXT, language="markdown"),
        ],
        [Edge("s:ada", "s:bo", "parent"), Edge("s:ada", "s:bo", "friend")],
    )
    return opened


def filled(weft: Weft, *parts: Part, subjects: tuple[str, ...] = ("s:ada",)) -> list[tuple[Candidate, ...]]:
    with weft.store.snapshot(View()) as snapshot:
        ids = snapshot.find(subjects)
        rows = snapshot.nodes([ids[key][0] for key in subjects])
        query = understand("Ada", snapshot, None)
        taken = fill_parts(
            [Candidate(row.node) for row in rows.values()],
            parts,
            KINDS,
            snapshot,
            lambda whole: split_into_passages(whole, query, Scale(), Fusion(), snapshot),
            {},
        )
    return [each.candidates for each in taken]


def quoted(candidate: Candidate) -> str:
    start, end = candidate.window or (0, len(candidate.node.text))
    return candidate.node.text[start:end]


def part(links: str) -> Part:
    return Part("quotes", via=("mentions",), direction="in", unit="passage", links=links)  # type: ignore[arg-type]


def test_passages_that_name_others_too_are_told_apart_from_those_that_do_not(weft: Weft) -> None:
    several, one = filled(weft, part("several"), part("one"))
    chapter = [each for each in several if each.node.key == "s:one"]
    assert chapter and all("Boris" in quoted(each) for each in chapter)
    assert one and all("Ada" in quoted(each) and "Boris" not in quoted(each) for each in one)
    assert "s:bo" in {each.node.key for each in several}, "another's own note ties the two together"


def test_a_passage_leaves_the_title_that_the_text_repeats_out(weft: Weft) -> None:
    (taken,) = filled(weft, QUOTES)
    assert not any("# One" in quoted(each) for each in taken)


def test_the_most_telling_passage_has_a_usage_of_one(weft: Weft) -> None:
    (taken,) = filled(weft, QUOTES)
    assert max(each.parts["usage"] for each in taken) == 1.0
    assert all(each.spans and quoted(each) for each in taken)


def test_a_long_passage_that_names_several_gives_the_stretch_that_names_the_subject_alone(tmp_path: Path) -> None:
    stretch = "Ada walked along the quay in the rain. " * 8
    short = "Ada met Boris. Ada laughed."
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node("s:ada", "character", title="Ada", text="A pilot."),
                Node("s:bo", "character", title="Boris", text="A clerk."),
                Node("s:long", "scene", title="Long", text=f"Ada met Boris. {stretch}Then Boris came and left."),
                Node("s:short", "scene", title="Short", text=short),
            ]
        )
        several, one = filled(opened, part("several"), part("one"))
    (taken,) = one
    assert quoted(taken) == stretch.strip()
    assert taken.passage == (0, len(taken.node.text)), "the page knows what it is taken from, and prints it once"
    assert {quoted(each) for each in several} == {short, taken.node.text}


def test_what_defines_a_subject_is_not_quoted_again(tmp_path: Path) -> None:
    defined = "Ada was a tall woman with a red coat."
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node("s:ada", "character", title="Ada", text=defined),
                Node("s:one", "scene", title="One", text=f"{defined} She sang."),
                Node("s:two", "scene", title="Two", text="Ada left the house at noon."),
            ]
        )
        (taken,) = filled(opened, QUOTES)
    assert [each.node.key for each in taken] == ["s:two"]


def test_the_note_of_another_subject_is_not_quoted(weft: Weft) -> None:
    alone, together = filled(weft, QUOTES), filled(weft, QUOTES, subjects=("s:ada", "s:bo"))
    assert "s:bo" in {each.node.key for each in alone[0]}
    assert "s:bo" not in {each.node.key for each in together[0]}


def test_a_part_without_links_tells_of_the_subject_itself(weft: Weft) -> None:
    (taken,) = filled(weft, Part("definition"))
    assert [each.node.key for each in taken] == ["s:ada"]


def test_relations_are_named_from_either_end_in_the_order_of_the_profile(weft: Weft) -> None:
    with weft.store.snapshot(View()) as snapshot:
        ids = snapshot.find(["s:ada", "s:bo"])
        rows = snapshot.nodes([each for found in ids.values() for each in found])
        subjects = [Candidate(row.node) for row in rows.values()]
        relations = {"friend": "friend", "parent": "child"}
        taken = with_relations(subjects, relations, snapshot)
        assert with_relations(subjects, {}, snapshot) == tuple(subjects)
    ada, bo = (each.node.fields["relationships"] for each in taken)
    assert ada == [{"type": "friend", "title": "Boris"}, {"type": "parent", "title": "Boris"}]
    assert bo == [{"type": "friend", "title": "Ada"}, {"type": "child", "title": "Ada"}]


def test_a_text_that_holds_nothing_is_not_printed_as_a_heading(tmp_path: Path) -> None:
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        opened.put(
            [
                Node("s:empty", "chapter", title="Ada comes home"),
                Node("s:full", "chapter", title="Ada leaves", text="She took the boat."),
            ]
        )
        page = opened.context("Ada", profile="narrative").text
    assert "**[chapter] Ada leaves**\nShe took the boat." in page
    assert "**[chapter] Ada comes home**" not in page


def test_who_else_a_passage_names_is_looked_up_anew_after_a_write(tmp_path: Path) -> None:
    alone = Part("alone", via=("mentions",), direction="in", unit="passage", links="one")
    with Weft.open(tmp_path / ".weft", embedder=None) as opened:
        chapter = Node("s:two", "chapter", title="Two", text="Ada fed the gull. Ada laughed.")
        opened.put([Node("s:ada", "character", title="Ada", text="A pilot."), chapter])
        assert len(filled(opened, alone)[0]) == 1
        opened.put(
            [Node("s:gull", "character", title="gull", text="A bird.")], [Edge("s:two", "s:gull", "mentions")]
        )
        assert filled(opened, alone) == [()]


def test_a_definition_is_cut_around_the_name(weft: Weft) -> None:
    ((taken,),) = filled(weft, Part("definition"), subjects=("s:bo",))
    assert [taken.node.text[start:end] for start, end in taken.spans] == ["Boris"]


def test_a_search_that_found_all_of_a_definition_points_to_no_part_of_it(weft: Weft) -> None:
    with weft.store.snapshot(View()) as snapshot:
        (row,) = snapshot.nodes(snapshot.find(["s:bo"])["s:bo"]).values()
        whole, part = (0, len(row.node.text)), (2, 6)
        subjects = [Candidate(row.node, spans=(whole,)), Candidate(row.node, spans=(part,))]
        found = fill_parts(subjects, [Part("definition")], ("character",), snapshot, tuple, {})
    (whole_found,), (part_found,) = (each.candidates for each in found)
    assert [row.node.text[start:end] for start, end in whole_found.spans] == ["Boris"]
    assert part_found.spans == (part,)
