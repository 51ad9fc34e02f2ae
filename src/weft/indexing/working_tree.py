"""Compare the files of a source with what was read of them, by times and sizes, without listing or running git.

A record of the tree is written beside the store after each indexing run. Comparing looks at every recorded file
and folder once; a folder whose time changed is listed, and only if other names are in it is the tree walked. Which
branch and commit a folder has checked out is read from git's own files.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import msgspec
import xxhash
from msgspec import Struct, field

from weft.ports import MISSING, FileStamp, HasTree, Tree, folder_stamp
from weft.runtime.cache import LruCache
from weft.runtime.files import replace_file

_REF: Final = "ref: "
_GIT_FOLDER: Final = "gitdir: "

_FOLDER: Final = "trees"
"""The folder beside the store in which the records are kept, a file for each source."""
_VERSION: Final = 1
_RACY_NANOSECONDS: Final = 2_000_000_000
"""A file that changed so shortly before it was read may change again within the same tick of the clock of its disk
(two seconds on FAT): its content is compared too."""
_MAX_COMPARED_FILES: Final = 200
_MIN_KEPT_SHARE: Final = 0.8
"""How many of how many files must be at the same paths for a folder to be one that moved."""
_KEPT_RECORDS: Final = 16
"""Records that stay decoded from question to question; one of thousands of files takes longer than a page."""
_MAX_RACY_BYTES: Final = 1_000_000
"""Larger files are taken as changed while their time is in doubt, which costs less than reading them."""


class Head(Struct, frozen=True):
    """The state of a checkout: its branch (empty when the head is detached), commit, and shared git folder.

    All worktrees of a repository have the same `repository`. Outside of git everything is empty.
    """

    branch: str = ""
    commit: str = ""
    repository: str = ""

    @property
    def name(self) -> str:
        """The branch in words, or the commit of a detached head."""
        return f"branch {self.branch}" if self.branch else f"commit {self.commit[:10]} (detached)"


def read_head(root: Path) -> Head:
    """Return what a folder has checked out; nothing for a folder that is not the top of a working tree."""
    folder = _git_folder(root)
    if folder is None:
        return Head()
    head = _read(folder / "HEAD")
    shared = _shared_folder(folder)
    if not head.startswith(_REF):
        return Head("", head, str(shared))
    ref = head.removeprefix(_REF)
    commit = _read(folder / ref) or _read(shared / ref) or _packed_commit(shared, ref)
    return Head(ref.removeprefix("refs/heads/"), commit, str(shared))


def find_worktree(folder: Path) -> Path | None:
    """Return the top of the working tree that a folder lies in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _git_folder(root: Path) -> Path | None:
    place = root / ".git"
    if place.is_dir():
        return place.resolve()
    # Worktrees and submodules have a file that says where their folder is.
    written = _read(place)
    if not written.startswith(_GIT_FOLDER):
        return None
    return (root / written.removeprefix(_GIT_FOLDER)).resolve()


def _shared_folder(folder: Path) -> Path:
    written = _read(folder / "commondir")
    return (folder / written).resolve() if written else folder


def _packed_commit(shared: Path, ref: str) -> str:
    for line in _read(shared / "packed-refs").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


# --- the record of a tree ----------------------------------------------------------------------------------


class TreeRecord(Struct):
    """One source as it was read: its folder, the commit that was checked out, and its files."""

    version: int
    tenant: str
    source: str
    root: str
    """The folder or file, relative to the store's folder where that lies inside of it: both may move together."""
    place: str = ""
    """The path of the source when it was read, in full."""
    reading: str = ""
    head: Head = field(default_factory=Head)
    tree: Tree = field(default_factory=Tree)
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the contents of files whose time alone does not tell that they are unchanged."""

    def path(self, store: Path) -> Path:
        """Return the path of the source on this machine."""
        return Path(os.path.normpath(store.resolve() / self.root))


class TreeChanges(Struct, frozen=True):
    """The files that differ from the record; `tree` is the state that was found."""

    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    tree: Tree = field(default_factory=Tree)
    is_missing: bool = False
    """Whether the folder itself is gone."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files that differ."""
        return (*self.changed, *self.gone, *self.new)


class NamedTree(HasTree, Protocol):
    """A source of files with the name that its nodes have."""

    name: str


# --- records ---------------------------------------------------------------------------------------------------


def record_file(store: Path, tenant: str, source: str) -> Path:
    """Return the file in which the record of a source is kept."""
    digest = xxhash.xxh3_64_hexdigest(f"{tenant}/{source}".encode())
    return store / _FOLDER / f"{digest}.json"


