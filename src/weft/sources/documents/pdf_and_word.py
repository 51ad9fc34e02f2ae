"""Parse PDF files and Word documents, each with a library that `weft-context[documents]` installs.

A PDF comes in the sections of its outline, or one a page; a Word document as its paragraphs, lists and tables in
order, under headings.
"""

import io
import logging
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from weft.errors import MissingExtra, SourceError
from weft.ports import Problem
from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.archives import ARCHIVE_ERRORS, check_archive
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, error_line

if TYPE_CHECKING:
    from docx.table import Table
    from pypdf import PdfReader


_MAX_FILE_BYTES: Final = 128_000_000
"""A larger file is mostly scans or pictures, which have little text, and is held in memory while it is read."""
_MAX_PAGES: Final = 5_000
"""Extracting the text of a page is slow: with a higher limit one PDF may hold up indexing for minutes."""
_MAX_LEVEL: Final = 6
"""The deepest level of a heading, as in HTML and Markdown; outlines that nest deeper are flattened."""
_HEADING_STYLE: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE_LEVEL: Final = 0
"""The level of a paragraph in the style `Title`, above all headings."""


# --- PDF -------------------------------------------------------------------------------------------------


class Pdf(DocumentFiles):
    """The PDF files of a source."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".pdf"})
    max_bytes: ClassVar[int] = _MAX_FILE_BYTES
    binary: ClassVar[bool] = True

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the document, or the problem of a file that is encrypted, broken or without text."""
        try:
            from pypdf import PdfReader
            from pypdf.errors import PyPdfError
        except ImportError:
            return None, (Problem(name, str(MissingExtra("Reading PDF files", "documents"))),)
        # The library logs warnings about files that it reads all the same.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        try:
            reader = PdfReader(io.BytesIO(content))
            # Many files are encrypted with an empty password, only to forbid printing.
            if reader.is_encrypted and not reader.decrypt(""):
                reason = "The PDF is encrypted. Save it without a password to have it indexed."
                return None, (Problem(name, reason),)
            return _pdf_document(reader, name)
        except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            return None, (Problem(name, f"The PDF is broken ({error_line(error)}). Save it anew."),)


def _pdf_document(reader: "PdfReader", name: str) -> ParsedDocument:
    problems: list[Problem] = []
    if len(reader.pages) > _MAX_PAGES:
        reason = f"The PDF has {len(reader.pages):,} pages; the first {_MAX_PAGES:,} are kept. Split it."
        problems.append(Problem(name, reason))
    pages = [clean(page.extract_text()).strip() for page in reader.pages[:_MAX_PAGES]]
    if not any(pages):
        return None, (Problem(name, "The PDF has no text, only pictures. Run text recognition over it first."),)
    # Where each page begins in the joined text; one entry more than pages, for the end.
    starts = [0]
    for page in pages:
        starts.append(starts[-1] + len(page) + len("\n\n"))
    headings = _outline_headings(reader, pages, starts) or [
        Heading(1, f"{title_from_name(name)}, page {number}", start, start, number)
        for number, start in enumerate(starts[:-1], start=1)
    ]
    title = clean(str(reader.metadata.title or "") if reader.metadata else "").strip() or title_from_name(name)
    document = Document(title, "\n\n".join(pages), tuple(headings), "text", None, fields={"pages": len(pages)})
    return document, tuple(problems)


def _outline_headings(reader: "PdfReader", pages: Sequence[str], starts: Sequence[int]) -> list[Heading]:
    """Return the headings of the outline, each where its words stand on its page, or where the page begins."""
    headings = []
    for level, entry in _flatten_outline(reader.outline, 1):
        number = reader.get_destination_page_number(entry)
        title = " ".join(clean(str(entry.title)).split())
        if number is None or not 0 <= number < len(pages) or not title:
            continue
        # Outlines give a page and seldom a usable position on it, so the heading's own words are looked for.
        offset = pages[number].lower().find(title.lower())
        start = starts[number] + max(offset, 0)
        body = start + (len(title) if offset >= 0 else 0)
        headings.append(Heading(level, title, start, body, number + 1))
    return sorted(headings, key=lambda heading: heading.start)


def _flatten_outline(outline: Sequence[Any], level: int) -> Iterator[tuple[int, Any]]:
    """Iterate over (level, entry) of an outline, in which a list holds what is below the entry before it."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _flatten_outline(entry, min(level + 1, _MAX_LEVEL))
        else:
            yield level, entry


# --- Word ------------------------------------------------------------------------------------------------


class Docx(DocumentFiles):
    """The Word documents of a source."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".docx"})
    max_bytes: ClassVar[int] = _MAX_FILE_BYTES
    binary: ClassVar[bool] = True

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the document, or the problem of a file that is broken or unpacks to too much."""
        try:
            import docx
            from docx.opc.exceptions import PackageNotFoundError
        except ImportError:
            return None, (Problem(name, str(MissingExtra("Reading Word documents", "documents"))),)
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                check_archive(archive, name)
            package = docx.Document(io.BytesIO(content))
            return _word_document(package.iter_inner_content(), package.core_properties.title, name), ()
        except SourceError as error:
            return None, (Problem(name, str(error)),)
        except (*ARCHIVE_ERRORS, PackageNotFoundError, SyntaxError) as error:
            return None, (Problem(name, f"The Word document is broken ({error_line(error)}). Save it anew."),)


def _word_document(blocks: Iterable[Any], title: str, name: str) -> Document:
    """Join the blocks to one text and note where its headings stand."""
    headings: list[Heading] = []
    written: list[str] = []
    length = 0
    for block in blocks:
        text, level = _read_block(block)
        if not text:
            continue
        gap = _gap_between(written[-1] if written else None, text)
        # A title below other headings is the heading of a part.
        if level == _TITLE_LEVEL and not headings:
            title = text
        elif level is not None:
            start = length + len(gap)
            headings.append(Heading(max(level, 1), text, start, start + len(text)))
        if level != _TITLE_LEVEL:
            written.append(gap + text)
            length += len(written[-1])
    text = "".join(written)
    return Document(clean(title).strip() or title_from_name(name), text, tuple(headings), "text", None)


def _gap_between(before: str | None, text: str) -> str:
    """Return the line breaks between two blocks: a blank line, except between the entries of a list."""
    if before is None:
        return ""
    return "\n" if text.startswith("- ") and before.lstrip("\n").startswith("- ") else "\n\n"


def _read_block(block: Any) -> tuple[str, int | None]:
    """Return the text of a paragraph or a table, and its level if it is a heading or the title."""
    # Not by type: the library is loaded only where a document is read.
    if hasattr(block, "rows"):
        return _read_table(block), None
    text, style = clean(block.text).strip(), str(getattr(block.style, "name", "") or "")
    heading = _HEADING_STYLE.match(style)
    if heading:
        return " ".join(text.split()), int(heading[1])
    if style.lower() == "title":
        return " ".join(text.split()), _TITLE_LEVEL
    return (f"- {text}" if text and style.lower().startswith("list") else text), None


def _read_table(table: "Table") -> str:
    rows = (" | ".join(" ".join(clean(cell.text).split()) for cell in row.cells) for row in table.rows)
    return "\n".join(row for row in rows if row.strip(" |"))
