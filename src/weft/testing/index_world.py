"""Prepare small nodes, and work out the slow way which answers a search over them must give."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from weft.model import Filter, Node, Origin, Passage, View
from weft.ports import Changes, CombinedIndex, Index, PreparedNode, PreparedPassage, Snapshot, Store
from weft.scoring.similarity import cosines, norms, quantise, stack_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

OpenIndex = Callable[..., Index]
DIMENSIONS = 16
ALL = Filter()
WORLD = View(("default",))
BOTH = View(("default", "other"))


def term(word: str) -> int:
    """Return the hash of a word."""
    return xxhash.xxh32_intdigest(word.encode())


def terms(text: str) -> list[int]:
    """Return the hashes of the words of a question."""
    return [term(word) for word in text.split()]


def vector(text: str) -> "NDArray[np.float32]":
    """Return a direction that texts with words in common share in part."""
    total = np.zeros(DIMENSIONS, dtype=np.float64)
    for word, count in sorted(Counter(text.split()).items()):
        total += count * np.random.default_rng(term(word)).normal(size=DIMENSIONS)
    unit: NDArray[np.float32] = (total / (np.linalg.norm(total) or 1.0)).astype(np.float32)
    return unit


def passage(ordinal: int, text: str, title: str = "", embedded: bool = True) -> PreparedPassage:
    """Return a passage with its terms counted and its vector."""
    body, head = Counter(terms(text)), Counter(terms(title))
    hashes = sorted(body | head)
    counts = bytes((min(head[h], 15) << 4) | min(body[h], 15) for h in hashes)
    place = Passage(ordinal, 0, len(text), 1, 1)
    stored = quantise(vector(f"{title} {text}")[None, :])[0] if embedded else b""
    return PreparedPassage(place, np.array(hashes, "<u4").tobytes(), counts, sum(body.values()), stored)


def prepared(key: str, *texts: str, embedded: bool = True, **fields: object) -> PreparedNode:
    """Return a node with one passage for each text."""
    values: dict[str, Any] = {"kind": "note", "text": "\n".join(texts), "origin": Origin(source="s"), **fields}
    node = Node(f"s:{key}", **values)
    passages = tuple(passage(n, text, node.title, embedded) for n, text in enumerate(texts))
    return PreparedNode(node, repr((node, embedded)), passages, 1, b"")


def write(store: Store, *nodes: PreparedNode, removes: Sequence[tuple[str, str]] = ()) -> int:
    """Write nodes and remove keys in one step."""
    return store.write(Changes(upserts=nodes, removes=tuple(removes)))


def lexical_keys(
    index: Index, snapshot: Snapshot, question: str, filter: Filter = ALL, limit: int = 100
) -> list[str]:
    """Return the keys of the nodes proposed for a question, sorted, without their source."""
    return keys(snapshot, index.lexical(snapshot, terms(question), filter, limit).passage_ids)


def semantic_keys(
    index: Index, snapshot: Snapshot, question: str, filter: Filter = ALL, limit: int = 100
) -> list[str]:
    """Return the keys of the nodes nearest to a question, sorted, without their source."""
    return keys(snapshot, index.semantic(snapshot, vector(question), filter, limit).passage_ids)


def keys(snapshot: Snapshot, passage_ids: "NDArray[np.int64]") -> list[str]:
    """Return the keys behind proposed passages; every one of them must exist in the snapshot."""
    rows = snapshot.passages([int(i) for i in passage_ids])
    assert [row.id for row in rows] == list(passage_ids)
    nodes = snapshot.nodes(sorted({row.node_id for row in rows}))
    return sorted(row.node.key.removeprefix("s:") for row in nodes.values())


def expected_lexical(snapshot: Snapshot, question: str, filter: Filter = ALL) -> set[int]:
    """Return the ids of all passages that hold one of the words and pass the filter."""
    wanted = set(terms(question))
    rows = snapshot.passages_of_nodes(snapshot.matching_ids(filter).tolist())
    return {row.id for row in rows if wanted & set(np.frombuffer(row.term_hashes, "<u4").tolist())}


def expected_semantic(snapshot: Snapshot, question: str, filter: Filter, limit: int) -> list[tuple[int, float]]:
    """Return (id, cosine) of the nearest passages that pass the filter, with ties at the end, best first."""
    rows = snapshot.passages_of_nodes(snapshot.matching_ids(filter).tolist())
    stored = quantise(snapshot.vectors([row.id for row in rows])) if rows else []
    pairs = [(row.id, data) for row, data in zip(rows, stored, strict=True) if data]
    if not pairs:
        return []
    matrix = stack_rows([data for _, data in pairs], DIMENSIONS)
    query = np.frombuffer(quantise(vector(question)[None, :])[0], np.int8)
    scores = cosines(matrix, norms(matrix), query).tolist()
    ranked = sorted(zip([i for i, _ in pairs], scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return [pair for pair in ranked if pair[1] >= ranked[min(limit, len(ranked)) - 1][1]]


def found(
    index: Index, store: Store, question: str, *, view: View = WORLD, filter: Filter = ALL, limit: int = 100
) -> tuple[list[str], list[str]]:
    """Return the keys by both searches, which in these small worlds must agree on what holds the words."""
    with store.snapshot(view) as snapshot:
        words = lexical_keys(index, snapshot, question, filter, limit)
        near = semantic_keys(index, snapshot, question, filter, limit)
    return words, near


def agrees_with_truth(
    index: Index,
    store: Store,
    question: str = "red fox",
    *,
    view: View = WORLD,
    filter: Filter = ALL,
    limit: int = 3,
) -> bool:
    """Check that both searches give what the slow way gives."""
    with store.snapshot(view) as snapshot:
        words = index.lexical(snapshot, terms(question), filter, 1000)
        assert set(words.passage_ids.tolist()) == expected_lexical(snapshot, question, filter)
        near = index.semantic(snapshot, vector(question), filter, limit)
        pairs = list(zip(near.passage_ids.tolist(), near.scores.tolist(), strict=True))
        assert pairs == expected_semantic(snapshot, question, filter, limit)
        if isinstance(index, CombinedIndex):
            at_once = index.search_both(snapshot, terms(question), vector(question), filter, (1000, limit))
            assert [each.passage_ids.tolist() for each in at_once] == [
                each.passage_ids.tolist() for each in (words, near)
            ]
    return True


def animals(count: int = 12) -> list[PreparedNode]:
    """Return nodes about animals in two colours."""
    return [
        prepared(f"n{n}", f"{('red', 'grey')[n % 2]} {('fox', 'owl', 'elk')[n % 3]} w{n}") for n in range(count)
    ]
