"""Files that .gitignore or .weftignore name are not read, whatever kind they are."""

import subprocess
from pathlib import Path

import pytest

from weft.sources import open_source


def lay(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# A\n", encoding="utf-8")


def listed(folder: Path) -> set[str]:
    return {name for name, _ in open_source(str(folder), name="s").units()}


def test_rules_apply_from_their_folder_on_and_inner_ones_win(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "out/b.md", "in/out/c.md", "in/keep.log.md", "in/x.log.md")
    (tmp_path / ".gitignore").write_text("/out/\n*.log.md\n", encoding="utf-8")
    (tmp_path / "in" / ".gitignore").write_text("!keep.log.md\n", encoding="utf-8")
    assert listed(tmp_path) == {"a.md", "in/out/c.md", "in/keep.log.md"}


def test_weftignore_adds_to_gitignore(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "b.md", "c.py")
    (tmp_path / ".gitignore").write_text("a.md\n", encoding="utf-8")
    (tmp_path / ".weftignore").write_text("*.py\n", encoding="utf-8")
    assert listed(tmp_path) == {"b.md"}


@pytest.mark.parametrize(
    ("rules", "read"),
    [
        ("*\n!*/\n!*.py\n", {"a.py", "src/b.py", "src/in/c.py"}),
        ("*.md\n", {"a.py", "src/b.py", "src/in/c.py"}),
        ("/*\n!/src/\n", {"src/b.py", "src/in/c.py", "src/in/d.md"}),
        ("src/**\n!src/in/\n!src/in/**\n", {"a.py", "src/in/c.py", "src/in/d.md", "docs/e.md"}),
        ("!src/\nsrc/\n", {"a.py", "docs/e.md"}),
        ("src/in\n", {"a.py", "src/b.py", "docs/e.md"}),
    ],
)
def test_rules_keep_and_leave_out_what_git_does(tmp_path: Path, rules: str, read: set[str]) -> None:
    lay(tmp_path, "a.py", "src/b.py", "src/in/c.py", "src/in/d.md", "docs/e.md")
    (tmp_path / ".gitignore").write_text(rules, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    git = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {name for name in git.stdout.split() if name != ".gitignore"} == read
    assert {name for name in listed(tmp_path) if "." in name} == read


def test_a_folder_of_a_repository_heeds_the_rules_above_it(tmp_path: Path) -> None:
    lay(tmp_path, "docs/a.md", "docs/build/b.md", "docs/c.md")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("docs/c.md\nbuild/\n", encoding="utf-8")
    assert listed(tmp_path / "docs") == {"a.md"}


def test_ignored_files_and_folders_are_named(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "out/b.md", "out/c.md", "d.md")
    (tmp_path / ".gitignore").write_text("out/\nd.md\n", encoding="utf-8")
    source = open_source(str(tmp_path), name="s")
    list(source.units())
    reason = "ignored by .gitignore or .weftignore"
    assert source.list_skipped() == {"d.md": reason, "out/": reason}


def test_a_store_is_not_read_whatever_it_is_called(tmp_path: Path) -> None:
    lay(tmp_path, "a.md", "kept/derived/state.json", "kept/weft.sqlite", "kept/b.md")
    assert listed(tmp_path) == {"a.md"}
    source = open_source(str(tmp_path), name="s")
    list(source.units())
    assert source.list_skipped() == {"kept/": "in Weft stores"}


def test_an_ignored_folder_is_read_when_it_is_the_one_asked_for(tmp_path: Path) -> None:
    lay(tmp_path, "worlds/one/a.md", "worlds/b.md")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("worlds/\n", encoding="utf-8")
    assert listed(tmp_path) == set()
    assert listed(tmp_path / "worlds") == {"one/a.md", "b.md"}
    assert listed(tmp_path / "worlds" / "one") == {"a.md"}


def test_a_file_reached_by_a_link_is_read_once_under_its_own_path(tmp_path: Path) -> None:
    lay(tmp_path, "docs/a.md", "docs/b.md")
    (tmp_path / "A.md").symlink_to(Path("docs", "a.md"))
    (tmp_path / "also").symlink_to(tmp_path / "docs", target_is_directory=True)
    source = open_source(str(tmp_path), name="s")
    assert {name for name, _ in source.units()} == {"docs/a.md", "docs/b.md"}
    assert source.list_skipped() == {
        "A.md": "link inside the folder: docs/a.md",
        "also/": "link inside the folder: docs",
    }


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    lay(tmp_path, "in/a.md", "out/b.md")
    (tmp_path / "in" / "b.md").symlink_to(tmp_path / "out" / "b.md")
    (tmp_path / "in" / "out").symlink_to(tmp_path / "out", target_is_directory=True)
    source = open_source(str(tmp_path / "in"), name="s")
    assert {name for name, _ in source.units()} == {"a.md"}
    assert source.list_skipped() == dict.fromkeys(("b.md", "out/"), "link that leaves the folder")


def test_a_folder_that_is_itself_reached_by_a_link_is_read(tmp_path: Path) -> None:
    lay(tmp_path, "real/a.md", "real/sub/b.md")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "real" / "sub" / "round").symlink_to(tmp_path / "real", target_is_directory=True)
    assert listed(tmp_path / "link") == {"a.md", "sub/b.md"}


def test_hidden_folders_of_ci_are_read_and_others_are_named(tmp_path: Path) -> None:
    lay(tmp_path, ".github/CONTRIBUTING.md", ".github/.secret/x.md", ".obsidian/x.md", ".git/x.md", ".note.md")
    source = open_source(str(tmp_path), name="s")
    assert {name for name, _ in source.units()} == {".github/CONTRIBUTING.md"}
    assert source.list_skipped() == dict.fromkeys((".github/.secret/", ".note.md", ".obsidian/"), "hidden")
