"""The records that everything speaks: nodes and edges, requests, candidates, pages and contexts."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict, force_setattr

# Sequences and mappings, not lists and dicts: frozen records hold tuples.
Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

DEFAULT_TENANT: Final = "default"
"""The tenant of everything that names none."""
MAX_TEXT_CHARACTERS: Final = 5_000_000
"""The most characters that the text of one node has. "War and Peace" fits in whole (about three million); a higher
limit makes a single node cost more memory and time on every page that considers it."""

FOUND_ENTITY: Final = ":entity/"
"""The part of a key, after the name of its source, that marks an entity found in prose."""

STORY_MAKER: Final = "story:"
"""The prefix of the makers of everything found in prose, before the name of their source."""

# The default everywhere: an answer that misses an acknowledged write must be asked for.
STRONG: Final = "strong"
CONSISTENCIES: Final = (STRONG, "session", "bounded", "eventually")
"""The writes that an answer must include: all that were acknowledged, this process's own, recent ones, or any."""
FORMATS: Final = ("markdown", "xml", "plain", "json")
"""The formats of a page."""
SEARCH_MATCHES: Final = ("hybrid", "bm25", "vector")
"""The ways to search: by words and meaning, by words, or by meaning."""

CALIBRATED: Final = "calibrated"
"""The part of a search's result that holds its calibrated relevance."""

NodeRef: TypeAlias = tuple[str, str]
"""A node's tenant and key: a key alone may exist in several tenants."""


class Unset(StrEnum):
    """The type of UNSET, for arguments where None already means something."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""The value of arguments that were not given."""


def to_plain(value: object) -> object:
    """Return a record as its fields by name, and anything else as text: for what JSON has no form of its own."""
    # orjson knows dataclasses but not structs, and asks this function for everything it does not know.
    return asdict(value) if isinstance(value, Struct) else str(value)


def as_tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return several names as a tuple; a string is one name, never a sequence of letters."""
    return (names,) if isinstance(names, str) else tuple(names)


# --- what is stored ---------------------------------------------------------------------------------------

# Records with `gc=False` are made by the thousand and hold nothing that could lead back to them: Python need not
# look through them for cycles, which in a process that keeps many takes longer than a page.


class Stale(StrEnum):
    """The change of a file since its nodes were read from it."""

    CHANGED = "changed since it was read"
    DELETED = "deleted since it was read"


class Origin(Struct, frozen=True, gc=False):
    """The place a node came from, precise enough to open it there; `stale` is set on reading and never stored."""

    source: str = ""
    file: str | None = None
    first_line: int | None = None
    last_line: int | None = None
    url: str | None = None
    commit: str | None = None
    stale: Stale | None = None


class Alias(Struct, frozen=True, gc=False):
    """Another name of a node; `maker` is the source or linker that gave it, with its version."""

    text: str
    maker: str = ""
    confidence: float = 1.0

    @property
    def found(self) -> bool:
        """Whether the name was found in prose rather than given by a source."""
        return self.maker.startswith(STORY_MAKER)


class Node(Struct, frozen=True, gc=False):
    """One thing that is known. `key` is unique within a tenant and begins with the name of its source."""

    key: str
    kind: str
    tenant: str = DEFAULT_TENANT
    title: str = ""
    summary: str = ""
    text: str = ""
    language: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    # Tuples throughout: records are shared between threads, and must not change.
    aliases: tuple[Alias, ...] = ()
    origin: Origin = Origin()
    sequence: int | None = None
    # What a story reveals later has a later `known_from` than the point it is about (`sequence`).
    known_from: int | None = None
    created: datetime | None = None
    modified: datetime | None = None
    importance: float = 0.0
    id: int = 0

    @property
    def ref(self) -> NodeRef:
        """The reference that tells this node from all others, stored or not."""
        return self.tenant, self.key

    @property
    def handle(self) -> str:
        """The name under which `weft show` fetches this node whole."""
        return self.key


class Edge(Struct, frozen=True, gc=False):
    """A typed, weighted link between two keys; the target may live in a tenant that ours declares shared."""

    source: str
    target: str
    type: str
    weight: float = 1.0
    confidence: float = 1.0
    evidence: str = ""
    tenant: str = DEFAULT_TENANT
    # None is the edge's own tenant.
    target_tenant: str | None = None


class EdgeSet(Struct, frozen=True):
    """All edges that one maker draws from the given nodes: writing it replaces what that maker drew before.

    `scope` lists the source keys whose earlier edges by this maker go away; None means all of the tenant's.
    """

    maker: str
    tenant: str
    edges: tuple[Edge, ...]
    scope: tuple[str, ...] | None = None


class AliasSet(Struct, frozen=True):
    """All aliases that one maker gives to the given nodes, replacing what that maker gave before."""

    maker: str
    tenant: str
    aliases: Mapping[str, tuple[Alias, ...]]
    scope: tuple[str, ...] | None = None


class Passage(Struct, frozen=True, gc=False):
    """A span of a node's text: characters [start, end), lines counted from 1 within the text."""

    ordinal: int
    start: int
    end: int
    first_line: int
    last_line: int
    heading_path: tuple[str, ...] = ()


