"""Parse Word documents: paragraphs, lists and tables in order, under headings (`weft-context[documents]`)."""

import io
import re
import zipfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from weft.errors import MissingExtra
from weft.ports import Problem
from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean

if TYPE_CHECKING:
    from docx.table import Table


_MAX_FILE_BYTES: Final = 128_000_000
"""Mostly pictures in a file of this size: its text is far below the limit of a document."""
_MAX_UNPACKED_BYTES: Final = 512_000_000
"""A file that unpacks to more would fill the memory; zip bombs unpack to a thousand times their size."""
_MAX_ERROR_CHARACTERS: Final = 120
"""How much of the library's complaint a problem quotes."""
_HEADING_STYLE: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_TITLE_LEVEL: Final = 0
"""The level of a paragraph in the style `Title`, above all headings."""


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
            size = sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(content)).infolist())
            if size > _MAX_UNPACKED_BYTES:
                reason = (
                    f"The document unpacks to {size:,} bytes; at most {_MAX_UNPACKED_BYTES:,} are read. Split it."
                )
                return None, (Problem(name, reason),)
            package = docx.Document(io.BytesIO(content))
            return _make_document(package.iter_inner_content(), package.core_properties.title, name), ()
        except (PackageNotFoundError, zipfile.BadZipFile, KeyError, ValueError, SyntaxError) as error:
            why = " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
            return None, (Problem(name, f"The Word document is broken ({why}). Save it anew."),)


def _make_document(blocks: Iterable[Any], title: str, name: str) -> Document:
    """Join the blocks to one text and note where its headings stand."""
    headings: list[Heading] = []
    written: list[str] = []
    length = 0
    for block in blocks:
        text, level = _read_block(block)
        if not text:
            continue
        gap = _gap_between(written[-1] if written else None, text)
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
