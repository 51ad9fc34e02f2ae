"""The small protocols between the core and what stands outside it: sources, stores, indexes, models."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from weft.frozen import dataclass
from weft.model import Alias, AliasSet, Edge, EdgeSet, Filter, Node, Passage, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    Ids = NDArray[np.int64]
    Scores = NDArray[np.float64]


# --- models ----------------------------------------------------------------------------------------------


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors; `name` is its identity, remembered by the store."""

    name: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> "Vectors": ...


class TokenCounter(Protocol):
    """Counts and cuts text as one tokenizer sees it; `name` is its identity.

    What it counted may be remembered by it, so that it must be hashable.
    """

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...

    def count_many(self, texts: Sequence[str]) -> list[int]: ...

    def cut(self, text: str, max_tokens: int) -> str: ...


# --- sources ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing a source could not use: where, and why. It is reported and counted, never fatal."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unit:
    """What one independently changing part of a source holds (a file, a commit, a batch of records).

    `name` identifies the unit within its source; `stamp` changes whenever its content may have changed, so
    that an unchanged unit need not be read again. Nodes of a unit that are gone next time are removed.
    """

    name: str
    stamp: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[Problem, ...] = ()


class Source(Protocol):
    """Something outside that holds knowledge. Keys of its nodes begin with `<name>:`."""

    name: str

    @property
    def maker(self) -> str:
        """Who draws this source's edges, with the version of its reader."""
        ...

    def identity(self) -> str:
        """What tells this place from another source of the same name; empty when the source is gone."""
        ...

    def units(self) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of every unit there is now, cheaply, in a stable order."""
        ...

    def read(self, unit: str) -> Unit:
        """One unit, read and understood; an empty stamp says that it cannot be read now and stays as it was."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A source that asks only for what changed: it is told what is stored before its units are listed."""

    def resume(self, known: Mapping[str, str]) -> None:
        """Go on from the units that are stored, by name and stamp; an empty stamp says that it must be read."""
        ...


Tell = Callable[[str, int, int | None], None]
"""Told (stage, done, total) as work goes on; the total is None while unknown."""


def untold(stage: str, done: int, total: int | None) -> None:
    """Nobody watches the progress."""


@runtime_checkable
class Telling(Protocol):
    """A source, or a part of one, whose units take long to list."""

    def tell_to(self, tell: Tell) -> None:
        """Say from now on how far listing has come."""
        ...


@runtime_checkable
class Remarking(Protocol):
    """A source, or a part of one, that can tell what it passed over."""

    def remarks(self) -> Mapping[str, int]:
        """How many files or folders were left out, or read in part, when the units were last listed, by reason."""
        ...


@runtime_checkable
class Releasing(Protocol):
    """A source, or a part of one, that keeps much in memory while its units are read."""

    def let_go(self) -> None:
        """Give that memory back; whoever reads another unit waits until it is there again."""
        ...


# --- the truth -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PreparedPassage:
    """A passage with what is derived from it: hashed terms with counts, its length in terms and its vector.

    `term_hashes` are ascending little-endian uint32 hashes of the distinct terms; `term_counts` has one byte a
    term: the count in title and headings in the high four bits, in the body in the low four, each at most 15.
    `vector` is the int8-quantised unit vector (its scale is 1 / its own norm), or empty when there is none.
    """

    passage: Passage
    term_hashes: bytes
    term_counts: bytes
    length: int
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class PreparedNode:
    """A node ready to be stored: hash of its content, passages, token count and near-duplicate sketch."""

    node: Node
    content_hash: str
    passages: tuple[PreparedPassage, ...]
    text_tokens: int
    sketch: bytes
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """One atomic write. Units list the stamps to remember; `removes` are (tenant, key)."""

    upserts: tuple[PreparedNode, ...] = ()
    removes: tuple[tuple[str, str], ...] = ()
    edges: tuple[EdgeSet, ...] = ()
    aliases: tuple[AliasSet, ...] = ()
    units: tuple[tuple[str, str, str, str], ...] = ()
    """(tenant, source, unit, stamp) seen; an empty stamp forgets the unit."""
    importance: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassageRow:
    """What ordering needs to know about one passage; hashes and counts as in PreparedPassage."""

    id: int
    node_id: int
    passage: Passage
    length: int
    term_hashes: bytes
    term_counts: bytes


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """Exact statistics of a view: passages in all, their mean length, and passages per term hash."""

    passages: int
    mean_length: float
    frequency: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A stored node with what was derived from it."""

    node: Node
    text_tokens: int
    sketch: bytes


@dataclass(frozen=True, slots=True)
class NameRow:
    """What one node is called."""

    tenant: str
    key: str
    title: str
    aliases: tuple[Alias, ...] = ()
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The neighbours of some nodes that the view may see, as parallel arrays, strongest first per node.

    `owner` and `neighbour` are node ids; `tag` is a stable 64-bit hash of the neighbour's tenant and key, the
    same in every store; `edge_type` and `kind` index into `edge_types` and `kinds`; `outward` is 1 where the
    edge leads from owner to neighbour. `degree` maps owner to how many edges it has in the view, including
    those beyond the fan-out limit.
    """

    owner: "Ids"
    neighbour: "Ids"
    tag: "Ids"
    weight: "Scores"
    edge_type: "Ids"
    kind: "Ids"
    outward: "Ids"
    degree: Mapping[int, int]
    edge_types: tuple[str, ...]
    kinds: tuple[str, ...]


