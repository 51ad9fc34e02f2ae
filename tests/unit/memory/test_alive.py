"""Memories that name what no longer exists, and those whose importance passes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from weft import Weft
from weft.history.usage import UsageLog
from weft.memory.experience_store import start_experience
from weft.memory.memory_store import find_stale, remember
from weft.text.named_things import find_named_things, is_declared

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def weft(tmp_path: Path) -> Iterator[Weft]:
    (tmp_path / "Makefile").write_text("bench: build\n\tpython bench.py\n\ntest:\n\tpytest\n")
    (tmp_path / "package.json").write_text('{"name": "app",\n "scripts": {\n  "lint": "eslint ."\n }}\n')
    (tmp_path / "requirements.txt").write_text("Django==4.2.1\nhttpx>=0.27\n")
    with Weft.open(tmp_path / ".weft") as opened:
        opened.index(str(tmp_path))
        yield opened


@pytest.mark.parametrize(
    ("text", "name", "file", "after"),
    [
        ("Measure with make bench before a release", "make bench", "Makefile", "test:\n\tpytest\n"),
        (
            "Style is checked by npm run lint in CI",
            "npm run lint",
            "package.json",
            '{"scripts": {"check": "eslint"}}',
        ),
        ("We are on Django 4.2 until summer", "Django 4.2", "requirements.txt", "Django==5.0.3\nhttpx>=0.27\n"),
    ],
)
def test_a_command_or_version_that_is_gone_makes_a_memory_stale_where_it_is_printed(
    weft: Weft, tmp_path: Path, text: str, name: str, file: str, after: str
) -> None:
    remember(weft.indexing_context(), text, now=NOW)
    assert not find_stale(weft.indexing_context())
    (tmp_path / file).write_text(after)
    weft.index(str(tmp_path))
    ((memory, gone),) = find_stale(weft.indexing_context())
    assert (memory.text, gone) == (text, (name,))
    page = weft.context(text, profile="learning", max_tokens=1000, now=NOW).text
    assert f"stale: {name} no longer exists" in page


def test_a_bare_name_with_a_capital_inside_makes_a_memory_stale_if_it_was_a_symbol(
    weft: Weft, tmp_path: Path
) -> None:
    (tmp_path / "reader.py").write_text("class TokenReader:\n    pass\n\n\ndef nextToken():\n    return 1\n")
    (tmp_path / "GitHub.md").write_text("# GitHub\n\nWhere issues are kept.\n")
    weft.index(str(tmp_path))
    said = ("TokenReader is not safe for threads", "We keep issues on GitHub", "JavaScript is not used here")
    for text in (*said, "The loop calls nextToken twice"):
        remember(weft.indexing_context(), text, now=NOW)
    assert not find_stale(weft.indexing_context())
    (tmp_path / "reader.py").write_text("class Reader:\n    pass\n")
    (tmp_path / "GitHub.md").unlink()
    weft.index(str(tmp_path))
    gone = {memory.text: names for memory, names in find_stale(weft.indexing_context())}
    assert gone == {said[0]: ("TokenReader",), "The loop calls nextToken twice": ("nextToken",)}


def test_an_experience_that_names_a_command_that_is_gone_is_marked(weft: Weft, tmp_path: Path) -> None:
    start_experience(
        weft.indexing_context(),
        domain="performance",
        strategy="research-first",
        goal="Make make bench twice as fast",
        hypothesis="The parser is slow",
        action="Profile the parser",
        prediction="It takes half the time",
        now=NOW,
    )
    (tmp_path / "Makefile").write_text("test:\n\tpytest\n")
    weft.index(str(tmp_path))
    page = weft.context("parser profile half the time", profile="learning", max_tokens=1000, now=NOW).text
    assert "stale: make bench no longer exists" in page


def test_what_no_manifest_ever_declared_makes_nothing_stale(weft: Weft) -> None:
    remember(weft.indexing_context(), "Elsewhere make deploy needs Flask 2.0", now=NOW)
    assert not find_stale(weft.indexing_context())


@pytest.mark.parametrize(
    ("claim", "manifest", "declared"),
    [
        ("make all", "all build: x\n", True),
        ("make all", "install:\n\tmake all\n", False),
        ("make VERSION", "VERSION := 3\n", False),
        ("python 3.11", 'requires-python = ">=3.11"', True),
        ("python 3.1", 'requires-python = ">=3.11"', False),
        ("gin 1.9", "github.com/gin-gonic/gin v1.9.1", True),
        ("gin 1.9", "github.com/gin-gonic/gin v1.10.0", False),
    ],
)
def test_a_claim_is_read_as_manifests_write_it(claim: str, manifest: str, declared: bool) -> None:
    assert is_declared(claim, [manifest]) is declared


def test_sentences_that_only_look_like_commands_name_nothing_of_a_project(weft: Weft) -> None:
    remember(weft.indexing_context(), "Please make sure that just everybody reads chapter 2.1", now=NOW)
    assert not find_stale(weft.indexing_context())
    assert "make sure" in find_named_things("make sure")


def test_being_shown_changes_neither_order_nor_words_of_a_page(weft: Weft) -> None:
    context = weft.indexing_context()
    keys = [
        remember(context, f"The {thing} of the broker is checked by {who}", now=NOW).memory.key
        for thing, who in (("queue", "Odile"), ("log", "Marek"), ("disk", "Ingrid"))
    ]
    before = weft.context("What of the broker is checked?", profile="learning", now=NOW).text
    for _ in range(50):
        UsageLog(weft.folder).record_uses([("default", keys[-1])], NOW)
    assert weft.context("What of the broker is checked?", profile="learning", now=NOW).text == before


@pytest.mark.parametrize("category", ["fact", "preference", "decision", "workflow"])
def test_what_lasts_is_as_important_after_ten_years(weft: Weft, category: str) -> None:
    remember(
        weft.indexing_context(), "The broker of the north keeps messages for a week", now=NOW, category=category
    )
    question = "How long does the broker keep messages?"
    assert scores(weft, question, NOW) == scores(weft, question, NOW + timedelta(days=3650)) != []


@pytest.mark.parametrize("category", ["context", "error"])
def test_what_passes_counts_for_less_with_time(weft: Weft, category: str) -> None:
    remember(
        weft.indexing_context(), "The broker of the north keeps messages for a week", now=NOW, category=category
    )
    question = "How long does the broker keep messages?"
    assert scores(weft, question, NOW) > scores(weft, question, NOW + timedelta(days=365))


def scores(weft: Weft, question: str, now: datetime) -> list[float]:
    """Return the scores of the memories on a page."""
    context = weft.context(question, profile="learning", max_tokens=1000, now=now)
    return [entry.score for entry in context.ledger if entry.key.startswith("memory:") and entry.tokens]
