"""A folder that moved, or was copied together with its store, goes on as the source that it was."""

import shutil
from pathlib import Path

import pytest

from weft import Weft
from weft.errors import SourceError

EXAMPLE = Path(__file__).parents[3] / "examples" / "repo"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "mine"))


def counts(weft: Weft) -> dict[str, int]:
    return dict(weft.status().by_source)


def test_a_renamed_folder_does_not_double_the_store(folder: Path, tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        before = counts(weft)
        moved = folder.rename(tmp_path / "renamed")
        report = weft.index(moved)
        assert report.sources == ("mine",)
        assert counts(weft) == before
        assert not any("not there any more" in note for note in weft.context("jobs").notes)


def test_a_store_that_was_copied_with_its_folder_follows_the_copy(folder: Path, tmp_path: Path) -> None:
    with Weft.open(folder / ".weft") as weft:
        weft.index(folder)
        before = counts(weft)
    copied = Path(shutil.copytree(folder, tmp_path / "copy"))
    with Weft.open(copied / ".weft") as weft:
        assert weft.index(copied).sources == ("mine",)
        assert counts(weft) == before


def test_whoever_says_no_gets_two_sources(folder: Path, tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        moved = folder.rename(tmp_path / "renamed")
        weft.indexer.confirm_move = lambda source, before, now: False
        assert weft.index(moved).sources == ("renamed",)
        assert set(counts(weft)) == {"mine", "renamed"}


def test_another_folder_of_the_same_name_is_still_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "mine"
    other.mkdir(parents=True)
    (other / "notes.md").write_text("Something else.")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        with pytest.raises(SourceError, match="was indexed from another place"):
            weft.index(other)


def test_a_folder_that_stays_is_indexed_as_before(folder: Path, tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        weft.indexer.confirm_move = lambda source, before, now: pytest.fail("nothing moved")
        assert weft.index(folder).units_changed == 0
