"""Connect to Milvus, a server or a file, and keep one store's passages in a collection of it.

Two collections belong together: one with the passages, and one with a single entity that says how far the first
has come. Milvus has no transactions: that entity is written before and after every change.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import orjson
import xxhash
from msgspec import Struct
from pymilvus import AnnSearchRequest, DataType, MilvusClient, RRFRanker
from pymilvus.exceptions import MilvusException

from weft.errors import InvalidInput, StoreUnreachable, UnknownName
from weft.model import CONSISTENCIES, STRONG
from weft.ports import ChangedPassage
from weft.scoring.bm25 import LENGTH_NORMALISATION, SATURATION
from weft.store.derived import Progress, pack_progress, unpack_progress, weighted_counts
from weft.store.records import known_position, to_microseconds

_PARAMETERS: Final = ("token", "consistency", "import", "rest")
"""Parameters that an address may have."""
_MAX_REASON_LENGTH: Final = 300
"""Characters of the client's own message that an error repeats; it may hold whole traces."""

SCHEMA_VERSION: Final = 1
"""Part of a collection's name: raise it when entities change, and the collection is filled anew."""
_MIN_DIMENSIONS: Final = 2
"""Milvus takes no narrower vectors; a store without an embedder gets a field of zeros."""
_MAX_STATE_LENGTH: Final = 65_535
"""The most characters that Milvus holds in one field of text."""
_NODES_PER_DELETE: Final = 2000
_ENTITIES_PER_WRITE: Final = 1000
"""Both keep a request to a few megabytes, far below what servers take."""
MAX_PENDING_NODES: Final = 5000
"""Nodes being replaced that are written down by id; beyond, readers take everything from the store meanwhile. So
many ids still fit into the field of the state."""
MAX_RESULTS: Final = 16_384
"""The most entities that one request may return."""

ABSENT: Final = -(1 << 62)
"""Stands for a number that a passage does not have: fields are never null, and every bound excludes it."""
LAST_TERM: Final = (1 << 32) - 2
"""The highest index that a sparse vector of Milvus may have; the one hash above it shares it."""
_USUAL_LENGTH: Final = 100.0
"""Terms of a usual passage: the true mean moves with every write, and all entities would have to follow it."""
_NEGLIGIBLE_GAIN: Final = 1e-6
"""The gain of a term that stands in where a passage has none, so that no sparse vector is empty."""
_MAX_NAME_BYTES: Final = 4096
"""Bytes of a tenant or facet; longer ones are replaced by a digest, so that nearly all can be read in Milvus."""
_MAX_FACETS: Final = 1024
"""Facets of a node that are kept: Milvus takes at most 4096 in an array. Filters on the rest find nothing here."""
_STATE_FIELDS: Final[Mapping[str, tuple[Any, dict[str, Any]]]] = {
    # Milvus refuses a collection without a vector.
    "place": (DataType.FLOAT_VECTOR, {"dim": 2}),
    "progress": (DataType.VARCHAR, {"max_length": _MAX_STATE_LENGTH}),
    "pending": (DataType.VARCHAR, {"max_length": _MAX_STATE_LENGTH}),
}


class MilvusAddress(Struct, frozen=True):
    """The parts of `milvus://host:port/database?token=...` or `milvus:///path/file.db`."""

    shown: str
    """The address as people may see it: without the token."""
    client: str
    """The URL of the server or the path of the file, as the client takes it."""
    database: str = ""
    token: str = ""
    level: str = ""
    """The consistency level of answers unless a call chooses another."""
    storage: Path | None = None
    """The folder in which this machine sees the bucket of Milvus; None to fill collections by inserts."""
    rest: str = ""
    """The URL at which Milvus takes requests over HTTP."""


def read_milvus_address(text: str) -> MilvusAddress:
    """Return the parts of an address; refuse parameters that are unknown or cannot go together."""
    parts = urlsplit(text)
    parameters = dict(parse_qsl(parts.query))
    for name in parameters:
        if name not in _PARAMETERS:
            raise UnknownName("parameter of a Milvus address", name, _PARAMETERS)
    # Without a host the path names a file, which the embedded form opens.
    server = f"http://{parts.netloc}" if parts.netloc else ""
    if "import" in parameters and not (server or "rest" in parameters):
        raise InvalidInput(
            f"{parameters['import']!r} cannot be imported by {parts.path}: the embedded form takes in no files. "
            "Leave import= out, or say with rest=URL who takes them in."
        )
    return MilvusAddress(
        # Messages and status must not show the token.
        shown=text.partition("?")[0],
        client=server or parts.path,
        database=parts.path.strip("/") if server else "",
        token=parameters.get("token", ""),
        level=consistency_level(parameters.get("consistency", STRONG)),
        storage=Path(parameters["import"]) if "import" in parameters else None,
        rest=parameters.get("rest", server),
    )


