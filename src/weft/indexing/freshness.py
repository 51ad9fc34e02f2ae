"""Bring what is stored up to the files as they are now before a question is answered, or mark what is not.

`Upkeep.check` compares every source whose folder is known with the record of its tree, reads changed files
again within a budget of time, and returns marks and notes for the rest. What it reads is written but not linked:
the next indexing run completes it, as it completes a run that was interrupted.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from weft.errors import SourceError
from weft.indexing.working_tree import (
    Head,
    TreeChanges,
    TreeRecord,
    compare,
    find_worktree,
    load_records,
    read_head,
    save_record,
    update_record,
)
from weft.model import Node, Stale
from weft.ports import Embedder, Index, NodeRow, Snapshot, Store, TokenCounter, WritesNow
from weft.runtime.cache import sharing

REFRESH_SECONDS: Final = 0.15
"""How long changed files are read before a question is answered: it is noticed, but nobody waits for it. What is
left is marked, and read in the background or by the next `weft index`."""
_MAX_BYTES: Final = 1_000_000
"""Files larger than this are left to the background: preparing one would take longer than the whole budget."""
_MAX_FILES: Final = 20
"""Files that are read again for one question, the latest first; after a checkout hundreds may have changed."""
_MAX_NAMED: Final = 5
"""Files that a note names; a checkout of another branch may change hundreds."""

Marks = Mapping[tuple[str, str, str], Stale]
"""The changes of files since they were read, by (tenant, source, file)."""


class Unread(Struct, frozen=True):
    """A source of which something was left unread."""

    tenant: str
    source: str
    root: Path


class Freshness(Struct, frozen=True):
    """The differences between stored sources and their files: marks for items, notes for readers."""

    marks: Marks
    notes: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()


FRESH: Final = Freshness({})
_unchanged: ContextVar[dict[tuple[int, tuple[str, ...]], Freshness] | None] = ContextVar("unchanged", default=None)
"""The checks of the question being answered that found no file changed, by the upkeep's identity and tenants."""


@contextmanager
def checking_once() -> Iterator[None]:
    """Let all readings of one question share a check, if it found no file changed, and one moment of the store.

    A question reads the store two or three times, and looking at thousands of files takes longer than some pages;
    on a server, every further reading is two journeys there and back.
    """
    if _unchanged.get() is not None:
        yield
        return
    token = _unchanged.set({})
    try:
        with sharing():
            yield
    finally:
        _unchanged.reset(token)


