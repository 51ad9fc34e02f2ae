"""Declare the protocols between the core and what is outside it: sources, stores, indexes and models.

An engine implements these protocols without inheriting from them. `stores.py` holds the contract of storage
engines with the records that they exchange; `plugins.py` finds what other packages add. Indexing asks with
`isinstance` for each optional ability of a source, and does without where a source lacks it. A `Tree` is the state
of a folder of files when it was read.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import xxhash
from msgspec import Struct, field

from weft.model import Edge, Filter, Node
from weft.ports.stores import (
    Adjacency,
    ChangedPassage,
    Changes,
    ExportableStore,
    ExportBatch,
    Fingerprint,
    Graph,
    NameRow,
    NodeRow,
    PassageRow,
    PreparedNode,
    PreparedPassage,
    QualityState,
    RecentChanges,
    Snapshot,
    Store,
    StoreState,
    StoreStatus,
    TermStatistics,
    WritesNow,
)

if TYPE_CHECKING:
    from weft.ports.stores import Ids, Scores, Vectors

__all__ = [
    "KNOWLEDGE_KINDS",
    "LINE_OF",
    "LOOKUP_ONLY",
    "MISSING",
    "NOTE_FORM",
    "TANA_FORM",
    "Adjacency",
    "ChangedPassage",
    "Changes",
    "CombinedIndex",
    "CountsSkipped",
    "Embedder",
    "ExportBatch",
    "ExportableStore",
    "FileStamp",
    "Fingerprint",
    "Graph",
    "HasTree",
    "HoldsMemory",
    "Index",
    "LayeredEmbedder",
    "ListsSkipped",
    "NameRow",
    "NodeRow",
    "PassageRow",
    "PreparedNode",
    "PreparedPassage",
    "Problem",
    "Proposals",
    "QualityState",
    "RecentChanges",
    "ReportProgress",
    "ReportsProgress",
    "Repositories",
    "Resumable",
    "Snapshot",
    "Source",
    "Store",
    "StoreState",
    "StoreStatus",
    "TermStatistics",
    "TokenCounter",
    "Tree",
    "Unit",
    "WritesNow",
    "folder_stamp",
    "ignore_progress",
    "matching_nodes",
    "rows_with_keys",
]


FileStamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size in bytes."""

MISSING: Final[FileStamp] = (-1, -1)
"""The stamp of a file that is not there or may not be looked at; no file has it."""
_OWN_NAMES: Final = frozenset({".git", ".weft", ".DS_Store"})
"""Entries of folders that are made beside the files and are never read as such."""


# --- sources: what indexing requires of them, and may ask for ----------------------------------------------


NOTE_FORM: Final = {"_form": "note"}
"""The field by which a note is known, whatever its kind; by it a store is seen to hold a graph of notes. Fields
whose names begin with an underscore are the source's own: they are neither searched nor printed."""
TANA_FORM: Final = {"_form": "tana"}
"""The same for notes of Tana."""
KNOWLEDGE_KINDS: Final = (
    *("faq", "playbook", "permission_rule", "concept", "schema_index", "schema_field", "example", "entity"),
)
"""The kinds of nodes of a knowledge base, as its design names them."""
LOOKUP_ONLY: Final = 0.0
"""The confidence of an alias by which a node is looked up, but not found in texts: `Home` names a file, and is a
word."""
LINE_OF: Final = "_line_of"
"""The field that names the note whose text holds a node as one of its lines; a page prints only one of the two."""


class Problem(Struct, frozen=True):
    """One thing that a source could not use: where it stands, and why. Indexing reports it and goes on."""

    where: str
    reason: str


class Unit(Struct, frozen=True):
    """The content of one part of a source that changes on its own: a file, a commit, a batch of records.

    `name` identifies the unit within its source; `stamp` changes whenever its content may have changed, so
    that an unchanged unit is not read again. A node that is missing from the unit at its next reading is
    removed from the store. `skipped` says why a unit without nodes was not read, as in `ListsSkipped`.
    """

    name: str
    stamp: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped: str = ""
    redacted: int = 0
    """How many secrets were taken out of its texts."""


class Source(Protocol):
    """A place outside Weft that holds knowledge. The keys of its nodes must begin with `<name>:`."""

    name: str

    @property
    def maker(self) -> str:
        """The name and version of the reader, stored as the maker of every edge that it draws.

        A new version makes indexing read all units again.
        """
        ...

    def identity(self) -> str:
        """Return a fingerprint that distinguishes this place from another source of the same name.

        An empty string says that the source no longer exists.
        """
        ...

    def units(self) -> Iterable[tuple[str, str]]:
        """List the (name, stamp) of every unit that exists now, in a stable order and without reading contents."""
        ...

    def read(self, unit: str) -> Unit:
        """Read one unit and return its nodes and edges.

        A unit that cannot be read now is returned with an empty stamp: the store keeps what it has of it.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source that fetches only what changed: it must know what is stored before it lists its units."""

    def resume(self, known: Mapping[str, str]) -> None:
        """Take the stored units, stamp by name; a unit with an empty stamp must be read again."""
        ...


ReportProgress = Callable[[str, int, int | None], None]
"""A callback for (stage, done, total) while work goes on; the total is None as long as it is unknown."""


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """Do nothing: the progress callback for callers that show none."""


@runtime_checkable
class ReportsProgress(Protocol):
    """A source, or a part of one, that takes long to list its units and can report how far it is."""

    def report_progress_to(self, report: ReportProgress) -> None:
        """Call `report` from now on as the listing advances."""
        ...


@runtime_checkable
class CountsSkipped(Protocol):
    """A source, or a part of one, that counts what it did not read."""

    def count_skipped(self) -> Mapping[str, int]:
        """Return how many files or folders the last listing skipped or read only in part, by reason."""
        ...


