"""Read books that are archives (EPUB, Word, OpenDocument): their text, with headings marked as in Markdown."""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
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
_NCX_TYPE: Final = "application/x-dtbncx+xml"
_MIN_LISTED: Final = 2
"""A table of contents with fewer entries, such as the whole book, tells no chapters."""
_FRONT_MATTER: Final = re.compile(
    r"(?:cover|title ?page|half ?title|copyright(?: page)?|(?:table of )?contents|dedication|epigraph|colophon"
    r"|about the (?:author|publisher)|also by.*|acknowledge?ments?|imprint|index|notes|endnotes|advertisements?"
    r"|the full project gutenberg licen[sc]e|transcriber.s notes?)",
    re.IGNORECASE,
)
"""Entries of a table of contents at which no chapter begins."""
_WORD: Final = re.compile(r"[^\W_]+")
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
    """Iterate over the texts of an EPUB's documents in reading order, headed as its table of contents says."""
    # The container names the package file, its manifest the documents, and its spine their order.
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(
        element.get("full-path") or "" for element in container.iter() if element.tag.endswith("}rootfile")
    )
    contents = ElementTree.fromstring(archive.read(package))
    items = [item for item in contents.iter() if item.tag.endswith("}item")]
    folder = PurePosixPath(package).parent
    paths = {item.get("id"): (folder / unquote(item.get("href") or "")).as_posix() for item in items}
    named = [item.get("idref") for item in contents.iter() if item.tag.endswith("}itemref")]
    pages = [paths[item_id] for item_id in named if item_id in paths]
    sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    lists = [
        paths[item.get("id")]
        for item in items
        if "nav" in (item.get("properties") or "").split() or item.get("media-type") == _NCX_TYPE
    ]
    titles = _read_contents(archive, [name for name in lists if 0 < sizes.get(name, 0) <= MAX_XML_BYTES])
    unread = MAX_XML_BYTES
    # Each once: a spine may name one page any number of times, and the book would grow without end.
    for name in dict.fromkeys(pages):
        unread -= sizes.get(name, 0)
        if unread < 0:
            raise SourceError(f"The pages unpack to more than {MAX_XML_BYTES:,} bytes. Split the book.")
        if name in sizes:
            page = _EpubPage(titles.get(name, {}), is_listed=bool(titles))
            page.feed(archive.read(name).decode("utf-8", "replace"))
            yield page.text()


Titles = dict[str, str]
"""The titles of a table of contents for one page, by the id of the element at which each begins, or ""."""


def _read_contents(archive: zipfile.ZipFile, lists: Sequence[str]) -> dict[str, Titles]:
    """Return the titles of the first table of contents that names chapters, by page; none if it names only one."""
    for name in lists:
        entries = _ContentsList()
        entries.feed(archive.read(name).decode("utf-8", "replace"))
        folder = PurePosixPath(name).parent
        found: dict[str, Titles] = {}
        for href, title in entries.found:
            file, _, fragment = href.partition("#")
            page = posixpath.normpath((folder / unquote(file)).as_posix()) if file else name
            # Of several entries for one place the first, which is the outermost.
            if not _FRONT_MATTER.fullmatch(title):
                found.setdefault(page, {}).setdefault(unquote(fragment), title)
        if sum(map(len, found.values())) >= _MIN_LISTED:
            return found
    return {}


class _ContentsList(HTMLParser):
    """A parser that reads the links and titles of a table of contents, of EPUB 3 (nav) or EPUB 2 (ncx)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._is_contents, self._href, self._label = True, "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "nav":
            # A file may list pages and landmarks too, each in a nav of its own type.
            self._is_contents = (values.get("epub:type") or "toc") == "toc"
        elif tag in ("pagelist", "navlist"):
            self._is_contents = False
        elif tag == "a":
            self._href, self._label = values.get("href") or "", ""
        elif tag == "navpoint":
            self._label = ""
        elif tag == "content" and self._is_contents:
            # In an ncx the label comes before the place.
            self._add(values.get("src") or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href and self._is_contents:
            self._add(self._href)

    def handle_data(self, data: str) -> None:
        self._label += data

    def _add(self, href: str) -> None:
        title = " ".join(self._label.split())
        if href and title:
            self.found.append((href, title))
        self._href, self._label = "", ""


class _EpubPage(HTMLParser):
    """A parser that reads one document of an EPUB into paragraphs, with the headings of the table of contents."""

    def __init__(self, titles: Titles, *, is_listed: bool = False) -> None:
        super().__init__(convert_charrefs=True)
        self._paragraphs: list[str] = [f"# {titles[''].strip()}"] if "" in titles else [""]
        self._titles = {_plain(title) for title in titles.values()}
        self._by_id = {place: title for place, title in titles.items() if place}
        self._is_listed = is_listed
        self._skipped_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipped_depth += tag in _EBOOK_HIDDEN
        values = dict(attrs)
        for place in (values.get("id"), values.get("name") if tag == "a" else None):
            if place in self._by_id:
                self._paragraphs += [f"# {self._by_id.pop(place)}", ""]
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
        """Return the paragraphs, separated by blank lines; a heading that a listed title repeats stands once."""
        kept: list[str] = []
        listed = ""
        for paragraph in (each.strip() for each in self._paragraphs):
            words = _plain(paragraph.removeprefix("# "))
            if not words and paragraph != "* * *":
                continue
            # The page often prints a title in pieces below each other: `Chapter 7`, then `The Ferry`.
            if listed and words in listed:
                continue
            is_heading = paragraph.startswith("# ")
            listed = words if is_heading and words in self._titles else ""
            # What the book's own list does not name is a heading inside of a chapter, or of a title page.
            is_unlisted = is_heading and self._is_listed and not listed
            kept.append(paragraph.removeprefix("# ") if is_unlisted else paragraph)
        return "\n\n".join(kept)


def _plain(text: str) -> str:
    """Return words as titles are compared: without case and marks."""
    return " ".join(_WORD.findall(text.casefold()))
