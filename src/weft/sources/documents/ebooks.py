"""Extract the text of EPUB and Word files for manuscripts, with headings marked as in Markdown."""

import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote
from xml.etree import ElementTree

from weft.errors import SourceError
from weft.sources.walk_files import File

_MAX_UNPACKED_BYTES: Final = 200_000_000
"""A book that unpacks to more would fill the memory; zip bombs unpack to a thousand times their size."""
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BLOCKS: Final = frozenset({"p", "div", "li", "blockquote", "section", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_SKIPPED: Final = frozenset({"script", "style", "head", "nav"})


def ebook_text(file: File) -> str:
    """Return the text of an EPUB or a Word file by its suffix; raise SourceError when it is damaged."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED_BYTES:
                raise SourceError(f"{file.name} unpacks to more than {_MAX_UNPACKED_BYTES:,} bytes. Split it.")
            parts = _word_paragraphs(archive) if file.name.lower().endswith(".docx") else _epub_pages(archive)
            return "\n\n".join(part for part in parts if part) + "\n"
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, UnicodeDecodeError, RuntimeError) as error:
        raise SourceError(
            f"{file.name} is damaged or protected ({error}). Open it in its own program and save it again."
        ) from error


def _word_paragraphs(archive: zipfile.ZipFile) -> Iterator[str]:
    """Iterate over the paragraphs of a Word document."""
    body = ElementTree.fromstring(archive.read("word/document.xml"))
    for paragraph in body.iter(f"{_WORD}p"):
        text = "".join(_word_run(element) for element in paragraph.iter()).strip()
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        style_name = (style.get(f"{_WORD}val") or "").lower() if style is not None else ""
        yield f"# {text}" if text and style_name.startswith(("heading", "title")) else text


def _word_run(element: ElementTree.Element) -> str:
    if element.tag == f"{_WORD}t":
        return element.text or ""
    return {f"{_WORD}tab": " ", f"{_WORD}br": "\n"}.get(element.tag, "")


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
    for item_id in (item.get("idref") for item in contents.iter() if item.tag.endswith("}itemref")):
        name = (folder / unquote(hrefs.get(item_id, ""))).as_posix()
        if item_id in hrefs and name in archive.namelist():
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
        self._skipped_depth += tag in _SKIPPED
        if tag in _BLOCKS:
            self._paragraphs.append("# " if tag in _HEADINGS else "")
        elif tag == "br":
            self._paragraphs[-1] += " " if self._paragraphs[-1].startswith("# ") else "\n"
        elif tag == "hr":
            # A rule is how EPUBs part scenes.
            self._paragraphs += ["* * *", ""]

    def handle_endtag(self, tag: str) -> None:
        self._skipped_depth -= tag in _SKIPPED and self._skipped_depth > 0
        if tag in _BLOCKS:
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