class Upkeep:
    """Checks the sources of a store before each question.

    Without an open embedder for the store's vectors, or where others hold the right to write, changed files are
    only marked.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        index: Index,
        *,
        open_embedder: Callable[[tuple[str, int] | None], Embedder | None],
        open_counter: Callable[[], TokenCounter],
        seconds: float = REFRESH_SECONDS,
        working: Path | None = None,
    ) -> None:
        self._folder, self._store, self._index = folder, store, index
        self._open_embedder, self._open_counter = open_embedder, open_counter
        self._seconds, self._working = seconds, working
        self.last = FRESH
        """The outcome of the last check."""

    def check(self, tenants: Sequence[str]) -> Freshness:
        """Compare the sources of some tenants with their files; read what changed, and mark what is left."""
        known, key = _unchanged.get(), (id(self), tuple(tenants))
        if known is not None and key in known:
            self.last = known[key]
            return self.last
        records = load_records(self._folder, tenants)
        if not records:
            self.last = FRESH
            return FRESH
        marks: dict[tuple[str, str, str], Stale] = {}
        notes: list[str] = []
        unread: list[Unread] = []
        is_unchanged = True
        worktree = find_worktree(self._working) if self._working is not None else None
        for record in records:
            root = record.path(self._folder)
            # Before the files are looked at: what changes while they are counts as changed the next time.
            now = time.time_ns()
            found = compare(record, root)
            if found.is_missing:
                notes.append(
                    f"The folder of {record.source!r}, {root}, is not there any more: its items are as they were "
                    f"read. `weft remove {record.source}` takes them out."
                )
                continue
            is_unchanged = is_unchanged and not found.files
            head = read_head(root)
            left = self._refresh(record, found, root, head, now)
            marks |= {(record.tenant, record.source, name): Stale.CHANGED for name in left.changed}
            marks |= {(record.tenant, record.source, name): Stale.DELETED for name in left.gone}
            described = [*_describe_files(record, left), *_describe_head(record, head)]
            if left.files or head.commit != record.head.commit:
                unread.append(Unread(record.tenant, record.source, root))
            notes += [*described, *_describe_worktree(record, root, head, worktree)]
        self.last = Freshness(marks, tuple(notes), tuple(unread))
        # Where files changed, the next reading has time of its own to read more of them.
        if known is not None and is_unchanged:
            known[key] = self.last
        return self.last

    def roots(self, tenants: Sequence[str]) -> dict[tuple[str, str], Path]:
        """Return the folders of the sources that are known on this machine, by (tenant, source)."""
        records = load_records(self._folder, tenants)
        return {(record.tenant, record.source): record.path(self._folder) for record in records}

    def list_commits(self, node: Node, word: str = "") -> Sequence[str]:
        """Return the commits that changed the lines of a node, or its file, newest first, if git has them here.

        With `word`, those that changed a line of its file that holds the word.
        """
        origin, root = node.origin, self._repository(node)
        if root is None or origin.file is None:
            return ()
        from weft.sources.git.log import list_commits_of

        try:
            return list_commits_of(root, origin.file, origin.first_line, origin.last_line, word)
        # Without git, the links that were drawn when the history was read tell the same less exactly.
        except SourceError:
            return ()

    def name_releases(self, commits: Sequence[Node]) -> Mapping[int, str]:
        """Return the first tag that contains each commit, by the commit's id, if git has them here."""
        roots = {node.id: self._repository(node) for node in commits}
        from weft.sources.git.log import name_releases

        named: dict[int, str] = {}
        for root in dict.fromkeys(filter(None, roots.values())):
            hashes = {node.origin.commit: node.id for node in commits if roots[node.id] == root}
            with suppress(SourceError):
                named |= {
                    hashes[hash]: tag for hash, tag in name_releases(root, list(filter(None, hashes))).items()
                }
        return named

    def list_shallow(self, tenants: Sequence[str]) -> Sequence[str]:
        """Return the sources of these tenants that are shallow clones: their older commits are not here."""
        from weft.sources.git.log import list_shallow_commits

        roots = [(source, root) for (_, source), root in self.roots(tenants).items() if (root / ".git").exists()]
        try:
            return sorted({source for source, root in roots if list_shallow_commits(root)})
        # Without git, nobody can tell.
        except SourceError:
            return ()

    def _repository(self, node: Node) -> Path | None:
        """Return the top of the working tree that a node was read from, if git keeps it."""
        root = self.roots([node.tenant]).get((node.tenant, node.origin.source))
        return root if root is not None and (root / ".git").exists() else None

    def _refresh(self, record: TreeRecord, found: TreeChanges, root: Path, head: Head, now: int) -> TreeChanges:
        """Read changed files again as long as the budget lasts, and return what is left."""
        if not found.files:
            if record.digests or found.tree.folders != record.tree.folders:
                self._save(update_record(record, found, (), root, now))
            return found
        done = set(self._reread(record, found, root)) if self._seconds > 0 else set()
        if done:
            self._save(update_record(record, found, done, root, now))
        return replace(
            found,
            changed=tuple(name for name in found.changed if name not in done),
            gone=tuple(name for name in found.gone if name not in done),
            new=tuple(name for name in found.new if name not in done),
        )

    def _save(self, record: TreeRecord) -> None:
        try:
            save_record(self._folder, record)
        # A folder that takes no writes only makes the next check as long as this one.
        except OSError:
            return

    def _reread(self, record: TreeRecord, found: TreeChanges, root: Path) -> Iterator[str]:
        if not isinstance(self._store, WritesNow):
            return
        with self._store.writing_now() as is_held:
            if not is_held:
                return
            with self._store.snapshot_of_all_tenants() as snapshot:
                vectors = snapshot.embedder()
            embedder = self._open_embedder(vectors)
            if (embedder is None) != (vectors is None):
                return
            # Loaded here, because most questions find nothing changed and need none of it.
            from weft.indexing.edits import reapply_edits
            from weft.indexing.ingest import IndexingContext
            from weft.indexing.refresh import refresh_files
            from weft.sources import open_source

            source = open_source(
                str(root),
                name=record.source,
                tenant=record.tenant,
                cache_folder=self._folder / "derived",
                reading=record.reading,
            )
            # The latest change first: it is what the question is most likely about.
            stamps = found.tree.files
            small = [name for name in (*found.changed, *found.new) if stamps[name][1] <= _MAX_BYTES]
            small.sort(key=lambda name: (-stamps[name][0], name))
            deadline = time.monotonic() + self._seconds
            indexing = IndexingContext(self._store, self._index, embedder, self._open_counter())
            yield from refresh_files(
                source,
                record.tenant,
                indexing,
                names=sorted(found.tree.files),
                changed=small[:_MAX_FILES],
                gone=found.gone,
                is_over=lambda: time.monotonic() >= deadline,
            )
            reapply_edits(indexing, record.tenant)


