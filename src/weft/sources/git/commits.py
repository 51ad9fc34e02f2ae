"""Read the history of a repository as a format without files: commits, and what each of them touched.

Commits are parsed once and cached. Then all of them are followed from the newest to the oldest, so that an edge
leads to a file or definition by the name that it has now.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

import msgspec
import xxhash

from weft.errors import SourceError
from weft.model import Edge, Json, Node, Origin
from weft.ports import ReportProgress, Unit, ignore_progress
from weft.sources.derived_cache import DerivedCache
from weft.sources.files import SourceSettings
from weft.sources.git.log import (
    Change,
    Commit,
    describe_ends,
    list_commits,
    list_shallow_commits,
    pack,
    read_commits,
    unpack,
)
from weft.sources.walk_files import File

_MAX_COMMITS: Final = 50_000
"""The newest commits that are read. Reading them takes minutes the first time; older ones are rarely asked for."""
_MAX_LISTED_FILES: Final = 100
"""Paths in the field `files_changed`; a commit with more is a move or an import."""
_MAX_EDGES: Final = 200
"""Edges to files and definitions of one commit; each of them weighs little in a commit that touches so many."""
_SHORT_HASH: Final = 12
"""Characters of a hash in keys: enough to be unique in repositories of millions of commits."""
_TOUCHES: Final = "touches"

_PARSER_VERSION: Final = "4"
"""To be changed whenever the same commit would be read differently; commits in the cache are then read again."""
_MAX_SHOWN_CHANGES: Final = 60
"""Changed lines of a commit up to which its first ones tell what it is about."""
_UNREAD: Final = "commits that git could not show (see `git fsck`)"
_STATE_ENTRY: Final = "state"
"""The name of the cache entry that holds the state of repository and code for which all links were computed."""
_LIST_ENTRY: Final = "list"
"""The name of the cache entry that holds the hashes of all commits: listing twenty thousand takes git 0.1 s."""

_MAX_CHANGED_FILES: Final = 50
"""Files with other definitions than before whose commits are looked for; with more, all are followed again."""

_PATH_FIELD: Final = '"path":'
_RENAME: Final = '*"before":"[^"]*'
"""How the path of a changed file, and its path before a rename, stand in a packed commit."""

_FollowedCommit = tuple[Commit, tuple[str, ...]]
"""A commit, and the files and definitions it touched by the names they have now."""


class Definitions(Protocol):
    """The definitions in the code that commits touched."""

    def digests(self) -> Mapping[str, str]:
        """Return for each file a digest that changes whenever a definition in it is added, removed or renamed."""
        ...

    def symbols(self, path: str) -> Mapping[str, str]:
        """Return the full names of the definitions in a file by their last part, where that is unique."""
        ...


class History:
    """The commits that lead to the one checked out, one unit a commit; files are followed through renames."""

    suffixes: frozenset[str] = frozenset()

    def __init__(self, settings: SourceSettings, root: Path, code: Definitions) -> None:
        self.settings = settings
        self._root, self._code = root, code
        self._cache = DerivedCache(settings.cache_file("git"))
        self._hashes: list[str] = []
        self._followed: dict[str, _FollowedCommit] = {}
        self._report: ReportProgress = ignore_progress
        self._remarks: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """Take no file: the commits are in none of them."""
        return False

    def report_progress_to(self, report: ReportProgress) -> None:
        """Report to `report` from now on how many of the new commits are read."""
        self._report = report

    def count_skipped(self) -> Mapping[str, int]:
        """Return why the history could not be read, or not as a whole."""
        return self._remarks

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every commit, children first; git is run only for commits not in the cache."""
        self._remarks, self._followed = {}, {}
        try:
            self._hashes = self._list_commits()
        except SourceError as error:
            self._remarks = {f"history ({error})": 1}
            yield from self._known_units()
            return
        if len(self._hashes) == _MAX_COMMITS:
            self._remarks = {f"history before the newest {_MAX_COMMITS:,} commits": 1}
        try:
            self._update_cache()
            states = self._cache.links_states()
        finally:
            self._cache.close()
        # The cache also holds the entry of the state, so its entries cannot simply be counted.
        unread = len(self._hashes) - len(states.keys() & set(self._hashes))
        if unread:
            self._remarks[_UNREAD] = unread
        for hash in self._hashes:
            if states.get(hash):
                yield _unit_name(hash), f"{_PARSER_VERSION}-{states[hash]}"

    def _list_commits(self) -> list[str]:
        """Return the hashes of the commits, children first; git walks only those that the cache does not list."""
        ends = describe_ends(self._root)
        known = self._cache.entry(_LIST_ENTRY)
        before = known[1].decode("ascii").split() if known is not None and known[0] == ends else []
        hashes = list_commits(self._root, _MAX_COMMITS, before)
        if hashes != before:
            self._cache.put(_LIST_ENTRY, ends, "\n".join(hashes).encode("ascii"))
        return hashes

    def _known_units(self) -> Iterator[tuple[str, str]]:
        """List the commits as they were read last: the disk with the repository may be back tomorrow."""
        try:
            before, states = self._cache.entry(_STATE_ENTRY), self._cache.links_states()
        finally:
            self._cache.close()
        if before is not None and before[0].startswith(f"{_PARSER_VERSION}-"):
            yield from (
                (_unit_name(hash), f"{_PARSER_VERSION}-{state}") for hash, state in states.items() if state
            )

    def read(self, unit: str) -> Unit:
        """Read one commit, with edges to the files and definitions that it touched, by their present names."""
        if unit not in self._followed:
            self._followed = self._follow(self._hashes, self._hashes)
        commit, targets = self._followed[unit]
        node = _commit_node(unit, commit, self.settings)
        # A commit that changes many files says less about each of them.
        weight = round(1 / max(len(commit.changes), 1) ** 0.5, 3)
        edges = (
            Edge(
                node.key, f"{self.settings.source}:{target}", _TOUCHES, weight=weight, tenant=self.settings.tenant
            )
            for target in targets[:_MAX_EDGES]
        )
        return Unit(unit, _PARSER_VERSION, (node,), tuple(edges))

    def release_memory(self) -> None:
        """Release the memory of the commits; they are read from the cache again when needed."""
        self._followed = {}
        self._cache.close()

    def _update_cache(self) -> None:
        """Add new commits, delete those that are gone, and compute the links anew that may have changed."""
        definitions = dict(self._code.digests())
        content = msgspec.json.encode(definitions)
        state = f"{_PARSER_VERSION}-{xxhash.xxh3_64_hexdigest(content)}-{_digest(self._hashes)}"
        before = self._cache.entry(_STATE_ENTRY)
        if before is not None and before[0] == state:
            return
        stamps = self._cache.stamps()
        cached = {hash for hash, stamp in stamps.items() if stamp == _PARSER_VERSION}
        # A rewritten history leaves commits behind that lead to nothing any more.
        self._cache.delete(stamps.keys() - cached.intersection(self._hashes) - {_LIST_ENTRY})
        new = [hash for hash in self._hashes if hash not in cached]
        all_read = self._read_new(new)
        renaming, outdated = self._outdated_commits(before, new, definitions)
        self._followed = self._follow(renaming, outdated)
        states = {unit: _digest(targets) for unit, (_, targets) in self._followed.items()}
        self._cache.set_links_states((hash, states.get(_unit_name(hash), "")) for hash in outdated)
        # Without this entry the next run tries again to read the commits that git could not show.
        if all_read:
            self._cache.put(_STATE_ENTRY, state, content)

    def _outdated_commits(
        self, before: tuple[str, bytes] | None, new: Sequence[str], definitions: Mapping[str, str]
    ) -> tuple[Collection[str], Collection[str]]:
        """Return the commits that rename files, and those whose links may differ from those in the cache.

        `before` is the state for which the links were computed: as long as the older commits stand in the same
        order, only those are followed again that touched a renamed file or one with other definitions.
        """
        is_new = frozenset(new)
        older = _digest([hash for hash in self._hashes if hash not in is_new])
        stamp, content = before or ("", b"{}")
        if not stamp.startswith(f"{_PARSER_VERSION}-") or not stamp.endswith(f"-{older}"):
            return self._hashes, self._hashes
        known = msgspec.json.decode(content, type=dict[str, str])
        paths = {path for path, _ in known.items() ^ definitions.items()}
        if len(paths) > _MAX_CHANGED_FILES:
            return self._hashes, self._hashes
        if not paths and is_new.issuperset(self._hashes[: len(new)]) and not self._rename_files(new):
            # Newer than all others and without a rename, new commits tell nothing new about older ones.
            return (), is_new
        renaming = self._cache.names_matching(_RENAME).intersection(self._hashes)
        contents = self._cache.contents_of(renaming)
        renames = [
            (hash, change)
            for hash in self._hashes
            if hash in renaming
            for change in unpack(contents[hash]).changes
            if change.before
        ]
        paths.update(change.before for hash, change in renames if hash in is_new)
        # The older names of these files, also over several renames: newer renames come first.
        for _, change in renames:
            if change.path in paths:
                paths.add(change.before)
        touching = [_PATH_FIELD + msgspec.json.encode(path).decode() for path in sorted(paths)]
        return renaming, is_new | self._cache.names_holding(touching).intersection(self._hashes)

    def _rename_files(self, hashes: Sequence[str]) -> bool:
        contents = self._cache.contents_of(hashes)
        return any(change.before for content in contents.values() for change in unpack(content).changes)

    def _read_new(self, hashes: Sequence[str]) -> bool:
        """Read commits into the cache, and return whether git could show them all."""
        shallow = list_shallow_commits(self._root) if hashes else frozenset()
        inner, outer = ([hash for hash in hashes if (hash in shallow) == is_end] for is_end in (False, True))
        # Where a shallow clone ends, every file would seem to be new.
        commits = chain(read_commits(self._root, inner), read_commits(self._root, outer, changes=False))
        count = 0
        for count, commit in enumerate(commits, 1):
            self._cache.put(commit.hash, _PARSER_VERSION, pack(commit))
            self._report(f"history of {self.settings.source}", count, len(hashes))
        return count == len(hashes)

    def _follow(self, renaming: Collection[str], wanted: Collection[str]) -> dict[str, _FollowedCommit]:
        """Return the wanted commits that become nodes, by unit, with the present names of what they touched.

        All commits that rename files are given too, because they tell the present names of others.
        """
        contents = self._cache.contents_of({*renaming, *wanted})
        commits = (unpack(contents[hash]) for hash in self._hashes if hash in contents)
        return dict(_follow_to_present(commits, frozenset(wanted), cache(self._code.symbols)))


