"""The progress bar appears on a terminal when work takes long, and never in a pipe."""

import sys

import pytest

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
