"""Read the uncommitted changes of a repository as nodes, one for each file, for a question about them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from weft.model import Node, Origin
from weft.sources.git.log import run_git

CHANGE: Final = "change"
"""The kind of these nodes; none of them is ever stored."""
_MAX_CHARACTERS: Final = 20_000
"""Characters of one file's difference; a page has room for no more."""
_MAX_FILES: Final = 200
_FILE: Final = re.compile(r"^diff --git ", re.MULTILINE)
_NEW_PATH: Final = re.compile(r"^\+\+\+ (?:b/(.+?)|/dev/null)\t?$", re.MULTILINE)
_OLD_PATH: Final = re.compile(r"^--- (?:a/(.+?)|/dev/null)\t?$", re.MULTILINE)
_HUNK: Final = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)", re.MULTILINE)


def read_working_changes(root: Path, source: str, tenant: str) -> Iterator[Node]:
    """Iterate over what differs from the last commit, staged or not, by path, and then the untracked files."""
    # Against the empty tree there is no last commit yet: git then says so and prints nothing.
    shown = run_git(root, "diff", "HEAD", "--no-color", "--no-ext-diff", "--relative", "-U2").stdout
    for part in _FILE.split(shown.decode("utf-8", "replace"))[1 : _MAX_FILES + 1]:
        path = (_NEW_PATH.search(part) or _OLD_PATH.search(part) or [None, None])[1]
        path = path or (old[1] if (old := _OLD_PATH.search(part)) else None)
        hunk = _HUNK.search(part)
        if path is None or hunk is None:
            continue
        text = part[hunk.start() :].rstrip()[:_MAX_CHARACTERS]
        lines = text.split("\n")
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        place = Origin(source, path, int(hunk[1]))
        yield _make_node(place, f"{path}, uncommitted: +{added} -{removed}", text, tenant)
    listed = run_git(root, "ls-files", "--others", "--exclude-standard", "-z").stdout.decode("utf-8", "replace")
    new = [path for path in listed.split("\0") if path][:_MAX_FILES]
    if new:
        yield _make_node(Origin(source, new[0]), "New files that git does not know yet", "\n".join(new), tenant)


def describe_clean_tree(root: Path, source: str, tenant: str) -> Node:
    """Return a node that says that nothing differs from the last commit, and which one that is."""
    head = run_git(root, "log", "-1", "--format=%h of %as, %s").stdout.decode("utf-8", "replace").strip()
    text = (
        f"The working tree is as in the last commit: {head}." if head else "There is no commit yet, and no file."
    )
    return _make_node(Origin(source), f"Nothing in {source} is uncommitted", text, tenant)


def _make_node(origin: Origin, title: str, text: str, tenant: str) -> Node:
    return Node(
        key=f"{origin.source}:{origin.file}@working-tree",
        kind=CHANGE,
        tenant=tenant,
        title=title,
        text=text,
        language="diff" if origin.first_line is not None else "",
        origin=origin,
    )
