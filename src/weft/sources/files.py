"""Files below one folder as a source: decoding, cleaning, and the formats that understand them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import xxhash

from weft.frozen import dataclass
from weft.ports import Problem, Releasing, Remarking, Tell, Telling, Unit
from weft.sources.walk_files import File, walk

__all__ = [
    "MAX_TEXT",
    "File",
    "FileSource",
    "Format",
    "MakeFormat",
    "Naming",
    "binary_problem",
    "clean",
    "decode",
    "looks_binary",
    "read_bytes",
    "stamp_of",
]

MAX_TEXT: Final = 5_000_000
"""Characters that one node's text may have."""

STORY: Final = "story"
NOTES: Final = "notes"
"""What files can be read as, whatever they look like."""

_SNIFF: Final = 8192
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
_VERTICAL: Final = re.compile("[\x0b\x0c\x85]")


@dataclass(frozen=True, slots=True)
class Naming:
    """What every node of a source has in common."""

    source: str
    maker: str
    tenant: str
    file_times: bool = True
    memory: Path | None = None
    """A folder for what formats derive and may lose."""
    reading: str = ""
    """What the files are to be read as: `story`, `notes`, or whatever they look like."""

    def remembering(self, what: str) -> Path | None:
        """The file in which a format keeps what it derived of this source, if there is a place for it."""
        if self.memory is None:
            return None
        digest = xxhash.xxh3_64_hexdigest(f"{self.tenant}/{self.source}".encode())
        return self.memory / f"{what}-{digest}.sqlite"


class Format(Protocol):
    """One kind of file, understood. An instance serves one source and sees all its files of that kind."""

    def takes(self, file: File) -> bool:
        """Whether a file of its suffixes is its own; of several formats that take a file the first gets it."""
        ...

    def units(self, files: Sequence[File]) -> Iterable[tuple[str, str]]:
        """The (name, stamp) of every unit in the files; a unit's name begins with its file's name."""
        ...

    def read(self, unit: str) -> Unit:
        """One unit of the files last given to `units`."""
        ...


@runtime_checkable
class Surveying(Protocol):
    """A format that must know which other files there are, since its own point to them."""

    def survey(self, files: Sequence[File]) -> None:
        """Note all files of the source, before the units are asked for."""
        ...


class MakeFormat(Protocol):
    """A registered format: the file suffixes it takes and how an instance is made."""

    suffixes: frozenset[str]

    def __call__(self, naming: Naming) -> Format: ...


@dataclass(slots=True)
class FileSource:
    """A folder or a file as a source: each file goes to the format that takes its suffix."""

    root: Path
    name: str
    maker: str
    formats: tuple[tuple[frozenset[str], Format], ...]
    _owners: dict[str, Format] = field(default_factory=dict)
    _broken: dict[str, Problem] = field(default_factory=dict)
    _remarks: Counter[str] = field(default_factory=Counter)

    def identity(self) -> str:
        """A fingerprint of the place, by which two sources of the same name are told apart."""
        return xxhash.xxh3_128_hexdigest(self.root.resolve().as_posix().encode("utf-8", "surrogateescape"))

    def units(self) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every unit there is now, format by format and by path."""
        self._owners.clear()
        found = walk(self.root)
        self._broken, self._remarks = found.broken, found.remarks
        shared = self._shared_out(found.files)
        for _, reader in self.formats:
            if isinstance(reader, Surveying):
                reader.survey(found.files)
            for unit, stamp in reader.units(shared[id(reader)]):
                self._owners[unit] = reader
                yield unit, stamp
            if isinstance(reader, Remarking):
                self._remarks.update(reader.remarks())
        for unit in self._broken:
            yield unit, "unreadable"

    def tell_to(self, tell: Tell) -> None:
        """Let the formats whose units take long to list say how far they have come."""
        for _, reader in self.formats:
            if isinstance(reader, Telling):
                reader.tell_to(tell)

    def let_go(self) -> None:
        """Let the formats give back what they kept in memory for reading."""
        for _, reader in self.formats:
            if isinstance(reader, Releasing):
                reader.let_go()

    def remarks(self) -> Mapping[str, int]:
        """How much was passed over when the units were last listed, by reason."""
        return {reason: count for reason, count in sorted(self._remarks.items()) if count}

    def _shared_out(self, files: Sequence[File]) -> dict[int, list[File]]:
        """The files by the format that gets them."""
        shared: dict[int, list[File]] = {id(reader): [] for _, reader in self.formats}
        for file in files:
            suffix = Path(file.name).suffix.lower()
            mine = next((each for suffixes, each in self.formats if suffix in suffixes and each.takes(file)), None)
            if mine is not None:
                shared[id(mine)].append(file)
        return shared

    def read(self, unit: str) -> Unit:
        """One unit, read and understood; a unit that cannot be read has an empty stamp and a problem."""
        if unit not in self._owners and unit not in self._broken:
            for _ in self.units():
                pass
        if unit in self._broken:
            return Unit(unit, "", problems=(self._broken[unit],))
        if unit not in self._owners:
            return Unit(unit, "", problems=(Problem(unit, "There is no such file any more; index again."),))
        try:
            return self._owners[unit].read(unit)
        except OSError as error:
            return Unit(unit, "", problems=(Problem(unit, f"It cannot be read: {error.strerror or error}."),))


def stamp_of(path: Path) -> str:
    """Time and size of a file: changes whenever its content may have changed."""
    try:
        status = path.stat()
    except OSError:
        return "unreadable"
    return f"{status.st_mtime_ns}-{status.st_size}"


def read_bytes(file: File, limit: int, *, binary: bool = False) -> tuple[bytes, Problem | None]:
    """The content of a file, of text unless told, or nothing and the reason why it is left out."""
    size = file.path.stat().st_size
    if size > limit:
        reason = f"The file has {size:,} bytes; at most {limit:,} are read. Split it, or use JSONL for records."
        return b"", Problem(file.name, reason)
    content = file.path.read_bytes()
    if not binary and looks_binary(content):
        return b"", binary_problem(file.name)
    return content, None


def looks_binary(content: bytes) -> bool:
    """Whether the beginning of a file holds a NUL byte, as text never does."""
    return b"\x00" in content[:_SNIFF]


def binary_problem(name: str) -> Problem:
    """What is said of a file that is not text."""
    return Problem(name, "The file is binary (or UTF-16). Save it as UTF-8 text if it should be indexed.")


def decode(content: bytes, where: str) -> tuple[str, tuple[Problem, ...]]:
    """The text of some bytes with broken UTF-8 replaced, and a problem if there was any."""
    try:
        return content.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"Broken UTF-8 from byte {error.start} (line {line}) was replaced. Save the file as UTF-8."
        return content.decode("utf-8-sig", "replace"), (Problem(where, reason),)


def clean(text: str) -> str:
    """The text with plain line ends and without control characters or lone surrogates."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isprintable():
        return text
    return _CONTROL.sub("", _VERTICAL.sub(" ", text))
