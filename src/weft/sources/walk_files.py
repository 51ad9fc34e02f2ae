"""Find the files of a source below a folder, without those that .gitignore and .weftignore exclude."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from weft.ports import MISSING, FileStamp, Problem, Tree, folder_stamp

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec, RegexPattern


IGNORED: Final = "ignored by .gitignore or .weftignore"

IGNORE_FILES: Final = (".gitignore", ".weftignore")
"""In this order, so that .weftignore has the last word."""
_STORE_FILE: Final = "weft.sqlite"
"""The file that marks a folder as one of our own stores, whatever the folder is called."""
MAX_FILES: Final = 300_000
"""Files below one folder. Walking over more takes longer than anybody waits for an answer, and reading them hours:
such a folder holds data, or what programs made, and is refused until it is said what to leave out."""
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders that hold what programs installed or derived, often in thousands of files."""
_NEVER_LISTED: Final = frozenset({".git", ".weft", ".DS_Store", *IGNORE_FILES})
"""Hidden entries that nobody asks for; a report that listed them would say nothing."""
_READ_HIDDEN_FOLDERS: Final = frozenset(
    {".azure-pipelines", ".buildkite", ".ci", ".circleci", ".devcontainer", ".forgejo", ".gitea", ".github"}
    | {".gitlab", ".woodpecker"}
    | {".system_generated"}
)
"""Hidden folders in which a project says how it is built and tested, and the one in which Antigravity keeps its
transcripts."""
_READ_HIDDEN_FILE: Final = re.compile(
    r"\.env\.(?:default|defaults|dist|example|sample|template)"
    r"|\..+\.(?:cfg|ini|json|jsonc|json5|toml|ya?ml)"
    r"|\.(?:babelrc|browserslistrc|bazelrc|clang-format|clang-tidy|coveragerc|dockerignore|editorconfig|eslintrc)"
    r"|\.(?:flake8|isort|node-version|nvmrc|prettierrc|pylintrc|python-version|ruby-version|stylelintrc|tool-versions)"
)
"""Hidden files that hold the settings of a project; others are settings and caches of programs."""
_ENVIRONMENT_FILE: Final = re.compile(r"\.env(?:\..+|rc)?|\.netrc|\.npmrc|\.pypirc|\.htpasswd")

HIDDEN: Final = "hidden"
SECRETS: Final = "may hold secrets"
NO_FILE: Final = "pipe, socket or device"
LINK_OUTSIDE: Final = "link that leaves the folder"
LINK_INSIDE: Final = "link inside the folder"


class File(Struct, frozen=True):
    """One file of a source: its name (the path below the root, with forward slashes) and its path on the disk.

    `explicit` marks a file that the user named, and that is read even where it would be passed over in a folder.
    """

    name: str
    path: Path
    explicit: bool = False


def is_hidden(name: str, *, is_folder: bool) -> bool:
    """Return whether a file or folder is passed over because its name begins with a dot."""
    if not name.startswith("."):
        return False
    return name not in _READ_HIDDEN_FOLDERS if is_folder else _READ_HIDDEN_FILE.fullmatch(name) is None


def walk(root: Path, max_files: int = MAX_FILES) -> "Walk":
    """Find the files at a path: the file itself, or all files below the folder, sorted by name.

    Of more files than `max_files`, only so many are found.
    """
    if root.is_file():
        return Walk([File(root.name, root, explicit=True)], tree=Tree(files={root.name: _stat_file(root)}))
    rules, above = _rules_above(root)
    if above and _is_ignored(above, rules):
        # A user who names an ignored folder wants it read, so the rules that exclude it are dropped.
        rules = ()
    found = Walk(_above=above, _root=root.resolve(), _max_files=max_files)
    found.enter(root, "", rules)
    found.files.sort(key=lambda file: file.name)
    return found