def make_record(store: Path, tenant: str, source: NamedTree, *, reading: str, now: int) -> TreeRecord:
    """Make the record of a source whose units were listed at `now`, a time in nanoseconds."""
    top, inside, tree = source.root.resolve(), store.resolve(), source.tree()
    place = os.path.relpath(top, inside) if inside.is_relative_to(top) else str(top)
    record = TreeRecord(_VERSION, tenant, source.name, place, str(top), reading, read_head(top), tree)
    record.digests = _racy_digests(top, tree.files, tree.files, now)
    return record


def _racy_digests(root: Path, names: Iterable[str], stamps: dict[str, FileStamp], now: int) -> dict[str, str]:
    racy = [name for name in names if now - stamps[name][0] < _RACY_NANOSECONDS]
    return {name: _content_digest(root, name, stamps[name]) for name in racy}


def _content_digest(root: Path, name: str, stamp: FileStamp) -> str:
    path = root / name if root.is_dir() else root
    if stamp[1] > _MAX_RACY_BYTES:
        return ""
    try:
        return xxhash.xxh3_64_hexdigest(path.read_bytes())
    except OSError:
        return ""


def save_record(store: Path, record: TreeRecord) -> None:
    """Write the record of a source."""
    file = record_file(store, record.tenant, record.source)
    file.parent.mkdir(exist_ok=True)
    replace_file(file, msgspec.json.encode(record))


def remove_record(store: Path, tenant: str, source: str) -> None:
    """Forget the record of a source that was removed."""
    record_file(store, tenant, source).unlink(missing_ok=True)


def load_records(store: Path, tenants: Sequence[str]) -> list[TreeRecord]:
    """Return the records of the sources of some tenants, by source; one that cannot be read counts as missing."""
    try:
        files = sorted(entry.path for entry in os.scandir(store / _FOLDER) if entry.name.endswith(".json"))
    except OSError:
        return []
    found = []
    for file in files:
        try:
            record = _read_record(file)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
            continue
        if record.version == _VERSION and record.tenant in tenants:
            found.append(record)
    return sorted(found, key=lambda record: (record.tenant, record.source))


_records = LruCache[tuple[str, int, int, int], TreeRecord](_KEPT_RECORDS)


def _read_record(file: str) -> TreeRecord:
    """Return the record in a file, decoded once for as long as the file is the same."""
    # Every save makes another file, which another number of the system tells from this one.
    status = os.stat(file)  # noqa: PTH116  (as in `_stat_files`)
    return _records.get_or_make(
        (file, status.st_ino, status.st_mtime_ns, status.st_size),
        lambda: msgspec.json.decode(Path(file).read_bytes(), type=TreeRecord),
    )


def find_moved(store: Path, tenant: str, root: Path, name: str) -> TreeRecord | None:
    """Return the record of a source that a folder continues: its folder moved here, or was copied with the store.

    `name` is the one that the folder would get as a source of its own.
    """
    top = root.resolve()
    for record in load_records(store, [tenant]):
        before = record.path(store)
        if before == top:
            return record if record.source != name or record.place != str(top) else None
        names = list(record.tree.files)[:_MAX_COMPARED_FILES]
        # Most files at the same paths make it the same folder; a few may have been renamed with it.
        if names and not before.exists():
            kept = sum((top / each).exists() for each in names)
            if kept >= _MIN_KEPT_SHARE * len(names):
                return record
    return None


def find_overlaps(store: Path, tenant: str, sources: Collection[str]) -> list[tuple[str, str]]:
    """List the (inner, outer) pairs of sources where the outer one holds files of the inner, one among `sources`.

    What both hold is in the store twice.
    """
    paths = [(record, record.path(store)) for record in load_records(store, [tenant])]
    return [
        (inner.source, outer.source)
        for inner, inside in paths
        for outer, outside in paths
        if inside != outside
        and inside.is_relative_to(outside)
        and not {inner.source, outer.source}.isdisjoint(sources)
        and _holds_files(outer.tree, inside.relative_to(outside).as_posix())
    ]


def _holds_files(tree: Tree, name: str) -> bool:
    """Return whether a file of this name, or one in a folder of this name, was read."""
    return name in tree.files or any(file.startswith(f"{name}/") for file in tree.files)


# --- comparing ---------------------------------------------------------------------------------------------------


