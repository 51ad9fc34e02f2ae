"""The README shows real output: its recording and its figures.

Its blocks are run by test_doc_blocks.py in this checkout, its quick starts by tests/packaging/test_newcomer.py as
somebody types them who is new.
"""

import re
from xml.etree import ElementTree

from scripts.terminal_recording import PICTURE, SESSION, Line, draw, record, wrap

from doc_blocks import ROOT, find_blocks, steps

README = (ROOT / "README.md").read_text("utf-8")
QUICK_STARTS = [block for block in find_blocks(README) if block.mark == "new folder"]


def texts(picture: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_the_recording_shows_the_commands_of_its_script() -> None:
    shown = texts(PICTURE.read_text("utf-8"))
    assert [each for each in shown if each.startswith("$ ")] == [f"$ {command}" for command in SESSION]
    assert any("Nothing here speaks to this question" in each for each in shown)


def test_the_recording_shows_what_the_first_quick_start_prints() -> None:
    """The quick start is run by other tests, so the picture is made anew when what is printed changes."""
    shown = texts(PICTURE.read_text("utf-8"))
    printed = {command: text for command, text in steps(QUICK_STARTS[0].body) if command in SESSION}
    assert len(printed) == 3
    for text in printed.values():
        lines = [line for line in wrap(text) if line]
        start = shown.index(lines[0])
        assert shown[start : start + len(lines)] == lines


def test_a_recording_holds_what_the_commands_print() -> None:
    lines = record(["printf '<a> & b\\n\\nlast\\n'", "weft version"])
    assert [line.text for line in lines][:4] == ["$ printf '<a> & b\\n\\nlast\\n'", "<a> & b", "", "last"]
    assert [line.second for line in lines] == sorted(line.second for line in lines)
    assert texts(draw(lines))[1] == "<a> & b"


def test_a_long_line_is_wrapped_as_a_terminal_does() -> None:
    lines = record(["printf 'x%.0s' $(seq 100)"])
    assert [line.text for line in lines[1:]] == ["x" * 96, "x" * 4]
    assert all(isinstance(line, Line) for line in lines)


def test_the_figures_of_questions_are_those_of_the_measurements() -> None:
    """One table holds them; the README and the comparison repeat it."""
    measured = (ROOT / "docs" / "eval.md").read_text("utf-8")
    row = next(
        line for line in measured.splitlines() if line.startswith("| **all (149)** | ") and line.count("|") == 6
    )
    weft, bm25, mix, grep = ([int(n) for n in re.findall(r"\d+", cell)] for cell in row.split("|")[2:6])
    said = next(line for line in README.splitlines() if line.startswith("| questions that can be answered"))
    assert [int(n) for n in re.findall(r"\d+", said.split("|")[2])] == weft[:1]
    assert [int(n) for n in re.findall(r"\d+", said.split("|")[3].replace("BM25", ""))] == [
        bm25[0],
        mix[0],
        grep[0],
    ]
    compared = (ROOT / "docs" / "compare.md").read_text("utf-8")
    for name, figures in (("**Weft**", weft), ("(`mix`)", mix), ("(`bm25`)", bm25), ("(`grep`)", grep)):
        line = next(line for line in compared.splitlines() if name in line and line.count("|") == 6)
        assert [int(n) for n in re.findall(r"\d+", line.split("|", 2)[2])] == figures, name


def test_every_quick_start_has_at_most_five_lines() -> None:
    assert len(QUICK_STARTS) == 4
    assert all(len(steps(block.body)) <= 5 for block in QUICK_STARTS)
