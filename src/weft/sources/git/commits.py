"""The history of a repository as a format without files: commits, and what each of them touched."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

import xxhash

from weft.errors import SourceError
from weft.model import Edge, Json, Node, Origin
from weft.ports import Tell, Unit, untold
from weft.sources.derived_cache import Memory
from weft.sources.files import Naming
from weft.sources.git.log import Change, Commit, commits, cut_off, packed, read_commits, unpacked
from weft.sources.walk_files import File

MOST_COMMITS: Final = 50_000
TOUCHES: Final = "touches"

_READING: Final = "2"
"""Changes whenever the same commit would be read differently."""

_UNREAD: Final = "commits that git could not show (see `git fsck`)"
_STATE: Final = "state"
"""The name under which the state of repository and code is remembered to which all marks belong."""
_LISTED_FILES: Final = 100
_MOST_EDGES: Final = 200
_SHORT: Final = 12


class Definitions(Protocol):
    """What is known of the code that commits touched."""

    def digest(self) -> str:
        """What changes whenever a definition comes, goes or gets another name."""
        ...

    def symbols(self) -> Mapping[str, Mapping[str, str]]:
        """For each file the full names of its definitions by their last part, where only one ends so."""
        ...


class History:
    """The commits that lead to what is checked out, one unit a commit; files are followed through renames."""

    suffixes: frozenset[str] = frozenset()

    def __init__(self, naming: Naming, root: Path, code: Definitions) -> None:
        self.naming = naming
        self._root, self._code = root, code
        self._memory = Memory(naming.remembering("git"))
        self._hashes: list[str] = []
        self._followed: dict[str, _Followed] | None = None
        self._tell: Tell = untold
        self._remarks: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """No file: what it reads is in none of them."""
        return False

    def tell_to(self, tell: Tell) -> None:
        """Say from now on how many of the new commits are read."""
        self._tell = tell

    def remarks(self) -> Mapping[str, int]:
        """Why the history could not be read, or not whole."""
        return self._remarks

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every commit, children first; a commit once read is never asked for again."""
        self._remarks, self._followed = {}, None
        try:
            self._hashes = commits(self._root, MOST_COMMITS)
        except SourceError as error:
            self._remarks = {f"history ({error})": 1}
            return
        if len(self._hashes) == MOST_COMMITS:
            self._remarks = {f"history before the newest {MOST_COMMITS:,} commits": 1}
        try:
            self._renew()
            known = self._memory.known()
        finally:
            self._memory.settle()
        unread = len(self._hashes) - len(known.keys() & set(self._hashes))
        if unread:
            self._remarks[_UNREAD] = unread
        for hash in self._hashes:
            if hash in known and known[hash].mark:
                yield _unit(hash), f"{_READING}-{known[hash].mark}"

    def read(self, unit: str) -> Unit:
        """One commit, with edges to the files and the definitions that it touched, as they are called now."""
        commit, targets = self._present()[unit]
        node = _node(unit, commit, self.naming)
        weight = round(1 / max(len(commit.changes), 1) ** 0.5, 3)
        edges = (
            Edge(node.key, f"{self.naming.source}:{target}", TOUCHES, weight=weight, tenant=self.naming.tenant)
            for target in targets[:_MOST_EDGES]
        )
        return Unit(unit, _READING, (node,), tuple(edges))

    def let_go(self) -> None:
        """Forget the commits."""
        self._followed = None
        self._memory.settle()

    def _renew(self) -> None:
        """Read the commits that are new, forget those that are gone, and follow all of them to the present."""
        known = self._memory.known()
        state = f"{_READING}-{self._code.digest()}-{xxhash.xxh3_64_hexdigest(' '.join(self._hashes).encode())}"
        if _STATE in known and known[_STATE].stamp == state:
            return
        read = {hash for hash, each in known.items() if each.stamp == _READING}
        self._memory.forget(known.keys() - read.intersection(self._hashes))
        whole = self._read([hash for hash in self._hashes if hash not in read])
        marks = {unit: _mark(targets) for unit, (_, targets) in self._present().items()}
        self._memory.mark((hash, marks.get(_unit(hash), "")) for hash in self._hashes)
        if whole:
            self._memory.keep(_STATE, state, b"")

    def _read(self, fresh: Sequence[str]) -> bool:
        """Remember the commits, and say whether git could show them all."""
        ends = cut_off(self._root) if fresh else frozenset()
        inner, outer = ([hash for hash in fresh if (hash in ends) == end] for end in (False, True))
        # Where a shallow clone ends, everything would seem to be new.
        told = chain(read_commits(self._root, inner), read_commits(self._root, outer, changes=False))
        done = 0
        for done, commit in enumerate(told, 1):
            self._memory.keep(commit.hash, _READING, packed(commit))
            self._tell(f"history of {self.naming.source}", done, len(fresh))
        return done == len(fresh)

    def _present(self) -> "dict[str, _Followed]":
        """Every commit that is told, followed to what it touched as that is called now."""
        if self._followed is None:
            contents = dict(self._memory.contents())
            listed = [unpacked(contents[hash]) for hash in self._hashes if hash in contents]
            self._followed = dict(_follow(listed, self._code.symbols()))
        return self._followed


_Followed = tuple[Commit, tuple[str, ...]]


def _unit(hash: str) -> str:
    return f"commit/{hash[:_SHORT]}"


def _mark(targets: Sequence[str]) -> str:
    return xxhash.xxh3_64_hexdigest("\0".join(targets).encode("utf-8", "replace"))


def _follow(listed: Sequence[Commit], symbols: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, _Followed]]:
    """Each commit worth telling, newest first, with what it touched by the names that has now."""
    present: dict[str, str] = {}
    for commit in listed:
        if not commit.merges or "\n" in commit.message:
            targets = dict.fromkeys(
                target for change in commit.changes for target in _touched(change, present, symbols)
            )
            yield _unit(commit.hash), (commit, tuple(targets))
        for change in commit.changes:
            if change.before:
                present[change.before] = present.get(change.path, change.path)


def _touched(
    change: Change, present: Mapping[str, str], symbols: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    path = present.get(change.path, change.path)
    yield path
    defined = symbols.get(path, {})
    yield from (f"{path}#{defined[name]}" for name in change.names if name in defined)


def _node(unit: str, commit: Commit, naming: Naming) -> Node:
    moment = _moment(commit.time)
    files: list[Json] = [change.path for change in commit.changes[:_LISTED_FILES]]
    fields: dict[str, Json] = {
        "author": commit.author,
        "deletions": commit.deletions,
        "files_changed": files,
        "insertions": commit.insertions,
        "sha": commit.hash,
    }
    if moment is not None:
        fields["timestamp"] = commit.time
    return Node(
        key=f"{naming.source}:{unit}",
        kind="commit",
        tenant=naming.tenant,
        title=commit.message.partition("\n")[0].strip() or commit.hash[:_SHORT],
        text=commit.message,
        fields=fields,
        origin=Origin(naming.source, commit=commit.hash),
        created=moment,
        modified=moment,
    )


def _moment(time: str) -> datetime | None:
    """When a commit was written; clocks and scripts write dates and zones that there are not."""
    try:
        return datetime.fromisoformat(time)
    except ValueError:
        return None
