"""Where Milvus is: a server or a file, how fresh its answers must be, and where it imports files from."""

import logging
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from weft.errors import InvalidInput, StoreGone, UnknownName
from weft.frozen import dataclass
from weft.model import CONSISTENCIES, STRONG

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
