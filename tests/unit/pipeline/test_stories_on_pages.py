"""Stories on pages: scenes of one chapter under one heading, and what defines a person only once."""

from collections.abc import Iterator

import pytest

from weft import Weft

QUESTION = "Who feeds the lighthouse ravens of Mr. Tolliver?"
DEFINITION = "Mr. Tolliver, the keeper of the lighthouse, was a stout man who fed the ravens at dawn."


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """Open a tale of two chapters with three and two scenes, the first of which defines its person."""
    folder = tmp_path_factory.mktemp("tale")
    scenes = [
        "\n\n".join(
            f'"The lighthouse ravens want feeding, scene {scene}," said Mr. Tolliver for the {turn}th time.'
            f" Nobody on pier {scene} answered Mr. Tolliver, who counted the ravens of the lighthouse once more."
            for turn in range(4, 12)
        )
        for scene in range(5)
    ]
    first, second = ("\n\n* * *\n\n".join(some) for some in (scenes[:3], scenes[3:]))
    text = f"CHAPTER I\n\n{DEFINITION}\n\n{first}\n\nCHAPTER II\n\n{second}\n"
    (folder / "tale.txt").write_text(text)
    with Weft.open(folder / ".weft") as opened:
        opened.index(str(folder / "tale.txt"))
        yield opened


def test_scenes_of_one_chapter_stand_under_one_heading(weft: Weft) -> None:
    page = weft.context(QUESTION, max_tokens=1500).text
    assert page.count("### Ch. 1, scene ") == 1
    assert page.count("*scene 2 · line ") == page.count("*scene 3 · line ") == 1


def test_a_scene_below_another_one_tells_the_line_at_which_it_begins(weft: Weft) -> None:
    context = weft.context(QUESTION, max_tokens=1500)
    lines = context.text.splitlines()
    at = next(index for index, line in enumerate(lines) if line.startswith("*scene 2 · line "))
    quoted = next(entry for entry in context.manifest if entry.first_line <= at + 3 <= entry.last_line)
    assert lines[at] == f"*scene 2 · line {quoted.source_first_line}*"
    assert quoted.verbatim


def test_plain_and_xml_pages_tell_scenes_apart_too(weft: Weft) -> None:
    assert "scene 2 · line " in weft.context(QUESTION, max_tokens=1500, format="plain").text
    assert "scene 2" in weft.context(QUESTION, max_tokens=1500, format="xml").text


@pytest.mark.parametrize("budget", [300, 700, 1500, 3000])
def test_what_defines_a_person_is_printed_once(weft: Weft, budget: int) -> None:
    context = weft.context(QUESTION, max_tokens=budget)
    assert context.text.count(DEFINITION) == 1
    assert context.tokens <= budget
