"""Make a git repository of the example project, with the commits that its records tell of.

    python examples/make_history.py FOLDER

The records know which files a commit touched and not how: with each commit that names it, a file gets the next
share of its parts, and with the last one it is whole. So `git log` and `weft log` have something to show.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

REPO = Path(__file__).parent / "repo"
RECORDS = "records/commits.jsonl"
_PART = re.compile(r"\n(?=(?:@|def |class |async def |    def |## |\| ))")
"""Where a file may be cut: before a definition, a heading or a row."""


def make_history(target: Path) -> int:
    """Write the repository into a new folder, and return the number of its commits."""
    shutil.copytree(REPO, target, ignore=shutil.ignore_patterns("__pycache__", ".*_cache", ".weft"))
    commits = sorted(map(json.loads, (REPO / RECORDS).read_text("utf-8").splitlines()), key=lambda c: c["created"])
    # Git tells of them from now on; both would be on a page twice.
    (target / RECORDS).unlink()
    whole = {file: (target / file).read_text("utf-8") for file in _files(target)}
    touches = Counter(file for commit in commits for file in commit["fields"]["files_changed"])
    for file in whole:
        (target / file).unlink()
    _git(target, "init", "--quiet", "--initial-branch", "main")
    done: Counter[str] = Counter()
    for number, commit in enumerate(commits):
        named = [file for file in commit["fields"]["files_changed"] if file in whole]
        # What no commit names was there from the beginning.
        for file in named if number else (*named, *(file for file in whole if file not in touches)):
            done[file] += 1
            _write_share(target / file, whole[file], done[file], touches[file] or 1)
        _commit(target, commit)
    return len(commits)


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _write_share(path: Path, text: str, done: int, touches: int) -> None:
    """Write the first `done` of `touches` shares of a file's parts."""
    parts = _PART.split(text)
    share = len(parts) if done >= touches else max(1, len(parts) * done // touches)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts[:share]).rstrip("\n") + "\n", "utf-8")


def _commit(folder: Path, commit: dict[str, object]) -> None:
    fields = commit["fields"]
    assert isinstance(fields, dict)
    name, when = str(fields["author"]), str(commit["created"])
    address = f"{name.partition(' ')[0].lower()}@shop.example"
    who = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", name), ("EMAIL", address), ("DATE", when))
    }
    _git(folder, "add", "--all")
    # A file that is not in the tree any more leaves a commit without a change.
    _git(folder, "commit", "--quiet", "--allow-empty", "--message", str(commit["text"]), **who)


def _git(folder: Path, *words: str, **variables: str) -> None:
    # Settings of the person who runs this, such as signing, are left out.
    around = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **variables}
    subprocess.run(["git", "-C", str(folder), *words], check=True, env=around)


if __name__ == "__main__":
    print(f"{make_history(Path(sys.argv[1]))} commits in {sys.argv[1]}")
