"""The history of real repositories: commits, what they touched, and only what is new."""

import shutil
import subprocess
from pathlib import Path

import pytest

from weft import Weft
from weft.model import Edge, Node
from weft.ports import Unit
from weft.sources import open_source
from weft.sources.git.log import list_commits, read_log

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CLOCK = "def now():\n    return 1\n\n\ndef later():\n    return 2\n"


class Repository:
    """A repository to write in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=Mara Venn", "-c", "user.email=mara@example.org", "-c", "commit.gpgsign=false"]
        allowed = ["-c", "protocol.file.allow=always"]
        done = subprocess.run(
            ["git", "-C", str(self.root), *who, *allowed, *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str, files: dict[str, str] | None = None) -> str:
        for name, text in (files or {}).items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo")


def history(root: Path, memory: Path | None = None) -> list[Unit]:
    source = open_source(str(root), name="s", cache_folder=memory)
    return [source.read(name) for name, _ in source.units() if name.startswith("commit/")]


def commits(root: Path) -> dict[str, Node]:
    return {node.title: node for unit in history(root) for node in unit.nodes}


def touched(root: Path) -> dict[str, set[str]]:
    """Return the nodes that each commit touched, by its title."""
    return {unit.nodes[0].title: {edge.target.removeprefix("s:") for edge in unit.edges} for unit in history(root)}


def test_a_commit_tells_who_when_why_and_how_much(repository: Repository) -> None:
    sha = repository.commit("clock: tell the time\n\nNobody knew it.", {"clock.py": CLOCK})
    node = commits(repository.root)["clock: tell the time"]
    assert node.key == f"s:commit/{sha[:12]}"
    assert (node.kind, node.origin.commit) == ("commit", sha)
    assert node.text == "clock: tell the time\n\nNobody knew it."
    assert node.fields["author"] == "Mara Venn"
    assert node.fields["files_changed"] == ["clock.py"]
    assert (node.fields["insertions"], node.fields["deletions"]) == (6, 0)
    assert node.created is not None


@pytest.mark.parametrize("message", ["fix", "fix(clock): typo (#12)", "wip\n\nSigned-off-by: Mara Venn <m@v.org>"])
def test_a_commit_whose_message_does_not_tell_shows_its_first_changed_lines(
    repository: Repository, message: str
) -> None:
    before = ["--xy = 1", "one", "}", "one", "key " + "a1" * 20, "two", "three", "four"]
    repository.commit("clock: the first lines of it all", {"clock.txt": "\n".join(before)})
    repository.commit(message, {"clock.txt": "++xy = 2\n{\n" + "five " * 40 + "\n"})
    node = commits(repository.root)[message.partition("\n")[0]]
    told = ["- --xy = 1", "- one", "- two", "+ ++xy = 2", "+ " + ("five " * 40)[:100]]
    assert node.text == "\n".join([message, "", *told])


@pytest.mark.parametrize("message", ["fix\n\nThe clock ran late.", "clock: count the seconds of each day"])
def test_a_commit_whose_message_tells_shows_no_lines(repository: Repository, message: str) -> None:
    repository.commit(message, {"clock.txt": "one\n"})
    assert [node.text for node in commits(repository.root).values()] == [message]


def test_a_record_in_a_commit_is_not_shown(repository: Repository) -> None:
    repository.commit("sync", {"memories.jsonl": '{"key": "memory:1", "memory": {"text": "Ada likes tabs"}}\n'})
    assert [node.text for node in commits(repository.root).values()] == ["sync"]


def test_the_first_lines_of_a_large_commit_are_not_shown(repository: Repository) -> None:
    repository.commit("update", {"clock.txt": "".join(f"line {number}\n" for number in range(61))})
    assert [node.text for node in commits(repository.root).values()] == ["update"]


def test_secrets_in_changed_lines_are_redacted(repository: Repository, tmp_path: Path) -> None:
    repository.commit("wip", {"settings.py": 'PASSWORD = "hunter2-Vx81kqPz"\n'})
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(str(repository.root))
        text = weft.context("wip", floor=0).text
    assert "PASSWORD" in text
    assert "hunter2" not in text


def test_a_commit_touches_files_and_the_definitions_in_them(repository: Repository) -> None:
    repository.commit("first", {"clock.py": CLOCK, "other.py": "x = 1\n"})
    repository.commit("second", {"clock.py": CLOCK.replace("return 2", "return 3")})
    found = touched(repository.root)
    assert found["first"] == {"clock.py", "clock.py#now", "clock.py#later", "other.py"}
    assert found["second"] == {"clock.py", "clock.py#later"}


def test_methods_are_found_by_the_hunks_that_change_them(repository: Repository) -> None:
    body = "class Order:\n    def total(self):\n        a = 1\n        b = 2\n        return a\n"
    repository.commit("first", {"order.py": body})
    repository.commit("second", {"order.py": body.replace("return a", "return b")})
    assert touched(repository.root)["second"] == {"order.py", "order.py#Order.total"}


def test_files_are_followed_through_renames(repository: Repository) -> None:
    repository.commit("first", {"old.py": CLOCK})
    repository.git("mv", "old.py", "middle.py")
    repository.commit("second")
    (repository.root / "lib").mkdir()
    repository.git("mv", "middle.py", "lib/new.py")
    repository.commit("third")
    found = touched(repository.root)
    assert found["first"] == {"lib/new.py", "lib/new.py#now", "lib/new.py#later"}
    assert "lib/new.py" in found["second"] & found["third"]


def test_only_new_commits_change_a_stamp(repository: Repository, tmp_path: Path) -> None:
    def stamps() -> dict[str, str]:
        source = open_source(str(repository.root), name="s", cache_folder=tmp_path / "memory")
        return {name: stamp for name, stamp in source.units() if name.startswith("commit/")}

    repository.commit("first", {"clock.py": CLOCK})
    repository.commit("second", {"other.py": "x = 1\n"})
    before = stamps()
    assert stamps() == before
    third = repository.commit("third", {"other.py": "x = 2\n"})
    after = stamps()
    assert {name for name in after if after[name] != before.get(name)} == {f"commit/{third[:12]}"}
    repository.git("mv", "clock.py", "time.py")
    fourth = repository.commit("fourth")
    moved = stamps()
    first = next(name for name in before if before[name] != moved[name])
    assert {name for name in moved if moved[name] != after.get(name)} == {first, f"commit/{fourth[:12]}"}


def test_what_was_remembered_gives_the_same_as_reading_anew(repository: Repository, tmp_path: Path) -> None:
    repository.commit("first", {"clock.py": CLOCK})
    history(repository.root, tmp_path / "memory")
    repository.git("mv", "clock.py", "time.py")
    repository.commit("second")
    repository.commit("third", {"time.py": CLOCK + "\n\ndef never():\n    return 0\n"})
    assert history(repository.root, tmp_path / "memory") == history(repository.root)


def test_history_that_was_rewritten_is_forgotten(repository: Repository, tmp_path: Path) -> None:
    repository.commit("first", {"clock.py": CLOCK})
    repository.commit("second", {"other.py": "x = 1\n"})
    history(repository.root, tmp_path / "memory")
    repository.git("commit", "--quiet", "--amend", "--message", "second, better")
    titles = [unit.nodes[0].title for unit in history(repository.root, tmp_path / "memory")]
    assert titles == ["second, better", "first"]


def test_a_merge_without_words_of_its_own_is_left_out(repository: Repository) -> None:
    repository.commit("first", {"a.py": "x = 1\n"})
    for branch, message in (("plain", "Merge branch"), ("told", "Merge branch\n\nIt was reviewed.")):
        repository.git("switch", "--quiet", "--create", branch)
        repository.commit(f"on {branch}", {f"{branch}.py": "x = 1\n"})
        repository.git("switch", "--quiet", "main")
        repository.git("merge", "--quiet", "--no-ff", "--message", message, branch)
    assert [unit.nodes[0].text for unit in history(repository.root)] == [
        "Merge branch\n\nIt was reviewed.",
        "on told",
        "on plain",
        "first",
    ]


def test_a_list_of_commits_is_continued_as_git_would_list_them_anew(repository: Repository) -> None:
    root, before = repository.root, list[str]()

    def expect_the_whole_list() -> None:
        nonlocal before
        whole = list_commits(root, 100)
        assert list_commits(root, 100, before) == whole
        assert list_commits(root, 2, before[:2]) == whole[:2]
        before = whole

    first = repository.commit("first", {"a.py": "x = 1\n"})
    expect_the_whole_list()
    for number in range(3):
        repository.commit(f"then {number}")
    expect_the_whole_list()
    repository.git("switch", "--quiet", "--create", "side", first)
    repository.commit("on the side")
    expect_the_whole_list()
    repository.git("switch", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge branch", "side")
    expect_the_whole_list()
    repository.git("reset", "--quiet", "--hard", "HEAD~2")
    expect_the_whole_list()


def test_a_shallow_clone_that_is_completed_has_its_whole_history(repository: Repository, tmp_path: Path) -> None:
    for number in range(4):
        repository.commit(f"number {number}", {"a.py": f"x = {number}\n"})
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.root}", str(clone))
    assert len(history(clone, tmp_path / "memory")) == 2
    repository.git("-C", str(clone), "fetch", "--quiet", "--unshallow")
    assert len(history(clone, tmp_path / "memory")) == 4


def test_a_repository_without_commits_has_files_and_no_history(repository: Repository) -> None:
    (repository.root / "clock.py").write_text(CLOCK, encoding="utf-8")
    source = open_source(str(repository.root), name="s")
    assert [name for name, _ in source.units()] == ["clock.py"]


def test_a_detached_head_has_the_history_that_leads_to_it(repository: Repository) -> None:
    first = repository.commit("first", {"a.py": "x = 1\n"})
    repository.commit("second", {"a.py": "x = 2\n"})
    repository.git("checkout", "--quiet", "--detach", first)
    assert list(commits(repository.root)) == ["first"]


def test_a_shallow_clone_does_not_claim_that_its_first_commit_made_everything(
    repository: Repository, tmp_path: Path
) -> None:
    for number in range(3):
        repository.commit(f"commit {number}", {f"{number}.py": CLOCK})
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.root}", str(tmp_path / "clone"))
    assert touched(tmp_path / "clone") == {
        "commit 2": {"2.py", "2.py#now", "2.py#later"},
        "commit 1": set(),
    }


def test_a_submodule_is_read_as_files_of_the_folder(repository: Repository, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit("inner", {"deep.py": CLOCK})
    repository.git("submodule", "--quiet", "add", str(inner.root), "lib")
    repository.commit("outer")
    source = open_source(str(repository.root), name="s")
    assert "lib/deep.py" in dict(source.units())
    assert set(commits(repository.root)) == {"outer"}


def test_paths_with_blanks_quotes_tabs_and_other_scripts_are_followed(repository: Repository) -> None:
    names = ["a b.py", 'say "hi".py', "größe/文件.py", "tab\there.py"]
    repository.commit("first", dict.fromkeys(names, "x = 1\n"))
    node = commits(repository.root)["first"]
    assert set(node.fields["files_changed"]) == {*names}  # type: ignore[arg-type]
    assert touched(repository.root)["first"] == set(names)


def test_messages_in_other_encodings_and_empty_ones_are_read(repository: Repository) -> None:
    repository.git(
        "-c", "i18n.commitEncoding=latin1", "commit", "--quiet", "--allow-empty", "--message", "caf\xe9"
    )
    repository.git("commit", "--quiet", "--allow-empty", "--allow-empty-message", "--message", "")
    assert len(history(repository.root)) == 2


def test_without_git_the_files_are_read_and_a_remark_says_why_not_the_history(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("first", {"clock.py": CLOCK})
    monkeypatch.setenv("PATH", "")
    source = open_source(str(repository.root), name="s")
    assert [name for name, _ in source.units()] == ["clock.py"]
    assert list(source.count_skipped()) == ["history (git is not installed)"]


def test_a_repository_that_git_refuses_is_not_taken_for_one_without_commits(repository: Repository) -> None:
    repository.commit("first", {"clock.py": CLOCK})
    (repository.root / ".git" / "config").write_text("[core\n", encoding="utf-8")
    source = open_source(str(repository.root), name="s")
    assert [name for name, _ in source.units()] == ["clock.py"]
    (remark,) = source.count_skipped()
    assert remark.startswith("history (git cannot list the commits: bad config line 1")


def test_damaged_objects_cost_only_what_they_held(repository: Repository, tmp_path: Path) -> None:
    for number in range(4):
        repository.commit(f"commit {number}", {"clock.py": CLOCK + f"# {number}\n" * 20 * number})
    gone = repository.git("rev-parse", "HEAD~2:clock.py")
    (repository.root / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    result = history(repository.root, tmp_path / "memory")
    assert [unit.nodes[0].title for unit in result] == [f"commit {number}" for number in (3, 2, 1, 0)]


def test_a_huge_file_is_not_read_line_by_line(repository: Repository) -> None:
    repository.commit("huge", {"huge.csv": "1,2,3,4\n" * 700_000, "clock.py": CLOCK})
    node = commits(repository.root)["huge"]
    assert node.fields["files_changed"] == ["clock.py", "huge.csv"]
    assert node.fields["insertions"] == 6


def test_dates_that_there_are_not_are_left_out(repository: Repository) -> None:
    commit = "author A <a@b> {date}\ncommitter A <a@b> 1300000000 +0000\n\n{date}\n"
    parent = ""
    for date in ("1300000000 +051800", "99999999999999 +0000", "1300000000 +0100"):
        tree = repository.git("hash-object", "-t", "tree", "-w", "/dev/null")
        written = f"tree {tree}\n{parent}{commit.format(date=date)}"
        (repository.root / "commit").write_text(written, encoding="utf-8")
        made = repository.git("hash-object", "-t", "commit", "-w", "--literally", "commit")
        parent = f"parent {made}\n"
    repository.git("reset", "--quiet", made)
    result = {node.title: node.created for node in commits(repository.root).values()}
    assert {title: when is not None for title, when in result.items()} == {
        "1300000000 +0100": True,
        "99999999999999 +0000": False,
        "1300000000 +051800": False,
    }


def test_binary_files_and_files_that_become_links_do_not_shift_what_others_touched(repository: Repository) -> None:
    names = ("a.py", "b.py", "c.py")
    repository.commit("first", dict.fromkeys(names, CLOCK))
    (repository.root / "b.py").unlink()
    (repository.root / "b.py").symlink_to("c.py")
    (repository.root / "b.bin").write_bytes(b"\x00\x01" * 50)
    repository.commit("second", {"c.py": CLOCK.replace("return 2", "return 3")})
    assert "c.py#later" in touched(repository.root)["second"]
    fields = commits(repository.root)["second"].fields
    assert (fields["insertions"], fields["deletions"]) == (2, 7)


def test_a_log_that_breaks_off_gives_what_it_told() -> None:
    log = [
        b"\x01abc\x00\x00Mara\x002024-01-01T00:00:00+00:00\x00first\n",
        b"more\n",
        b"\x02\n",
        b"\n",
        b":100644 1",
    ]
    (only,) = read_log(log)
    assert (only.message, only.changes) == ("first\nmore", [])


def test_newer_versions_of_git_give_the_same_times() -> None:
    (newer,) = read_log([b"\x01abc\x00\x00Mara\x002024-01-01T00:00:00Z\x00first\x02\n"])
    (older,) = read_log([b"\x01abc\x00\x00Mara\x002024-01-01T00:00:00+00:00\x00first\x02\n"])
    assert newer == older and newer.time == "2024-01-01T00:00:00+00:00"


def test_edges_weigh_less_the_more_a_commit_touched(repository: Repository) -> None:
    repository.commit("wide", {f"{number}.txt.py": "x = 1\n" for number in range(4)})
    edges: list[Edge] = [edge for unit in history(repository.root) for edge in unit.edges]
    assert {(edge.type, edge.weight) for edge in edges} == {("touches", 0.5)}
