"""A file that exists but was not read is reported by name, and whoever asks for it learns the reason."""

from pathlib import Path

from weft.api import Weft
from weft.indexing.ingest import Report
from weft.interfaces.ask import ask


def lay(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def index(weft: Weft, folder: Path) -> Report:
    return weft.index(folder, source="s")


def test_the_report_names_every_file_and_counts_by_reason_also_when_nothing_changed(tmp_path: Path) -> None:
    folder = lay(tmp_path / "s", **{"a.md": "# A\n", "uv.lock": "x\n", "style.css": "a\n", "dump.json": "[1]\n"})
    with Weft.open(tmp_path / "store", embedder="none") as weft:
        first, second = index(weft, folder), index(weft, folder)
    assert (
        first.not_read
        == second.not_read
        == {
            "s:dump.json": "data: a list of 1 values",
            "s:style.css": "unknown type: .css",
            "s:uv.lock": "lock file",
        }
    )
    assert first.passed_over == second.passed_over == {"data": 1, "lock file": 1, "unknown type": 1}
    assert second.units_changed == 0


def test_a_file_is_explained_by_key_path_and_name_and_by_the_folder_it_lies_in(tmp_path: Path) -> None:
    folder = lay(tmp_path / "s", **{"a.md": "# A\n", "sub__uv.lock": "x\n", "node_modules__x.js": "1\n"})
    with Weft.open(tmp_path / "store", embedder="none") as weft:
        index(weft, folder)
        for name in ("s:sub/uv.lock", "sub/uv.lock", "uv.lock"):
            assert weft.reader.why_not_read(name, ("default",)) == ("sub/uv.lock was not read: lock file.",)
        reason = ("node_modules/ was not read: in node_modules.",)
        assert weft.reader.why_not_read("node_modules/x.js", ("default",)) == reason
        assert weft.reader.why_not_read("other.txt", ("default",)) == ()
        assert weft.reader.why_not_read("uv.lock", ("another",)) == ()


def test_a_question_that_is_such_a_path_has_a_note(tmp_path: Path) -> None:
    folder = lay(tmp_path / "s", **{"a.md": "# A\n\nText about locks.\n", "uv.lock": "x\n"})
    with Weft.open(tmp_path / "store", embedder="none") as weft:
        index(weft, folder)
        notes = ask(weft, {"topic": ("uv.lock",), "max_tokens": 300}).notes
        assert "uv.lock was not read: lock file." in notes
        assert not any("was not read" in note for note in ask(weft, {"topic": ("what locks?",)}).notes)


def test_reasons_are_forgotten_when_the_file_is_read_is_gone_or_the_source_is_removed(tmp_path: Path) -> None:
    folder = lay(tmp_path / "s", **{"dump.json": "[1]\n", "uv.lock": "x\n", "style.css": "a\n"})
    with Weft.open(tmp_path / "store", embedder="none") as weft:
        index(weft, folder)
        lay(folder, **{"dump.json": '{"colour": "red"}\n'})
        (folder / "uv.lock").unlink()
        assert index(weft, folder).not_read == {"s:style.css": "unknown type: .css"}
        weft.remove_source("s")
        assert weft.reader.why_not_read("style.css", ("default",)) == ()


def test_a_unit_that_gave_only_problems_is_explained_by_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"a\x00b")
    with Weft.open(tmp_path / "store", embedder="none") as weft:
        report = index(weft, folder)
        assert report.not_read["s:a.md"].startswith("problem: The file is binary")
        assert report.passed_over == {}


def test_a_new_store_ignores_itself_in_git_and_keeps_a_file_that_is_there(tmp_path: Path) -> None:
    Weft.open(tmp_path / "new", embedder="none").close()
    assert (tmp_path / "new" / ".gitignore").read_text() == "*\n"
    own = lay(tmp_path / "own", **{".gitignore": "derived/\n"})
    Weft.open(own, embedder="none").close()
    assert (own / ".gitignore").read_text() == "derived/\n"
