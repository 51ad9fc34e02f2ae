"""What an entity of a collection holds, and what filters and questions ask of it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
import xxhash
from pymilvus import DataType

from weft.model import Filter, View
from weft.ports import TailPassage
from weft.scoring.bm25 import LENGTH_NORMALISATION, SATURATION
from weft.store.embedded.lexical import weighted_counts
from weft.store.records import to_microseconds
from weft.store.scope import microseconds, position_of
from weft.store.sqlite.filters import facet_groups

_ABSENT: Final = -(1 << 62)
_LAST_TERM: Final = (1 << 32) - 2
_USUAL_LENGTH: Final = 100.0
_LONGEST_NAME: Final = 4096
_MOST_FACETS: Final = 1024


def fields_of(dimensions: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """The fields beside the id, each with its type and options."""
    return {
        "node": (DataType.INT64, {}),
        "tenant": (DataType.VARCHAR, {"max_length": _LONGEST_NAME, "is_partition_key": True}),
        "facets": (
            DataType.ARRAY,
            {"element_type": DataType.VARCHAR, "max_capacity": _MOST_FACETS, "max_length": _LONGEST_NAME},
        ),
        "position": (DataType.INT64, {}),
        "sequence": (DataType.INT64, {}),
        "time": (DataType.INT64, {}),
        "embedded": (DataType.BOOL, {}),
        "terms": (DataType.SPARSE_FLOAT_VECTOR, {}),
        "vector": (DataType.FLOAT_VECTOR, {"dim": dimensions}),
    }


def entity_of(passage: TailPassage, dimensions: int) -> dict[str, Any]:
    """A passage as the collection keeps it."""
    embedded = len(passage.vector) == dimensions
    vector = np.frombuffer(passage.vector, np.int8) if embedded else np.zeros(dimensions)
    return {
        "id": passage.id,
        "node": passage.node_id,
        "tenant": _short(passage.tenant),
        "facets": [_short(facet) for facet in passage.facets[:_MOST_FACETS]],
        "position": _number(position_of(passage)),
        "sequence": _number(passage.sequence),
        "time": _number(microseconds(passage.time)),
        "embedded": embedded,
        "terms": saturated(passage.term_hashes, passage.term_counts),
        "vector": vector.astype(np.float64).tolist(),
    }


def saturated(term_hashes: bytes, term_counts: bytes) -> dict[int, float]:
    """What each term adds to the BM25 score of a passage, before the weight that a view gives the term.

    The mean length is a usual one: the true one moves with every write, and engines only propose.
    """
    counts = weighted_counts(term_counts).astype(np.float64)
    damping = SATURATION * (1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * counts.sum() / _USUAL_LENGTH)
    gains = counts * (1 + SATURATION) / (counts + damping)
    terms = np.frombuffer(term_hashes, "<u4").tolist()
    found = {min(term, _LAST_TERM): gain for term, gain in zip(terms, gains.tolist(), strict=True) if gain > 0}
    return found or {_LAST_TERM: 1e-6}


def asked(weights: Mapping[int, float]) -> dict[int, float]:
    """A question as a sparse vector: the weights that the view gives its terms."""
    return {min(term, _LAST_TERM): weight for term, weight in weights.items() if math.isfinite(weight)}


def condition_of(view: View, filter: Filter, masked: Iterable[int], nodes: Sequence[int] | None) -> str:
    """What an entity must satisfy to be seen through the view and the filter and not be replaced just now."""
    parts = [f"tenant in {_listed(view.tenants)}"]
    parts += [f"ARRAY_CONTAINS_ANY(facets, {_listed(group)})" for group in facet_groups(filter)]
    bounds = (
        ("position", None, view.as_of),
        ("sequence", filter.sequence_from, filter.sequence_to),
        ("time", to_microseconds(filter.since), to_microseconds(filter.until)),
    )
    for name, low, high in bounds:
        if low is not None or high is not None:
            parts.append(f"{name} >= {_ABSENT + 1 if low is None else low}")
        if high is not None:
            parts.append(f"{name} <= {high}")
    hidden = sorted(masked)
    if hidden:
        parts.append(f"node not in [{', '.join(map(str, hidden))}]")
    if nodes is not None:
        parts.append(f"node in [{', '.join(map(str, nodes))}]" if nodes else "node == 0")
    return " and ".join(parts)


def _listed(names: Iterable[str]) -> str:
    return orjson.dumps([_short(name) for name in names]).decode()


def _short(name: str) -> str:
    """The name, or a digest of one that is longer than an entity may hold."""
    written = name.encode("utf-8")
    return name if len(written) <= _LONGEST_NAME else xxhash.xxh128_hexdigest(written)


def _number(value: int | None) -> int:
    return _ABSENT if value is None else value