@runtime_checkable
class ListsSkipped(Protocol):
    """A source, or a part of one, that names the files and folders it did not read."""

    def list_skipped(self) -> Mapping[str, str]:
        """Return the reason for each file, or folder (its name ends in `/`), that the last listing skipped.

        What follows `: ` in a reason is a detail: reasons that differ only in it are counted as one.
        """
        ...


@runtime_checkable
class HoldsMemory(Protocol):
    """A source, or a part of one, that keeps much in memory while its units are read."""

    def release_memory(self) -> None:
        """Free that memory. Reading another unit afterwards still works, but first builds it again."""
        ...


# --- the files of a folder --------------------------------------------------------------------------------


class Tree(Struct):
    """Sizes and times of files by name, of folders (the name ends in `/`, the root's is empty) and ignore files.

    A folder's stamp is its time and a digest of the names in it, so that a file that came or went shows in it.
    """

    files: dict[str, FileStamp] = field(default_factory=dict)
    folders: dict[str, tuple[int, str]] = field(default_factory=dict)
    rules: dict[str, FileStamp] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Files that no format takes: nothing of them is stored."""


@runtime_checkable
class HasTree(Protocol):
    """A source that reads the files of one folder, of which the state can be compared later."""

    root: Path

    def tree(self) -> Tree:
        """Return the state of the files as they were listed last."""
        ...

    def reread(self, names: Sequence[str], changed: Sequence[str]) -> Iterator[Unit]:
        """Iterate over the units of changed files, given the names of all files, as far as that takes little time.

        Nothing that the source keeps for its next listing is changed by it.
        """
        ...


def folder_stamp(status: os.stat_result, names: Iterable[str]) -> tuple[int, str]:
    """Return the stamp of a folder of these entries."""
    listed = "\0".join(sorted(name for name in names if name not in _OWN_NAMES))
    return status.st_mtime_ns, xxhash.xxh3_64_hexdigest(listed.encode("utf-8", "surrogateescape"))


# --- engines that answer a question ------------------------------------------------------------------------


@runtime_checkable
class Embedder(Protocol):
    """A model that turns texts into vectors; a store remembers its `name` and accepts no other's vectors."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """Return one unit vector per text, in their order; the same text always gets the same vector."""
        ...


@runtime_checkable
class LayeredEmbedder(Embedder, Protocol):
    """An embedder with a better, slower one beside it, whose vectors only some passages may have yet."""

    base: Embedder
    quality: Embedder
    is_complete: bool
    """Whether all passages had a vector of the better one when it was last run."""


class Repositories(Protocol):
    """The git repositories of the sources, as far as they are on this machine."""

    def list_commits(self, node: Node, word: str = "") -> Sequence[str]:
        """Return the commits that changed the lines of a node, or its file, or those lines of the file that hold a
        word, newest first."""
        ...

    def name_releases(self, commits: Sequence[Node]) -> Mapping[int, str]:
        """Return the first tag that contains each commit, by the commit's id."""
        ...

    def list_shallow(self, tenants: Sequence[str]) -> Sequence[str]:
        """Return the sources of these tenants that are shallow clones: their older commits are not here."""
        ...


class TokenCounter(Protocol):
    """One tokenizer's way to count and cut text.

    A counter must be hashable, because caches use it as part of their keys.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The identity of the tokenizer: two counters of one name count every text the same."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of the text; a counter that estimates must err upwards."""
        ...

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text: the same numbers as `count`, in one call."""
        ...

    def cut(self, text: str, max_tokens: int) -> str:
        """Return the longest beginning of the text that `count` puts at `max_tokens` or fewer."""
        ...


class Proposals(Struct, frozen=True):
    """The passages that an index proposes, with their scores; for vectors these are exact cosines.

    `notes` say in words what the search could not take into account.
    """

    passage_ids: "Ids"
    scores: "Scores"
    notes: tuple[str, ...] = ()


class Index(Protocol):
    """A search engine over data derived from a store. It proposes passages; the caller orders them.

    An engine must return only passages that exist in the snapshot and pass the filter, whatever the state of its
    derived data: what it has not caught up with is scanned from the snapshot. The final order is computed from the
    snapshot by the caller, so that every engine leads to the same page.
    """

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Return the `limit` most promising passages that contain any of the terms, best first.

        All passages that tie with the last one are included: the caller decides between them.
        """
        ...

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """Return the `limit` passages nearest to the vector, with their exact cosines.

        All passages that tie with the last one are included: the caller decides between them.
        """
        ...

    def catch_up(self, store: Store) -> int:
        """Bring the derived data up to the store's sequence number, and return that number."""
        ...

    def status(self) -> Mapping[str, str | int]:
        """Return facts about the derived data for `weft status`, by name."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


@runtime_checkable
class CombinedIndex(Protocol):
    """An index that runs both searches of a question at once, where its server does that faster than in turn."""

    def search_both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """Return exactly what `lexical` and `semantic` would; `limits` holds the limit of each."""
        ...


def rows_with_keys(snapshot: Snapshot, keys: Iterable[str]) -> dict[int, NodeRow]:
    """Return the nodes with exactly these keys by id: `find` also finds nodes by title, alias and id."""
    wanted = frozenset(keys)
    found = snapshot.find(sorted(wanted)) if wanted else {}
    rows = snapshot.nodes(sorted({id for ids in found.values() for id in ids}))
    return {id: row for id, row in rows.items() if row.node.key in wanted}


def matching_nodes(snapshot: Snapshot, filter: Filter) -> list[Node]:
    """Return all nodes that pass a filter, by id."""
    return [row.node for row in snapshot.nodes(snapshot.matching_ids(filter).tolist()).values()]
