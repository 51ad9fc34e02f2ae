"""Read the files below one folder as a source: share them out among the formats, decode and clean their text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Protocol, runtime_checkable

import xxhash
from msgspec import Struct, field
from msgspec.structs import replace

from weft.ports import (
    CountsSkipped,
    HoldsMemory,
    ListsSkipped,
    Problem,
    ReportProgress,
    ReportsProgress,
    Tree,
    Unit,
)
from weft.sources.walk_files import File, walk

__all__ = [
    "ANY_SUFFIX",
    "BINARY",
    "BINARY_SNIFF_BYTES",
    "MAX_TEXT_BYTES",
    "MAX_TEXT_CHARACTERS",
    "UNREADABLE",
    "File",
    "FileSource",
    "Format",
    "FormatFactory",
    "SourceSettings",
    "binary_problem",
    "clean",
    "decode",
    "file_stamp",
    "looks_binary",
    "read_bytes",
    "resolve_link",
]

MAX_TEXT_CHARACTERS: Final = 5_000_000
"""The most characters that the text of one node has. "War and Peace" fits in whole (about three million); a higher
limit makes a single node cost more memory and time on every page that considers it."""

MAX_TEXT_BYTES: Final = MAX_TEXT_CHARACTERS * 4
"""The most bytes that such a text can have in UTF-8, where no character takes more than four."""

BINARY_SNIFF_BYTES: Final = 8192
"""Bytes at the beginning of a file that are searched for a NUL; git decides by nearly as many (8,000)."""

STORY: Final = "story"
NOTES: Final = "notes"
"""The ways to read files that override what their content looks like."""

UNREADABLE: Final = "unreadable"
"""The stamp of a unit whose file cannot be read now; it differs from every stamp made of a time and a size."""

ANY_SUFFIX: Final = "*"
"""Among the suffixes of a format: it is asked about every file, because it goes by whole names."""

BINARY: Final = "binary"
EMPTY: Final = "empty"
UNKNOWN_TYPE: Final = "unknown type"
"""Why a file is not read."""
_BINARY_NAMES: Final = """
    7z a avif avi bin bmp bz2 class db dll dylib eot exe flac gif gz heic ico jar jpeg jpg lib m4a mkv mo mov
    mp3 mp4 npy npz o obj odt ogg otf parquet pickle pkl png pptx psd pyc pyd rar so sqlite tar tgz tif tiff
    ttf wasm wav webm webp whl woff woff2 xls xlsx xz zip zst