class Walk(Struct):
    """The files found below a folder, the folders that could not be read, and what was passed over.

    `skipped` holds a reason by name; the name of a folder, of which nothing is read, ends in `/`. `tree` holds the
    sizes and times of everything that was looked at, taken before anything was read.
    """

    files: list[File] = field(default_factory=list)
    broken: dict[str, Problem] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    tree: Tree = field(default_factory=Tree)
    is_cut: bool = False
    """Whether there are more files than were to be found."""
    _max_files: int = MAX_FILES
    _visited: set[tuple[int, int]] = field(default_factory=set)
    _above: str = ""
    """The path from the repository down to the root, to which ignore rules above the root are relative."""
    _root: Path = Path()

    def enter(self, folder: Path, prefix: str, rules: "tuple[IgnoreRules, ...]") -> None:
        """Collect the files of a folder and of the folders below it; `prefix` is the folder's name with a `/`."""
        try:
            status = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            where = prefix or "."
            self.broken[where] = Problem(where, f"The folder cannot be read: {error.strerror or error}.")
            return
        # A folder can be mounted twice; links are not followed.
        if (status.st_dev, status.st_ino) in self._visited:
            return
        self._visited.add((status.st_dev, status.st_ino))
        if any(entry.name == _STORE_FILE for entry in entries):
            self.skipped[_printable_name(prefix)] = "in Weft stores"
            return
        # Inner rules come last, and the last that mention a path decide, as in git.
        all_rules = (*rules, *_rules_in(folder, len(self._above) + len(prefix)))
        self.tree.folders[prefix] = folder_stamp(status, [entry.name for entry in entries])
        for entry in entries:
            self.is_cut = self.is_cut or len(self.files) >= self._max_files
            if self.is_cut:
                return
            if entry.name in IGNORE_FILES:
                self.tree.rules[f"{prefix}{entry.name}"] = _stat_file(entry.path)
            if entry.name not in _NEVER_LISTED:
                self._take(entry, folder, prefix, all_rules)

    def _take(
        self, entry: "os.DirEntry[str]", folder: Path, prefix: str, rules: "tuple[IgnoreRules, ...]"
    ) -> None:
        name = f"{prefix}{entry.name}"
        try:
            is_folder = entry.is_dir()
        except OSError as error:
            where = _printable_name(name)
            self.broken[where] = Problem(where, f"It cannot be read: {error.strerror or error}.")
            return
        shown = _printable_name(name) + ("/" if is_folder else "")
        reason = self._skip_reason(entry, f"{self._above}{name}{'/' if is_folder else ''}", is_folder, rules)
        if reason:
            self.skipped[shown] = reason
        elif is_folder:
            self.enter(folder / entry.name, f"{name}/", rules)
        else:
            self.files.append(File(shown, folder / entry.name))
            # A name that is no valid text cannot be turned back into a path, so its file is not compared later.
            if shown == name:
                self.tree.files[shown] = _entry_stamp(entry)

    def _skip_reason(
        self, entry: "os.DirEntry[str]", path: str, is_folder: bool, rules: "tuple[IgnoreRules, ...]"
    ) -> str:
        """Return why a file or folder is passed over, or an empty text."""
        if is_hidden(entry.name, is_folder=is_folder):
            return SECRETS if _ENVIRONMENT_FILE.fullmatch(entry.name) and not is_folder else HIDDEN
        if rules and _is_ignored(path, rules):
            return IGNORED
        # After the ignore rules, so that an ignored folder is counted as ignored.
        if is_folder and entry.name in SKIPPED_FOLDERS:
            return f"in {entry.name}"
        # Reading a pipe would wait for somebody to write into it.
        if not (is_folder or entry.is_file() or entry.is_symlink()):
            return NO_FILE
        return self._link_reason(entry) if entry.is_symlink() else ""

    def _link_reason(self, entry: "os.DirEntry[str]") -> str:
        """Return why a symbolic link is passed over: its target is read under its own path, or not at all."""
        try:
            target = Path(entry.path).resolve(strict=True)
        # A broken link is listed as a file that cannot be read, which keeps what is stored of it.
        except (OSError, RuntimeError):
            return ""
        if not target.is_relative_to(self._root):
            return LINK_OUTSIDE
        return f"{LINK_INSIDE}: {_printable_name(target.relative_to(self._root).as_posix())}"


class IgnoreRules(Struct, frozen=True):
    """The ignore rules of one folder; the first `depth` characters of a path lead to that folder."""

    spec: "GitIgnoreSpec"
    depth: int

    def verdict(self, path: str) -> bool | None:
        """Return True if the rules ignore the path, False if they keep it, None if they do not mention it."""
        inner = path[self.depth :]
        if not inner.endswith("/"):
            return self.spec.check_file(inner).include
        # For a file, pathspec ranks the rules for folders (`!*/`) behind all others (`*`). For the folder itself,
        # the last rule decides, as always.
        return next((rule.include for rule in reversed(self.spec.patterns) if _names_folder(rule, inner)), None)


def _entry_stamp(entry: "os.DirEntry[str]") -> FileStamp:
    try:
        status = entry.stat()
    except OSError:
        return _stat_file(entry.path)
    return status.st_mtime_ns, status.st_size


def _rules_above(root: Path) -> tuple[tuple[IgnoreRules, ...], str]:
    """Return the rules of the folders from the repository to `root`, outermost first, and the path between."""
    resolved = root.resolve()
    repository = next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), None)
    if repository is None or repository == resolved:
        return (), ""
    parts = resolved.relative_to(repository).parts
    found: list[IgnoreRules] = []
    folder, path = repository, ""
    for part in parts:
        found += _rules_in(folder, len(path))
        folder, path = folder / part, f"{path}{part}/"
    return tuple(found), path


def _rules_in(folder: Path, depth: int) -> Iterator[IgnoreRules]:
    """Read the rules that a folder's own ignore files hold, if it has any."""
    lines = [line for name in IGNORE_FILES for line in _read_lines(folder / name)]
    if folder.joinpath(".git").is_dir():
        lines += _read_lines(folder / ".git" / "info" / "exclude")
    if lines:
        # Loaded here, because most folders have no ignore files and need not pay for the import.
        from pathspec import GitIgnoreSpec

        yield IgnoreRules(GitIgnoreSpec.from_lines(lines), depth)


def _is_ignored(path: str, rules: Sequence[IgnoreRules]) -> bool:
    """Return whether the innermost rules that mention a path ignore it; the path of a folder ends in `/`."""
    for folder_rules in reversed(rules):
        verdict = folder_rules.verdict(path)
        if verdict is not None:
            return verdict
    return False


def _names_folder(rule: "RegexPattern", path: str) -> bool:
    """Return whether a rule is about this folder or one above it, and not only about what is in it (`docs/**`)."""
    # Only a rule that ends in `/` needs the one at the end of the path.
    is_for_folders = str(rule.pattern).rstrip().endswith("/")
    return rule.include is not None and rule.match_file(path if is_for_folders else path[:-1]) is not None


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _printable_name(name: str) -> str:
    """Return a file's name as valid text; names on the disk may hold bytes that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _stat_file(path: str | Path) -> FileStamp:
    """Return the stamp of a file as it is now."""
    try:
        status = os.stat(path)  # noqa: PTH116  (a Path for each of thousands of files takes longer)
    except (OSError, ValueError):
        return MISSING
    return status.st_mtime_ns, status.st_size
