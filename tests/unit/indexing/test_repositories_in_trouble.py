"""Repositories in a state that nobody wants: whatever it is, questions are answered and nothing is lost."""

import shutil
import subprocess
from pathlib import Path

import pytest

from weft import Context, Weft
from weft.errors import SourceError
from weft.sources import open_source
from weft.sources.code import format as code_format
from worlds import NOW


def try_git(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=False, capture_output=True)


def git(folder: Path, *arguments: str) -> None:
    done = try_git(folder, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on the branch main."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "--initial-branch=main")
    (folder / "scales.py").write_text("def weigh_parcel(parcel):\n    return parcel.grams\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "Weigh parcels on the scales at the door")
    return folder


def ask(store: Path, question: str = "weigh_parcel", seconds: float = 1000.0) -> Context:
    with Weft.open(store, refresh_seconds=seconds) as weft:
        return weft.context(question, now=NOW, max_tokens=1500, floor=0)


def index(store: Path, folder: Path) -> dict[str, int]:
    """Index a folder, and return what was passed over or read in part."""
    with Weft.open(store) as weft:
        return dict(weft.index(folder).passed_over)


def stop_in_a_rebase(repository: Path) -> None:
    """Leave the repository in the middle of a rebase that has a conflict."""
    git(repository, "checkout", "-b", "ounces")
    (repository / "scales.py").write_text("def weigh_parcel(parcel):\n    return parcel.ounces\n")
    git(repository, "commit", "-am", "Weigh in ounces")
    git(repository, "checkout", "main")
    (repository / "scales.py").write_text("def weigh_parcel(parcel):\n    return parcel.kilograms\n")
    git(repository, "commit", "-am", "Weigh in kilograms")
    git(repository, "checkout", "ounces")
    assert try_git(repository, "rebase", "main").returncode != 0


def test_a_question_in_the_middle_of_a_rebase_shows_the_files_as_they_are(
    repository: Path, tmp_path: Path
) -> None:
    index(tmp_path / "store", repository)
    stop_in_a_rebase(repository)
    page = ask(tmp_path / "store")
    assert "<<<<<<<" in page.text and "parcel.ounces" in page.text
    assert any("commits" in note or "checked out now" in note for note in page.notes)
    assert "parcel.grams" not in ask(tmp_path / "store", seconds=0).text


def test_an_index_in_the_middle_of_a_rebase_is_made_good_by_the_next_one(repository: Path, tmp_path: Path) -> None:
    index(tmp_path / "store", repository)
    stop_in_a_rebase(repository)
    index(tmp_path / "store", repository)
    git(repository, "rebase", "--abort")
    index(tmp_path / "store", repository)
    index(tmp_path / "new", repository)
    assert list_nodes(tmp_path / "store") == list_nodes(tmp_path / "new")
    assert ask(tmp_path / "store").text == ask(tmp_path / "new").text


def list_nodes(store: Path) -> list[tuple[str, str, float]]:
    with Weft.open(store) as weft:
        nodes = [row.node for row in weft.store.iterate("default")]
    return sorted((node.key, node.text, node.importance) for node in nodes)


def test_a_worktree_whose_repository_is_gone_is_still_read(repository: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    git(repository, "worktree", "add", str(beside), "-b", "feature")
    index(tmp_path / "store", beside)
    shutil.rmtree(repository)
    page = ask(tmp_path / "store")
    assert "parcel.grams" in page.text
    assert any("cannot be found: its history is shown as it was read" in note for note in page.notes)
    (beside / "scales.py").write_text("def weigh_parcel(parcel):\n    return parcel.stones\n")
    assert "parcel.stones" in ask(tmp_path / "store").text
    passed_over = index(tmp_path / "store", beside)
    assert any(reason.startswith("history") for reason in passed_over)
    assert "parcel.stones" in ask(tmp_path / "store").text


def test_a_history_that_cannot_be_read_is_kept_as_it_was(repository: Path, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    git(repository, "worktree", "add", str(beside), "-b", "feature")
    index(tmp_path / "store", beside)
    repository.rename(tmp_path / "unplugged")
    index(tmp_path / "store", beside)
    asked = "which commit put the scales at the door?"
    assert "Weigh parcels on the scales" in ask(tmp_path / "store", asked).text
    (tmp_path / "unplugged").rename(repository)
    git(beside, "commit", "--allow-empty", "-m", "Oil the scales at the door")
    index(tmp_path / "store", beside)
    page = ask(tmp_path / "store", asked).text
    assert "Weigh parcels on the scales" in page
    assert "Oil the scales" in page


def test_a_pointer_of_lfs_is_named_and_not_read(repository: Path, tmp_path: Path) -> None:
    pointer = (
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"
    )
    for name in ("weights.py", "manual.md", "table.json", "notes.txt"):
        (repository / name).write_text(pointer)
    with Weft.open(tmp_path / "store") as weft:
        report = weft.index(repository)
        keys = {row.node.key for row in weft.store.iterate("default") if row.node.kind != "commit"}
    assert keys == {"work:scales.py", "work:scales.py#weigh_parcel"}
    reasons = {name: reason for name, reason in report.not_read.items() if "LFS" in reason}
    assert set(reasons) == {f"work:{name}" for name in ("weights.py", "manual.md", "table.json", "notes.txt")}
    # Fetched, it is read like any other file.
    (repository / "manual.md").write_text("# Scales\n\nThe scales of the parcel office weigh in grams.\n")
    assert "weigh in grams" in ask(tmp_path / "store", "scales of the parcel office").text


def test_a_file_that_changes_while_it_is_read_is_read_again(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, read = repository / "scales.py", code_format._read_file
    edits = ["def weigh_parcel(parcel):\n    return parcel.ounces\n"]

    def read_and_edit(given: code_format.File) -> code_format._FileContent:
        content = read(given)
        if edits:
            file.write_text(edits.pop())
        return content

    monkeypatch.setattr(code_format, "_read_file", read_and_edit)
    index(tmp_path / "store", repository)
    page = ask(tmp_path / "store", seconds=0)
    assert "parcel.ounces" in page.text or "(changed since it was read)" in page.text
    index(tmp_path / "store", repository)
    page = ask(tmp_path / "store", seconds=0)
    assert "parcel.ounces" in page.text and not any("since" in note for note in page.notes)


def test_a_folder_with_too_many_files_is_refused_with_what_to_do(repository: Path, tmp_path: Path) -> None:
    for number in range(20):
        (repository / f"part_{number}.py").write_text("x = 1\n")
    source = open_source(str(repository), name="work", tenant="default")
    source.max_files = 10
    with pytest.raises(
        SourceError, match=r"more than 10 files. Name folders to leave out, a line each, in .*weftignore"
    ):
        list(source.units())
    source.max_files = 21
    assert len([name for name, _ in source.units() if name.endswith(".py")]) == 21


def test_a_store_keeps_what_it_has_when_its_folder_grows_beyond_all_limits(
    repository: Path, tmp_path: Path
) -> None:
    with Weft.open(tmp_path / "store") as weft:
        source = open_source(str(repository), name="work", tenant="default")
        weft.ingest([source])
        source.max_files = 0
        with pytest.raises(SourceError, match="more than 0 files"):
            weft.ingest([source])
        assert "parcel.grams" in weft.context("weigh_parcel", floor=0).text


def test_a_traceback_of_another_language_is_answered_from_what_the_store_has(
    repository: Path, tmp_path: Path
) -> None:
    index(tmp_path / "store", repository)
    traceback = "Exception in thread main\n" + "".join(
        f"    at org.example.Parcel{number}.weigh(Parcel{number}.java:{number})\n" for number in range(5_000)
    )
    page = ask(tmp_path / "store", f"Why does weigh_parcel fail?\n{traceback}")
    assert "parcel.grams" in page.text
    assert page.tokens <= 1500


def test_a_shallow_clone_with_a_detached_head_is_read_and_asked(repository: Path, tmp_path: Path) -> None:
    git(repository, "commit", "--allow-empty", "-m", "Nothing new")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repository}", str(clone)], check=True)
    git(clone, "checkout", "--detach")
    index(tmp_path / "store", clone)
    page = ask(tmp_path / "store")
    assert "parcel.grams" in page.text and not page.notes


def test_five_thousand_lines_of_a_traceback_lead_to_the_innermost_own_frame(
    repository: Path, tmp_path: Path
) -> None:
    index(tmp_path / "store", repository)
    foreign = '  File "/venv/site-packages/queue.py", line 7, in turn\n    turn()\n' * 2_500
    own = f'  File "{repository}/scales.py", line 2, in weigh_parcel\n    return parcel.grams\n'
    log = (
        f"Traceback (most recent call last):\n{foreign}{own}AttributeError: 'NoneType' has no attribute 'grams'\n"
    )
    page = ask(tmp_path / "store", f"{log}\nWhy does this fail?")
    assert page.ledger[0].key.endswith("scales.py#weigh_parcel")
    assert "return parcel.grams" in page.text
    assert page.tokens <= 1500


def test_lines_that_end_as_on_windows_are_cited_by_their_numbers(repository: Path, tmp_path: Path) -> None:
    text = "import os\r\n\r\n\r\nclass Boat:\r\n    def row(self, speed):\r\n        return speed + 1\r\n"
    (repository / "boat.py").write_bytes(text.encode())
    index(tmp_path / "store", repository)
    with Weft.open(tmp_path / "store") as weft:
        [method] = weft.show("Boat.row")
        assert (method.origin.first_line, method.origin.last_line) == (5, 6)
        assert "\r" not in method.text
        page = weft.context("boat.py:6", max_tokens=300)
    assert page.text.index("boat.py:5") < page.text.index("return speed + 1")
    assert "\r" not in page.text


def test_links_that_lead_in_circles_are_passed_and_the_rest_is_read_once(repository: Path, tmp_path: Path) -> None:
    (repository / "inner").mkdir()
    (repository / "inner" / "boat.py").write_text("def row_once():\n    return 1\n")
    for name, target in (("inner/up", ".."), ("itself", "itself"), ("one", "other"), ("other", "one")):
        (repository / name).symlink_to(target)
    with Weft.open(tmp_path / "store") as weft:
        report = weft.index(repository)
        assert {problem.where for problem in report.problems} <= {"itself", "one", "other"}
        assert [node.key for node in weft.show("row_once")] == ["work:inner/boat.py#row_once"]


def test_a_question_from_a_worktree_whose_disk_is_gone_is_answered_and_says_so(
    repository: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", str(other), "-b", "branch")
    index(tmp_path / "store", other)
    shutil.rmtree(other)
    page = ask(tmp_path / "store")
    assert "parcel.grams" in page.text
    assert any(str(other) in note for note in page.notes)
