"""Parse PDF files: their text in the sections of the outline, or one a page. Needs `weft-context[documents]`."""

import io
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from weft.errors import MissingExtra
from weft.ports import Problem
from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean

if TYPE_CHECKING:
    from pypdf import PdfReader


_MAX_PAGES: Final = 5_000
"""Extracting the text of a page is slow: with a higher limit one file may hold up indexing for minutes."""
_MAX_FILE_BYTES: Final = 128_000_000
"""Larger files are scans, which have little text, and are held in memory while they are read."""
_MAX_LEVEL: Final = 6
"""The deepest level of a heading, as in HTML and Markdown; outlines that nest deeper are flattened."""
_MAX_ERROR_CHARACTERS: Final = 120
"""How much of the library's complaint a problem quotes."""


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
            return _make_document(reader, name)
        except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            why = " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
            return None, (Problem(name, f"The PDF is broken ({why}). Save it anew."),)


def _make_document(reader: "PdfReader", name: str) -> ParsedDocument:
    problems: list[Problem] = []
    if len(reader.pages) > _MAX_PAGES:
        reason = f"The PDF has {len(reader.pages):,} pages; the first {_MAX_PAGES:,} are kept. Split it."
        problems.append(Problem(name, reason))
    pages = [clean(page.extract_text()).strip() for page in reader.pages[:_MAX_PAGES]]
    if not any(pages):
        return None, (Problem(name, "The PDF has no text, only pictures. Run text recognition over it first."),)
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
