"""Word documents: paragraphs, lists and tables in order, parted by headings. Needs `weft[documents]`."""

import io
import re
import zipfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from weft.errors import MissingExtra
from weft.ports import Problem
from weft.sources.documents import DocumentFiles, Understood, stem_of
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean

if TYPE_CHECKING:
    from docx.table import Table


_MOST_BYTES: Final = 128_000_000
_MOST_UNPACKED: Final = 512_000_000
_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)


class Docx(DocumentFiles):
    """Word documents as documents."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".docx"})
    most_bytes: ClassVar[int] = _MOST_BYTES
    binary: ClassVar[bool] = True

    def understand(self, name: str, content: bytes) -> Understood:
        """The words of the document; a file that is broken or unpacks to too much is left out, with the reason."""
        try:
            import docx
            from docx.opc.exceptions import PackageNotFoundError
        except ImportError:
            return None, (Problem(name, str(MissingExtra("Reading Word documents", "documents"))),)
        try:
            size = sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(content)).infolist())
            if size > _MOST_UNPACKED:
                reason = f"The document unpacks to {size:,} bytes; at most {_MOST_UNPACKED:,} are read. Split it."
                return None, (Problem(name, reason),)
            made = docx.Document(io.BytesIO(content))
            return _document(made.iter_inner_content(), made.core_properties.title, name), ()
        except (PackageNotFoundError, zipfile.BadZipFile, KeyError, ValueError, SyntaxError) as error:
            why = " ".join(str(error).split())[:120]
            return None, (Problem(name, f"The Word document is broken ({why}). Save it anew."),)


def _document(content: Iterable[Any], title: str, name: str) -> Document:
    headings: list[Heading] = []
    written: list[str] = []
    length = 0
    for block in content:
        text, level = _read(block)
        if not text:
            continue
        gap = _gap(written[-1] if written else None, text)
        if level == 0 and not headings:
            title = text
        elif level is not None:
            start = length + len(gap)
            headings.append(Heading(max(level, 1), text, start, start + len(text)))
        if level != 0:
            written.append(gap + text)
            length += len(written[-1])
    return Document(clean(title).strip() or stem_of(name), "".join(written), tuple(headings), "text", None)


def _gap(before: str | None, text: str) -> str:
    """What stands between two blocks: entries of a list follow each other line by line."""
    if before is None:
        return ""
    return "\n" if text.startswith("- ") and before.lstrip("\n").startswith("- ") else "\n\n"


def _read(block: Any) -> tuple[str, int | None]:
    """The words of a paragraph or a table, and the level of a heading; 0 is that of the document's title."""
    if hasattr(block, "rows"):
        return _table(block), None
    text, style = clean(block.text).strip(), str(getattr(block.style, "name", "") or "")
    heading = _HEADING.match(style)
    if heading:
        return " ".join(text.split()), int(heading[1])
    if style.lower() == "title":
        return " ".join(text.split()), 0
    return (f"- {text}" if text and style.lower().startswith("list") else text), None


def _table(table: "Table") -> str:
    rows = (" | ".join(" ".join(clean(cell.text).split()) for cell in row.cells) for row in table.rows)
    return "\n".join(row for row in rows if row.strip(" |"))
