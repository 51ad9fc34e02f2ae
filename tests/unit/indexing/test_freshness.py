"""Files that change between indexing and asking are read again before the answer, or marked in it."""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from weft import Context, Weft
from weft.indexing.freshness import checking_once
from weft.indexing.working_tree import compare, load_records
from worlds import NOW

EXAMPLE = Path(__file__).parents[3] / "examples" / "repo"


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the example repository."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "repo"))


@pytest.fixture
def store(tmp_path: Path, repository: Path) -> Path:
    """A store in which the repository is indexed."""
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
    return tmp_path / "store"


def ask(store: Path, question: str, seconds: float = 1000.0, working: Path | None = None) -> Context:
    with Weft.open(store, refresh_seconds=seconds, working=working) as weft:
        return weft.context(question, now=NOW, max_tokens=1500, floor=0)


def code_file(repository: Path) -> Path:
    return sorted((repository / "pigeonhole").rglob("*.py"))[-1]


def test_an_edited_function_is_answered_with_as_it_is_now(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text(file.read_text() + "\n\ndef weigh_the_parcel(parcel):\n    return parcel.grams\n")
    page = ask(store, "weigh_the_parcel")
    assert "return parcel.grams" in page.text
    assert not any("since" in note for note in page.notes)


def test_a_removed_function_is_not_answered_with(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text("def weigh_the_parcel(parcel):\n    return parcel.grams\n")
    ask(store, "weigh_the_parcel")
    file.write_text("def measure_the_parcel(parcel):\n    return parcel.length\n")
    page = ask(store, "weigh_the_parcel or measure_the_parcel")
    assert "parcel.length" in page.text
    assert "parcel.grams" not in page.text


def test_without_time_the_items_of_a_changed_file_are_marked(repository: Path, store: Path) -> None:
    file = code_file(repository)
    name = file.stem
    file.write_text(file.read_text() + "\n# a remark\n")
    page = ask(store, f"what is in {name}", seconds=0.0)
    shown = file.relative_to(repository).as_posix()
    assert f"{shown}:1 (changed since it was read)" in page.text
    assert any("Changed since they were read, and marked" in note and shown in note for note in page.notes)


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_every_format_prints_the_mark(repository: Path, store: Path, format: str) -> None:
    file = code_file(repository)
    file.write_text(file.read_text() + "\n# a remark\n")
    with Weft.open(store, refresh_seconds=0) as weft:
        page = weft.context(f"what is in {file.stem}", now=NOW, format=format, floor=0)
    assert "changed since it was read" in page.text


def test_a_renamed_file_is_cited_by_its_new_name(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text("def weigh_the_parcel(parcel):\n    return parcel.grams\n")
    ask(store, "weigh_the_parcel")
    file.rename(file.with_name("scales.py"))
    page = ask(store, "weigh_the_parcel")
    assert "scales.py:1" in page.text
    assert file.name not in page.text


def test_a_deleted_file_is_left_out_or_marked(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text("def weigh_the_parcel(parcel):\n    return parcel.grams\n")
    ask(store, "weigh_the_parcel")
    file.unlink()
    assert "(deleted since it was read)" in ask(store, "weigh_the_parcel", seconds=0.0).text
    assert "parcel.grams" not in ask(store, "weigh_the_parcel").text


def test_a_new_file_is_found_or_named_in_a_note(repository: Path, store: Path) -> None:
    (repository / "pigeonhole" / "scales.py").write_text("def weigh_the_parcel():\n    return 'grams'\n")
    assert any("New and not read yet: pigeonhole/scales.py" in note for note in ask(store, "grams", 0.0).notes)
    assert "return 'grams'" in ask(store, "weigh_the_parcel").text


def test_an_ignored_file_is_neither_read_nor_noted(repository: Path, store: Path) -> None:
    (repository / ".gitignore").write_text("*.log.py\n")
    (repository / "noise.log.py").write_text("def noise(): ...\n")
    page = ask(store, "noise")
    assert "noise.log.py" not in page.text
    assert not any("noise" in note for note in page.notes)


def test_a_change_of_the_same_size_at_the_same_time_is_noticed(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text("def weigh():\n    return 'grams'\n")
    with Weft.open(store) as weft:
        weft.index(repository)
    status = file.stat()
    file.write_text("def weigh():\n    return 'stone'\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "return 'stone'" in ask(store, "weigh").text


def test_a_file_of_which_nothing_is_stored_is_not_looked_at(repository: Path, tmp_path: Path) -> None:
    (repository / "photo.png").write_bytes(b"\x89PNG")
    with Weft.open(tmp_path / "photos") as weft:
        weft.index(repository)
    (repository / "photo.png").write_bytes(b"\x89PNG, another one")
    page = ask(tmp_path / "photos", "pigeonhole", seconds=0)
    assert not any("photo" in note for note in page.notes)


def test_an_unchanged_tree_is_not_listed_again(repository: Path, store: Path) -> None:
    (record,) = load_records(store, ["default"])
    found = compare(record, record.path(store))
    assert found.files == ()
    assert found.tree.folders == record.tree.folders


def test_indexing_after_a_refresh_gives_what_indexing_alone_gives(repository: Path, store: Path) -> None:
    file = code_file(repository)
    readme = repository / "README.md"
    file.write_text(file.read_text() + "\n\ndef weigh_the_parcel(parcel):\n    return parcel.grams\n")
    readme.write_text(readme.read_text() + "\nUse `weigh_the_parcel` before posting.\n")
    ask(store, "weigh_the_parcel")
    file.write_text(file.read_text().replace("weigh_the_parcel", "weigh_all_parcels"))
    ask(store, "weigh_all_parcels")
    other = store.with_name("other")
    with Weft.open(store) as refreshed, Weft.open(other) as alone:
        refreshed.index(repository)
        alone.index(repository)
        assert dump(refreshed) == dump(alone)


def dump(weft: Weft) -> list[object]:
    """All nodes and links of a store, without ids."""
    nodes = [row.node for row in weft.store.iterate("default")]
    links = sorted(
        (edge.source, edge.target, edge.type, edge.weight, edge.evidence)
        for node in nodes
        for _, edge in weft.related(node.key, limit=10_000)
    )
    return [sorted((node.key, node.text, round(node.importance, 6)) for node in nodes), links]


def test_no_stale_page_is_unmarked_after_random_edits(repository: Path, store: Path) -> None:
    """Two hundred edits of any kind; after each, the page of half a budget shows today's files or says so."""
    chance = random.Random(20)
    edits: list[Callable[[Path, int], None]] = [append_function, rename_function, delete_file, move_file, add_file]
    for number in range(200):
        files = sorted((repository / "pigeonhole").rglob("*.py"))
        chance.choice(edits)(chance.choice(files), number)
        page = ask(store, f"function number_{number} in pigeonhole", seconds=chance.choice([0.0, 1000.0]))
        assert_nothing_stale(page, repository)


def append_function(file: Path, number: int) -> None:
    file.write_text(file.read_text() + f"\n\ndef number_{number}():\n    return {number}\n")


def rename_function(file: Path, number: int) -> None:
    file.write_text(file.read_text().replace("number_", f"numbered_{number}_"))


def delete_file(file: Path, number: int) -> None:
    if len(list(file.parent.glob("*.py"))) > 3:
        file.unlink()


def move_file(file: Path, number: int) -> None:
    file.rename(file.with_name(f"moved_{number}.py"))


def add_file(file: Path, number: int) -> None:
    file.with_name(f"added_{number}.py").write_text(f"def number_{number}():\n    return {number}\n")


def assert_nothing_stale(page: Context, repository: Path) -> None:
    """Every quoted line of an unmarked file is the line of that file today."""
    printed = page.text.split("\n")
    for entry in page.manifest:
        origin = entry.origin
        if origin is None or origin.file is None or not entry.verbatim or origin.stale is not None:
            continue
        lines = (repository / origin.file).read_text().split("\n")
        assert entry.source_first_line is not None
        # A sentence may begin or end within a line.
        assert printed[entry.first_line - 1].strip() in lines[entry.source_first_line - 1]


# --- repositories ------------------------------------------------------------------------------------------------


def test_another_branch_is_named(repository: Path, tmp_path: Path) -> None:
    git(repository, "init", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "All")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
    git(repository, "checkout", "-b", "other")
    code_file(repository).write_text("def weigh_the_parcel():\n    return 'grams'\n")
    git(repository, "commit", "-am", "Weigh")
    page = ask(tmp_path / "store", "weigh_the_parcel")
    assert "return 'grams'" in page.text
    assert any("was read on branch main; branch other is checked out now" in note for note in page.notes)


def test_a_new_commit_is_named_until_it_is_read(repository: Path, tmp_path: Path) -> None:
    git(repository, "init", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "All")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
    git(repository, "commit", "--allow-empty", "-m", "Nothing new")
    assert any("newest commits of 'repo' are not read yet" in note for note in ask(tmp_path / "store", "x").notes)
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
    assert not any("commits" in note for note in ask(tmp_path / "store", "x").notes)


def test_a_question_from_another_worktree_says_which_one_was_read(repository: Path, tmp_path: Path) -> None:
    git(repository, "init", "-b", "main")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "All")
    git(repository, "worktree", "add", str(tmp_path / "beside"), "-b", "feature")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(repository)
    beside = ask(tmp_path / "store", "parcel", working=tmp_path / "beside" / "docs")
    assert any("worktree" in note and "branch feature" in note for note in beside.notes)
    assert not any("worktree" in note for note in ask(tmp_path / "store", "parcel", working=repository).notes)


def test_a_folder_that_is_gone_is_named(repository: Path, store: Path) -> None:
    shutil.rmtree(repository)
    page = ask(store, "pigeonhole")
    assert page.sources
    assert any("is not there any more" in note for note in page.notes)


def test_a_store_that_others_write_to_is_only_marked(repository: Path, store: Path) -> None:
    file = code_file(repository)
    file.write_text(file.read_text() + "\n# a remark\n")
    with Weft.open(store) as writer, writer.store.writing():
        page = ask(store, f"what is in {file.stem}")
    assert "(changed since it was read)" in page.text


def test_odd_entries_of_a_folder_are_neither_waited_for_nor_taken_as_changed(tmp_path: Path) -> None:
    """A pipe, a circle of links, a link that leads out, a broken one, Windows line ends, a pointer of LFS."""
    folder = tmp_path / "odd"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "circle").symlink_to(folder)
    (folder / "out").symlink_to(tmp_path)
    (folder / "broken.py").symlink_to(folder / "nowhere")
    (folder / "crlf.py").write_bytes(b"def weigh():\r\n    return 1\r\n")
    (folder / "model.py").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n")
    with Weft.open(tmp_path / "store") as weft:
        report = weft.index(folder)
        assert report.not_read["odd:pipe"] == "pipe, socket or device"
        assert not any("since" in note or "New" in note for note in weft.context("weigh").notes)
        (folder / "crlf.py").write_bytes(b"def weigh():\r\n    return 2\r\n")
        assert "return 2" in weft.context("weigh", floor=0).text


def test_the_readings_of_one_question_share_a_check_that_found_nothing_changed(
    repository: Path, store: Path
) -> None:
    file = code_file(repository)
    with Weft.open(store, refresh_seconds=0) as weft:
        upkeep = weft.reader.upkeep
        with checking_once():
            assert not upkeep.check(("default",)).marks
            file.write_text(file.read_text() + "\n# a remark\n")
            assert not upkeep.check(("default",)).marks
        with checking_once():
            first = upkeep.check(("default",))
            assert first.marks
            file.unlink()
            assert upkeep.check(("default",)).marks != first.marks