def consistency_level(consistency: str) -> str:
    """Return the name that Milvus has for a level of consistency."""
    level = consistency.lower()
    if level not in CONSISTENCIES:
        raise UnknownName("consistency", level, CONSISTENCIES)
    return level.capitalize()


def connect(address: MilvusAddress) -> MilvusClient:
    """Open a client of the Milvus at an address."""
    # Every failure is reported by us; the client would print its own trace beside it.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    try:
        return MilvusClient(address.client, token=address.token, db_name=address.database)
    except (MilvusException, OSError) as error:
        raise unreachable(address, error) from error


def unreachable(address: MilvusAddress, error: Exception) -> StoreUnreachable:
    """Return the error to raise when Milvus does not answer."""
    return StoreUnreachable(
        f"Milvus at {address.shown} does not answer ({' '.join(str(error).split())[:_MAX_REASON_LENGTH]}). Check "
        "that it runs, or leave --index out to search in the database itself."
    )


# --- the collection ----------------------------------------------------------------------------------------


class CollectionState(Struct, frozen=True):
    """How far a collection has come, and the nodes that are being replaced in it right now.

    `pending` is None while more of them are replaced than can be written down.
    """

    progress: Progress
    pending: tuple[int, ...] | None = ()


class FieldQuery(Struct, frozen=True):
    """A vector to look for in one field of the entities that meet a condition; the best `limit` are wanted."""

    field: str
    data: Any
    condition: str
    limit: int


