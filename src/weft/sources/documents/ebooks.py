"""The text of EPUB and Word files, with headings marked as in Markdown."""

import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote
from xml.etree import ElementTree

from weft.errors import SourceError
from weft.sources.walk_files import File

_MOST_BYTES: Final = 200_000_000
_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BLOCKS: Final = frozenset({"p", "div", "li", "blockquote", "section", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_SKIPPED: Final = frozenset({"script", "style", "head", "nav"})


def ebook_text(file: File) -> str:
    """The text of an EPUB or a Word file by its suffix; SourceError when it is neither."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise SourceError(f"{file.name} unpacks to more than {_MOST_BYTES:,} bytes. Split it.")
            parts = _word(archive) if file.name.lower().endswith(".docx") else _epub(archive)
            return "\n\n".join(part for part in parts if part) + "\n"
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, UnicodeDecodeError, RuntimeError) as error:
        raise SourceError(
            f"{file.name} is damaged or protected ({error}). Open it in its own program and save it again."
        ) from error


def _word(archive: zipfile.ZipFile) -> Iterator[str]:
    """The paragraphs of a Word document."""
    body = ElementTree.fromstring(archive.read("word/document.xml"))
    for paragraph in body.iter(f"{_WORD}p"):
        text = "".join(_run(each) for each in paragraph.iter()).strip()
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        named = (style.get(f"{_WORD}val") or "").lower() if style is not None else ""
        yield f"# {text}" if text and named.startswith(("heading", "title")) else text


def _run(element: ElementTree.Element) -> str:
    if element.tag == f"{_WORD}t":
        return element.text or ""
    return {f"{_WORD}tab": " ", f"{_WORD}br": "\n"}.get(element.tag, "")


def _epub(archive: zipfile.ZipFile) -> Iterator[str]:
    """The documents of an EPUB in reading order."""
    container = ElementTree.fromstring(archive.read("META-INF/container.xml"))
    package = next(each.get("full-path") or "" for each in container.iter() if each.tag.endswith("}rootfile"))
    contents = ElementTree.fromstring(archive.read(package))
    hrefs = {each.get("id"): each.get("href") or "" for each in contents.iter() if each.tag.endswith("}item")}
    folder = PurePosixPath(package).parent
    for place in (each.get("idref") for each in contents.iter() if each.tag.endswith("}itemref")):
        name = (folder / unquote(hrefs.get(place, ""))).as_posix()
        if place in hrefs and name in archive.namelist():
            page = _Page()
            page.feed(archive.read(name).decode("utf-8", "replace"))
            yield page.text()


class _Page(HTMLParser):
    """One document of an EPUB being read into paragraphs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._paragraphs: list[str] = [""]
        self._skipping = 0
        self._heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skipping += tag in _SKIPPED
        if tag in _BLOCKS:
            self._paragraphs.append("# " if tag in _HEADINGS else "")
        elif tag == "br":
            self._paragraphs[-1] += " " if self._paragraphs[-1].startswith("# ") else "\n"
        elif tag == "hr":
            self._paragraphs += ["* * *", ""]

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in _SKIPPED and self._skipping > 0
        if tag in _BLOCKS:
            self._paragraphs.append("")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._paragraphs[-1] += " ".join(data.split()) if not data.strip() else _spaced(data)

    def text(self) -> str:
        """The paragraphs so far, parted by blank lines."""
        shown = (each.strip() for each in self._paragraphs)
        return "\n\n".join(each for each in shown if each and each != "#")


def _spaced(data: str) -> str:
    """The words of a run, with one blank where there were any at its ends."""
    return " " * data[0].isspace() + " ".join(data.split()) + " " * data[-1].isspace()
