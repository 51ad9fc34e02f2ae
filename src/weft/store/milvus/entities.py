"""Passages as entities of a collection, and queries and filters in the form that Milvus reads."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import orjson
import xxhash
from pymilvus import DataType

from weft.model import Filter, View
from weft.ports import ChangedPassage
from weft.scoring.bm25 import LENGTH_NORMALISATION, SATURATION
from weft.store.derived import weighted_counts
from weft.store.records import facet_groups, known_position, to_microseconds

_ABSENT: Final = -(1 << 62)
"""Stands for a number that a passage does not have: fields are never null, and every bound excludes it."""
_LAST_TERM: Final = (1 << 32) - 2
"""The highest index that a sparse vector of Milvus may have; the one hash above it shares it."""
_USUAL_LENGTH: Final = 100.0
"""Terms of a usual passage: the true mean moves with every write, and all entities would have to follow it."""
_NEGLIGIBLE_GAIN: Final = 1e-6
"""The gain of a term that stands in where a passage has none, so that no sparse vector is empty."""
_MAX_NAME_BYTES: Final = 4096
"""Bytes of a tenant or facet; longer ones are replaced by a digest, so that nearly all can be read in Milvus."""
_MAX_FACETS: Final = 1024
"""Facets of a node that are kept: Milvus takes at most 4096 in an array. Filters on the rest find nothing here."""


def entity_fields(dimensions: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return the fields of an entity beside its id, each with its type and options."""
    return {
        "node": (DataType.INT64, {}),
        "tenant": (DataType.VARCHAR, {"max_length": _MAX_NAME_BYTES, "is_partition_key": True}),
        "facets": (
            DataType.ARRAY,
            {"element_type": DataType.VARCHAR, "max_capacity": _MAX_FACETS, "max_length": _MAX_NAME_BYTES},
        ),
        "position": (DataType.INT64, {}),
        "sequence": (DataType.INT64, {}),
        "time": (DataType.INT64, {}),
        "embedded": (DataType.BOOL, {}),
        "terms": (DataType.SPARSE_FLOAT_VECTOR, {}),
        "vector": (DataType.FLOAT_VECTOR, {"dim": dimensions}),
    }


def to_entity(passage: ChangedPassage, dimensions: int) -> dict[str, Any]:
    """Return a passage as the collection keeps it."""
    is_embedded = len(passage.vector) == dimensions
    vector = np.frombuffer(passage.vector, np.int8) if is_embedded else np.zeros(dimensions)
    return {
        "id": passage.id,
        "node": passage.node_id,
        "tenant": _shorten(passage.tenant),
        "facets": [_shorten(facet) for facet in passage.facets[:_MAX_FACETS]],
        "position": _or_absent(known_position(passage)),
        "sequence": _or_absent(passage.sequence),
        "time": _or_absent(to_microseconds(passage.time)),
        "embedded": is_embedded,
        "terms": _term_gains(passage.term_hashes, passage.term_counts),
        "vector": vector.astype(np.float64).tolist(),
    }


def _term_gains(term_hashes: bytes, term_counts: bytes) -> dict[int, float]:
    """Return what each term adds to the BM25 score of a passage, before the weight that a view gives the term.

    The scores are approximate, because the mean length is a usual one; engines only propose.
    """
    counts = weighted_counts(term_counts).astype(np.float64)
    damping = SATURATION * (1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * counts.sum() / _USUAL_LENGTH)
    gains = counts * (1 + SATURATION) / (counts + damping)
    terms = np.frombuffer(term_hashes, "<u4").tolist()
    by_term = {min(term, _LAST_TERM): gain for term, gain in zip(terms, gains.tolist(), strict=True) if gain > 0}
    return by_term or {_LAST_TERM: _NEGLIGIBLE_GAIN}


def query_terms(weights: Mapping[int, float]) -> dict[int, float]:
    """Return a query as a sparse vector: the weights that the view gives its terms."""
    return {min(term, _LAST_TERM): weight for term, weight in weights.items() if math.isfinite(weight)}


def filter_expression(view: View, filter: Filter, masked: Iterable[int], nodes: Sequence[int] | None) -> str:
    """Return the condition for entities that the view and the filter let through.

    Entities of `masked` nodes are left out; `nodes` limits them to these nodes, unless it is None.
    """
    parts = [f"tenant in {_quote_names(view.tenants)}"]
    parts += [f"ARRAY_CONTAINS_ANY(facets, {_quote_names(group)})" for group in facet_groups(filter)]
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
        # No node has the id 0: without nodes nothing matches.
        parts.append(f"node in [{', '.join(map(str, nodes))}]" if nodes else "node == 0")
    return " and ".join(parts)


def _quote_names(names: Iterable[str]) -> str:
    return orjson.dumps([_shorten(name) for name in names]).decode()


def _shorten(name: str) -> str:
    """Return the name, or a digest of one that is longer than an entity may hold."""
    encoded = name.encode("utf-8")
    return name if len(encoded) <= _MAX_NAME_BYTES else xxhash.xxh128_hexdigest(encoded)


def _or_absent(value: int | None) -> int:
    return _ABSENT if value is None else value
