"""The commits that changed a file or a definition, as git knows them, on pages and in `weft log`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft import Weft
from weft.interfaces.source_text import log_lines, texts_of
from weft.model import View

VIEW = View(("default",))
SCALES = """class Pan:
    def weigh(self, parcel):
        return parcel.grams


class Beam:
    def weigh(self, parcel):
        return parcel.pounds
"""


def git(folder: Path, *arguments: str, day: int = 1) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    moment = f"2026-03-{day:02d}T12:00:00+00:00"
    dates = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **dates}
    )
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two classes with methods of one name; the second was changed, and the change repeated on a side branch."""
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    (folder / "scales.py").write_text(SCALES)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "Weigh with a pan and a beam")
    git(folder, "branch", "stable")
    change = SCALES.replace("parcel.pounds", "parcel.pounds - self.tare")
    (folder / "scales.py").write_text(change)
    git(folder, "commit", "-am", "Take off the tare of the beam\n\nCo-authored-by: Bo <bo@example.org>", day=2)
    git(folder, "checkout", "-q", "stable")
    (folder / "scales.py").write_text(change)
    git(folder, "commit", "-am", "[stable] Take off the tare of the beam", day=3)
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "-s", "ours", "stable", "-m", "Merge stable", day=4)
    return folder


@pytest.fixture
def weft(repository: Path, tmp_path: Path) -> Iterator[Weft]:
    with Weft.open(tmp_path / "store") as opened:
        opened.index(repository)
        yield opened


def subjects(weft: Weft, name: str) -> list[str]:
    """Return the subjects of the commits that `weft log` lists for a name, the newest first."""
    return [line.split("Ada: ")[1].split(" (+")[0] for line in log_lines(weft, name, VIEW, 10)[1:]]


def test_a_method_whose_name_another_class_has_too_is_followed_by_its_lines(weft: Weft) -> None:
    begun = "Weigh with a pan and a beam"
    assert subjects(weft, "Beam.weigh") == ["Take off the tare of the beam", begun]
    assert subjects(weft, "Beam") == ["Take off the tare of the beam", begun]
    assert subjects(weft, "Pan.weigh") == [begun]


def test_a_commit_of_a_side_branch_that_repeats_another_is_left_out(weft: Weft) -> None:
    assert subjects(weft, "scales.py") == ["Take off the tare of the beam", "Weigh with a pan and a beam"]


def test_lines_that_moved_and_were_not_committed_are_found_in_the_last_commit(
    weft: Weft, repository: Path
) -> None:
    added = "# Nothing here was committed.\n" * 7
    (repository / "scales.py").write_text(added + (repository / "scales.py").read_text())
    assert subjects(weft, "Beam.weigh") == ["Take off the tare of the beam", "Weigh with a pan and a beam"]
    assert subjects(weft, "Pan.weigh") == ["Weigh with a pan and a beam"]


def test_a_page_lists_the_same_commits_without_the_trailers_of_their_messages(weft: Weft) -> None:
    page = weft.context("what changed recently in Beam.weigh?", max_tokens=500).text
    assert page.index("Take off the tare") < page.index("Weigh with a pan")
    assert "Co-authored-by" not in page
    assert page.count("Take off the tare of the beam") == 1
    assert "[stable]" not in page


def test_without_the_repository_the_links_tell(weft: Weft, repository: Path) -> None:
    (repository / ".git").rename(repository / "git-is-elsewhere")
    assert subjects(weft, "scales.py")[0] == "[stable] Take off the tare of the beam"


def test_a_commit_is_printed_with_the_first_release_that_has_it_where_releases_are_asked_for(
    weft: Weft, repository: Path
) -> None:
    git(repository, "tag", "v1.0", "HEAD~1")
    git(repository, "tag", "v1.1")
    asked = "which commit took off the tare of the beam, and which release was the first to contain it?"
    assert "*first released in v1.0*" in weft.context(asked, max_tokens=500).text
    assert "released" not in weft.context("which commit took off the tare of the beam?", max_tokens=500).text


def test_the_subject_of_a_commit_counts_more_than_a_long_list_of_what_was_done_on_the_way(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    steps = "".join(f"\n* repair the workflow that builds image {number} for the pipeline" for number in range(6))
    others = ["Tidy up\n\nThe support for http3 is near.", *(f"Serve customer {number}" for number in range(10))]
    for day, message in enumerate([f"Support http3\n{steps}", *others], 1):
        (folder / "server.py").write_text(f"def serve():\n    return {day}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-m", message, day=day)
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        page = weft.context("which commit brought support for HTTP/3?", max_tokens=600)
    assert page.text.index("Support http3") < page.text.index("Tidy up")
    assert page.text.count("Support http3") == 1


@pytest.fixture
def two_folders(repository: Path, tmp_path: Path) -> Iterator[Weft]:
    """The same repository with a folder `routers`, in which the newest commit but one changed something."""
    (repository / "src" / "routers").mkdir(parents=True)
    (repository / "src" / "routers" / "trie.py").write_text("def match(path):\n    return path\n")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "Match by a trie", day=5)
    (repository / "scales.py").write_text((repository / "scales.py").read_text() + "\n\nROUTER = 'none'\n")
    git(repository, "commit", "-am", "Name the router of the scales", day=6)
    with Weft.open(tmp_path / "folders") as opened:
        opened.index(repository)
        yield opened


