"""Read the address of a PostgreSQL store: a URL as libpq takes it, with a few parameters of Weft's own."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from weft.errors import InvalidInput, UnknownName
from weft.frozen import dataclass

_SCHEMES: Final = ("postgresql://", "postgres://")
_WORD_SEARCHES: Final = ("auto", "bm25", "tsvector")
_DEFAULT_CONNECTIONS: Final = 16
"""Connections that one process opens at most; PostgreSQL allows 100 for all processes unless it is set
otherwise."""
_EXAMPLE_CANDIDATES: Final = 400
"""The number of candidates that an error message shows as an example."""
_MAX_PARAMETER: Final = 1000
"""The largest number of connections or candidates; pgvector walks its graph for at most 1000 candidates."""
_MAX_SCHEMA_LENGTH: Final = 63
"""Bytes that PostgreSQL keeps of a name; it would cut a longer one silently."""
OWN_PARAMETERS: Final = ("schema", "replica", "words", "connections", "candidates")


@dataclass(frozen=True, slots=True)
class Address:
    """A server, the schema of the store in its database, and how it is used."""

    server: str
    schema: str = "weft"
    replica: str = ""
    words: str = "auto"
    """The way to search words: by pg_textsearch (`bm25`), by `tsvector`, or by the first that the server has."""
    connections: int = _DEFAULT_CONNECTIONS
    candidates: int | None = None
    """The number of nearest vectors that the graph is walked for: more find more of the true ones, and cost more.
    None lets the number of passages decide."""

    @property
    def display(self) -> str:
        """The address without a password, as people may see it."""
        parts = urlsplit(self.server)
        host = parts.netloc.rpartition("@")[2]
        user = f"{parts.username}@" if parts.username else ""
        # libpq also takes the host, often the folder of a socket, as a parameter.
        other_host = dict(parse_qsl(parts.query)).get("host", "") if not host else ""
        visible = [(name, value) for name, value in (("host", other_host), ("schema", self.schema)) if value]
        return f"{parts.scheme}://{user}{host}{parts.path}?{urlencode(visible, safe='/,')}"


def is_address(text: str) -> bool:
    """Return whether a text names a PostgreSQL server and not a folder; refuse a server without its slashes."""
    scheme = text.partition(":")[0]
    if f"{scheme}://" in _SCHEMES and ":" in text and not text.startswith(_SCHEMES):
        raise InvalidInput(
            f"What begins with {scheme}: is no folder, and as an address it lacks slashes. Write "
            f"{scheme}://USER@HOST/DATABASE."
        )
    return text.startswith(_SCHEMES)


def read_address(text: str) -> Address:
    """Return the address in a URL; parameters that are not Weft's are left to libpq."""
    parts = urlsplit(text)
    parameters = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in parameters if name in OWN_PARAMETERS}
    rest = urlencode([pair for pair in parameters if pair[0] not in own], quote_via=quote)
    server = urlunsplit((parts.scheme, parts.netloc, parts.path, rest, ""))
    if parts.scheme and not parts.netloc and not server.startswith(f"{parts.scheme}://"):
        # urlunsplit drops the slashes of an empty host, which libpq reads as the local socket.
        server = server.replace(f"{parts.scheme}:", f"{parts.scheme}://", 1)
    words = own.get("words", "auto")
    schema = _check_schema(own.get("schema", "weft"))
    if words not in _WORD_SEARCHES:
        raise UnknownName("way to search words", words, _WORD_SEARCHES)
    return Address(
        server,
        schema,
        own.get("replica", ""),
        words,
        _read_number("connections", own, _DEFAULT_CONNECTIONS),
        _read_number("candidates", own, _EXAMPLE_CANDIDATES) if "candidates" in own else None,
    )


def _check_schema(name: str) -> str:
    if not (name.isascii() and name.isidentifier() and name == name.lower() and len(name) <= _MAX_SCHEMA_LENGTH):
        raise InvalidInput(
            f"{name!r} cannot name the schema of a store. Give small letters, digits and _, such as schema=weft."
        )
    return name


def _read_number(name: str, own: Mapping[str, str], default: int) -> int:
    text = own.get(name, str(default))
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_PARAMETER):
        raise InvalidInput(
            f"{text!r} is no number of {name}. Give 1 to {_MAX_PARAMETER}, such as {name}={default}."
        )
    return int(text)
