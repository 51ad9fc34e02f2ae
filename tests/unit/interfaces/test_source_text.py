"""The code that `weft show`, `related`, `log` and `search --exact` print, and what may be fed back to them."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from weft import Filter, Weft
from weft.errors import InvalidInput, UnknownName
from weft.interfaces.describe import exact_lines
from weft.interfaces.source_text import log_lines, related_rows, texts_of
from weft.model import View
from weft.pipeline.exact import ExactHit, find_exact

EXAMPLE = Path(__file__).parents[3] / "examples" / "repo"
VIEW = View(("default",))
PIGEONHOLE = {
    f"pigeonhole/{module.name}"
    for module in (EXAMPLE / "pigeonhole").glob("*.py")
    if re.search(r"(?m)^ *def ", module.read_text("utf-8"))
}
"""The modules of the example repository that define functions."""
SCALES = '''"""Weighs parcels."""


class Scales:
    """A pair of scales."""

    def weigh(self, parcel):
        """Return the weight."""
        return parcel.grams

    def reset(self):
        self.weigh(None)


def weigh_all(parcels, scales):
    return [scales.weigh(each) for each in parcels]
'''


def git(folder: Path, *arguments: str, day: int = 1) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    moment = f"2026-03-{day:02d}T12:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **dates}
    )


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """The example repository with a module of scales and two commits."""
    folder = tmp_path_factory.mktemp("tools")
    repository = Path(shutil.copytree(EXAMPLE, folder / "repo"))
    (repository / "scales.py").write_text(SCALES)
    functions = [f"def number_{number}():\n    total = {number}\n    return total\n" for number in range(50)]
    (repository / "long.py").write_text("\n".join(functions))
    git(repository, "init", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Begin")
    (repository / "scales.py").write_text(SCALES.replace("parcel.grams", "parcel.grams + 1"))
    git(repository, "commit", "-am", "Add the tare", day=2)
    with Weft.open(folder / "store") as opened:
        opened.index(repository)
        yield opened


def show(weft: Weft, name: str) -> str:
    return "\n\n".join(texts_of(weft, name, VIEW))


def test_a_range_of_lines_is_printed_with_numbers(weft: Weft) -> None:
    assert show(weft, "scales.py:4-5") == 'scales.py:4-5\n4: class Scales:\n5:     """A pair of scales."""'


def test_a_line_stands_for_the_definition_around_it(weft: Weft) -> None:
    assert show(weft, "scales.py:9").splitlines()[0] == "scales.py:7-9 Scales.weigh"
    assert "9:         return parcel.grams + 1" in show(weft, "scales.py:9")


def test_a_range_beyond_the_end_ends_with_the_file(weft: Weft) -> None:
    assert show(weft, "scales.py:15-900").splitlines()[0] == "scales.py:15-16"


def test_a_line_that_the_file_does_not_have_is_refused(weft: Weft) -> None:
    with pytest.raises(InvalidInput, match="has 16 lines, so there is no line 99"):
        show(weft, "scales.py:99")


@pytest.mark.parametrize("name", ["weigh_all", "weigh_all()", "scales.weigh_all", "repo:scales.py#weigh_all"])
def test_a_definition_is_found_by_any_of_its_names(weft: Weft, name: str) -> None:
    assert show(weft, name).splitlines()[0] == "weigh_all (function) scales.py:15-16"


def test_a_class_is_its_head_and_a_line_for_each_member(weft: Weft) -> None:
    lines = show(weft, "Scales").splitlines()
    assert lines[:3] == ["Scales (class) scales.py:4-5", "4: class Scales:", '5:     """A pair of scales."""']
    assert lines[3:] == ["7-9:   def weigh(self, parcel)", "11-12:   def reset(self)"]


def test_a_long_file_is_its_outline_and_a_short_one_whole(weft: Weft) -> None:
    assert "16:     return [scales.weigh(each)" in show(weft, "scales.py")
    assert show(weft, "long.py").splitlines()[:3] == [
        "long.py, 199 lines",
        "1-3: def number_0()",
        "5-7: def number_1()",
    ]


def test_a_commit_is_found_by_the_beginning_of_its_hash(weft: Weft) -> None:
    (commit,) = weft.show("Add the tare")
    assert commit.origin.commit is not None
    for name in (commit.origin.commit[:7], commit.origin.commit[:10], f"commit {commit.origin.commit[:10]}"):
        first, *changed, last = show(weft, name).splitlines()
        assert first.endswith("Ada: Add the tare (+1 -1)")
        assert any(line.startswith("+") and "parcel.grams + 1" in line for line in changed)
        assert last == "files: scales.py"


def test_everything_that_a_page_cites_can_be_shown(weft: Weft) -> None:
    page = weft.context("how are jobs taken from the queue", max_tokens=1500, floor=0)
    cited = [line.strip("*").partition(" · ")[0] for line in page.text.splitlines() if line.startswith("*")]
    # What has no file is cited by its kind, under its title.
    places = [place for place in cited if ":" in place]
    assert places
    assert all(texts_of(weft, place, VIEW) for place in places)


def test_callers_are_listed_with_the_calling_line(weft: Weft) -> None:
    links = weft.related("Scales.weigh", types=("calls",), direction="in")
    keys = {node.key for node in weft.show("Scales.weigh")}
    assert {row[2:] for row in related_rows(links, keys)} == {
        ("Scales.reset", "scales.py:12: self.weigh(None)"),
        ("weigh_all", "scales.py:16: return [scales.weigh(each) for each in parcels]"),
    }
    only = weft.related("Scales.weigh", types="calls", direction="in", kinds="function")
    assert [node.title for node, _ in only] == ["weigh_all"]


def test_an_unknown_direction_is_refused(weft: Weft) -> None:
    with pytest.raises(UnknownName, match="in, out"):
        weft.related("Scales.weigh", direction="sideways")


def test_the_log_lists_commits_newest_first_with_what_they_touched(weft: Weft) -> None:
    heading, first, second = log_lines(weft, "scales.py", VIEW, 10)
    assert heading == "scales.py: 2 commits, newest first"
    assert "Add the tare" in first and "[Scales.weigh]" in first
    assert "Begin" in second
    assert log_lines(weft, "scales.py", VIEW, 1)[0] == "scales.py: 1 of 2 commits, newest first"


def test_exact_search_counts_every_line(weft: Weft) -> None:
    with weft.reading(VIEW) as reading:
        hits = find_exact(".weigh(", Filter(), reading)
        assert [f"{hit.node.origin.file}:{hit.line}" for hit in hits] == ["scales.py:12", "scales.py:16"]
        assert exact_lines(".weigh(", hits, 2)[2].startswith("scales.py:16: [weigh_all] ")
        assert exact_lines(".weigh(", hits, 1)[0] == "'.weigh(': 2 lines in 1 file, 1 shown (raise limit)"
        assert [hit.line for hit in find_exact(r"/^def weigh\w+/", Filter(), reading)] == [15]
        assert len(find_exact("/CLASS scales/i", Filter(), reading)) == 1
        with pytest.raises(InvalidInput, match="is no regular expression"):
            find_exact("/(/", Filter(), reading)


def test_an_exact_search_for_a_name_begins_with_what_defines_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import LIMIT, take\n\n__all__ = ['take', 'LIMIT']\n")
    (tmp_path / "b.py").write_text(
        "LIMIT = 3\n\n\ndef retake(limit=LIMIT):\n    return take(limit)\n\n\ndef take(limit):\n    return limit\n"
    )
    with Weft.open(tmp_path / "store") as opened:
        opened.index(tmp_path)
        with opened.reading(VIEW) as reading:
            places = {name: _places(find_exact(name, Filter(), reading)) for name in ("take", "LIMIT")}
            assert places["take"] == ["b.py:8", "b.py:5", "a.py:1", "a.py:3", "b.py:4"]
            assert places["LIMIT"] == ["b.py:1", "b.py:4", "a.py:1", "a.py:3"]
            # What is no name keeps the order of files and lines.
            assert _places(find_exact("take(", Filter(), reading)) == ["b.py:4", "b.py:5", "b.py:8"]


def _places(hits: Sequence[ExactHit]) -> list[str]:
    return [f"{hit.node.origin.file}:{hit.line}" for hit in hits]


def test_an_expression_without_slashes_is_told_how_it_is_written(weft: Weft) -> None:
    assert exact_lines("a|b", (), 5) == [
        "'a|b': 0 lines in 0 files",
        "A regular expression is written between slashes, as in /take|give/.",
    ]
    assert exact_lines("nothing", (), 5) == [
        "'nothing': 0 lines in 0 files",
        "Messages of commits are searched only where the kind commit is asked for.",
    ]


def test_a_shown_file_is_the_file_as_it_is_now(weft: Weft) -> None:
    ((_, root),) = weft.reader.upkeep.roots(["default"]).items()
    file = root / "scales.py"
    before = file.read_text()
    file.write_text(before.replace("A pair of scales", "One pair of scales"))
    assert "One pair of scales" in show(weft, "scales.py:4-5")
    file.write_text(before)


LONG = '''class Ledger:
    """Keep the books of a ferry.

    {prose}
    """

    columns = ("parcel", "weight")

    def enter(self, parcel):
        """Write a parcel down."""
        return parcel


def settle(parcels):
{body}
    return total
'''


@pytest.fixture(scope="module")
def long_weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    """A module with a class of a long docstring, and a function of 122 lines."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "code").mkdir()
    prose = "\n    ".join(f"Rule {number} of the books is kept." for number in range(30))
    body = "\n".join(f"    total_{number} = {number}" for number in range(120))
    (folder / "code" / "ledger.py").write_text(LONG.format(prose=prose, body=body))
    (folder / "code" / "README.md").write_text("# Ledger\n\nThe books of a ferry.\n")
    with Weft.open(folder / "store") as opened:
        opened.index(folder / "code")
        yield opened