@pytest.mark.parametrize("question", ["What changed recently in the router?", "latest changes in src/routers"])
def test_the_newest_commits_of_a_folder_are_those_that_changed_it(two_folders: Weft, question: str) -> None:
    text = two_folders.context(question, max_tokens=400).text
    assert "Match by a trie" in text and "Name the router" not in text


def test_the_log_of_a_folder_and_what_stands_in_it_are_listed(two_folders: Weft) -> None:
    assert subjects(two_folders, "src/routers") == ["Match by a trie"]
    assert texts_of(two_folders, "src", VIEW) == ["src/, 1 files of code\n  routers/ (1)"]
    assert texts_of(two_folders, "routers", VIEW) == ["src/routers/, 1 files of code\n  trie.py"]


def test_a_commit_that_is_asked_for_names_the_files_that_it_changed(two_folders: Weft, repository: Path) -> None:
    hash = git(repository, "rev-parse", "--short", "HEAD~1")
    assert "+2 -0 in src/routers/trie.py" in two_folders.context(f"What did {hash} change?", max_tokens=300).text


def test_when_something_was_added_is_told_by_the_first_commit_of_its_lines(two_folders: Weft) -> None:
    text = two_folders.context("When was Beam.weigh added?", max_tokens=400).text
    assert "### Weigh with a pan and a beam\n" in text and "the first commit of Beam.weigh" in text


def test_which_change_fixed_something_about_an_option_is_told_by_the_lines_that_name_it(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    begin = "class Gate:\n    def __init__(self, open_late=False):\n        self._open_late = open_late\n\n"
    enter = "    def enter(self, hour):\n        return self._open_late or hour < 20\n"
    for day, (message, text) in enumerate(
        [
            ("Add a gate", begin + enter),
            ("Sit down earlier", begin + enter.replace("hour < 20", "(hour < 20 and hour > 6)")),
            (
                "Count the guests",
                begin + enter.replace("hour < 20", "(hour < 20 and hour > 6)") + "\n\nguests = 0\n",
            ),
        ],
        start=1,
    ):
        (folder / "gate.py").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-m", message, day=day)
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        page = weft.context("which change fixed that thieves came in with open_late set?")
        heading = log_lines(weft, "Gate.__init__", VIEW, 10)[0]
    wanted = [entry.title for entry in page.ledger if entry.parts.get("shape_history", 0) >= 0.95]
    assert heading == "Gate.__init__: 1 commit"
    # The oldest brought the option, and what does not touch it is no change of it.
    assert wanted == ["Sit down earlier"]


@pytest.fixture
def cut_off(repository: Path, tmp_path: Path) -> Path:
    """A shallow clone of the repository, without its first commits."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repository}", str(clone))
    return clone


@pytest.mark.parametrize(
    "question", ["when was the tare of the beam introduced?", "Which commit introduced Pan.weigh?"]
)
def test_a_question_about_the_history_of_a_shallow_clone_is_told_what_is_missing(
    cut_off: Path, tmp_path: Path, question: str
) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(cut_off)
        [note] = [note for note in weft.context(question, max_tokens=600).notes if "--unshallow" in note]
        assert "Older commits are not in this clone of 'clone'" in note
        assert log_lines(weft, "scales.py", VIEW, 10)[-1] == note
        other = weft.context("How does Beam.weigh work?", max_tokens=600)
        assert not any("--unshallow" in each for each in other.notes)


def test_the_oldest_commit_of_a_shallow_clone_is_not_called_the_first(cut_off: Path, tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store") as weft:
        weft.index(cut_off)
        page = weft.context("When was Pan.weigh added?", max_tokens=600).text
    assert "the oldest commit in this shallow clone of Pan.weigh" in page
    assert "the first commit" not in page


def test_a_clone_with_all_its_commits_has_no_note_about_missing_ones(cut_off: Path, tmp_path: Path) -> None:
    git(cut_off, "fetch", "-q", "--unshallow")
    with Weft.open(tmp_path / "store") as weft:
        weft.index(cut_off)
        page = weft.context("when was the tare of the beam introduced?", max_tokens=600)
        assert not any("--unshallow" in note for note in (*page.notes, *log_lines(weft, "scales.py", VIEW, 10)))


def test_which_commit_added_an_option_is_told_by_the_oldest_line_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-b", "main")
    for day in range(1, 13):
        # Each commit changes the line that names the option.
        (folder / "gate.py").write_text(
            f"class Gate:\n    def enter(self, hour, open_late=False):\n        return open_late or hour < {day}\n"
        )
        git(folder, "add", ".")
        git(folder, "commit", "-m", "Build a gate" if day == 1 else f"Close the gate at {day}", day=day)
    with Weft.open(tmp_path / "store") as weft:
        weft.index(folder)
        page = weft.context("which commit added `open_late`?")
    worth = {entry.title: entry.parts.get("shape_history", 0.0) for entry in page.ledger}
    assert max(worth, key=worth.__getitem__) == "Build a gate"
