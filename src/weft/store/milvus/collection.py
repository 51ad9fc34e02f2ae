"""The collection of passages in Milvus: what an entity holds, what filters ask of it, and how far it has come."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import numpy as np
import orjson
import xxhash
from pymilvus import AnnSearchRequest, DataType, MilvusClient, RRFRanker
from pymilvus.exceptions import MilvusException

from weft.errors import StoreGone, UnknownName
from weft.frozen import dataclass
from weft.model import CONSISTENCIES, STRONG, Filter, View
from weft.ports import TailPassage
from weft.store.filters import facet_groups
from weft.store.lexical import weighted_counts
from weft.store.progress import Progress, packed, unpacked
from weft.store.records import to_microseconds
from weft.store.scope import microseconds, position_of

SCHEMA: Final = 1
_ABSENT: Final = -(1 << 62)
_LAST_TERM: Final = (1 << 32) - 2
_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.75
_USUAL_LENGTH: Final = 100.0
_FEWEST_DIMENSIONS: Final = 2
_LONGEST_NAME: Final = 4096
_MOST_FACETS: Final = 1024
_LONGEST_STATE: Final = 65_535
_DELETED_AT_ONCE: Final = 2000
_WRITTEN_AT_ONCE: Final = 1000
_MOST_PENDING: Final = 5000
MOST: Final = 16_384
"""The most entities that one request may return."""


@dataclass(frozen=True, slots=True)
class State:
    """How far a collection has come, and which nodes are being replaced in it right now.

    `pending` is None while more of them are replaced than can be written down.
    """

    progress: Progress
    pending: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for in a field of the entities that meet a condition, and how many of the best are wanted."""

    field: str
    data: Any
    condition: str
    limit: int


def consistency_of(address: str) -> str:
    """How fresh answers must be unless a call says otherwise, as the address says."""
    return level_of(_given(address).get("consistency", STRONG))


def level_of(consistency: str) -> str:
    """What Milvus calls a level of consistency."""
    level = consistency.lower()
    if level not in CONSISTENCIES:
        raise UnknownName("consistency", level, CONSISTENCIES)
    return level.capitalize()


def connected(address: str) -> MilvusClient:
    """The client for `milvus://host:port/database?token=...` or `milvus:///path/file.db`."""
    parts = urlsplit(address)
    # Whatever fails is told by us; the client would print its own trace beside it.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    try:
        if not parts.netloc:
            return MilvusClient(parts.path)
        database, token = parts.path.strip("/"), _given(address).get("token", "")
        return MilvusClient(f"http://{parts.netloc}", token=token, db_name=database)
    except (MilvusException, OSError) as error:
        raise gone(address, error) from error


def _given(address: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(address).query).items()}


def gone(address: str, error: Exception) -> StoreGone:
    """What is told when Milvus does not answer."""
    return StoreGone(
        f"Milvus at {address.partition('?')[0]} does not answer ({' '.join(str(error).split())[:300]}). Check "
        "that it runs, or leave --index out to search in the database itself."
    )