"""
_BINARY_SUFFIXES: Final = frozenset(f".{name}" for name in _BINARY_NAMES.split())
"""Suffixes of files that hold no text; others that no format takes are of an unknown type."""

_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_VERTICAL: Final = re.compile("[\x0b\x0c\x85]")


class SourceSettings(Struct, frozen=True):
    """The settings that all nodes of one source share."""

    source: str
    maker: str
    tenant: str
    file_times: bool = True
    cache_folder: Path | None = None
    """A folder for derived data that a format can make again when it is lost."""
    reading: str = ""
    """How files are read: `story`, `notes`, or, when empty, by what they look like."""

    def cache_file(self, format_name: str) -> Path | None:
        """Return the file in which a format caches what it derives from this source, or None without a folder."""
        if self.cache_folder is None:
            return None
        digest = xxhash.xxh3_64_hexdigest(f"{self.tenant}/{self.source}".encode())
        return self.cache_folder / f"{format_name}-{digest}.sqlite"


class Format(Protocol):
    """A reader of one kind of file. An instance serves one source and sees all its files of that kind."""

    def takes(self, file: File) -> bool:
        """Say whether a file with a matching suffix is of this format; the first format that takes it reads it."""
        ...

    def units(self, files: Sequence[File]) -> Iterable[tuple[str, str]]:
        """List the (name, stamp) of every unit in the files; a unit's name begins with its file's name."""
        ...

    def read(self, unit: str) -> Unit:
        """Read one unit of the files last passed to `units`."""
        ...


@runtime_checkable
class SurveyingFormat(Protocol):
    """A format that must know all files of the source, because its own files point to them."""

    def survey(self, files: Sequence[File]) -> None:
        """Take note of all files of the source; called before `units`."""
        ...


@runtime_checkable
class RereadingFormat(Protocol):
    """A format whose files can be read one by one, soon after they changed and without listing all units."""

    def reread(self, files: Sequence[File], changed: Sequence[File]) -> Iterator[Unit]:
        """Iterate over the units of changed files, given all files of the source."""
        ...


class FormatFactory(Protocol):
    """A registered format: the suffixes of the files it may take, and the call that makes an instance."""

    suffixes: frozenset[str]

    def __call__(self, settings: SourceSettings, /) -> Format: ...


class FileSource(Struct):
    """A folder or a file as a source: each file is read by the first format that takes it."""

    root: Path
    name: str
    maker: str
    formats: tuple[tuple[frozenset[str], Format], ...]
    _format_by_unit: dict[str, Format] = field(default_factory=dict)
    _broken: dict[str, Problem] = field(default_factory=dict)
    _remarks: Counter[str] = field(default_factory=Counter)
    _skipped: dict[str, str] = field(default_factory=dict)
    _tree: Tree = field(default_factory=Tree)

    def identity(self) -> str:
        """Return a fingerprint of the path, which tells this source from another one of the same name."""
        return xxhash.xxh3_128_hexdigest(self.root.resolve().as_posix().encode("utf-8", "surrogateescape"))

    def units(self) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every unit, format by format and by path."""
        self._format_by_unit.clear()
        found = walk(self.root)
        self._broken, self._skipped, self._remarks = found.broken, found.skipped, Counter()
        files_by_format = self._assign_files(found.files)
        found.tree.unread = [file.name for file in found.files if file.name in self._skipped]
        self._tree = found.tree
        for _, reader in self.formats:
            if isinstance(reader, SurveyingFormat):
                # All files, also those that other formats read: a note may show a picture or link to a PDF.
                reader.survey(found.files)
            for unit, stamp in reader.units(files_by_format[id(reader)]):
                self._format_by_unit[unit] = reader
                yield unit, stamp
            if isinstance(reader, CountsSkipped):
                self._remarks.update(reader.count_skipped())
            if isinstance(reader, ListsSkipped):
                self._skipped.update(reader.list_skipped())
        # Listed as units, so that what is stored of an unreadable folder is kept and its problem reported.
        for unit in self._broken:
            yield unit, UNREADABLE

    def tree(self) -> Tree:
        """Return the sizes and times of files and folders when the units were last listed."""
        return self._tree

    def reread(self, names: Sequence[str], changed: Sequence[str]) -> Iterator[Unit]:
        """Iterate over the units of changed files whose formats can read a file alone; of others nothing comes."""
        files = [File(name, self.root / name) for name in names]
        # Only the changed files are shared out: some formats read a file to decide whether they take it.
        assigned = self._assign_files([File(name, self.root / name) for name in changed])
        for _, reader in self.formats:
            if assigned[id(reader)] and isinstance(reader, RereadingFormat):
                yield from reader.reread(files, assigned[id(reader)])

    def report_progress_to(self, tell: ReportProgress) -> None:
        """Pass the progress callback on to the formats that take long to list their units."""
        for _, reader in self.formats:
            if isinstance(reader, ReportsProgress):
                reader.report_progress_to(tell)

    def release_memory(self) -> None:
        """Let the formats release the memory they hold for reading."""
        for _, reader in self.formats:
            if isinstance(reader, HoldsMemory):
                reader.release_memory()

    def count_skipped(self) -> Mapping[str, int]:
        """Count the files that were read only in part when the units were last listed, by reason."""
        return {reason: count for reason, count in sorted(self._remarks.items()) if count}

    def list_skipped(self) -> Mapping[str, str]:
        """Return the reason for each file and folder passed over when the units were last listed."""
        return dict(sorted(self._skipped.items()))

    def _assign_files(self, files: Sequence[File]) -> dict[int, list[File]]:
        """Group the files by the id of the format that reads them; a file that no format takes is skipped."""
        assigned: dict[int, list[File]] = {id(reader): [] for _, reader in self.formats}
        for file in files:
            # Only formats of the suffix are asked, in their order: some of them read the file to decide.
            suffix = Path(file.name).suffix.lower()
            owner = next(
                (
                    reader
                    for suffixes, reader in self.formats
                    if (suffix in suffixes or ANY_SUFFIX in suffixes) and reader.takes(file)
                ),
                None,
            )
            if owner is not None:
                assigned[id(owner)].append(file)
            else:
                self._skipped[file.name] = _untaken_reason(file, suffix)
        return assigned

    def read(self, unit: str) -> Unit:
        """Read one unit; one that cannot be read has an empty stamp and a problem."""
        if unit not in self._format_by_unit and unit not in self._broken:
            # The caller may read a unit by name without having listed the units before.
            for _ in self.units():
                pass
        if unit in self._broken:
            return Unit(unit, "", problems=(self._broken[unit],))
        if unit not in self._format_by_unit:
            return Unit(unit, "", problems=(Problem(unit, "There is no such file any more; index again."),))
        try:
            return _with_reason(self._format_by_unit[unit].read(unit))
        # An empty stamp keeps what is stored of the unit; the file may only be locked for the moment.
        except OSError as error:
            return Unit(unit, "", problems=(Problem(unit, f"It cannot be read: {error.strerror or error}."),))


