"""`weft lens` lists, shows, checks, makes and compares ways to walk."""

import json
from pathlib import Path

import pytest

from weft.interfaces.cli import BAD_INPUT, DONE, STORE_PROBLEM, run


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("WEFT_STORE", raising=False)
    (tmp_path / ".weft").mkdir()
    return tmp_path / ".weft"


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["lens", *arguments]) == DONE
    return capsys.readouterr().out


def test_the_lenses_of_notes_are_listed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(said(capsys, "list", "--json"))
    assert [row["name"] for row in rows] == ["general", "writing", "coding", "planning", "meeting-prep"]
    assert {row["origin"] for row in rows} == {"notes"}
    assert "meeting-prep" in said(capsys, "list")


def test_a_new_lens_is_a_copy_that_can_be_used_at_once(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "near.lens.toml" in said(capsys, "new", "near", "--from", "planning")
    assert (store / "profiles" / "near.lens.toml").is_file()
    assert "can be used" in said(capsys, "check", "near")
    assert said(capsys, "show", "near") == said(capsys, "show", "planning")
    assert said(capsys, "diff", "near", "planning") == ""
    assert {row["name"]: row["origin"] for row in json.loads(said(capsys, "list", "--json"))}["near"] == "user"


def test_a_lens_for_all_stores_goes_into_the_configuration(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "new", "mine", "--user")
    assert list((tmp_path / "config").rglob("mine.lens.toml"))
    assert "mine" in said(capsys, "list")


def test_what_differs_is_told_value_by_value(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "diff", "general", "planning")
    assert "depth: 2 -> 3" in text
    assert "name" not in text


def test_a_lens_that_is_there_is_not_overwritten(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "new", "near")
    assert run(["lens", "new", "near"]) == BAD_INPUT
    assert "--force" in capsys.readouterr().err
    assert "Wrote" in said(capsys, "new", "near", "--force")


def test_all_problems_of_a_lens_are_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = store.parent / "bad.lens.toml"
    broken.write_text('walk = "sideways"\ndepht = 3\n', encoding="utf-8")
    assert run(["lens", "check", str(broken)]) == BAD_INPUT
    out = capsys.readouterr().out
    assert "sideways" in out
    assert "Did you mean 'depth'?" in out


@pytest.mark.parametrize(("name", "reason"), [("../up", "cannot name a lens"), ("9", "cannot name a lens")])
def test_a_name_that_cannot_be_a_lens_is_refused(
    name: str, reason: str, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lens", "new", name]) == BAD_INPUT
    assert reason in capsys.readouterr().err


def test_an_unknown_lens_is_told_with_the_nearest(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lens", "show", "writng"]) == BAD_INPUT
    assert "Did you mean 'writing'?" in capsys.readouterr().err


def test_without_a_store_a_new_lens_has_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.delenv("WEFT_STORE", raising=False)
    assert run(["lens", "new", "near"]) == STORE_PROBLEM
