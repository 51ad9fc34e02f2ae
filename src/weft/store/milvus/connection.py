"""Read the address of Milvus, a server or a file, and connect to it."""

import logging
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from weft.errors import InvalidInput, StoreUnreachable, UnknownName
from weft.model import CONSISTENCIES, STRONG

_PARAMETERS: Final = ("token", "consistency", "import", "rest")
"""Parameters that an address may have."""
_MAX_REASON_LENGTH: Final = 300
"""Characters of the client's own message that an error repeats; it may hold whole traces."""


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
