"""Turn nodes, passages and edges into the rows of an SQL store, and the rows back into nodes, passages and edges.

Both SQL engines have the same columns, so that a store can be copied from one to the other row by row.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import orjson
import xxhash

from weft.errors import InvalidInput
from weft.model import Alias, Edge, Filter, Json, Node, Origin, Passage
from weft.ports import ChangedPassage, NodeRow, PassageRow, PreparedNode
from weft.text.terms import fold

Row = tuple[Any, ...]
EdgeCursor = tuple[int, int, int]
"""The last edge of a page, from which the next page goes on: source id, number of the type, target id."""

# Times are stored as whole microseconds since 1970: exact, and comparable in every engine.
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
MAX_WORDS_LOOKED_UP: Final = 5_000
"""Words whose names are looked up one by one; with more, reading the names of all nodes is faster."""
_WORD: Final = re.compile(r"\w+")
_MAX_ID_DIGITS: Final = 18
"""Digits of a name that may be an id: every number of 18 digits fits the 64 bits of a column."""
MAX_FACET_VALUE_LENGTH: Final = 64
"""Characters of a field's value that may become a facet. Longer values are mostly unique to a node: as facets they
would fill the facet tables without narrowing any filter, so filters on them read the stored fields instead."""
_CACHED_TEXT_LISTS: Final = 16_384
"""Lists of tags and headings whose parsed form is kept; they repeat from node to node and passage to passage."""

# The order of columns in which the functions below take rows apart and put them together.
NODE_COLUMNS: Final = (
    "n.id, n.tenant_id, n.kind_id, n.sequence, n.known_from, n.created, n.modified, n.text_tokens, n.key, "
    "n.source, n.language, n.file, n.first_line, n.last_line, n.url, n.revision, n.tags, n.fields, n.sketch, "
    "n.title, n.summary, n.text, i.value"
)
PASSAGE_COLUMNS: Final = (
    "p.id, p.node_id, p.ordinal, p.start, p.stop, p.first_line, p.last_line, p.heading_path, p.length, "
    "p.term_hashes, p.term_counts"
)
WRITTEN_COLUMNS: Final = (
    *("id", "tenant_id", "kind_id", "key_id", "changed", "tag", "position", "sequence", "known_from"),
    *("created", "modified", "text_tokens", "key", "source", "unit", "content_hash", "language"),
    *("file", "first_line", "last_line", "url", "revision", "tags", "fields", "sketch"),
    *("title", "summary", "text"),
)
TAIL_COLUMNS: Final = (
    "n.id, n.tenant_id, n.kind_id, n.source, n.tags, n.fields, n.sequence, n.known_from,"
    " coalesce(n.modified, n.created)"
)
FIRST_CURSOR: Final[EdgeCursor] = (0, 0, 0)
"""The cursor before the first edge; ids begin at 1."""


class ListedEdge(NamedTuple):
    """An edge between two nodes with all makers that drew it; the strongest of theirs gives its weight."""

    source_id: int
    target_id: int
    edge: Edge
    makers: tuple[str, ...]
    cursor: EdgeCursor


def may_be_made_of(name: str, words: Collection[str]) -> bool:
    """Return whether a folded name may have no other words than these."""
    # Names in brackets are also known without them, and words of other scripts are not told apart here.
    return not name.isascii() or name.endswith(")") or all(word in words for word in _WORD.findall(name))


def to_id(name: str) -> int | None:
    """Return the id that a name may be, or None if it is no number that a column holds."""
    return int(name) if name.isascii() and name.isdigit() and len(name) <= _MAX_ID_DIGITS else None


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared: case, accents and blanks made equal."""
    return " ".join(fold(name).split())


def stable_tag(tenant: str, key: str) -> int:
    """Return a signed 64-bit hash of tenant and key that is the same in every store."""
    unsigned = xxhash.xxh64_intdigest(f"{tenant}\0{key}".encode())
    # Columns of 64 bits are signed in both engines.
    return unsigned - (1 << 64) if unsigned >= 1 << 63 else unsigned