def test_a_long_class_is_its_first_paragraph_and_its_members(long_weft: Weft) -> None:
    lines = texts_of(long_weft, "Ledger", VIEW)[0].splitlines()
    assert lines[1:3] == ["1: class Ledger:", '2:     """Keep the books of a ferry.']
    assert lines[3:] == ["[… goes on: ledger.py:3-36]", "38-40:   def enter(self, parcel)"]


def test_a_document_of_the_same_title_is_named_and_not_printed(long_weft: Weft) -> None:
    assert texts_of(long_weft, "Ledger", VIEW)[1:] == ["[… also: Ledger README.md:1]"]


def test_a_long_function_is_its_beginning_and_says_where_the_rest_stands(long_weft: Weft) -> None:
    (text,) = texts_of(long_weft, "settle", VIEW)
    assert len(text.splitlines()) == 82
    assert text.splitlines()[-1] == "[… goes on: ledger.py:123-164]"
    assert "164:     return total" in show(long_weft, "ledger.py:123-164")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("settle", ["settle (function) ledger.py:43-164", "43-164: def settle(parcels)"]),
        ("ledger.py", ["ledger.py, 164 lines", "1: class Ledger", "38-40:   def enter(self, parcel)"]),
    ],
)
def test_an_outline_is_printed_on_request(long_weft: Weft, name: str, expected: list[str]) -> None:
    (text,) = texts_of(long_weft, name, VIEW, outline=True)
    assert text.splitlines()[: len(expected)] == expected


