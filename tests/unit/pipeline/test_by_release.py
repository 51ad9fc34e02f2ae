"""Pages of a repository tell what a release brought, which one is the newest, and what changed last."""

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Node, Origin
from weft.pipeline.by_release import read_releases

CHANGE_LOG = """# Changes

## 2.1.0

Unreleased

- The lighthouse can be dimmed at dawn.

## 2.0.1

Released 2026-02-03

- The foghorn no longer sounds twice.

## 2.0.0

Released 2026-01-05

- Lamps are called lanterns everywhere.

## 1.9

Released 2025-07-01

- The first keeper was hired.
"""

MANIFEST = """[project]
name = "beacon"
version = "2.1.0.dev"
classifiers = [
    "Typing :: Typed",
]
requires-python = ">=3.12"
dependencies = [
    "whale-oil>=1.2",
]

[project.urls]
Harbour = "https://example.org/harbour"

[dependency-groups]
dev = [
    "polish",
]
"""


def commit(folder: Path, subject: str, day: int) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    moment = f"2026-03-{day:02d}T12:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    command = ["git", *identity, "commit", "-q", "--allow-empty", "-m", subject]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **dates})


@pytest.fixture(scope="module")
def weft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    folder = tmp_path_factory.mktemp("work") / "beacon"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    (folder / "CHANGES.md").write_text(CHANGE_LOG)
    (folder / "pyproject.toml").write_text(MANIFEST)
    (folder / "README.md").write_text(
        "<div>logo</div>\n\n# Beacon\n\nBeacon is a program that keeps a lighthouse lit.\n"
    )
    (folder / "lantern.py").write_text("def light(lantern):\n    return lantern.wick\n")
    for day, subject in enumerate(
        ("Begin the beacon", "Sound the foghorn once", "Trim the wick", "Polish the lens"), 1
    ):
        commit(folder, subject, day)
    commit(folder, "Trim the wick by machine", 9)
    with Weft.open(folder.parent / "store") as opened:
        opened.index(folder)
        yield opened


def page(weft: Weft, question: str) -> str:
    return weft.context(question, max_tokens=400).text


@pytest.mark.parametrize(
    "question",
    [
        "what is the newest release and what did it change?",
        "what changed in the latest version",
        "when was the last release?",
        "what's new in 2.0.1",
        "what changed in version 2.0.1?",
    ],
)
def test_the_notes_of_the_release_that_is_asked_for_come_first(weft: Weft, question: str) -> None:
    first = page(weft, question).split("### ")[1]
    assert "foghorn no longer sounds twice" in first
    assert "hired" not in first


def test_the_first_release_of_a_line_is_meant_by_its_number(weft: Weft) -> None:
    assert "called lanterns" in page(weft, "what's new in version 2.0?").split("### ")[1]


def test_what_is_not_released_yet_is_told_where_it_is_asked_for(weft: Weft) -> None:
    assert "dimmed at dawn" in page(weft, "what will the next release bring?").split("### ")[1]


def test_the_manifest_says_which_version_this_is(weft: Weft) -> None:
    assert 'version = "2.1.0.dev"' in page(weft, "which version is this?").split("### ")[1]


@pytest.mark.parametrize(
    ("question", "told", "untold"),
    [
        ("which python versions are supported?", ("requires-python",), ("polish",)),
        ("what are the dependencies?", ("requires-python", "whale-oil"), ("harbour", "polish")),
        (
            "what are the dependencies and the minimum python version?",
            ("requires-python", "whale-oil"),
            ("polish",),
        ),
    ],
)
def test_a_manifest_is_shown_by_the_lines_about_what_is_asked(
    weft: Weft, question: str, told: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    first = page(weft, question).split("### ")[1]
    assert all(word in first for word in told)
    assert not any(word in first for word in untold)


def test_the_version_of_something_else_is_not_that_of_the_project(weft: Weft) -> None:
    found = weft.context("what is the latest version of kubernetes?", max_tokens=400)
    assert not any("shape_version" in entry.parts for entry in found.ledger)


def test_the_newest_commits_are_listed_in_order_where_nothing_is_named(weft: Weft) -> None:
    headings = [line[4:] for line in page(weft, "what changed recently?").splitlines() if line.startswith("### ")]
    assert headings[:3] == ["Trim the wick by machine", "Polish the lens", "Trim the wick"]


def test_recent_changes_of_a_topic_are_the_newest_commits_about_it(weft: Weft) -> None:
    headings = [
        line[4:]
        for line in page(weft, "what changed recently about the wick?").splitlines()
        if line.startswith("### ")
    ]
    assert headings[:2] == ["Trim the wick by machine", "Trim the wick"]
    assert "Polish the lens" not in headings


def test_the_newest_commits_are_found_among_many_in_any_order_of_storing(tmp_path: Path) -> None:
    days = [(number * 379) % 1000 for number in range(1000)]
    nodes = [
        Node(
            key=f"commit/{day:012x}",
            kind="commit",
            title=f"Change number {day}",
            text=f"Change number {day}",
            created=datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=day),
            origin=Origin(source="code:many"),
        )
        for day in days
    ]
    with Weft.open(tmp_path / "store") as weft:
        weft.put(nodes)
        titles = [source.title for source in weft.context("what changed recently?", max_tokens=400).sources]
    assert titles[:4] == [f"Change number {day}" for day in (999, 998, 997, 996)]


def test_a_project_is_introduced_from_its_first_sentence_on(weft: Weft) -> None:
    first = page(weft, "what is this project?").split("### ")[1]
    assert "keeps a lighthouse lit" in first
    assert "logo" not in first


@pytest.mark.parametrize(
    "heading",
    [
        "## 1.4.2",
        "## [1.4.2] - 2026-01-01",
        "# v1.4.2 (2026-01-01)",
        "### beacon 1.4.2",
        "Version 1.4.2\n-------------",
        "1.4.2 (2026-01-01)\n==================",
        "beacon 1.4.2 (2026-01-01)\n=========================",
        "Version 1.4.2",
        "# [1.4.2](https://example.org/compare/v1.4.1...v1.4.2) (2026-01-01)",
    ],
)
def test_headings_of_releases_are_read_in_their_usual_forms(heading: str) -> None:
    text = f"Changes\n\n{heading}\n\n- Works with 3.12 and\n  1.2.3 of the lens.\n\n"
    assert [release.version for release in read_releases(text)] == [(1, 4, 2)]


def test_numbers_in_the_text_of_a_change_log_are_no_headings() -> None:
    assert read_releases("Changes\n\n3.12 is supported.\n\n- 1.2.3 of the lens\n1.5 lamps\n") == []