def _untaken_reason(file: File, suffix: str) -> str:
    """Return why no format takes a file."""
    if suffix in _BINARY_SUFFIXES:
        return BINARY
    if file_stamp(file.path).endswith("-0"):
        return EMPTY
    return f"{UNKNOWN_TYPE}: {suffix}" if suffix else UNKNOWN_TYPE


def _with_reason(unit: Unit) -> Unit:
    """Return the unit; one that was read and holds nothing says that it is empty."""
    is_empty = bool(unit.stamp) and not (unit.nodes or unit.edges or unit.problems or unit.skipped)
    return replace(unit, skipped=EMPTY) if is_empty else unit


def file_stamp(path: Path) -> str:
    """Return a file's time and size as a stamp, which changes whenever its content may have changed."""
    try:
        status = path.stat()
    except OSError:
        return UNREADABLE
    return f"{status.st_mtime_ns}-{status.st_size}"


def read_bytes(file: File, limit: int, *, binary: bool = False) -> tuple[bytes, Problem | None]:
    """Return the content of a file, or a problem if it is too large or (unless `binary`) not text."""
    size = file.path.stat().st_size
    if size > limit:
        reason = f"The file has {size:,} bytes; at most {limit:,} are read. Split it, or use JSONL for records."
        return b"", Problem(file.name, reason)
    content = file.path.read_bytes()
    if not binary and looks_binary(content):
        return b"", binary_problem(file.name)
    return content, None


def looks_binary(content: bytes) -> bool:
    """Say whether the beginning of a file holds a NUL byte, which text never does."""
    return b"\x00" in content[:BINARY_SNIFF_BYTES]


def binary_problem(name: str) -> Problem:
    """Return the problem that reports a file that is not text."""
    return Problem(name, "The file is binary (or UTF-16). Save it as UTF-8 text if it should be indexed.")


def decode(content: bytes, where: str) -> tuple[str, tuple[Problem, ...]]:
    """Decode UTF-8 and return the text, broken bytes replaced, with a problem if there were any."""
    try:
        # Editors on Windows write a byte order mark, which would otherwise be the first character of the text.
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"Broken UTF-8 from byte {error.start} (line {line}) was replaced. Save the file as UTF-8."
        return content.decode("utf-8-sig", "replace"), (Problem(where, reason),)


def clean(text: str) -> str:
    """Return the text with `\\n` as the only line end and without control characters or lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Short values are mostly printable, and this test is far cheaper than the two substitutions.
    if text.isprintable():
        return text
    return _CONTROL.sub("", _VERTICAL.sub(" ", text))


def resolve_link(folder: PurePosixPath, target: str) -> str | None:
    """Resolve a link written in a file of `folder` to a path below the root; None when it leads outside."""
    parts: list[str] = [] if target.startswith("/") else list(folder.parts)
    for part in PurePosixPath(target.lstrip("/")).parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts) or None
