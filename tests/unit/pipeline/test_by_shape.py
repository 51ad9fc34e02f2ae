"""Questions with a shape bring what they ask for: of the example repository, a small one, and a novel."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Node, Weft
from weft.model import Context, Detail, Filter, View
from weft.pipeline.by_text import find_texts_with

EXAMPLES = Path(__file__).parents[3] / "examples"

FILES = {
    "README.md": "# Ferry\n\n[![build](https://ci.example/badge.svg)](https://ci.example)\n\n"
    "Ferry carries parcels between two banks of a river and never loses one of them.\n\n"
    + "More about ropes and planks, which matters to nobody who comes here first.\n\n"
    * 40,
    "docs/ropes.md": "# Ropes\n\nThis project uses ropes. The ferry project is what this page is about.\n",
    "ferry/__init__.py": "",
    "ferry/crossing.py": '''"""Cross the river."""

from ferry.cargo import weigh_cargo


class CrossingError(Exception):
    """A crossing that cannot be made."""


def cross_river(parcels: list[int]) -> int:
    """Carry the parcels over."""
    load = weigh_cargo(parcels)
    check_rope(load)
    return moor(load)


def check_rope(load: int) -> None:
    """Refuse a load that the rope does not hold."""
    if load > 100:
        raise CrossingError("the rope does not hold a load of this weight")


def moor(load: int) -> int:
    """Tie up on the other bank."""
    return load
''',
    "ferry/cargo.py": '''"""Weigh parcels."""


def weigh_cargo(parcels: list[int]) -> int:
    """Return the weight of all parcels."""
    return sum(parcels)


def bill(parcels: list[int]) -> int:
    """Return the price of a crossing."""
    return 3 * weigh_cargo(parcels)
''',
    "tests/test_cargo.py": '''"""Tests of the cargo."""

from ferry.cargo import weigh_cargo


def test_an_empty_ferry_weighs_nothing() -> None:
    assert weigh_cargo([]) == 0


def test_parcels_are_added() -> None:
    assert weigh_cargo([1, 2]) == 3
''',
}

TRACEBACK = """Traceback (most recent call last):
  File "/home/ada/app/main.py", line 9, in start
    cross_river([70, 80])
  File "/venv/lib/python3.12/site-packages/ferry/crossing.py", line 13, in cross_river
    check_rope(load)
  File "/venv/lib/python3.12/site-packages/ferry/crossing.py", line 20, in check_rope
    raise CrossingError("the rope does not hold a load of this weight")
ferry.crossing.CrossingError: the rope does not hold a load of this weight
"""


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A small repository with tests, and two commits that say the same."""
    folder = tmp_path_factory.mktemp("ferry")
    for name, text in FILES.items():
        path = folder / "ferry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    records = folder / "ferry" / "records"
    records.mkdir()
    (records / "commits.jsonl").write_text(
        "".join(
            f'{{"id": "commit/{sha}", "kind": "commit", "title": "rope: hold a hundred", "text": "rope: hold a '
            f'hundred", "commit": "{sha}aaaaaaaa", "created": "{day}T09:00:00Z", "links": [{{"to": '
            f'"ferry/crossing.py", "type": "touches"}}]}}\n'
            for sha, day in (("0a1b2c3d4e5f", "2024-01-01"), ("5e4d3c2b1a0f", "2025-01-01"))
        )
    )
    with Weft.open(folder / ".weft") as weft:
        weft.index(folder / "ferry")
        yield weft


@pytest.fixture(scope="module")
def pigeonhole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("pigeonhole") / ".weft") as weft:
        weft.index(EXAMPLES / "repo")
        yield weft