class View(Struct, frozen=True):
    """The part of a store that a reader sees: some tenants, optionally only up to a point in the sequence.

    `consistency` is how fresh it must be; empty means what the store's address says, `strong` by default.
    """

    tenants: tuple[str, ...] = (DEFAULT_TENANT,)
    as_of: int | None = None
    consistency: str = ""


class Filter(Struct, frozen=True):
    """A restriction on the nodes a search may return. Empty tuples restrict nothing; `where` compares fields."""

    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    where: tuple[tuple[str, str], ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    sequence_from: int | None = None
    sequence_to: int | None = None

    def __post_init__(self) -> None:
        # `Filter(kinds="note")` means one kind, not four letters.
        for name in ("kinds", "tags", "sources"):
            if isinstance(getattr(self, name), str):
                force_setattr(self, name, (getattr(self, name),))

    @property
    def empty(self) -> bool:
        """Whether every node passes."""
        # Compared as a whole, so that a new field cannot be forgotten here.
        return self == Filter()


# --- what is asked ---------------------------------------------------------------------------------------


class Shown(Struct, frozen=True):
    """The part of a node that a session was shown: its content then, and the character ranges (None: all)."""

    fingerprint: str
    # A session that saw one excerpt may still be shown another.
    spans: tuple[tuple[int, int], ...] | None = None


class Received(Struct, frozen=True):
    """The nodes that a session was already given, by tenant and key; its next pages leave them out."""

    session: str
    nodes: Mapping[tuple[str, str], Shown] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The reason that the ledger gives for a node left out."""
        return f"already received in session {self.session}"


class Topic(Struct, frozen=True):
    """One of several subjects of a page: a question or nodes to start from, and its share of the budget."""

    question: str = ""
    start: tuple[str, ...] = ()
    share: float = 1.0


class Request(Struct, frozen=True):
    """One question, or nodes to start from, and how the answer should look. Unset values come from the profile."""

    question: str = ""
    history: tuple[str, ...] = ()
    """Earlier turns of the conversation, latest first: they colour the question, less the older they are."""
    start: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    profile: str = ""  # the page that suits the store
    preset: str | None = None
    lens: str | None = None
    depth: int | None = None
    # None is a value here (no budget), so "not given" needs another one.
    max_tokens: int | Unset | None = UNSET
    format: str | None = None
    include_fields: bool | None = None
    floor: float | None = None
    """The relevance, from 0 to 1, below which nothing is printed."""
    filter: Filter = Filter()
    # Safe as defaults, unlike lists and dicts: these records cannot be changed.
    view: View = View()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    # None searches the store; an empty tuple says that the caller found nothing.
    candidates: "tuple[Candidate, ...] | None" = None
    token_model: str = "cl100k_base"
    guard: bool = False
    """Whether to mark items that read like instructions to a model."""
    received: Received | None = None


# --- what is found ---------------------------------------------------------------------------------------


class Step(Struct, frozen=True, gc=False):
    """One edge of a path: the node it leads to, the edge's type, weight and direction ('out' or 'in')."""

    key: str
    edge_type: str
    weight: float = 1.0
    direction: str = "out"
    id: int = 0


class Candidate(Struct, frozen=True, gc=False):
    """A node that may go on the page, by value, with its signals and how it was reached.

    `parts` are the signals by name (0..1; `lexical` more where phrases count); `covers` is what each term and
    phrase of the question, by its hash, adds to the lexical one; `spans` the character ranges that matched, best
    first, `words` the packed hashes of the terms in them; `path` the steps from a starting node, its `root`;
    `text_tokens` the stored count of the text. With a `window` it stands for these characters of the text alone,
    [start, end), out of a longer `passage` if there is one. Of `members` the signatures are shown.
    """

    node: Node
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    probe: str = ""
    match_source: str | None = None
    distance: int = 0
    root: str = ""
    path: tuple[Step, ...] = ()
    covers: Mapping[int, float] = field(default_factory=dict)
    spans: tuple[tuple[int, int], ...] = ()
    text_tokens: int | None = None
    sketch: bytes = b""  # stored, so that comparing candidates reads no text
    window: tuple[int, int] | None = None
    words: bytes = b""
    passage: tuple[int, int] | None = None
    members: tuple[Node, ...] = ()

    @property
    def previous_key(self) -> str:
        """The key of the node from which the last step led here."""
        return self.path[-2].key if len(self.path) > 1 else self.root

    def is_related_pointer(self, edge_types: Collection[str]) -> bool:
        """Return whether the last step led against a link of such a type, as from a function to its caller."""
        last = self.path[-1] if self.path else None
        return last is not None and last.direction == "in" and last.edge_type in edge_types


# --- what is printed ----------------------------------------------------------------------------------


class Detail(StrEnum):
    """How much of an item is printed, from most to least."""

    WHOLE = "whole"
    EXCERPT = "excerpt"
    SUMMARY = "summary"
    POINTER = "pointer"
    DROPPED = "dropped"


class Item(Struct, frozen=True, gc=False):
    """A candidate on the page: its detail, shown `spans`, and `level` in an outline or `turn` in a dialogue."""

    candidate: Candidate
    detail: Detail
    spans: tuple[tuple[int, int], ...] = ()
    tokens: int = 0
    level: int = 0
    turn: int = 0


class PlacedSection(Struct, frozen=True):
    """A section as placed: its items, or (for `for_each`) one group per subject, or nested parts."""

    name: str
    heading: str
    items: tuple[Item, ...] = ()
    groups: "tuple[PlacedGroup, ...]" = ()


class PlacedGroup(Struct, frozen=True):
    """One subject of a `for_each` section with its parts in order."""

    subject: Candidate
    parts: tuple[PlacedSection, ...]


class Page(Struct, frozen=True):
    """A page before it has a format: a title, sections, printed notes, a footer, and how it was made."""

    title: str = ""
    sections: tuple[PlacedSection, ...] = ()
    notes: tuple[str, ...] = ()
    footer: str = ""
    sources: "tuple[Citation, ...]" = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)


