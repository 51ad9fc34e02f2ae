"""Where a PostgreSQL store is: a URL as libpq takes it, with a few settings of our own among its parameters."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from weft.errors import InvalidInput, UnknownName
from weft.frozen import dataclass

_SCHEMES: Final = ("postgresql://", "postgres://")
_WORDS: Final = ("auto", "bm25", "tsvector")
_MOST_CONNECTIONS: Final = 16
_CANDIDATES: Final = 400
OWN_PARAMETERS: Final = ("schema", "replica", "words", "connections", "candidates")


@dataclass(frozen=True, slots=True)
class Address:
    """A server, the schema of the store in its database, and how it is used."""

    server: str
    schema: str = "weft"
    replica: str = ""
    words: str = "auto"
    """How words are searched: by pg_textsearch (`bm25`), by `tsvector`, or by the first that the server has."""
    connections: int = _MOST_CONNECTIONS
    candidates: int | None = None
    """How many of the nearest the graph is walked for: more find more of the true ones, and cost more. None to
    let the number of passages say it."""

    @property
    def shown(self) -> str:
        """The address as people may see it: without a password."""
        parts = urlsplit(self.server)
        host = parts.netloc.rpartition("@")[2]
        who = f"{parts.username}@" if parts.username else ""
        place = dict(parse_qsl(parts.query)).get("host", "") if not host else ""
        given = [(name, value) for name, value in (("host", place), ("schema", self.schema)) if value]
        tail = urlencode(given, safe="/,")
        return f"{parts.scheme}://{who}{host}{parts.path}?{tail}"


def is_address(text: str) -> bool:
    """Whether a text names a PostgreSQL server and not a folder; refuses what was meant to."""
    scheme = text.partition(":")[0]
    if f"{scheme}://" in _SCHEMES and ":" in text and not text.startswith(_SCHEMES):
        raise InvalidInput(
            f"What begins with {scheme}: is no folder, and as an address it lacks slashes. Write "
            f"{scheme}://USER@HOST/DATABASE."
        )
    return text.startswith(_SCHEMES)


def read_address(text: str) -> Address:
    """The address in a URL; parameters that are not ours are left to libpq."""
    parts = urlsplit(text)
    given = parse_qsl(parts.query, keep_blank_values=True)
    own = {name: value for name, value in given if name in OWN_PARAMETERS}
    rest = urlencode([pair for pair in given if pair[0] not in own], quote_via=quote)
    server = urlunsplit((parts.scheme, parts.netloc, parts.path, rest, ""))
    if parts.scheme and not parts.netloc and not server.startswith(f"{parts.scheme}://"):
        # urlunsplit drops the slashes of an empty host, which libpq reads as the local socket.
        server = server.replace(f"{parts.scheme}:", f"{parts.scheme}://", 1)
    return Address(
        server,
        _schema(own.get("schema", "weft")),
        own.get("replica", ""),
        _words(own.get("words", "auto")),
        _number("connections", own, _MOST_CONNECTIONS),
        _number("candidates", own, _CANDIDATES) if "candidates" in own else None,
    )


def _schema(name: str) -> str:
    if not (name.isascii() and name.isidentifier() and name == name.lower() and len(name) <= 63):
        raise InvalidInput(
            f"{name!r} cannot name the schema of a store. Give small letters, digits and _, such as schema=weft."
        )
    return name


def _words(name: str) -> str:
    if name not in _WORDS:
        raise UnknownName("way to search words", name, _WORDS)
    return name


def _number(name: str, own: Mapping[str, str], usual: int) -> int:
    given = own.get(name, str(usual))
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= 1000):
        raise InvalidInput(f"{given!r} is no number of {name}. Give 1 to 1000, such as {name}={usual}.")
    return int(given)
