"""What a store is given to write, and what a whole store is copied as."""

from collections.abc import Mapping
from dataclasses import field

from weft.frozen import dataclass
from weft.model import AliasSet, EdgeSet, Node, Passage


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
