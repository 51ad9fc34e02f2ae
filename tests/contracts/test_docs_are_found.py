"""People's questions about Weft, asked of its documents through Weft itself, find their page first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from doc_blocks import ROOT
from weft import Weft

QUESTIONS = {
    "How do I connect Weft to Claude Code?": ("tutorials/coding-agent.md", "mcp.md"),
    "How do I keep spoilers out of the page?": ("tutorials/novelist.md", "story.md"),
    "How do I ask my Obsidian notes a question?": ("tutorials/note-taker.md",),
    "How do I run Weft as a service for a support bot?": ("tutorials/support-bot.md", "rest.md"),
    "How do I use results from my own search engine?": ("how-to/own-results.md",),
    "How do I write my own profile?": ("how-to/write-a-profile.md", "profiles.md"),
    "How do I read a system that Weft does not know, such as tickets?": ("how-to/write-a-source.md",),
    "How do I find out whether a change makes pages better?": ("how-to/tune.md", "eval.md"),
    "How do I use Weft in an async web framework?": ("how-to/async-fastapi.md",),
    "How do I move my store to PostgreSQL?": ("how-to/move-to-a-server.md", "scale.md"),
    "How do I let several agents share one store?": ("how-to/many-agents.md",),
    "How do I make a backup?": ("operations.md",),
    "Why is something not on the page?": ("concepts/ledger.md", "explorer.md"),
    "How do I show a page in Jupyter?": ("how-to/notebooks.md",),
    "How do I upgrade to a new version?": ("policy.md", "operations.md"),
}
"""Each question as somebody asks it, with the pages that answer it: the task's own and the chapter behind it."""
MIN_SHARE_FOUND = 0.9
BUDGET_TOKENS = 1000


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weft]:
    with Weft.open(tmp_path_factory.mktemp("docs") / ".weft") as weft:
        weft.index(ROOT / "docs")
        yield weft


def test_nine_questions_in_ten_find_their_page_first(documents: Weft) -> None:
    first = {
        question: next((str(source.origin.file) for source in page.sources), "nothing")
        for question in QUESTIONS
        for page in [documents.context(question, max_tokens=BUDGET_TOKENS)]
    }
    lost = {question: found for question, found in first.items() if found not in QUESTIONS[question]}
    assert len(lost) <= len(QUESTIONS) * (1 - MIN_SHARE_FOUND), lost


def test_every_page_that_is_wanted_exists() -> None:
    wanted = {Path("docs", page) for pages in QUESTIONS.values() for page in pages}
    assert [str(page) for page in wanted if not (ROOT / page).exists()] == []


def test_a_question_that_the_documents_do_not_answer_gets_no_page(documents: Weft) -> None:
    assert documents.context("How do I bake sourdough bread?", max_tokens=BUDGET_TOKENS).sources == ()
