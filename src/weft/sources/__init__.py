"""A source of which nothing is left."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from weft.errors import InvalidInput, SourceError, nearest
from weft.frozen import dataclass
from weft.model import DEFAULT_TENANT
from weft.ports import Source, Unit
from weft.sources.chat.conversations import Conversations
from weft.sources.code import Code
from weft.sources.documents.docx import Docx
from weft.sources.documents.html import Html
from weft.sources.documents.manuscript import Manuscript
from weft.sources.documents.pdf import Pdf
from weft.sources.documents.plain_text import PlainText, RestructuredText
from weft.sources.files import NOTES, STORY, FileSource, MakeFormat, Naming
from weft.sources.git import History
from weft.sources.notes.markdown_notes import Markdown
from weft.sources.records import Records
from weft.sources.tana.export import Tana

if TYPE_CHECKING:
    from weft.sources.tana.live import TanaLive


@dataclass(slots=True)
class Gone:
    """A source without units, under the name and the maker it had."""

    name: str
    maker: str

    def identity(self) -> str:
        """Nowhere."""
        return ""

    def units(self) -> Iterable[tuple[str, str]]:
        """No units."""
        return ()

    def read(self, unit: str) -> Unit:
        """Nothing can be read."""
        raise SourceError(f"The source {self.name!r} is gone, so {unit!r} cannot be read. Index it again first.")


FORMATS: Final[tuple[MakeFormat, ...]] = (
    Manuscript,
    Markdown,
    RestructuredText,
    PlainText,
    Html,
    Pdf,
    Docx,
    Tana,
    Conversations,
    Records,
    Code,
)

_AUTO: Final = "auto"
READINGS: Final = (STORY, NOTES, _AUTO)

_VERSION: Final = 1


def open_sources(
    place: str,
    *,
    name: str | None = None,
    tenant: str = DEFAULT_TENANT,
    file_times: bool = True,
    reading: str = "",
    tana_token: str = "",
    memory: Path | None = None,
) -> tuple[Source, ...]:
    """Everything that can be read at a path, a `file:` or a `tana:` address, as sources with different names.

    `memory` is a folder for what is derived of files on the way and need not be derived again.
    """
    if place.startswith("tana:"):
        return (_open_tana(place, name, tenant, tana_token),)
    return (open_source(place, name=name, tenant=tenant, file_times=file_times, memory=memory, reading=reading),)


def open_source(
    place: str,
    *,
    name: str | None = None,
    tenant: str = DEFAULT_TENANT,
    file_times: bool = True,
    memory: Path | None = None,
    reading: str = "",
) -> FileSource:
    """The files at a path or `file:` address as one source, named after the folder or file unless told."""
    root = _existing(place)
    known = frozenset[str]().union(*(made.suffixes for made in FORMATS))
    if root.is_file() and root.suffix.lower() not in known:
        raise SourceError(f"{place!r} is no kind of file that can be read. Known: {', '.join(sorted(known))}.")
    given = source_name(root) if name is None else checked_name(name)
    naming = Naming(given, _maker(given), tenant, file_times, memory, _checked_reading(reading))
    formats = [(made.suffixes, made(naming)) for made in FORMATS]
    if (root / ".git").exists():
        code = next(each for _, each in formats if isinstance(each, Code))
        formats.append((History.suffixes, History(naming, root, code)))
    return FileSource(root, given, naming.maker, tuple(formats))


def _open_tana(place: str, name: str | None, tenant: str, token: str) -> "TanaLive":
    """The Tana Desktop at `tana://[host:port][?full]`."""
    # Only those who read from Tana pay for loading an HTTP client.
    from weft.sources.tana.live import TanaLive
    from weft.sources.tana.local_api import DEFAULT_PLACE, TanaApi

    address = urlsplit(place)
    if address.path not in ("", "/") or address.query not in ("", "full") or "@" in address.netloc:
        raise SourceError(f"{place!r} is no address of Tana. Write tana://, tana://HOST:PORT or tana://?full.")
    if not token:
        raise SourceError(
            "Reading from Tana needs its token. Copy the one under Settings > Local API in Tana Desktop into "
            "the environment as WEFT_TANA_TOKEN."
        )
    given = "tana" if name is None else checked_name(name)
    naming = Naming(given, _maker(given), tenant)
    api = TanaApi(address.netloc or DEFAULT_PLACE, token)
    return TanaLive(given, naming.maker, naming, api, address.query == "full")


def gone_source(name: str) -> Source:
    """The source of that name as it is when nothing is left of it: reading it in removes what it once brought."""
    return Gone(name, _maker(name))


def _maker(name: str) -> str:
    return f"source:{name}@{_VERSION}"


def source_name(root: Path) -> str:
    """The default name of a source: its folder's name or its file's stem, in lower case, words joined by `-`."""
    resolved = root.resolve()
    stem = resolved.stem if resolved.is_file() else resolved.name
    return re.sub(r"[^\w.]+", "-", stem.lower()).strip("-._") or "source"


def checked_name(name: str) -> str:
    """The name, if it can be the name of a source."""
    if re.fullmatch(r"[\w][\w.-]{0,63}", name) is None:
        raise InvalidInput(
            f"{name!r} cannot name a source. Use 1 to 64 letters, digits, `-`, `_` or `.`, such as 'notes'."
        )
    return name


def _checked_reading(reading: str) -> str:
    """What files are read as; nothing when it is for them to show."""
    if reading and reading not in READINGS:
        raise InvalidInput(f"Files cannot be read as {reading!r}. Allowed: {', '.join(READINGS)}.")
    return "" if reading == _AUTO else reading


def _existing(place: str) -> Path:
    address = urlsplit(place)
    if address.scheme and len(address.scheme) > 1 and address.scheme != "file":
        raise SourceError(f"{place!r} cannot be opened. A source is the path of a folder or a file, or tana://.")
    root = Path(unquote(address.path)) if address.scheme == "file" else Path(place).expanduser()
    if "\0" in place or not root.exists():
        close = nearest(root.name, _siblings(root))
        hint = f" Did you mean {str(root.parent / close)!r}?" if close else ""
        raise SourceError(f"There is nothing at {place!r}.{hint} Give the path of a folder or a file.")
    return root


def _siblings(root: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in root.parent.iterdir())
    except (OSError, ValueError):
        return []
