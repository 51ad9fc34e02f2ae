"""Check archives of XML (Word, OpenDocument, EPUB) before anything reads them: their size, entities and nesting.

A few kilobytes can unpack to gigabytes, or hold elements that take a hundred times their size in memory. All that
a reader would build from them is bounded here, by a parser that builds nothing.
"""

import lzma
import struct
import zipfile
import zlib
from typing import Final
from xml.parsers import expat

from weft.errors import SourceError

_MAX_ENTRIES: Final = 20_000
"""Files in an archive; a book of many pictures has some thousand."""
MAX_XML_BYTES: Final = 200_000_000
"""Bytes of all XML of an archive; a long novel takes ten million."""
_MAX_ELEMENTS: Final = 3_000_000
"""Elements of one file: some hundred bytes each in memory. A long novel has a few hundred thousand."""
_MAX_DEPTH: Final = 200
"""Elements within each other: readers take time with the square of it. Tables in tables come to thirty."""
ARCHIVE_ERRORS: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, OverflowError),
    *(KeyError, ValueError, RuntimeError),
)
"""Errors that reading a damaged archive ends in. A wrong checksum is a BadZipFile, wrong data an error of whatever
unpacks it, a wrong length an EOFError, a missing file a KeyError, an unknown way of packing a RuntimeError."""
_CHUNK_BYTES: Final = 1 << 20
_XML_SUFFIXES: Final = (".xml", ".rels", ".opf")


class _Refused(Exception):
    """A file that no program for texts writes; the reason is its words."""


def check_archive(archive: zipfile.ZipFile, name: str) -> None:
    """Raise SourceError for an archive whose XML would take too much memory or time to read."""
    entries = archive.infolist()
    if len(entries) > _MAX_ENTRIES:
        raise SourceError(f"{name} holds {len(entries):,} files; at most {_MAX_ENTRIES:,} are read. Split it.")
    read = [entry for entry in entries if entry.filename.lower().endswith(_XML_SUFFIXES)]
    size = sum(entry.file_size for entry in read)
    if size > MAX_XML_BYTES:
        raise SourceError(f"{name} unpacks to {size:,} bytes; at most {MAX_XML_BYTES:,} are read. Split it.")
    for entry in read:
        try:
            _check_xml(archive, entry)
        except _Refused as reason:
            raise SourceError(f"{name} is not read: {entry.filename} {reason}.") from None


def _check_xml(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Parse a file without keeping anything, and stop at what makes it large, deep or refer to something else."""
    parser = expat.ParserCreate()
    depth = elements = 0

    def start(tag: str, attributes: object) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > _MAX_DEPTH:
            raise _Refused(f"has more than {_MAX_DEPTH} elements within each other")
        if elements > _MAX_ELEMENTS:
            raise _Refused(f"has more than {_MAX_ELEMENTS:,} elements")

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse_entity(*declared: object) -> int:
        # No program for texts declares entities; they repeat each other, or name files and addresses.
        raise _Refused("declares entities")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler, parser.ExternalEntityRefHandler = refuse_entity, refuse_entity
    try:
        with archive.open(entry) as content:
            while chunk := content.read(_CHUNK_BYTES):
                parser.Parse(chunk)
    except expat.ExpatError:
        # What is not well-formed is told by the reader, which knows what to do about it.
        return