class Collection:
    """One store's passages; its name holds the store's identity, our schema's version and the vectors' width."""

    def __init__(
        self,
        client: MilvusClient,
        level: str,
        identity: str,
        dimensions: int,
        max_pending: int = MAX_PENDING_NODES,
    ) -> None:
        self._client, self.level = client, level
        self.dimensions = max(dimensions, _MIN_DIMENSIONS)
        self.name = f"weft_{identity}_{SCHEMA_VERSION}_{self.dimensions}"
        self._state_name = f"{self.name}_state"
        self._identity, self._max_pending = identity, max_pending

    def exists(self) -> bool:
        """Return whether the collections were created."""
        return bool(self._client.has_collection(self._state_name))

    def load(self) -> bool:
        """Have the server load the collections for searching, and return whether there are any.

        A server that was restarted has unloaded them.
        """
        exists = self.exists()
        for name in (self.name, self._state_name) if exists else ():
            self._client.load_collection(name)
        return exists

    def create(self) -> None:
        """Create the collections unless they exist, and drop those of other versions of this store."""
        if self.exists():
            return
        # Left by another schema version or embedder; no process of this version searches them.
        for name in self._client.list_collections():
            if name.startswith(f"weft_{self._identity}_"):
                self._client.drop_collection(name)
        # The state comes last: it is what `exists` looks for.
        self._create(self.name, _entity_fields(self.dimensions))
        self._create(self._state_name, _STATE_FIELDS)

    def _create(self, name: str, fields: Mapping[str, tuple[Any, dict[str, Any]]]) -> None:
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
        """Drop both collections where they exist."""
        for name in (self.name, self._state_name):
            # A collection that is gone already is as good as dropped.
            with suppress(MilvusException):
                self._client.drop_collection(name)

    # --- state -------------------------------------------------------------------------------------------

    def state(self) -> CollectionState:
        """Return how far the collection has come; the start when there is none or its state cannot be read."""
        if not self.exists():
            return CollectionState(Progress(self._identity))
        rows = self._client.query(
            self._state_name, filter="id == 1", output_fields=["progress", "pending"], consistency_level=self.level
        )
        progress = unpack_progress(rows[0]["progress"].encode()) if rows else None
        if progress is None:
            return CollectionState(Progress(self._identity))
        pending = orjson.loads(rows[0]["pending"])
        return CollectionState(progress, None if pending is None else tuple(pending))

    def save(self, state: CollectionState) -> None:
        """Store how far the collection has come.

        A list of recent changes that does not fit loses its oldest ones; readers of older snapshots then read more
        from the store.
        """
        progress, pending = state.progress, state.pending
        while len(pack_progress(progress)) > _MAX_STATE_LENGTH and progress.recent:
            progress = Progress(progress.identity, progress.sequence, progress.recent[1:], progress.names)
        row = {"id": 1, "place": [1.0, 0.0], "progress": pack_progress(progress).decode()}
        # More ids than the field holds: readers then take everything from the store.
        listed = None if pending is None or len(pending) > self._max_pending else list(pending)
        self._client.upsert(self._state_name, [{**row, "pending": orjson.dumps(listed).decode()}])

    # --- entities ----------------------------------------------------------------------------------------

    def replace(self, nodes: Sequence[int], passages: Sequence[ChangedPassage]) -> None:
        """Delete the entities of the nodes and write these passages in their place."""
        for start in range(0, len(nodes), _NODES_PER_DELETE):
            listed = ", ".join(map(str, nodes[start : start + _NODES_PER_DELETE]))
            self._client.delete(self.name, filter=f"node in [{listed}]")
        for rows in self._entities(passages):
            self._client.upsert(self.name, rows)

    def add(self, passages: Sequence[ChangedPassage]) -> None:
        """Add the passages of nodes that the collection has no entities of."""
        for rows in self._entities(passages):
            self._client.insert(self.name, rows)

    def _entities(self, passages: Sequence[ChangedPassage]) -> Iterator[list[dict[str, Any]]]:
        for start in range(0, len(passages), _ENTITIES_PER_WRITE):
            batch = passages[start : start + _ENTITIES_PER_WRITE]
            yield [to_entity(passage, self.dimensions) for passage in batch]

    def search(self, queries: Sequence[FieldQuery]) -> list[int]:
        """Return the ids of the best passages for any of the queries, which travel in one request."""
        options: dict[str, Any] = {"output_fields": ["id"], "consistency_level": self.level}
        if len(queries) == 1:
            (query,) = queries
            options |= {"data": [query.data], "anns_field": query.field, "filter": query.condition}
            found = self._client.search(self.name, limit=query.limit, **options)
        else:
            requests = [
                AnnSearchRequest([query.data], query.field, {}, query.limit, expr=query.condition)
                for query in queries
            ]
            # Any ranker will do: the limit leaves room for all results, and their order is ours.
            limit = sum(query.limit for query in queries)
            found = self._client.hybrid_search(self.name, requests, RRFRanker(), limit, **options)
        return [int(hit["id"]) for hit in found[0]]

    def refresh(self) -> None:
        """Load the collection anew: one that was loaded before an import does not find the imported entities."""
        self._client.release_collection(self.name)
        self._client.load_collection(self.name)

    def count(self, condition: str = "") -> int:
        """Return the number of passages that meet a condition."""
        found = self._client.query(self.name, filter=condition, output_fields=["count(*)"])
        return int(found[0]["count(*)"])


# --- passages as entities --------------------------------------------------------------------------------


def _entity_fields(dimensions: int) -> dict[str, tuple[Any, dict[str, Any]]]:
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
    # A field is never null, so passages without a vector get zeros and are told apart by `embedded`.
    vector = np.frombuffer(passage.vector, np.int8) if is_embedded else np.zeros(dimensions)
    return {
        "id": passage.id,
        "node": passage.node_id,
        "tenant": shorten_name(passage.tenant),
        "facets": [shorten_name(facet) for facet in passage.facets[:_MAX_FACETS]],
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
    by_term = {min(term, LAST_TERM): gain for term, gain in zip(terms, gains.tolist(), strict=True) if gain > 0}
    # Milvus refuses an empty sparse vector.
    return by_term or {LAST_TERM: _NEGLIGIBLE_GAIN}


def shorten_name(name: str) -> str:
    """Return the name, or a digest of one that is longer than an entity may hold."""
    encoded = name.encode("utf-8")
    return name if len(encoded) <= _MAX_NAME_BYTES else xxhash.xxh128_hexdigest(encoded)


def _or_absent(value: int | None) -> int:
    return ABSENT if value is None else value