@pytest.fixture(scope="module")
def novel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A text of three chapters, each of which begins and ends with words of its own."""
    folder = tmp_path_factory.mktemp("novel")
    names = ("One", "Two", "Three")
    chapters = [
        f"Chapter {name}\n\nThe door of house {name.lower()} stood open that morning.\n\n"
        + "".join(
            f"On day {day} of {name.lower()} the tide came in and Tamsin counted boats.\n\n" for day in range(240)
        )
        + f"So the lamp of house {name.lower()} went out.\n"
        for name in names
    ]
    (folder / "tide.txt").write_text("\n\n".join(chapters))
    with Weft.open(folder / ".weft") as weft:
        weft.index(folder / "tide.txt")
        yield weft


def printed(context: Context) -> list[str]:
    """The keys of what is printed, in order, without pointers."""
    return [entry.key for entry in context.ledger if entry.detail not in (Detail.DROPPED, Detail.POINTER)]


def shaped(context: Context, shape: str) -> list[str]:
    """The keys that the ledger says were wanted by a shape, printed ones first."""
    return [entry.key for entry in context.ledger if f"shape_{shape}" in entry.parts]


def test_a_definition_that_is_asked_for_by_name_comes_first(ferry: Weft, pigeonhole: Weft) -> None:
    assert printed(ferry.context("where is check_rope implemented?"))[0] == "ferry:ferry/crossing.py#check_rope"
    assert printed(pigeonhole.context("where is `pause` defined?"))[0] == "repo:pigeonhole/retry.py#pause"


@pytest.mark.parametrize("question", ["what kinds of crossing errors are there", "why would it weigh cargo twice"])
def test_a_definition_whose_name_neighbouring_words_make_is_wanted(ferry: Weft, question: str) -> None:
    wanted = "crossing.py#CrossingError" if "errors" in question else "cargo.py#weigh_cargo"
    assert f"ferry:ferry/{wanted}" in shaped(ferry.context(question), "definition")


def test_words_that_make_no_name_have_no_shape(ferry: Weft) -> None:
    assert shaped(ferry.context("which errors does the crossing of a river have"), "definition") == []


def test_a_name_that_another_package_defines_is_found_where_it_is_handed_on(tmp_path: Path) -> None:
    (tmp_path / "work" / "ropes").mkdir(parents=True)
    (tmp_path / "work" / "ropes" / "__init__.py").write_text(
        "from hemp import HempRope\n\n__all__ = ['HempRope']\n"
    )
    uses = "\n".join(f"def pull_{number}(rope: HempRope):\n    return HempRope(rope)\n" for number in range(9))
    (tmp_path / "work" / "pull.py").write_text(f"from ropes import HempRope\n\n\n{uses}")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(tmp_path / "work")
        assert shaped(weft.context("HempRope"), "definition") == ["work:ropes/__init__.py"]
        assert weft.search("HempRope").candidates[0].node.key == "work:ropes/__init__.py"


@pytest.mark.parametrize("profile", ["general", "workspace"])
def test_all_callers_come_and_those_in_tests_last(ferry: Weft, profile: str) -> None:
    context = ferry.context("who calls weigh_cargo?", profile=profile)
    assert shaped(context, "callers") == [
        "ferry:ferry/cargo.py#bill",
        "ferry:ferry/crossing.py#cross_river",
        "ferry:tests/test_cargo.py#test_an_empty_ferry_weighs_nothing",
        "ferry:tests/test_cargo.py#test_parcels_are_added",
    ]
    shown = {entry.key for entry in context.ledger if entry.detail is not Detail.DROPPED}
    assert set(shaped(context, "callers")) <= shown


def test_a_question_for_a_list_gets_the_list_and_what_it_is_about_alone(ferry: Weft) -> None:
    context = ferry.context("who calls weigh_cargo?")
    callers = shaped(context, "callers")
    assert printed(context) == [*callers[:2], "ferry:ferry/cargo.py#weigh_cargo", *callers[2:]]
    left_out = {entry.reason for entry in context.ledger if entry.detail is Detail.DROPPED}
    assert left_out == {"not among what the question asks a list of"}


def test_a_sentence_that_says_how_to_answer_does_not_make_a_question_longer(ferry: Weft) -> None:
    asked = "who calls weigh_cargo? Please list all of the callers with the file and the line of each call."
    assert printed(ferry.context(asked)) == printed(ferry.context("who calls weigh_cargo?"))


def test_a_longer_question_gets_more_than_the_list(ferry: Weft) -> None:
    asked = "who calls weigh_cargo, and what would happen if somebody weighed ropes and planks before the parcels?"
    assert "not among" not in " ".join(entry.reason for entry in ferry.context(asked).ledger)


def test_a_place_alone_is_shown_alone(ferry: Weft) -> None:
    assert printed(ferry.context("ferry/crossing.py:20")) == ["ferry:ferry/crossing.py#check_rope"]


def test_a_caller_in_the_example_is_found(pigeonhole: Weft) -> None:
    assert "repo:pigeonhole/queue.py#Queue.fail" in shaped(pigeonhole.context("who calls `exhausted`?"), "callers")


def test_the_tests_of_something_come_first_where_tests_are_asked_for(ferry: Weft) -> None:
    context = ferry.context("what tests cover weigh_cargo?")
    assert printed(context)[:2] == [
        "ferry:tests/test_cargo.py#test_an_empty_ferry_weighs_nothing",
        "ferry:tests/test_cargo.py#test_parcels_are_added",
    ]


def test_an_overview_begins_with_the_first_sentence_of_the_readme(ferry: Weft, pigeonhole: Weft) -> None:
    context = ferry.context("What is this project?", max_tokens=400)
    assert printed(context)[0] == "ferry:README.md"
    assert "Ferry carries parcels" in context.text
    assert "badge.svg" not in context.text
    assert printed(pigeonhole.context("What does this library do?"))[0] == "repo:README.md"


def test_commits_come_first_only_where_history_is_asked_for(pigeonhole: Weft) -> None:
    asked = pigeonhole.context("which commit introduced leases instead of locks?")
    assert printed(asked)[0] == "repo:commit-9a03f77"
    unasked = pigeonhole.context("leases instead of locks")
    assert not printed(unasked)[0].startswith("repo:commit")


def test_of_commits_that_match_alike_the_newest_comes_first(ferry: Weft) -> None:
    context = ferry.context("when was the rope made to hold a hundred?")
    commits = [entry.key for entry in context.ledger if entry.kind == "commit"]
    assert commits[0] == "ferry:commit/5e4d3c2b1a0f"


def test_the_newest_commits_that_touched_a_file_are_found_by_its_path(ferry: Weft) -> None:
    context = ferry.context("what changed most recently in ferry/crossing.py?")
    assert shaped(context, "recent") == ["ferry:commit/5e4d3c2b1a0f", "ferry:commit/0a1b2c3d4e5f"]


@pytest.mark.parametrize("hash", ["5e4d3c2", "5e4d3c2b1a0faaaaaaaa"])
def test_a_commit_is_found_by_the_beginning_of_its_hash(ferry: Weft, hash: str) -> None:
    assert printed(ferry.context(f"what did {hash} do?"))[0] == "ferry:commit/5e4d3c2b1a0f"


def test_a_traceback_brings_its_own_frames_and_names_those_of_other_projects(ferry: Weft) -> None:
    context = ferry.context(f"Why?\n{TRACEBACK}")
    assert shaped(context, "traceback") == [
        "ferry:ferry/crossing.py#check_rope",
        "ferry:ferry/crossing.py#cross_river",
    ]
    assert "the rope does not hold" in context.text
    assert context.notes[0] == "Frames outside of this store: /home/ada/app/main.py."


def test_the_place_where_a_message_is_raised_is_found_without_a_frame(ferry: Weft) -> None:
    context = ferry.context(
        "Where does this come from?\n\nCrossingError: the rope does not hold a load of this weight"
    )
    assert printed(context)[0] == "ferry:ferry/crossing.py#check_rope"


def test_a_place_in_a_file_brings_the_definition_there(ferry: Weft) -> None:
    assert (
        printed(ferry.context("what is wrong at ferry/crossing.py:20?"))[0] == "ferry:ferry/crossing.py#check_rope"
    )


def test_a_flow_is_told_in_the_order_of_the_calls(ferry: Weft) -> None:
    context = ferry.context("walk me through cross_river step by step")
    worth = {entry.key: entry.parts["shape_flow"] for entry in context.ledger if "shape_flow" in entry.parts}
    assert sorted(worth, key=worth.__getitem__, reverse=True) == [
        "ferry:ferry/crossing.py#cross_river",
        "ferry:ferry/cargo.py#weigh_cargo",
        "ferry:ferry/crossing.py#check_rope",
        "ferry:ferry/crossing.py#moor",
    ]
    assert set(worth) <= set(printed(context))


def test_the_beginning_and_the_end_of_a_story_are_shown(novel: Weft) -> None:
    assert "The door of house one stood open" in novel.context("How does the story begin?", max_tokens=500).text
    assert "the lamp of house three went out" in novel.context("How does the story end?", max_tokens=500).text


def test_a_chapter_begins_and_ends_by_itself(tmp_path: Path) -> None:
    days = "\n\n".join(f"On day {day} the tide came in and Tamsin counted boats." for day in range(60))
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([
            Node(
                f"tide:{number}",
                "chapter",
                title=f"Chapter {name}",
                text=f"The door of house {name} stood open.\n\n{days}\n\nSo the lamp of house {name} went out.",
                sequence=number,
            )
            for number, name in enumerate(("One", "Two", "Three"), 1)
        ])  # fmt: skip
        assert "The door of house Two stood open" in weft.context("How does chapter 2 begin?", max_tokens=500).text
        assert "the lamp of house Two went out" in weft.context("How does chapter two end?", max_tokens=500).text


def test_what_a_filter_shuts_out_no_shape_brings_back(ferry: Weft) -> None:
    context = ferry.context("who calls weigh_cargo?", filter=Filter(kinds=("class",)))
    assert {entry.kind for entry in context.ledger} <= {"class"}


def test_profiles_that_do_not_weigh_shapes_look_for_none(ferry: Weft) -> None:
    context = ferry.context("who calls weigh_cargo?", profile="knowledge")
    assert not shaped(context, "callers")


def test_a_question_of_a_shape_has_the_same_page_in_a_store_that_was_built_otherwise(
    ferry: Weft, tmp_path: Path
) -> None:
    folder = tmp_path / "ferry"
    with Weft.open(tmp_path / ".weft") as other:
        for name in reversed(FILES):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FILES[name])
            other.index(folder)
        for question in ("who calls weigh_cargo?", "walk me through cross_river", TRACEBACK):
            here, there = ferry.context(question, max_tokens=600), other.context(question, max_tokens=600)
            assert shaped(here, "callers") == shaped(there, "callers")
            assert shaped(here, "flow") == shaped(there, "flow")


def test_a_change_log_comes_after_the_documents_unless_changes_are_asked_for(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    text = "Sessions are kept in a signed cookie, and the cookie is dropped when the browser is closed."
    (docs / "release-notes.md").write_text(f"# Release notes\n\n## 2.0\n\n{text} Sessions of 1.0 are read too.\n")
    (docs / "sessions.md").write_text(f"# Where they live\n\n{text} A session has no size of its own.\n")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(docs)
        plain = weft.context("where are sessions kept?", max_tokens=400).text
        fixed = weft.context("sessions are kept too long, how do I fix that?", max_tokens=400).text
        changes = weft.context("which release changed where sessions are kept?", max_tokens=400).text
    assert plain.index("sessions.md") < plain.index("release-notes.md")
    assert fixed.index("sessions.md") < fixed.index("release-notes.md")
    assert changes.index("release-notes.md") < changes.index("sessions.md")


def test_a_text_that_holds_two_messages_is_shown_by_the_one_that_it_holds_best(tmp_path: Path) -> None:
    first = "the harbour gate refused to open for the late ferry"
    second = "no pilot answered the third call from the outer mole"
    filler = "\n\n".join(f"Crate number {number} was weighed and put on the quay." for number in range(60))
    both = Node("log:both", "note", text=f"{first}\n\n{filler}\n\nno pilot answered the third.")
    other = Node("log:other", "note", text=f"{filler}\n\n{second}\n\n{filler}")
    with Weft.open(tmp_path / "store") as weft:
        weft.put([both, other])
        with weft.reading(View()) as reading:
            found = find_texts_with([first, second], reading, ("note",))
    shown = {row.node.key: row.node.text[slice(*part)] for row, part in found if part is not None}
    assert first in shown["log:both"]
    assert second in shown["log:other"]