def test_definitions_of_one_name_are_printed_together_only_as_far_as_they_are_short(tmp_path: Path) -> None:
    body = "\n".join(f"        total_{number} = {number}" for number in range(60))
    classes = [f"class Box{number}:\n    def pack(self):\n{body}\n" for number in range(4)]
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "boxes.py").write_text("\n".join(classes))
    with Weft.open(tmp_path / "store") as opened:
        opened.index(tmp_path / "code")
        *shown, others = texts_of(opened, "pack", VIEW)
    assert len(shown) == 1
    assert others.startswith("[… also: ")
    assert others.count("boxes.py:") == 3


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("scales.py", {"scales.py"}),
        ("pigeonhole", PIGEONHOLE),
        ("./pigeonhole/", PIGEONHOLE),
        ("pigeonhole/re*.py", {"pigeonhole/retry.py", "pigeonhole/report.py"}),
        ("*.md", set()),
        ("nowhere", set()),
    ],
)
def test_an_exact_search_can_be_kept_to_a_path(weft: Weft, path: str, files: set[str]) -> None:
    with weft.reading(VIEW) as reading:
        hits = find_exact("/^ *def /", Filter(), reading, path)
    assert {hit.node.origin.file for hit in hits} == files


def test_an_exact_search_prints_the_lines_around_each_with_their_numbers(weft: Weft) -> None:
    with weft.reading(VIEW) as reading:
        lines = exact_lines("parcel.grams", find_exact("parcel.grams", Filter(), reading, "scales.py", 1), 50)
    assert lines == [
        "'parcel.grams': 1 line in 1 file",
        "scales.py:9: [Scales.weigh]",
        '  8:         """Return the weight."""',
        "  9>         return parcel.grams + 1",
    ]


def test_hits_beyond_the_limit_are_counted_by_file(weft: Weft) -> None:
    with weft.reading(VIEW) as reading:
        lines = exact_lines("total", find_exact("total", Filter(), reading, "long.py"), 40)
    assert lines[0] == "'total': 100 lines in 1 file, 40 shown (raise limit)"
    assert lines[-1] == "[… long.py 60]"


def test_the_commits_of_a_class_are_those_of_its_methods_too(weft: Weft) -> None:
    lines = log_lines(weft, "Scales", VIEW, 10)
    assert [line.split(": ")[1].partition(" (")[0] for line in lines[1:]] == ["Add the tare", "Begin"]
    assert "[Scales.weigh]" in lines[1]


@pytest.mark.parametrize(
    ("question", "gist"),
    [
        ("what changed recently in Scales?", "*+1 -1 in Scales.weigh*"),
        ("who last changed scales.py and why?", "*+1 -1*"),
    ],
)
def test_the_latest_changes_are_told_with_date_author_and_gist(weft: Weft, question: str, gist: str) -> None:
    page = weft.context(question, max_tokens=400).text
    first = page.partition("### ")[2].splitlines()
    assert first[0] == "Add the tare"
    assert "2026-03-02 · Ada" in first[1]
    assert gist in first