# --- notes -------------------------------------------------------------------------------------------------------


def _describe_files(record: TreeRecord, left: TreeChanges) -> Iterator[str]:
    advice = f"`weft index` reads what changed in {record.source!r}."
    if left.changed:
        yield f"Changed since they were read, and marked: {_name_files(left.changed)}. {advice}"
    if left.gone:
        yield f"Deleted since they were read, and marked: {_name_files(left.gone)}. {advice}"
    if left.new:
        yield f"New and not read yet: {_name_files(left.new)}. {advice}"


def _name_files(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"


def _describe_head(record: TreeRecord, head: Head) -> Iterator[str]:
    if head.commit == record.head.commit or not record.head.commit:
        return
    if not head.commit:
        yield (
            f"The git repository of {record.source!r} cannot be found: its history is shown as it was read at "
            f"{record.head.commit[:10]}."
        )
    elif head.branch != record.head.branch:
        yield (
            f"The history of {record.source!r} was read on {record.head.name}; {head.name} is checked out now. "
            "Its files are compared one by one, its commits are read by `weft index`."
        )
    else:
        yield (
            f"The newest commits of {record.source!r} are not read yet: the history was read at "
            f"{record.head.commit[:10]}, the head is {head.commit[:10]} now."
        )


def _describe_worktree(record: TreeRecord, root: Path, head: Head, worktree: Path | None) -> Iterator[str]:
    """Say that the question comes from another working tree of the same repository."""
    if worktree is None or not head.repository or worktree.resolve() == root:
        return
    here = read_head(worktree)
    if here.repository == head.repository:
        yield (
            f"This is the worktree {worktree} ({here.name}), but {record.source!r} was read from {root} "
            f"({head.name}): files may differ. Index this worktree into a store of its own with `weft index .`."
        )


# --- marks -------------------------------------------------------------------------------------------------------


class _MarkedSnapshot:
    """A snapshot whose nodes say what became of their files since they were read."""

    def __init__(self, snapshot: Snapshot, marks: Marks) -> None:
        self._snapshot, self._marks = snapshot, marks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Return the nodes with these ids, marked."""
        return {id: self._mark_row(row) for id, row in self._snapshot.nodes(ids).items()}

    def _mark_row(self, row: NodeRow) -> NodeRow:
        node = mark_node(row.node, self._marks)
        return row if node is row.node else replace(row, node=node)


def mark_node(node: Node, marks: Marks) -> Node:
    """Return the node, marked if its file changed since it was read."""
    mark = marks.get((node.tenant, node.origin.source, node.origin.file or ""))
    return node if mark is None else replace(node, origin=replace(node.origin, stale=mark))


def mark_snapshot(snapshot: Snapshot, marks: Marks) -> Snapshot:
    """Return a snapshot whose nodes carry the marks; the same one where there are none."""
    return cast("Snapshot", _MarkedSnapshot(snapshot, marks)) if marks else snapshot