def compare(record: TreeRecord, root: Path) -> TreeChanges:
    """Return what differs between a record and the files below the root now."""
    if not root.exists():
        return TreeChanges(is_missing=True, tree=record.tree)
    if root.is_file():
        now = Tree(files=_stat_files(root.parent, {root.name: MISSING}))
        return _changes(record, root, now, frozenset())
    now = Tree(_stat_files(root, record.tree.files, record.tree.unread), unread=record.tree.unread)
    now.folders = {name: _stat_folder(f"{root}/{name}", stamp) for name, stamp in record.tree.folders.items()}
    now.rules = _stat_files(root, record.tree.rules)
    has_other_names = any(now.folders[name][1] != stamp[1] for name, stamp in record.tree.folders.items())
    if not has_other_names and now.rules == record.tree.rules:
        return _changes(record, root, now, frozenset())
    # Loaded here: the package of sources takes long to import, and names seldom change.
    from weft.sources.walk_files import walk

    found = walk(root)
    # Of more files than can be walked over, those that were read are compared; new ones are told by `weft index`.
    return _changes(record, root, now if found.is_cut else found.tree, frozenset(record.tree.unread))


def _stat_files(root: Path, before: dict[str, FileStamp], unread: Collection[str] = ()) -> dict[str, FileStamp]:
    """Return the stamps of files below the root as they are now; `unread` ones, which no item shows, as before."""
    changed: dict[str, FileStamp] = {}
    passed_over = frozenset(unread)
    # This runs before every answer. Below an open folder the system looks up fewer parts of each path, and most
    # files are as they were, so that only the others get a new stamp.
    with _open_folder(root) as folder:
        for name, stamp in before.items():
            if name in passed_over:
                continue
            try:
                status = os.stat(name, dir_fd=folder) if folder is not None else os.stat(f"{root}/{name}")  # noqa: PTH116
            except (OSError, ValueError):
                found = MISSING
            else:
                found = status.st_mtime_ns, status.st_size
            if found != stamp:
                changed[name] = found
    return before | changed if changed else before


@contextmanager
def _open_folder(root: Path) -> Iterator[int | None]:
    """Open a folder for looking at what is in it; None where the system cannot do that, or the folder is gone."""
    try:
        folder = os.open(root, os.O_RDONLY) if os.stat in os.supports_dir_fd else None
    except OSError:
        folder = None
    try:
        yield folder
    finally:
        if folder is not None:
            os.close(folder)


def _stat_folder(path: str, before: tuple[int, str]) -> tuple[int, str]:
    """Return the stamp of a folder; its names are listed only if its time changed."""
    try:
        status = os.stat(path)  # noqa: PTH116  (as in `_stat_files`)
        if status.st_mtime_ns == before[0]:
            return before
        return folder_stamp(status, os.listdir(path))  # noqa: PTH208  (names only)
    except OSError:
        return (MISSING[0], "")


def _changes(record: TreeRecord, root: Path, now: Tree, unread: frozenset[str]) -> TreeChanges:
    before = record.tree.files
    unread = unread | frozenset(record.tree.unread)
    changed: list[str] = []
    gone: list[str] = []
    for name, stamp in before.items():
        if name in unread:
            continue
        found = now.files.get(name, MISSING)
        if found == stamp and (name not in record.digests or _is_same_content(record, root, name, stamp)):
            continue
        (gone if found == MISSING != stamp else changed).append(name)
    new = [name for name in now.files if name not in before]
    now.unread = record.tree.unread
    return TreeChanges(tuple(changed), tuple(gone), tuple(sorted(new)), now)


def _is_same_content(record: TreeRecord, root: Path, name: str, stamp: FileStamp) -> bool:
    digest = record.digests[name]
    return bool(digest) and _content_digest(root, name, stamp) == digest


def update_record(record: TreeRecord, found: TreeChanges, done: Iterable[str], root: Path, now: int) -> TreeRecord:
    """Return the record with the state of the files that were read again; the others still count as changed.

    Without any change left, the times of folders are taken over as well, so that they are not listed again.
    """
    done = frozenset(done)
    files = dict(record.tree.files)
    for name in done:
        stamp = found.tree.files.get(name, MISSING)
        if stamp == MISSING:
            files.pop(name, None)
        else:
            files[name] = stamp
    is_complete = done.issuperset(found.files)
    settled = found.tree if is_complete else record.tree
    tree = Tree(files, settled.folders, settled.rules, record.tree.unread)
    # Digests of files that are no longer in doubt are dropped.
    doubtful = [name for name in (*record.digests, *done) if name in files]
    return TreeRecord(
        record.version,
        record.tenant,
        record.source,
        record.root,
        record.place,
        record.reading,
        record.head,
        tree,
        _racy_digests(root, dict.fromkeys(doubtful), files, now),
    )
