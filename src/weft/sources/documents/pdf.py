"""PDF files: the text of their pages, in the sections of the outline or one a page. Needs `weft[documents]`."""

import io
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from weft.errors import MissingExtra
from weft.ports import Problem
from weft.sources.documents import DocumentFiles, Understood, stem_of
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean

if TYPE_CHECKING:
    from pypdf import PdfReader


_MOST_PAGES: Final = 5_000
_MOST_BYTES: Final = 128_000_000
_DEEPEST: Final = 6


class Pdf(DocumentFiles):
    """PDF files as documents."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".pdf"})
    most_bytes: ClassVar[int] = _MOST_BYTES
    binary: ClassVar[bool] = True

    def understand(self, name: str, content: bytes) -> Understood:
        """The text of the pages; an encrypted, broken or merely pictured file is left out, with the reason."""
        try:
            from pypdf import PdfReader
            from pypdf.errors import PyPdfError
        except ImportError:
            return None, (Problem(name, str(MissingExtra("Reading PDF files", "documents"))),)
        # It would print what it thinks of a file that it reads anyway.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        try:
            reader = PdfReader(io.BytesIO(content))
            if reader.is_encrypted and not reader.decrypt(""):
                return None, (
                    Problem(name, "The PDF is encrypted. Save it without a password to have it indexed."),
                )
            return _document(reader, name)
        except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            return None, (
                Problem(name, f"The PDF is broken ({' '.join(str(error).split())[:120]}). Save it anew."),
            )


def _document(reader: "PdfReader", name: str) -> Understood:
    problems: list[Problem] = []
    if len(reader.pages) > _MOST_PAGES:
        reason = f"The PDF has {len(reader.pages):,} pages; the first {_MOST_PAGES:,} are kept. Split it."
        problems.append(Problem(name, reason))
    pages = [clean(page.extract_text()).strip() for page in reader.pages[:_MOST_PAGES]]
    if not any(pages):
        return None, (Problem(name, "The PDF has no text, only pictures. Run text recognition over it first."),)
    starts = [0]
    for page in pages:
        starts.append(starts[-1] + len(page) + 2)
    headings = _outlined(reader, pages, starts) or [
        Heading(1, f"{stem_of(name)}, page {number}", start, start, number)
        for number, start in enumerate(starts[:-1], start=1)
    ]
    title = clean(str(reader.metadata.title or "") if reader.metadata else "").strip() or stem_of(name)
    document = Document(title, "\n\n".join(pages), tuple(headings), "text", None, fields={"pages": len(pages)})
    return document, tuple(problems)


def _outlined(reader: "PdfReader", pages: Sequence[str], starts: Sequence[int]) -> list[Heading]:
    """The headings of the outline, each where its words stand on its page, or where the page begins."""
    found = []
    for level, entry in _entries(reader.outline, 1):
        number = reader.get_destination_page_number(entry)
        title = " ".join(clean(str(entry.title)).split())
        if number is None or not 0 <= number < len(pages) or not title:
            continue
        at = pages[number].lower().find(title.lower())
        start = starts[number] + max(at, 0)
        found.append(Heading(level, title, start, start + (len(title) if at >= 0 else 0), number + 1))
    return sorted(found, key=lambda heading: heading.start)


def _entries(outline: Sequence[Any], level: int) -> Iterator[tuple[int, Any]]:
    """The entries of an outline with their levels; a list inside stands for what is below the entry before it."""
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(entry, min(level + 1, _DEEPEST))
        else:
            yield level, entry
