"""Pages of edges and of recent changes, as both engines list them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from weft.model import Edge
from weft.ports import ChangedPassage
from weft.store.records import Row, list_facets, read_edge, to_moment, unpack_fields, unpack_texts

EdgeCursor = tuple[int, int, int]
"""The last edge of a page, from which the next page goes on: source id, number of the type, target id."""
FIRST_CURSOR: Final[EdgeCursor] = (0, 0, 0)
TAIL_COLUMNS: Final = (
    "n.id, n.tenant_id, n.kind_id, n.source, n.tags, n.fields, n.sequence, n.known_from,"
    " coalesce(n.modified, n.created)"
)


class ListedEdge(NamedTuple):
    """An edge between two nodes with all makers that drew it; the strongest of theirs gives its weight."""

    source_id: int
    target_id: int
    edge: Edge
    makers: tuple[str, ...]
    cursor: EdgeCursor


def listed_edge(row: Row, tenants: Mapping[int, str]) -> ListedEdge:
    """Return an edge from (the columns of `edge_of`, makers one a line, number of the type)."""
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
