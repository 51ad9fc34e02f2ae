"""Books as files: plain text, EPUB and Word, in chapters and scenes; an EPUB that is no story is one note."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from weft.errors import SourceError
from weft.frozen import dataclass
from weft.model import Edge, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.documents.ebooks import ebook_text
from weft.sources.files import MAX_TEXT, NOTES, STORY, Naming, clean, decode, read_bytes, stamp_of
from weft.sources.walk_files import File
from weft.text.chapters import Chapter, chapters, has_chapters, is_told, number_in, scenes

_MOST_BYTES: Final = 64_000_000
_EPUB: Final = ".epub"
_EBOOKS: Final = frozenset({_EPUB, ".docx"})
_MARKDOWN: Final = frozenset({".md", ".markdown"})


class Manuscript:
    """The manuscripts of one source, one unit a file; as a story the chapters of all files are numbered on."""

    suffixes = frozenset({".txt", ".text"}) | _EBOOKS | _MARKDOWN

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._files: dict[str, File] = {}
        self._before: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """Every EPUB; a text or Word file that is a story; a Markdown file that holds several chapters."""
        suffix = PurePosixPath(file.name).suffix.lower()
        if suffix == _EPUB:
            return True
        if self.naming.reading == NOTES:
            return False
        if suffix in _MARKDOWN:
            asked = file.explicit or self.naming.reading == STORY
            return asked and has_chapters(_readable_text(file))
        return self.naming.reading == STORY or is_told(_readable_text(file))

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """The (name, stamp) of every file, and the number that the chapters before it end with."""
        self._files = {file.name: file for file in files}
        self._before = dict.fromkeys(self._files, 0)
        if self.naming.reading == STORY and len(files) > 1:
            self._number(files)
        for file in files:
            yield file.name, self._stamp(file)

    def _number(self, files: Sequence[File]) -> None:
        last = 0
        for file in files:
            self._before[file.name] = last
            found = self._chapters(file, _readable_text(file))
            last = max((chapter.number for chapter in found), default=last)

    def _stamp(self, file: File) -> str:
        return f"{stamp_of(file.path)}-{self.naming.reading}-{self._before[file.name]}"

    def read(self, unit: str) -> Unit:
        """One file: the chapters and scenes of a story, or one note."""
        file = self._files[unit]
        try:
            text, problems = _text(file)
        except SourceError as error:
            return Unit(unit, self._stamp(file), problems=(Problem(unit, str(error)),))
        if self.naming.reading == STORY or (self.naming.reading != NOTES and is_told(text)):
            nodes, edges = self._story(file, text)
            return Unit(unit, self._stamp(file), nodes, edges, problems)
        if len(text) > MAX_TEXT:
            reason = f"The text has {len(text):,} characters; at most {MAX_TEXT:,} are kept as one note. Split it."
            return Unit(unit, self._stamp(file), problems=(*problems, Problem(unit, reason)))
        return Unit(unit, self._stamp(file), self._note(file, text), (), problems)

    def _note(self, file: File, text: str) -> tuple[Node, ...]:
        if not text.strip():
            return ()
        stem = PurePosixPath(file.name).stem
        here = _Piece(_Page(file, text), 0, len(text))
        return (self._node(f"{self.naming.source}:{file.name}", "note", stem, here),)

    def _chapters(self, file: File, text: str) -> tuple[Chapter, ...]:
        """The chapters of a file, numbered after those of the files before it."""
        before = self._before[file.name]
        found = chapters(text)
        if len(self._files) > 1 and not any(chapter.headed for chapter in found):
            return self._whole(file, text)
        shift = before if found and found[0].number <= before else 0
        return tuple(
            Chapter(chapter.number + shift, chapter.title, chapter.start, chapter.end) for chapter in found
        )

    def _whole(self, file: File, text: str) -> tuple[Chapter, ...]:
        """A file that is one chapter, by the number in its name or the next."""
        before, name = self._before[file.name], PurePosixPath(file.name).stem
        number = number_in(name)
        low = len(text) - len(text.lstrip())
        end = len(text.rstrip())
        return (Chapter(number if number is not None and number > before else before + 1, name, low, end),) * (
            end > low
        )

    def _story(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        nodes: list[Node] = []
        edges: list[Edge] = []
        page = _Page(file, text)
        for place, chapter in enumerate(self._chapters(file, text), start=1):
            key = f"{self.naming.source}:{file.name}#{place:03d}"
            spans = scenes(text, chapter.start, chapter.end)
            end = chapter.end if len(spans) < 2 else chapter.start
            whole = _Piece(page, chapter.start, end, chapter.number)
            nodes.append(self._node(key, "chapter", chapter.title, whole))
            for number, span in enumerate(spans if len(spans) > 1 else (), start=1):
                scene = f"{key}.{number:02d}"
                title = f"Ch. {chapter.number}, scene {number}"
                nodes.append(self._node(scene, "scene", title, _Piece(page, *span, chapter.number)))
                edges.append(Edge(key, scene, "contains", tenant=self.naming.tenant))
        return tuple(nodes), tuple(edges)

    def _node(self, key: str, kind: str, title: str, piece: "_Piece") -> Node:
        return Node(
            key=key,
            kind=kind,
            tenant=self.naming.tenant,
            title=title,
            text=piece.page.text[piece.start : piece.end],
            origin=Origin(self.naming.source, piece.page.file.name, *piece.lines()),
            sequence=piece.number,
        )


class _Page:
    """The text of a file with the places where its lines end."""

    def __init__(self, file: File, text: str) -> None:
        self.file, self.text = file, text
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def line(self, place: int) -> int:
        """The line on which a place stands, counted from 1."""
        return bisect_left(self._ends, place) + 1


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a file's text, and the number of its chapter."""

    page: _Page
    start: int
    end: int
    number: int | None = None

    def lines(self) -> tuple[int | None, int | None]:
        """The first and last line of the piece; the pages of an e-book have none."""
        if not _has_lines(self.page.file):
            return None, None
        return self.page.line(self.start), self.page.line(self.end)


def _has_lines(file: File) -> bool:
    return PurePosixPath(file.name).suffix.lower() not in _EBOOKS


def _text(file: File) -> tuple[str, tuple[Problem, ...]]:
    """The text of a file, whatever its format."""
    if not _has_lines(file):
        return clean(ebook_text(file)), ()
    content, problem = read_bytes(file, _MOST_BYTES)
    if problem is not None:
        raise SourceError(problem.reason)
    text, problems = decode(content, file.name)
    return clean(text), problems


def _readable_text(file: File) -> str:
    """The text of a file, or none where it cannot be read, which reading it will report."""
    try:
        return _text(file)[0]
    except (OSError, SourceError):
        return ""