def to_microseconds(moment: datetime | None) -> int | None:
    """Return the microseconds since 1970 in UTC; a moment without a zone is taken as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def to_moment(microseconds: int | None) -> datetime | None:
    """Return the moment that `to_microseconds` stored."""
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def list_names(key: str, title: str, aliases: Iterable[str]) -> list[str]:
    """Return the folded names by which a node is found: its key without the source, its title and its aliases."""
    # People name a note without the source that it was read from.
    folded = {fold_name(name) for name in (key.partition(":")[2], title, *aliases)}
    return sorted(folded - {""})


def tag_forms(tag: str) -> set[str]:
    """Return the tags, in small letters, that find a tag: itself, and those above it, as `a` for `A/B`."""
    parts = tag.casefold().split("/")
    return {tag.casefold(), *("/".join(parts[:length]) for length in range(1, len(parts)) if parts[0])}


def list_facets(kind: str, source: str, tags: Iterable[str], fields: Mapping[str, Json]) -> tuple[str, ...]:
    """Return what filters may ask of a node, sorted: its kind, source, tags and short scalar fields."""
    facets = {f"kind:{kind}"}
    if source:
        facets.add(f"source:{source}")
    for tag in tags:
        # As written for links between nodes of one tag, in small letters for people who filter by it.
        facets.update((f"tag:{tag}", *(f"tagged:{form}" for form in tag_forms(tag))))
    for name, value in fields.items():
        text = scalar_text(value)
        if text is not None and len(text) <= MAX_FACET_VALUE_LENGTH:
            facets.add(f"field:{name}={text}")
    return tuple(sorted(facets))


def facet_groups(filter: Filter) -> Iterator[list[str]]:
    """Yield the groups of facets of which a node must have one each; values too long to be facets are left out."""
    for prefix, values in (("kind", filter.kinds), ("source", filter.sources)):
        if values:
            yield [f"{prefix}:{value}" for value in values]
    for tag in filter.tags:
        # Stores of older versions know tags only as they were written.
        yield [f"tag:{tag}", f"tagged:{tag.casefold()}"]
    for name, value in filter.where:
        if len(value) <= MAX_FACET_VALUE_LENGTH:
            yield [f"field:{name}={value}"]


def scalar_text(value: Json) -> str | None:
    """Return a field's value as filters write it, or None when it is not a scalar."""
    # Before numbers, because Python takes a bool for an int.
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def known_position(item: Node | ChangedPassage) -> int | None:
    """Return the point in the sequence from which a node or passage is known."""
    return item.sequence if item.known_from is None else item.known_from


def node_values(prepared: PreparedNode) -> Row:
    """Return a node's values for WRITTEN_COLUMNS from `tag` on; those before it are the store's own numbers."""
    node, origin = prepared.node, prepared.node.origin
    return (
        *(stable_tag(node.tenant, node.key), known_position(node), node.sequence, node.known_from),
        *(to_microseconds(node.created), to_microseconds(node.modified), prepared.text_tokens),
        *(node.key, origin.source, prepared.unit, prepared.content_hash, node.language),
        *(origin.file, origin.first_line, origin.last_line, origin.url, origin.commit),
        *(pack_texts(node.tags), _pack_fields(node), prepared.sketch),
        *(node.title, node.summary, node.text),
    )


def not_unicode_error(error: UnicodeEncodeError) -> InvalidInput:
    """Return the error for a text that no store can hold."""
    return InvalidInput(
        f"A text cannot be stored because it is not valid Unicode ({error.reason}: "
        f"{error.object[error.start : error.end]!r}). Decode it with errors='replace' first."
    )


def pack_texts(texts: Sequence[str]) -> str | None:
    """Return a list of texts as JSON, or None when it is empty."""
    if not texts:
        return None
    try:
        return orjson.dumps(list(texts)).decode()
    except TypeError:
        # orjson only says that a text is invalid. Encoding raises the UnicodeEncodeError that names the
        # characters.
        "".join(texts).encode("utf-8")
        raise