def _unit_name(hash: str) -> str:
    return f"commit/{hash[:_SHORT_HASH]}"


def _digest(targets: Sequence[str]) -> str:
    return xxhash.xxh3_64_hexdigest("\0".join(targets).encode("utf-8", "replace"))


def _follow_to_present(
    commits: Iterable[Commit], wanted: Collection[str], symbols: Callable[[str], Mapping[str, str]]
) -> Iterator[tuple[str, _FollowedCommit]]:
    """Iterate over (unit, followed commit) of the wanted, newest first, without merges that are only a subject."""
    present_paths: dict[str, str] = {}
    for commit in commits:
        # Most merges repeat what the merged commits say; one with a body was written by somebody.
        if commit.hash in wanted and (not commit.merges or "\n" in commit.message):
            targets = dict.fromkeys(
                target for change in commit.changes for target in _touched(change, present_paths, symbols)
            )
            yield _unit_name(commit.hash), (commit, tuple(targets))
        # Older commits know a renamed file by the path it had before.
        for change in commit.changes:
            if change.before:
                present_paths[change.before] = present_paths.get(change.path, change.path)


def _touched(
    change: Change, present_paths: Mapping[str, str], symbols: Callable[[str], Mapping[str, str]]
) -> Iterator[str]:
    """Iterate over the present path of a changed file, and the definitions in it that the change touched."""
    path = present_paths.get(change.path, change.path)
    yield path
    defined = symbols(path) if change.names else {}
    yield from (f"{path}#{defined[name]}" for name in change.names if name in defined)


def _commit_node(unit: str, commit: Commit, settings: SourceSettings) -> Node:
    time = _parse_time(commit.time)
    files: list[Json] = [change.path for change in commit.changes[:_MAX_LISTED_FILES]]
    fields: dict[str, Json] = {
        "author": commit.author,
        "deletions": commit.deletions,
        "files_changed": files,
        "insertions": commit.insertions,
        "sha": commit.hash,
    }
    if time is not None:
        fields["timestamp"] = commit.time
    shows_lines = commit.lines and commit.insertions + commit.deletions <= _MAX_SHOWN_CHANGES
    return Node(
        key=f"{settings.source}:{unit}",
        kind="commit",
        tenant=settings.tenant,
        title=commit.message.partition("\n")[0].strip() or commit.hash[:_SHORT_HASH],
        text="\n".join([commit.message, "", *commit.lines]) if shows_lines else commit.message,
        fields=fields,
        origin=Origin(settings.source, commit=commit.hash),
        created=time,
        modified=time,
    )


def _parse_time(time: str) -> datetime | None:
    """Return when a commit was written, or None: scripts write dates and zones that do not exist."""
    try:
        return datetime.fromisoformat(time)
    except ValueError:
        return None
