"""The progress bar appears on a terminal when work takes long, and never in a pipe."""

import ast
import sys
from pathlib import Path

import pytest

from weft.interfaces import cli
from weft.interfaces.cli.output import ProgressBar, show_progress


def test_in_a_pipe_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("reading", delay=0.0) as report:
        report("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_quick_work_on_a_terminal_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show_progress("reading") as report:
        report("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_long_work_shows_its_stage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    bar = ProgressBar("scanning")
    bar._appear()
    bar("reading notes", 3, 4)
    bar("linking", 3, None)
    bar.end()
    printed = capsys.readouterr().err
    assert "linking" in printed
    assert "100%" not in printed


QUICK = {
    "context.history",
    "entities.print_corrections",
    *(f"experiences.{name}" for name in ("list_experiences", "reopen", "resolve", "show", "start", "update")),
    *(f"jobs.{name}" for name in ("add", "list_jobs", "retry")),
    "keys._unknown_tenant_notes",
    *(f"memories.{name}" for name in ("forget", "remember")),
    "serve.share",
    *(f"show.{name}" for name in ("log", "related", "show")),
    "story.print_chapters",
}
"""Commands that look up or write a few rows, however large the store is."""
SHOWN_BY_THEIR_CALLERS = {
    "cluster._open_cluster",
    "demo.open_named_or_temporary",
    "doctor._run_checks",
    "evaluate.evaluate",
}


def test_every_command_that_may_take_long_shows_its_progress() -> None:
    silent = set()
    for file in Path(cli.__path__[0]).glob("*.py"):
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(function, ast.FunctionDef):
                calls = [call.func for call in ast.walk(function) if isinstance(call, ast.Call)]
                called = {
                    each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in calls
                }
                if "open_weft" in called and "show_progress" not in called:
                    silent.add(f"{file.stem}.{function.name}")
    assert silent - SHOWN_BY_THEIR_CALLERS == QUICK