def _pack_fields(node: Node) -> str | None:
    if not node.fields:
        return None
    try:
        # Sorted, so that equal fields are the same bytes in every store.
        return orjson.dumps(dict(node.fields), default=_to_plain_collection, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        raise InvalidInput(
            f"The fields of node {node.key!r} cannot be stored as JSON ({error}). Allowed: texts, finite numbers "
            "of at most 64 bits, true, false, null, and lists and mappings of these. Change the value."
        ) from error


def _to_plain_collection(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def unpack_texts(packed: str | None) -> tuple[str, ...]:
    """Return the texts that `pack_texts` stored."""
    return _load_texts(packed) if packed else ()


@lru_cache(_CACHED_TEXT_LISTS)
def _load_texts(packed: str) -> tuple[str, ...]:
    return tuple(orjson.loads(packed))


def unpack_fields(packed: str | None) -> dict[str, Json]:
    """Return a node's fields from their stored JSON."""
    return orjson.loads(packed) if packed else {}


def read_nodes(
    rows: Iterable[Row],
    tenants: Mapping[int, str],
    kinds: Mapping[int, str],
    aliases: Mapping[int, tuple[Alias, ...]],
) -> dict[int, NodeRow]:
    """Return nodes by id from rows of NODE_COLUMNS."""
    # Every answer runs through this loop, so it makes no calls for the parts of a row that it can write out
    # itself.
    found: dict[int, NodeRow] = {}
    for row in rows:
        node_id, tenant, kind, sequence, known_from, created, modified, tokens, key, source, language = row[:11]
        file, first, last, url, revision, tags, fields, sketch, title, summary, text, importance = row[11:]
        node = Node(
            key,
            kinds[kind],
            tenants[tenant],
            title,
            summary,
            text,
            language,
            orjson.loads(fields) if fields else {},
            _load_texts(tags) if tags else (),
            aliases.get(node_id, ()),
            Origin(source, file, first, last, url, revision),
            sequence,
            known_from,
            None if created is None else _EPOCH + timedelta(0, 0, created),
            None if modified is None else _EPOCH + timedelta(0, 0, modified),
            importance,
            node_id,
        )
        found[node_id] = NodeRow(node, tokens, sketch)
    return found


def read_passages(rows: Iterable[Row]) -> list[PassageRow]:
    """Return passages from rows of PASSAGE_COLUMNS."""
    return [
        PassageRow(
            passage_id,
            node_id,
            Passage(ordinal, start, stop, first, last, _load_texts(headings) if headings else ()),
            length,
            hashes,
            counts,
        )
        for passage_id, node_id, ordinal, start, stop, first, last, headings, length, hashes, counts in rows
    ]


def read_edge(row: Row, tenants: Mapping[int, str]) -> Edge:
    """Return an edge from its row.

    The columns are (source id, target id, source tenant, target tenant, source key, target key, type, weight,
    confidence, evidence).
    """
    _, _, start, end, source, target, edge_type, weight, confidence, evidence = row
    # None stands for the tenant that the edge starts in, as in edges from sources.
    target_tenant = None if start == end else tenants[end]
    return Edge(source, target, edge_type, weight, confidence, evidence, tenants[start], target_tenant)


# --- listings --------------------------------------------------------------------------------------------


def listed_edge(row: Row, tenants: Mapping[int, str]) -> ListedEdge:
    """Return an edge from (the columns of `read_edge`, makers one a line, number of the type)."""
    *columns, makers, type_id = row
    edge = read_edge(tuple(columns), tenants)
    return ListedEdge(row[0], row[1], edge, tuple(sorted(makers.split("\n"))), (row[0], type_id, row[1]))


def last_whole_sequence(numbers: Sequence[int], most: int) -> int | None:
    """Return the last sequence number whose changes are all among the first `most`, or None when all changes are.

    `numbers` are the sequence numbers of the next changes in order, one more than `most` if there are so many. A
    write with more changes than that is returned whole.
    """
    if len(numbers) <= most:
        return None
    # Only the write that the list ends in can be cut off.
    whole = [number for number in numbers if number < numbers[-1]]
    return whole[-1] if whole else numbers[-1]


def tail_passages(
    nodes: Sequence[Row], passages: Sequence[Row], tenants: Mapping[int, str], kinds: Mapping[int, str]
) -> tuple[ChangedPassage, ...]:
    """Return passages for an index from rows of TAIL_COLUMNS and of (node id, id, hashes, counts, vector)."""
    # What the passages of one node have in common is worked out once.
    by_node = {row[0]: _passages_of_node(row, tenants, kinds) for row in nodes}
    return tuple(
        by_node[node_id](id=passage_id, term_hashes=hashes, term_counts=counts, vector=vector or b"")
        for node_id, passage_id, hashes, counts, vector in passages
    )


def _passages_of_node(row: Row, tenants: Mapping[int, str], kinds: Mapping[int, str]) -> partial[ChangedPassage]:
    """Return a maker of one node's passages that lacks only the values of the passage itself."""
    node_id, tenant_id, kind_id, source, tags, fields, sequence, known_from, time = row
    facets = list_facets(kinds[kind_id], source, unpack_texts(tags), unpack_fields(fields))
    return partial(
        ChangedPassage,
        node_id=node_id,
        tenant=tenants[tenant_id],
        facets=facets,
        sequence=sequence,
        known_from=known_from,
        time=to_moment(time),
    )