class Citation(Struct, frozen=True, gc=False):
    """One source of the page, as its footer and its caller see it."""

    key: str
    id: int
    kind: str
    title: str
    tenant: str
    origin: Origin
    score: float
    detail: Detail


class LedgerEntry(Struct, frozen=True, gc=False):
    """The fate of one candidate: where it was placed, at which detail and cost, why, and what to know about it."""

    key: str
    id: int
    kind: str
    title: str
    tenant: str
    section: str
    score: float
    parts: Mapping[str, float]
    match_source: str | None
    distance: int
    path: tuple[Step, ...]
    detail: Detail
    tokens: int
    reason: str
    handle: str
    mark: str = ""


class ManifestEntry(Struct, frozen=True, gc=False):
    """The source of lines [first_line, last_line] of the text; `key` is None for lines that Weft itself wrote."""

    first_line: int
    last_line: int
    key: str | None
    tenant: str | None = None
    origin: Origin | None = None
    source_first_line: int | None = None
    source_last_line: int | None = None
    verbatim: bool = False


class Context(Struct, frozen=True):
    """The answer: a text within the budget, what is needed to check it, and an id of it and its request."""

    text: str
    format: str
    profile: str
    page: Page
    tokens: int
    max_tokens: int | None
    token_model: str
    sources: tuple[Citation, ...]
    ledger: tuple[LedgerEntry, ...]
    manifest: tuple[ManifestEntry, ...]
    notes: tuple[str, ...]
    stats: Mapping[str, float]
    hash: str
    id: str = ""

    def __str__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        """Show the page in a notebook: rendered where it is Markdown, else fenced, which keeps its lines apart."""
        return self.text if self.format == "markdown" else f"```{self.format}\n{self.text}\n```"
