"""Open sources: turn a path or an address into something that lists units and reads them as nodes and edges.

This is the only door to the formats. A new format is one file with a class that has the members of `files.Format`,
and one line in `FORMATS` below, or a plugin. The order counts: of several formats that take a file, the first one
reads it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from weft.errors import InvalidInput, SourceError, nearest_name
from weft.model import DEFAULT_TENANT
from weft.ports import Source, Unit, plugins
from weft.ports.plugins import PluginError, find_plugin, list_plugins
from weft.sources.chat.conversations import Conversations
from weft.sources.code import Code
from weft.sources.code.languages import find_script_language
from weft.sources.configuration import Configuration
from weft.sources.configuration.file_types import find_file_type
from weft.sources.documents.html import Html
from weft.sources.documents.manuscript import Manuscript
from weft.sources.documents.notebook import Notebook
from weft.sources.documents.pdf_and_word import Docx, Pdf
from weft.sources.documents.plain_text import PlainText, RestructuredText, is_document_name
from weft.sources.files import ANY_SUFFIX, NOTES, STORY, FileSource, FormatFactory, SourceSettings
from weft.sources.git import History
from weft.sources.notes.boards import Boards
from weft.sources.notes.markdown_notes import Markdown
from weft.sources.records import Records
from weft.sources.tana.export import Tana
from weft.sources.walk_files import File

if TYPE_CHECKING:
    from weft.sources.tana.live import TanaLive


FORMATS: Final[tuple[FormatFactory, ...]] = (
    # By whole names (`requirements.txt`, `package.json`), before the formats that take every file of the suffix.
    Configuration,
    # A manuscript is recognised by its content, so it comes before the formats that take every file of a suffix;
    # likewise an export of Tana and a conversation before other records.
    Manuscript,
    Markdown,
    Boards,
    RestructuredText,
    PlainText,
    Html,
    Notebook,
    Pdf,
    Docx,
    Tana,
    Conversations,
    Records,
    Code,
)

_AUTO: Final = "auto"
READINGS: Final = (STORY, NOTES, _AUTO)

_READER_VERSION: Final = 1
"""Part of the maker of every node and edge; a change makes all sources be read in again."""


def open_sources(
    address: str,
    *,
    name: str | None = None,
    tenant: str = DEFAULT_TENANT,
    file_times: bool = True,
    reading: str = "",
    tana_token: str = "",
    cache_folder: Path | None = None,
) -> tuple[Source, ...]:
    """Open everything at a path, a `file:` or a `tana:` address, as sources with different names.

    `cache_folder` is where data derived from files is cached.
    """
    if address.startswith("tana:"):
        return (_open_tana(address, name, tenant, tana_token),)
    scheme = _scheme(address)
    if scheme and (plugin := find_plugin(plugins.SOURCES, scheme)):
        chosen_name = plugin.name if name is None else _checked_name(name)
        settings = SourceSettings(chosen_name, _maker(chosen_name), tenant, file_times, cache_folder, reading)
        return (plugin.load()(address, settings),)
    return (
        open_source(
            address, name=name, tenant=tenant, file_times=file_times, cache_folder=cache_folder, reading=reading
        ),
    )


def open_source(
    address: str,
    *,
    name: str | None = None,
    tenant: str = DEFAULT_TENANT,
    file_times: bool = True,
    cache_folder: Path | None = None,
    reading: str = "",
) -> FileSource:
    """Open the files at a path or `file:` address as one source, named after the folder or file by default."""
    root = _existing_path(address)
    factories = (*_added_formats(), *FORMATS)
    suffixes = frozenset[str]().union(*(factory.suffixes for factory in factories)) - {ANY_SUFFIX, ""}
    if root.is_file() and root.suffix.lower() not in suffixes and not _has_known_name(root):
        raise SourceError(
            f"{address!r} is no kind of file that can be read. Known: {', '.join(sorted(suffixes))}, and "
            "configuration files such as pyproject.toml, Dockerfile and Makefile."
        )
    chosen_name = default_source_name(root) if name is None else _checked_name(name)
    # Behind the kind stand the lines that are chapters or none, as `correct_headings` keeps them.
    kind, *marks = reading.split() or [""]
    if kind and kind not in READINGS:
        raise InvalidInput(f"Files cannot be read as {kind!r}. Allowed: {', '.join(READINGS)}.")
    headings = tuple(mark[0] + unquote(mark[1:]) for mark in marks)
    settings = SourceSettings(
        chosen_name, _maker(chosen_name), tenant, file_times, cache_folder, "" if kind == _AUTO else kind, headings
    )
    # New instances for each source, because formats remember the files that they listed.
    formats = [(factory.suffixes, factory(settings)) for factory in factories]
    if (root / ".git").exists():
        # The history is last: its commits link to the definitions that the code format has found by then.
        code = next(reader for _, reader in formats if isinstance(reader, Code))
        formats.append((History.suffixes, History(settings, root, code)))
    return FileSource(root, chosen_name, settings.maker, tuple(formats))


def _scheme(address: str) -> str:
    """Return the scheme of an address, or an empty text for a path; one letter is the drive of a Windows path."""
    scheme = urlsplit(address).scheme
    return scheme if len(scheme) > 1 else ""


def _added_formats() -> Iterator[FormatFactory]:
    """Iterate over the formats of plugins; they come first, because their users installed them on purpose."""
    for plugin in list_plugins(plugins.FORMATS):
        try:
            yield plugin.load()
        except PluginError as error:
            # The other files are read all the same.
            yield _UnusableFormat(str(error))


class _UnusableFormat:
    """A format that takes no file and tells why, in place of a plugin that cannot be loaded."""

    def __init__(self, reason: str) -> None:
        self.suffixes: frozenset[str] = frozenset()
        self.reason = reason

    def __call__(self, settings: SourceSettings) -> "_UnusableFormat":
        """Serve any source."""
        return self

    def takes(self, file: File) -> bool:
        """Take no file."""
        return False

    def units(self, files: Sequence[File]) -> Iterable[tuple[str, str]]:
        """List no units."""
        return ()

    def read(self, unit: str) -> Unit:
        """Raise SourceError, since there is nothing to read."""
        raise SourceError(self.reason)

    def count_skipped(self) -> Mapping[str, int]:
        """Count the plugin as one thing that was not read."""
        return {self.reason: 1}


def _has_known_name(file: Path) -> bool:
    """Return whether a file is read for its whole name or its first line, whatever its suffix is."""
    return (
        find_file_type(file.name) is not None
        or is_document_name(file.name)
        or (not file.suffix and find_script_language(file) is not None)
    )


def _open_tana(address: str, name: str | None, tenant: str, token: str) -> "TanaLive":
    """Open the Tana Desktop at `tana://[host:port][?full]`."""
    # Loaded here, so that only reading from Tana pays for the import of an HTTP client.
    from weft.sources.tana.live import TanaLive
    from weft.sources.tana.local_api import DEFAULT_HOST, TanaApi

    parts = urlsplit(address)
    if parts.path not in ("", "/") or parts.query not in ("", "full") or "@" in parts.netloc:
        raise SourceError(f"{address!r} is no address of Tana. Write tana://, tana://HOST:PORT or tana://?full.")
    if not token:
        raise SourceError(
            "Reading from Tana needs its token. Copy the one under Settings > Local API in Tana Desktop into "
            "the environment as WEFT_TANA_TOKEN."
        )
    chosen_name = "tana" if name is None else _checked_name(name)
    settings = SourceSettings(chosen_name, _maker(chosen_name), tenant)
    api = TanaApi(parts.netloc or DEFAULT_HOST, token)
    return TanaLive(chosen_name, settings.maker, settings, api, parts.query == "full")


class RemovedSource(Struct):
    """A source without units, under the name and the maker that the removed source had."""

    name: str
    maker: str

    def identity(self) -> str:
        """Return an empty fingerprint, which says that the source is gone."""
        return ""

    def units(self) -> Iterable[tuple[str, str]]:
        """List no units."""
        return ()

    def read(self, unit: str) -> Unit:
        """Raise SourceError, since there is nothing to read."""
        raise SourceError(f"The source {self.name!r} is gone, so {unit!r} cannot be read. Index it again first.")


def removed_source(name: str) -> Source:
    """Return an empty source of this name; ingesting it removes everything the source once brought in."""
    return RemovedSource(name, _maker(name))


def _maker(name: str) -> str:
    return f"source:{name}@{_READER_VERSION}"


def default_source_name(root: Path) -> str:
    """Return the default name of a source: that of its folder or file, in lower case, words joined by `-`."""
    resolved = root.resolve()
    stem = resolved.stem if resolved.is_file() else resolved.name
    return re.sub(r"[^\w.]+", "-", stem.lower()).strip("-._") or "source"


def _checked_name(name: str) -> str:
    """Return the name, or raise InvalidInput if it cannot name a source."""
    if re.fullmatch(r"[\w][\w.-]{0,63}", name) is None:
        raise InvalidInput(
            f"{name!r} cannot name a source. Use 1 to 64 letters, digits, `-`, `_` or `.`, such as 'notes'."
        )
    return name


def _existing_path(address: str) -> Path:
    """Return the path that a path or `file:` address means, or raise SourceError if there is nothing."""
    parts = urlsplit(address)
    if _scheme(address) not in ("", "file"):
        added = "".join(f", {plugin.name}://" for plugin in list_plugins(plugins.SOURCES))
        raise SourceError(
            f"{address!r} cannot be opened. A source is the path of a folder or a file, or tana://{added}."
        )
    root = Path(unquote(parts.path)) if parts.scheme == "file" else Path(address).expanduser()
    if "\0" in address or not root.exists():
        close = nearest_name(root.name, _names_beside(root))
        hint = f" Did you mean {str(root.parent / close)!r}?" if close else ""
        raise SourceError(f"There is nothing at {address!r}.{hint} Give the path of a folder or a file.")
    return root


def _names_beside(root: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in root.parent.iterdir())
    except (OSError, ValueError):
        return []
