"""Where Milvus is: a server or a file, how fresh its answers must be, and where it imports files from."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import orjson
from pymilvus import AnnSearchRequest, DataType, MilvusClient, RRFRanker
from pymilvus.exceptions import MilvusException

from weft.errors import InvalidInput, StoreGone, UnknownName
from weft.frozen import dataclass
from weft.model import CONSISTENCIES, STRONG
from weft.ports import TailPassage
from weft.store.milvus.entities import entity_of, fields_of
from weft.store.progress import Progress, packed, unpacked

_PARAMETERS: Final = ("token", "consistency", "import", "rest")


@dataclass(frozen=True, slots=True)
class Place:
    """What `milvus://host:port/database?token=...` or `milvus:///path/file.db` says."""

    shown: str
    """The address as people may see it: without the token."""
    client: str
    database: str = ""
    token: str = ""
    level: str = ""
    """How fresh answers must be unless a call says otherwise."""
    storage: Path | None = None
    """The folder in which this machine sees the bucket of Milvus; None to fill collections by inserts."""
    rest: str = ""
    """Where Milvus takes requests over HTTP."""


def read_place(address: str) -> Place:
    """The place that an address names."""
    parts = urlsplit(address)
    given = dict(parse_qsl(parts.query))
    for name in given:
        if name not in _PARAMETERS:
            raise UnknownName("parameter of a Milvus address", name, _PARAMETERS)
    server = f"http://{parts.netloc}" if parts.netloc else ""
    if "import" in given and not (server or "rest" in given):
        raise InvalidInput(
            f"{given['import']!r} cannot be imported by {parts.path}: the embedded form takes in no files. Leave "
            "import= out, or say with rest=URL who takes them in."
        )
    return Place(
        shown=address.partition("?")[0],
        client=server or parts.path,
        database=parts.path.strip("/") if server else "",
        token=given.get("token", ""),
        level=level_of(given.get("consistency", STRONG)),
        storage=Path(given["import"]) if "import" in given else None,
        rest=given.get("rest", server),
    )


def level_of(consistency: str) -> str:
    """What Milvus calls a level of consistency."""
    level = consistency.lower()
    if level not in CONSISTENCIES:
        raise UnknownName("consistency", level, CONSISTENCIES)
    return level.capitalize()


def connected(place: Place) -> MilvusClient:
    """A client of the Milvus at a place."""
    # Whatever fails is told by us; the client would print its own trace beside it.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    try:
        return MilvusClient(place.client, token=place.token, db_name=place.database)
    except (MilvusException, OSError) as error:
        raise gone(place, error) from error


def gone(place: Place, error: Exception) -> StoreGone:
    """What is told when Milvus does not answer."""
    return StoreGone(
        f"Milvus at {place.shown} does not answer ({' '.join(str(error).split())[:300]}). Check that it runs, or "
        "leave --index out to search in the database itself."
    )


SCHEMA: Final = 1
_FEWEST_DIMENSIONS: Final = 2
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
        self._make(self.name, fields_of(self.dimensions))
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
            yield [entity_of(passage, self.dimensions) for passage in passages[start : start + _WRITTEN_AT_ONCE]]

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

    def refresh(self) -> None:
        """Let what was imported be searched: a collection that is loaded knows nothing of it."""
        self._client.release_collection(self.name)
        self._client.load_collection(self.name)

    def count(self, condition: str = "") -> int:
        """How many passages meet a condition."""
        found = self._client.query(self.name, filter=condition, output_fields=["count(*)"])
        return int(found[0]["count(*)"])


_STATE_FIELDS: Final = {
    "progress": (DataType.VARCHAR, {"max_length": _LONGEST_STATE}),
    "pending": (DataType.VARCHAR, {"max_length": _LONGEST_STATE}),
}
