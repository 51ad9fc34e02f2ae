"""Vaults: which notes are chapters and entities when their front matter does not say."""

from pathlib import Path

from manuscripts import CHAPTERS
from weft.model import Node
from weft.sources import open_source


def read(root: Path, notes: dict[str, str], reading: str = "") -> dict[str, Node]:
    for name, text in notes.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    source = open_source(str(root), name="vault", reading=reading)
    nodes = [node for name, _ in source.units() for node in source.read(name).nodes]
    return {node.key.removeprefix("vault:"): node for node in nodes}


def test_folders_tell_the_kinds_of_a_story_s_notes(tmp_path: Path) -> None:
    names = (
        "Characters/Ned.md",
        "Places/Winterfell.md",
        "Factions/House Vane.md",
        "Items/Ring.md",
        "Events/War.md",
    )
    found = read(tmp_path, dict.fromkeys((*names, "Ideas.md"), "A note."))
    assert [found[name].kind for name in names] == ["character", "location", "faction", "object", "event"]
    assert found["Ideas.md"].kind == "note"


def test_folders_of_other_vaults_tell_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, {"Events/Offsite.md": "Lunch.", "People/Ann.md": "Sales.", "01 Intro.md": "Hello."})
    assert {node.kind for node in found.values()} == {"note"}


def test_chapters_are_numbered_by_their_names_or_their_order(tmp_path: Path) -> None:
    found = read(
        tmp_path, {"Chapters/Prologue.md": "a", "Chapters/03 The Ferry.md": "b", "Chapters/Zenith.md": "c"}
    )
    assert {name: node.sequence for name, node in found.items()} == {
        "Chapters/Prologue.md": 0,
        "Chapters/03 The Ferry.md": 3,
        "Chapters/Zenith.md": 3,
    }


def test_front_matter_comes_before_folders(tmp_path: Path) -> None:
    found = read(tmp_path, {"Chapters/09.md": "---\nkind: outline\nchapter: 2\n---\nText."})
    assert [(node.kind, node.sequence) for node in found.values()] == [("outline", 2)]


def test_files_called_chapters_are_a_story_and_numbered_files_only_when_told_so(tmp_path: Path) -> None:
    called = read(tmp_path / "a", {"chapter-01.md": "x", "chapter-02.md": "y"})
    assert [(node.kind, node.sequence) for node in called.values()] == [("chapter", 1), ("chapter", 2)]
    plain = {"01.md": "x", "02.md": "y"}
    assert {node.kind for node in read(tmp_path / "b", plain).values()} == {"note"}
    assert {node.kind for node in read(tmp_path / "b", plain, "story").values()} == {"chapter"}


def test_a_long_chapter_comes_in_scenes_that_hold_its_text(tmp_path: Path) -> None:
    text = "\n\n".join(CHAPTERS * 2)
    found = read(tmp_path, {"Chapters/01.md": text})
    chapter, *scenes = found.values()
    assert (chapter.kind, chapter.text) == ("chapter", "")
    assert {node.kind for node in scenes} == {"scene"}
    lines = text.split("\n")
    for node in scenes:
        assert node.sequence == 1
        assert node.origin.first_line is not None
        assert lines[node.origin.first_line - 1] == node.text.split("\n")[0]