class Collection:
    """One store's passages; its name holds the store's identity, our schema's version and the vectors' width."""

    def __init__(self, client: MilvusClient, level: str, identity: str, dimensions: int) -> None:
        self._client, self.level = client, level
        self.dimensions = max(dimensions, _FEWEST_DIMENSIONS)
        self.name = f"weft_{identity}_{SCHEMA}_{self.dimensions}"
        self._state_name = f"{self.name}_state"
        self._identity = identity

    def exists(self) -> bool:
        """Whether anything was ever caught up."""
        return bool(self._client.has_collection(self._state_name))

    def load(self) -> bool:
        """Let the collections be searched, where there are any: a server that starts anew has let go of them."""
        held = self.exists()
        for name in (self.name, self._state_name) if held else ():
            self._client.load_collection(name)
        return held

    def make(self) -> None:
        """Make the collections, and let go of those of other versions of this store."""
        if self.exists():
            return
        for name in self._client.list_collections():
            if name.startswith(f"weft_{self._identity}_"):
                self._client.drop_collection(name)
        self._make(self.name, _fields(self.dimensions))
        self._make(self._state_name, {"place": (DataType.FLOAT_VECTOR, {"dim": 2}), **_STATE_FIELDS})

    def _make(self, name: str, fields: Mapping[str, tuple[Any, dict[str, Any]]]) -> None:
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        indexes = self._client.prepare_index_params()
        schema.add_field("id", DataType.INT64, is_primary=True)
        for field, (kind, options) in fields.items():
            schema.add_field(field, kind, **options)
            if kind == DataType.FLOAT_VECTOR:
                indexes.add_index(field, index_type="AUTOINDEX", metric_type="COSINE")
            if kind == DataType.SPARSE_FLOAT_VECTOR:
                indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        self._client.create_collection(name, schema=schema, index_params=indexes, consistency_level=self.level)

    def drop(self) -> None:
        """Take both collections away."""
        for name in (self.name, self._state_name):
            with suppress(MilvusException):
                self._client.drop_collection(name)

    # --- how far it has come -----------------------------------------------------------------------------

    def state(self) -> State:
        """How far the collection has come; at the start when there is none or it cannot be read."""
        if not self.exists():
            return State(Progress(self._identity))
        rows = self._client.query(
            self._state_name, filter="id == 1", output_fields=["progress", "pending"], consistency_level=self.level
        )
        progress = unpacked(rows[0]["progress"].encode()) if rows else None
        if progress is None:
            return State(Progress(self._identity))
        pending = orjson.loads(rows[0]["pending"])
        return State(progress, None if pending is None else tuple(pending))

    def save(self, state: State) -> None:
        """Remember how far it has come; a long list of recent changes is cut, older readers then read more."""
        progress, pending = state.progress, state.pending
        while len(packed(progress)) > _LONGEST_STATE and progress.recent:
            progress = Progress(progress.identity, progress.sequence, progress.recent[1:], progress.names)
        row = {"id": 1, "place": [1.0, 0.0], "progress": packed(progress).decode()}
        listed = None if pending is None or len(pending) > _MOST_PENDING else list(pending)
        self._client.upsert(self._state_name, [{**row, "pending": orjson.dumps(listed).decode()}])

    # --- entities ----------------------------------------------------------------------------------------

    def replace(self, nodes: Sequence[int], passages: Sequence[TailPassage]) -> None:
        """Let these be all the passages of the nodes."""
        for start in range(0, len(nodes), _DELETED_AT_ONCE):
            listed = ", ".join(map(str, nodes[start : start + _DELETED_AT_ONCE]))
            self._client.delete(self.name, filter=f"node in [{listed}]")
        for rows in self._entities(passages):
            self._client.upsert(self.name, rows)

    def add(self, passages: Sequence[TailPassage]) -> None:
        """Add the passages of nodes of which the collection holds nothing."""
        for rows in self._entities(passages):
            self._client.insert(self.name, rows)

    def _entities(self, passages: Sequence[TailPassage]) -> Iterator[list[dict[str, Any]]]:
        for start in range(0, len(passages), _WRITTEN_AT_ONCE):
            yield [self._entity(passage) for passage in passages[start : start + _WRITTEN_AT_ONCE]]

    def _entity(self, passage: TailPassage) -> dict[str, Any]:
        embedded = len(passage.vector) == self.dimensions
        vector = np.frombuffer(passage.vector, np.int8).tolist() if embedded else [0.0] * self.dimensions
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
            "vector": [float(value) for value in vector],
        }

    def search(self, questions: Sequence[Question]) -> list[int]:
        """Ids of the best passages for a question, or for any of several, which travel in one request."""
        options: dict[str, Any] = {"output_fields": ["id"], "consistency_level": self.level}
        if len(questions) == 1:
            (one,) = questions
            options |= {"data": [one.data], "anns_field": one.field, "filter": one.condition}
            found = self._client.search(self.name, limit=one.limit, **options)
        else:
            asked = [
                AnnSearchRequest([each.data], each.field, {}, each.limit, expr=each.condition)
                for each in questions
            ]
            # Which ranker does not matter: there is room for all that was found, and we order it.
            limit = sum(each.limit for each in questions)
            found = self._client.hybrid_search(self.name, asked, RRFRanker(), limit, **options)
        return [int(hit["id"]) for hit in found[0]]

    def count(self, condition: str = "") -> int:
        """How many passages meet a condition."""
        found = self._client.query(self.name, filter=condition, output_fields=["count(*)"])
        return int(found[0]["count(*)"])


_STATE_FIELDS: Final = {
    "progress": (DataType.VARCHAR, {"max_length": _LONGEST_STATE}),
    "pending": (DataType.VARCHAR, {"max_length": _LONGEST_STATE}),
}


def _fields(dimensions: int) -> dict[str, tuple[Any, dict[str, Any]]]:
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


def saturated(term_hashes: bytes, term_counts: bytes) -> dict[int, float]:
    """What each term adds to the BM25 score of a passage, before the weight that a view gives the term.

    The mean length is a usual one: the true one moves with every write, and engines only propose.
    """
    counts = weighted_counts(term_counts).astype(np.float64)
    damping = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * counts.sum() / _USUAL_LENGTH)
    gains = counts * (1 + _SATURATION) / (counts + damping)
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
