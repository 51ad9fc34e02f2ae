"""Read books (plain text, Markdown, EPUB, Word) as chapters and scenes; an EPUB that is no story is one note."""

import re
import zipfile
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote
from xml.etree import ElementTree

from msgspec import Struct

from weft.errors import SourceError
from weft.model import Edge, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.files import (
    MAX_TEXT_CHARACTERS,
    NOTES,
    STORY,
    SourceSettings,
    clean,
    decode,
    file_stamp,
    read_bytes,
)
from weft.sources.walk_files import File
from weft.text.chapters import Chapter, find_chapters, find_number, has_chapters, is_story, split_scenes

_MAX_FILE_BYTES: Final = 64_000_000
"""The largest text file that is read as a book: some ten times the longest novels."""
_EPUB: Final = ".epub"
_EBOOKS: Final = frozenset({_EPUB, ".docx"})
_MARKDOWN: Final = frozenset({".md", ".markdown"})
_MAX_UNPACKED_BYTES: Final = 200_000_000
"""A book that unpacks to more would fill the memory; zip bombs unpack to a thousand times their size."""
_WORD_NAMESPACE: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_EBOOK_BLOCKS: Final = frozenset(
    {"p", "div", "li", "blockquote", "section", "tr", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_EBOOK_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_EBOOK_HIDDEN: Final = frozenset({"script", "style", "head", "nav"})
"""Elements of an EPUB's documents that hold no words of the book."""


class Manuscript:
    """The manuscripts of one source, one unit a file; in a story, chapter numbers run on from file to file."""

    suffixes = frozenset({".txt", ".text"}) | _EBOOKS | _MARKDOWN

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._chapters_before: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """Take every EPUB, a text or Word file that is a story, and a Markdown file of several chapters."""
        suffix = PurePosixPath(file.name).suffix.lower()
        if suffix == _EPUB:
            return True
        if self.settings.reading == NOTES:
            return False
        if suffix in _MARKDOWN:
            # In a folder of notes a Markdown file is a note, unless the user says otherwise.
            is_requested = file.explicit or self.settings.reading == STORY
            return is_requested and has_chapters(_text_or_empty(file))
        return self.settings.reading == STORY or is_story(_text_or_empty(file))

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every file; a stamp holds the last chapter number of the files before it."""
        self._files = {file.name: file for file in files}
        self._chapters_before = dict.fromkeys(self._files, 0)
        # Only then do numbers run on; otherwise each file is a book, and need not be read for its stamp.
        if self.settings.reading == STORY and len(files) > 1:
            self._count_chapters(files)
        for file in files:
            yield file.name, self._stamp(file)

    def _count_chapters(self, files: Sequence[File]) -> None:
        """Note for each file the last chapter number of the files before it."""
        last = 0
        for file in files:
            self._chapters_before[file.name] = last
            found = self._chapters(file, _text_or_empty(file))
            last = max((chapter.number for chapter in found), default=last)

    def _stamp(self, file: File) -> str:
        return f"{file_stamp(file.path)}-{self.settings.reading}-{self._chapters_before[file.name]}"

    def read(self, unit: str) -> Unit:
        """Read one file: the chapters and scenes of a story, or one note."""
        file = self._files[unit]
        try:
            text, problems = _read_text(file)
        except SourceError as error:
            return Unit(unit, self._stamp(file), problems=(Problem(unit, str(error)),))
        if self.settings.reading == STORY or (self.settings.reading != NOTES and is_story(text)):
            nodes, edges = self._story_nodes(file, text)
            return Unit(unit, self._stamp(file), nodes, edges, problems)
        if len(text) > MAX_TEXT_CHARACTERS:
            reason = (
                f"The text has {len(text):,} characters; at most {MAX_TEXT_CHARACTERS:,} are kept as one note. "
                "Split it."
            )
            return Unit(unit, self._stamp(file), problems=(*problems, Problem(unit, reason)))
        return Unit(unit, self._stamp(file), self._note_nodes(file, text), (), problems)

    def _note_nodes(self, file: File, text: str) -> tuple[Node, ...]:
        if not text.strip():
            return ()
        stem = PurePosixPath(file.name).stem
        whole = _Stretch(_LineIndex(file, text), 0, len(text))
        return (self._node(f"{self.settings.source}:{file.name}", "note", stem, whole),)

    def _chapters(self, file: File, text: str) -> tuple[Chapter, ...]:
        """Return the chapters of a file, numbered after those of the files before it."""
        before = self._chapters_before[file.name]
        found = find_chapters(text)
        if len(self._files) > 1 and not any(chapter.has_heading for chapter in found):
            return self._single_chapter(file, text)
        # A file that goes on counting where the one before it ended keeps its numbers.
        shift = before if found and found[0].number <= before else 0
        return tuple(
            Chapter(chapter.number + shift, chapter.title, chapter.start, chapter.end) for chapter in found
        )

    def _single_chapter(self, file: File, text: str) -> tuple[Chapter, ...]:
        """Return a file without headings as one chapter, with the number in its name or the next one."""
        before, name = self._chapters_before[file.name], PurePosixPath(file.name).stem
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        if end <= start:
            return ()
        number = find_number(name)
        return (Chapter(number if number is not None and number > before else before + 1, name, start, end),)

    def _story_nodes(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        nodes: list[Node] = []
        edges: list[Edge] = []
        lines = _LineIndex(file, text)
        for index, chapter in enumerate(self._chapters(file, text), start=1):
            key = f"{self.settings.source}:{file.name}#{index:03d}"
            spans = split_scenes(text, chapter.start, chapter.end)
            has_scenes = len(spans) > 1
            # The text of a chapter with scenes is that of its scenes; to hold it twice would print it twice.
            own_end = chapter.start if has_scenes else chapter.end
            own_text = _Stretch(lines, chapter.start, own_end, chapter.number)
            nodes.append(self._node(key, "chapter", chapter.title, own_text))
            for number, span in enumerate(spans if has_scenes else (), start=1):
                scene_key = f"{key}.{number:02d}"
                title = f"Ch. {chapter.number}, scene {number}"
                nodes.append(self._node(scene_key, "scene", title, _Stretch(lines, *span, chapter.number)))
                edges.append(Edge(key, scene_key, "contains", tenant=self.settings.tenant))
        return tuple(nodes), tuple(edges)

    def _node(self, key: str, kind: str, title: str, stretch: "_Stretch") -> Node:
        return Node(
            key=key,
            kind=kind,
            tenant=self.settings.tenant,
            title=title,
            text=stretch.index.text[stretch.start : stretch.end],
            origin=Origin(self.settings.source, stretch.index.file.name, *stretch.lines()),
            sequence=stretch.number,
        )


class _LineIndex:
    """The text of a file with the offsets of its line ends, to find line numbers without counting anew."""

    def __init__(self, file: File, text: str) -> None:
        self.file, self.text = file, text
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, offset: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_left(self._ends, offset) + 1


class _Stretch(Struct, frozen=True):
    """A stretch of a file's text, and the number of its chapter."""

    index: _LineIndex
    start: int
    end: int
    number: int | None = None

    def lines(self) -> tuple[int | None, int | None]:
        """Return the first and last line of the stretch; an e-book has no lines."""
        if not _has_lines(self.index.file):
            return None, None
        return self.index.line(self.start), self.index.line(self.end)


def _has_lines(file: File) -> bool:
    return PurePosixPath(file.name).suffix.lower() not in _EBOOKS


def _read_text(file: File) -> tuple[str, tuple[Problem, ...]]:
    """Return the text of a file, whatever its format, with problems; raise SourceError if it cannot be read."""
    if not _has_lines(file):
        return clean(_ebook_text(file)), ()
    content, problem = read_bytes(file, _MAX_FILE_BYTES)
    if problem is not None:
        raise SourceError(problem.reason)
    text, problems = decode(content, file.name)
    return clean(text), problems


def _text_or_empty(file: File) -> str:
    """Return the text of a file, or none if it cannot be read, which `read` reports later."""
    try:
        return _read_text(file)[0]
    except (OSError, SourceError):
        return ""


# --- EPUB and Word: their text, with headings marked as in Markdown ----------------------------------------


def _ebook_text(file: File) -> str:
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
