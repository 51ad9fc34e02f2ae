"""Books as files: plain text, EPUB and Word, in chapters and scenes; a text that is no story stays one note."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from weft.errors import SourceError
from weft.model import Edge, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.ebooks import ebook_text
from weft.sources.files import MAX_TEXT, File, Naming, clean, decode, read_bytes, stamp_of
from weft.text.chapters import Chapter, chapters, has_chapters, is_told, number_in, scenes

STORY: Final = "story"
NOTES: Final = "notes"

_MOST_BYTES: Final = 64_000_000
_EBOOKS: Final = frozenset({".epub", ".docx"})
_MARKDOWN: Final = frozenset({".md", ".markdown"})


class Manuscript:
    """The manuscripts of one source, one unit a file; as a story the chapters of all files are numbered on."""

    suffixes = frozenset({".txt", ".text"}) | _EBOOKS | _MARKDOWN

    def __init__(self, naming: Naming) -> None:
        self.naming = naming
        self._files: dict[str, File] = {}
        self._before: dict[str, int] = {}

    def takes(self, file: File) -> bool:
        """Every text and e-book; a Markdown file only if it holds several chapters."""
        if PurePosixPath(file.name).suffix.lower() not in _MARKDOWN:
            return True
        if self.naming.reading == NOTES or not (file.explicit or self.naming.reading == STORY):
            return False
        try:
            return has_chapters(_text(file)[0])
        except (OSError, SourceError):
            return False

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
        return (self._node(f"{self.naming.source}:{file.name}", "note", stem, file, text, (0, len(text))),)

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
        return (Chapter(number if number is not None and number > before else before + 1, name, low, end),) * (end > low)

    def _story(self, file: File, text: str) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
        nodes: list[Node] = []
        edges: list[Edge] = []
        for place, chapter in enumerate(self._chapters(file, text), start=1):
            key = f"{self.naming.source}:{file.name}#{place:03d}"
            spans = scenes(text, chapter.start, chapter.end)
            whole = (chapter.start, chapter.end) if len(spans) < 2 else (chapter.start, chapter.start)
            nodes.append(self._node(key, "chapter", chapter.title, file, text, whole, chapter.number))
            for number, span in enumerate(spans if len(spans) > 1 else (), start=1):
                title = f"{chapter.title} ({number})"
                scene = f"{key}.{number:02d}"
                nodes.append(self._node(scene, "scene", title, file, text, span, chapter.number))
                edges.append(Edge(key, scene, "contains", tenant=self.naming.tenant))
        return tuple(nodes), tuple(edges)

    def _node(
        self, key: str, kind: str, title: str, file: File, text: str, span: tuple[int, int], number: int | None = None
    ) -> Node:
        start, end = span
        first = text.count("\n", 0, start) + 1
        lines = (first, first + text.count("\n", start, end)) if _has_lines(file) else (None, None)
        return Node(
            key=key,
            kind=kind,
            tenant=self.naming.tenant,
            title=title,
            text=text[start:end],
            origin=Origin(self.naming.source, file.name, *lines),
            sequence=number,
        )


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
