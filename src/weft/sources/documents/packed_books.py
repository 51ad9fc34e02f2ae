"""Read books that are archives (EPUB, Word, OpenDocument): their text, with headings marked as in Markdown."""

import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote
from xml.etree import ElementTree

from weft.errors import SourceError
from weft.sources.documents.archives import ARCHIVE_ERRORS, MAX_XML_BYTES, check_archive
from weft.sources.walk_files import File

PACKED_SUFFIXES: Final = frozenset({".epub", ".docx", ".odt"})
_WORD_NAMESPACE: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_EBOOK_BLOCKS: Final = frozenset(
    {"p", "div", "li", "blockquote", "section", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_EBOOK_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_EBOOK_HIDDEN: Final = frozenset({"script", "style", "head", "nav"})
"""Elements of an EPUB's documents that hold no words of the book."""
_OFFICE_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def read_packed(file: File) -> str:
    """Return the text of an archive by its suffix; raise SourceError when it is damaged."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            check_archive(archive, file.name)
            read = {".docx": _word_paragraphs, ".odt": _office_paragraphs}
            parts = read.get(PurePosixPath(file.name).suffix.lower(), _epub_pages)(archive)
            return "\n\n".join(part for part in parts if part) + "\n"
    except (*ARCHIVE_ERRORS, ElementTree.ParseError) as error:
        raise SourceError(
            f"{file.name} is damaged or protected ({error}). Open it in its own program and save it again."
        ) from error


def _word_paragraphs(archive: zipfile.ZipFile) -> Iterator[str]:
    """Iterate over the paragraphs of a Word document."""
    body = ElementTree.fromstring(archive.read("word/document.xml"))
    for paragraph in body.iter(f"{_WORD_NAMESPACE}p"):
        text = "".join(_word_run(element) for element in paragraph.iter()).strip()
        style = paragraph.find(f"{_WORD_NAMESPACE}pPr/{_WORD_NAMESPACE}pStyle")
        # The id of the style, such as `Heading1`; the name that people see is in another file of the archive.
        style_name = (style.get(f"{_WORD_NAMESPACE}val") or "").lower() if style is not None else ""
        yield f"# {text}" if text and style_name.startswith(("heading", "title")) else text


def _word_run(element: ElementTree.Element) -> str:
    if element.tag == f"{_WORD_NAMESPACE}t":
        return element.text or ""
    return {f"{_WORD_NAMESPACE}tab": " ", f"{_WORD_NAMESPACE}br": "\n"}.get(element.tag, "")


def _office_paragraphs(archive: zipfile.ZipFile) -> Iterator[str]:
    """Iterate over the paragraphs of an OpenDocument text; its headings are elements of their own."""
    body = ElementTree.fromstring(archive.read("content.xml"))
    for element in body.iter():
        if element.tag in (f"{_OFFICE_TEXT}h", f"{_OFFICE_TEXT}p"):
            text = "".join(element.itertext()).strip()
            yield f"# {text}" if text and element.tag.endswith("}h") else text


def _epub_pages(archive: zipfile.ZipFile) -> Iterator[str]:
    """Iterate over the texts of an EPUB's documents in reading order."""
    # The container names the package file, its manifest the documents, and its spine their order.
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(
        element.get("full-path") or "" for element in container.iter() if element.tag.endswith("}rootfile")
    )
    contents = ElementTree.fromstring(archive.read(package))
    hrefs = {item.get("id"): item.get("href") or "" for item in contents.iter() if item.tag.endswith("}item")}
    folder = PurePosixPath(package).parent
    named = [item.get("idref") for item in contents.iter() if item.tag.endswith("}itemref")]
    pages = [(folder / unquote(hrefs[item_id])).as_posix() for item_id in named if item_id in hrefs]
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    unread = MAX_XML_BYTES
    # Each once: a spine may name one page any number of times, and the book would grow without end.
    for name in dict.fromkeys(pages):
        unread -= sizes.get(name, 0)
        if unread < 0:
            raise SourceError(f"The pages unpack to more than {MAX_XML_BYTES:,} bytes. Split the book.")
        if name in sizes:
            page = _EpubPage()
            page.feed(archive.read(name).decode("utf-8", "replace"))
            yield page.text()


class _EpubPage(HTMLParser):
    """A parser that reads one document of an EPUB into paragraphs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._paragraphs: list[str] = [""]
        self._skipped_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped_depth += tag in _EBOOK_HIDDEN
        if tag in _EBOOK_BLOCKS:
            self._paragraphs.append("# " if tag in _EBOOK_HEADINGS else "")
        elif tag == "br":
            # A heading must stay on one line to be found as one.
            self._paragraphs[-1] += " " if self._paragraphs[-1].startswith("# ") else "\n"
        elif tag == "hr":
            # A rule is how EPUBs part scenes.
            self._paragraphs += ["* * *", ""]

    def handle_endtag(self, tag: str) -> None:
        self._skipped_depth -= tag in _EBOOK_HIDDEN and self._skipped_depth > 0
        if tag in _EBOOK_BLOCKS:
            self._paragraphs.append("")

    def handle_data(self, data: str) -> None:
        # White space between elements is dropped; inside words of a sentence it is part of the data's ends.
        if not self._skipped_depth and data.strip():
            words = " ".join(data.split())
            self._paragraphs[-1] += " " * data[0].isspace() + words + " " * data[-1].isspace()

    def text(self) -> str:
        """Return the paragraphs, separated by blank lines."""
        stripped = (paragraph.strip() for paragraph in self._paragraphs)
        return "\n\n".join(paragraph for paragraph in stripped if paragraph and paragraph != "#")
