"""The progress bar appears on a terminal when work takes long, and never in a pipe."""

import sys

import pytest

from weft.interfaces.cli import progress
from weft.interfaces.cli.progress import Watch, watched


def test_in_a_pipe_nothing_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with watched("reading") as tell:
        tell("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_quick_work_on_a_terminal_shows_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with watched("reading") as tell:
        tell("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_long_work_shows_its_stage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    watch = Watch("looking")
    watch._show()
    watch("reading notes", 3, 4)
    watch("linking", 3, None)
    watch.end()
    shown = capsys.readouterr().err
    assert "linking" in shown
    assert "100%" not in shown