class Snapshot(Protocol):
    """A consistent reading of the store for one view; nothing outside the view can be seen through it."""

    view: View
    sequence: int

    @property
    def identity(self) -> str:
        """What tells the store from every other; derived files carry it."""
        ...

    def nodes(self, ids: Sequence[int]) -> dict[int, NodeRow]:
        """Nodes by id; ids outside the view are absent."""
        ...

    def find(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Ids for each name that is a node's id, its key (with or without source prefix), exact title or alias."""
        ...

    def passages(self, ids: Sequence[int]) -> list[PassageRow]:
        """Passages by id, in the order asked; those that are gone or outside the view are left out."""
        ...

    def passages_of(self, node_ids: Sequence[int]) -> list[PassageRow]:
        """All passages of the nodes, by node as asked and by ordinal."""
        ...

    def vectors(self, passage_ids: Sequence[int]) -> "Vectors":
        """Unit vectors by passage, zero rows where there is none."""
        ...

    def statistics(self, term_hashes: Sequence[int]) -> TermStatistics:
        """Term statistics of exactly this view."""
        ...

    def adjacency(self, ids: Sequence[int], fan_out: int) -> Adjacency:
        """The strongest `fan_out` neighbours of each node."""
        ...

    def edges(self, ids: Sequence[int], limit: int = 1000) -> list[tuple[int, int, Edge]]:
        """Full edges touching the nodes: (source id, target id, edge), strongest first."""
        ...

    def matching(self, filter: Filter) -> "Ids":
        """Sorted ids of nodes that pass the filter."""
        ...

    def tail(self, since: int, limit: int) -> "Tail":
        """What changed after a sequence number."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Name and dimensions of the embedder whose vectors are stored."""
        ...


@dataclass(frozen=True, slots=True)
class TailPassage:
    """A changed passage as an index needs it."""

    id: int
    node_id: int
    tenant: str
    facets: tuple[str, ...]
    """`kind:…`, `tag:…`, `source:…` and `field:name=value`, for filters."""
    sequence: int | None
    known_from: int | None
    time: datetime | None
    term_hashes: bytes
    term_counts: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class Tail:
    """Changes after a sequence number: ids whose old passages are void, and the passages they have now."""

    sequence: int
    changed_nodes: tuple[int, ...]
    passages: tuple[TailPassage, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Counts and versions for `weft status`."""

    location: str
    schema_version: int
    sequence: int
    nodes: int
    passages: int
    edges: int
    vectors: int
    embedder: str | None
    bytes: int
    by_tenant: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_source: Mapping[str, int]
    by_edge_type: Mapping[str, int]


class Store(Protocol):
    """The truth: nodes, edges, passages, vectors and one change sequence."""

    def write(self, changes: Changes) -> int:
        """Apply the changes atomically and return the sequence number after them."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """Hold the right to write across several writes; a second writer waits for it."""
        ...

    def snapshot(self, view: View) -> AbstractContextManager[Snapshot]: ...

    def everything(self) -> AbstractContextManager[Snapshot]:
        """A snapshot of all tenants, for derived indexes and maintenance only, never for a reader."""
        ...

    def hashes(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        """Content hash by key for the nodes that exist."""
        ...

    def units(self, tenant: str, source: str) -> dict[str, str]:
        """Remembered stamp of each unit of a source."""
        ...

    def unit_keys(self, source: str, unit: str) -> tuple[tuple[str, str], ...]:
        """(tenant, key) of the nodes a unit brought; units are named `<owning tenant>/<unit>` on nodes."""
        ...

    def drawn(self, beginning: str) -> tuple[tuple[str, str], ...]:
        """(maker, tenant) of all edges whose maker's name begins so."""
        ...

    def iterate(self, tenant: str, after_id: int = 0) -> Iterator[NodeRow]:
        """All nodes of a tenant in id order, without holding a transaction open for the writer."""
        ...

    def names(self, tenant: str) -> Iterator[NameRow]:
        """What every node of a tenant is called, in id order, without reading the nodes themselves."""
        ...

    def tagged(self, tenant: str, tag: str) -> tuple[str, ...]:
        """The keys of a tenant's nodes that carry a tag, in order."""
        ...

    def share(self, tenant: str, shared: Sequence[str]) -> None:
        """Declare which other tenants this tenant's links may point to."""
        ...

    def shared(self, tenant: str) -> tuple[str, ...]:
        """The tenants that this tenant's links may point to."""
        ...

    def sharing(self, tenant: str) -> tuple[str, ...]:
        """The tenants whose links may point to this one."""
        ...

    def remember_embedder(self, name: str, dimensions: int) -> None:
        """Fix the embedder of this store; raises EmbedderMismatch when another one's vectors are stored."""
        ...

    def status(self, view: View | None = None) -> StoreStatus: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Portion:
    """Some nodes of a store with all that starts at them, for another store to take in; `last` is the last id."""

    last: int
    changes: Changes


@dataclass(frozen=True, slots=True)
class Books:
    """What a store remembers beside nodes and edges."""

    identity: str
    sequence: int
    nodes: int
    embedder: tuple[str, int] | None
    units: tuple[tuple[str, str, str, str], ...]
    """(tenant, source, unit, stamp) of everything that was indexed."""
    shared: Mapping[str, tuple[str, ...]]
    """Into which other tenants each tenant's links may lead."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How many nodes and edges a store holds, and one digest of them all."""

    nodes: int
    edges: int
    digest: str


class Exporting(Protocol):
    """A store that hands itself out, to be copied into another."""

    def books(self) -> Books: ...

    def left(self, after_id: int) -> int:
        """How many nodes come after an id."""
        ...

    def portion(self, after_id: int, limit: int) -> Portion | None:
        """The next nodes by id, or None when there are no more."""
        ...

    def strays(self) -> Changes:
        """The edges that start at keys without a node."""
        ...

    def fingerprint(self) -> Fingerprint: ...


# --- derived search --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposals:
    """Passages an index proposes; for vectors, `scores` are exact cosines. `notes` say what is missing."""

    passage_ids: "Ids"
    scores: "Scores"
    notes: tuple[str, ...] = ()


class Index(Protocol):
    """Derived search over a store. It proposes; ordering is computed from the snapshot by the caller.

    Both searches return only passages that exist in the snapshot and pass the filter, whatever the state of
    the derived files: what the index has not caught up with is scanned from the snapshot.
    """

    def lexical(self, snapshot: Snapshot, term_hashes: Sequence[int], filter: Filter, limit: int) -> Proposals:
        """Passages that hold any of the terms, most promising first; ties at the cut are included."""
        ...

    def semantic(self, snapshot: Snapshot, vector: "Vectors", filter: Filter, limit: int) -> Proposals:
        """The passages nearest to the vector with their exact cosines; ties at the cut are included."""
        ...

    def catch_up(self, store: Store) -> int:
        """Bring the derived files up to the store's sequence and return it."""
        ...

    def status(self) -> Mapping[str, str | int]: ...

    def close(self) -> None: ...


@runtime_checkable
class SideBySide(Protocol):
    """An index that searches for the words and the meaning of a question at once."""

    def both(
        self,
        snapshot: Snapshot,
        term_hashes: Sequence[int],
        vector: "Vectors",
        filter: Filter,
        limits: tuple[int, int],
    ) -> tuple[Proposals, Proposals]:
        """What `lexical` and `semantic` return, with a limit each."""
        ...
