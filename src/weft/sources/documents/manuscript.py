"""Read books (plain text, Markdown, EPUB, Word) as chapters and scenes; an EPUB that is no story is one note."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final
from xml.etree import ElementTree

import xxhash
from msgspec import Struct
from msgspec.structs import replace

from weft.errors import SourceError
from weft.model import Edge, Node, Origin
from weft.ports import Problem, Unit
from weft.sources.documents.packed_books import PACKED_SUFFIXES, read_packed
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
from weft.text.chapters import (
    Chapter,
    Headings,
    find_chapters,
    find_doubt,
    find_number,
    has_chapters,
    is_story,
    split_scenes,
)

SCRIVENER: Final = ".scrivx"
"""The file in a Scrivener project that lists its texts."""
_MAX_FILE_BYTES: Final = 64_000_000
"""The largest text file that is read as a book: some ten times the longest novels."""
_BOOKS: Final = frozenset({".epub", ".fountain", ".odt", ".rtf", SCRIVENER})
"""Formats that no other reader takes, so that they are read whether they are stories or not."""
_MARKDOWN: Final = frozenset({".md", ".markdown"})
_CHAPTER_NAME: Final = re.compile(
    r"(?:chapter|chap|ch|kapitel|chapitre|cap[ií]tulo|capitolo|глава)[\s._-]*(?:\d+|[ivxlc]+\b|one|two|three|four|five|six"
    r"|seven|eight|nine|ten)|第.{1,6}[章回話话]",
    re.IGNORECASE,
)
"""Names of files that hold one chapter each."""
_CODE_BLOCK: Final = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_PART_NUMBER: Final = re.compile(
    r"(?:^|[\s._-]+)(?:(?:part|book|volume|vol|act|teil|band|buch|tome|partie|livre|tomo|parte|libro|часть|том|книга)\.?[\s._-]*"
    r"(?:\d{1,2}|[ivx]+|one|two|three|four|five|six)|\d{1,2})$",
    re.IGNORECASE,
)
"""The end of the name of a file or folder that is one part of a book."""
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
MARKED_SUFFIXES: Final = frozenset({".rtf", ".fountain"})

_RTF_TOKEN: Final = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[\r\n]+|(.)", re.IGNORECASE | re.DOTALL
)
_RTF_HIDDEN: Final = frozenset(
    {"fonttbl", "colortbl", "stylesheet", "info", "pict", "header", "footer", "listtable", "listoverridetable"}
    | {"generator", "themedata", "latentstyles", "datastore", "rsidtbl", "xmlnstbl", "expandedcolortbl", "mmathpr"}
)
"""Groups of an RTF file that hold no words of the text."""
_RTF_SIGNS: Final = {
    "par": "\n\n", "line": "\n", "tab": " ", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "page": "\n\n", "sect": "\n\n", "cell": " ", "row": "\n",
    "outlinelevel": "# ",
}  # fmt: skip
_FOUNTAIN_SCENE: Final = re.compile(r"^(?:\.(?!\.)|(?=(?:INT|EXT|EST|INT\./EXT|I/E)[. ]))(.+)$", re.MULTILINE)
_FOUNTAIN_CUE: Final = re.compile(
    r"(?<=\n\n)(?:@(?=\w)|(?!(?:INT|EXT|EST|I/E)[. ]))"
    r"(?:(?<=@)([^\n(^]+?)|([A-ZÀ-ÖØ-ÞА-ЯЁ][A-ZÀ-ÖØ-ÞА-ЯЁ0-9 .'’-]*?))"
    r"[ \t]*(?:\([^)\n]*\))?[ \t]*\^?[ \t]*\n(?:[ \t]*\([^)\n]*\)[ \t]*\n)?(?=[ \t]*\S)"
)
"""The name above a speech, in capitals or behind an @, with the remarks that may stand beside and below it."""
_FOUNTAIN_NOTE: Final = re.compile(r"\[\[.*?\]\]|/\*.*?\*/", re.DOTALL)
_FOUNTAIN_TITLE_PAGE: Final = re.compile(r"\A(?:[A-Z][\w ]*:[^\n]*\n(?:[ \t]+[^\n]*\n)*)+\n")
_FOUNTAIN_SYNOPSIS: Final = re.compile(r"^=(?!=)[^\n]*$", re.MULTILINE)


class Manuscript:
    """The manuscripts of one source, one unit a file; in a story, chapter numbers run on from file to file."""

    suffixes = frozenset({".txt", ".text"}) | PACKED_SUFFIXES | MARKED_SUFFIXES | _MARKDOWN | {SCRIVENER}

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._files: dict[str, File] = {}
        self._chapters_before: dict[str, int] = {}
        self._books: dict[str, str] = {}
        self._manuals: dict[Path, bool] = {}
        marks = settings.headings
        self._corrections = Headings(
            frozenset(mark[1:] for mark in marks if mark[0] == "+"),
            frozenset(mark[1:] for mark in marks if mark[0] == "-"),
        )

    def takes(self, file: File) -> bool:
        """Take every EPUB, a text or Word file that is a story, and a Markdown file of several chapters."""
        suffix = PurePosixPath(file.name).suffix.lower()
        if suffix in _BOOKS:
            # The texts of a Scrivener project are read through the file that lists them.
            return ".scriv/" not in file.name or suffix == SCRIVENER
        if self.settings.reading == NOTES:
            return False
        if _is_chapter_name(file) and (suffix not in _MARKDOWN or self._is_of_story(file)):
            return True
        if suffix in _MARKDOWN:
            # In a folder of notes a Markdown file is a note, unless the user says otherwise.
            is_requested = file.explicit or self.settings.reading == STORY
            return is_requested and has_chapters(_text_or_empty(file))
        return self.settings.reading == STORY or is_story(_text_or_empty(file))

    def _is_of_story(self, file: File) -> bool:
        """Return whether a Markdown file that is named as a chapter may be one of a story: no note, no manual."""
        if not _is_plain_prose(_text_or_empty(file)):
            return False
        if self.settings.reading == STORY:
            return True
        folder = file.path.parent
        if folder not in self._manuals:
            self._manuals[folder] = _is_manual(folder)
        return not self._manuals[folder]

    def units(self, files: Sequence[File]) -> Iterator[tuple[str, str]]:
        """List the (name, stamp) of every file; a stamp holds the last chapter number of the files before it."""
        self._files = {file.name: file for file in files}
        self._chapters_before = dict.fromkeys(self._files, 0)
        books: dict[str, list[File]] = {}
        for file in files:
            books.setdefault("" if self.settings.reading == STORY else _book_of(file), []).append(file)
        self._books = {file.name: name for name, held in books.items() for file in held if len(books) > 1}
        for held in books.values():
            # Only then do numbers run on; otherwise a file need not be read for its stamp.
            in_one_story = held if self.settings.reading == STORY else list(filter(_is_chapter_name, held))
            if len(in_one_story) > 1:
                self._count_chapters(sorted(in_one_story, key=_chapter_order))
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
        stamp = f"{file_stamp(file.path)}-{self.settings.reading}-{self._chapters_before[file.name]}"
        stamp += f"-{book}" if (book := self._books.get(file.name)) else ""
        headings = self.settings.headings
        return f"{stamp}-{xxhash.xxh3_64_hexdigest(repr(headings).encode())}" if headings else stamp

    def read(self, unit: str) -> Unit:
        """Read one file: the chapters and scenes of a story, or one note."""
        file = self._files[unit]
        try:
            text, problems = _read_text(file)
        except SourceError as error:
            return Unit(unit, self._stamp(file), problems=(Problem(unit, str(error)),))
        is_screenplay = file.path.suffix.lower() == ".fountain" and self.settings.reading != NOTES
        is_one = self.settings.reading == STORY or _is_chapter_name(file) or is_screenplay
        if is_one or (self.settings.reading != NOTES and is_story(text)):
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
        found = find_chapters(text, self._corrections)
        if len(self._files) > 1 and not any(chapter.has_heading for chapter in found):
            return self._single_chapter(file, text)
        # A file that goes on counting where the one before it ended keeps its numbers.
        shift = before if found and found[0].number <= before else 0
        return tuple(replace(chapter, number=chapter.number + shift) for chapter in found)

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
        chapters = self._chapters(file, text)
        doubt = find_doubt(chapters)
        for index, chapter in enumerate(chapters, start=1):
            key = f"{self.settings.source}:{file.name}#{index:03d}"
            spans = split_scenes(text, chapter.start, chapter.end)
            has_scenes = len(spans) > 1
            # The text of a chapter with scenes is that of its scenes; to hold it twice would print it twice.
            own_end = chapter.start if has_scenes else chapter.end
            own_text = _Stretch(lines, chapter.start, own_end, chapter.number)
            book = {"book": self._books.get(file.name, "")}
            facts = {**book, "division": chapter.division, "chapters_in_doubt": doubt}
            fields = {name: value for name, value in facts.items() if value}
            nodes.append(self._node(key, "chapter", chapter.title, own_text, fields))
            for number, span in enumerate(spans if has_scenes else (), start=1):
                scene_key = f"{key}.{number:02d}"
                title = f"Ch. {chapter.number}, scene {number}"
                stretch = _Stretch(lines, *span, chapter.number)
                nodes.append(self._node(scene_key, "scene", title, stretch, book if book["book"] else None))
                edges.append(Edge(key, scene_key, "contains", tenant=self.settings.tenant))
        return tuple(nodes), tuple(edges)

    def _node(
        self, key: str, kind: str, title: str, stretch: "_Stretch", fields: Mapping[str, str] | None = None
    ) -> Node:
        return Node(
            key=key,
            kind=kind,
            tenant=self.settings.tenant,
            title=title,
            text=stretch.index.text[stretch.start : stretch.end],
            origin=Origin(self.settings.source, stretch.index.file.name, *stretch.lines()),
            sequence=stretch.number,
            fields=fields or {},
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


def _is_chapter_name(file: File) -> bool:
    """Return whether a file's name says that it is a chapter: `Chapter 1`, `kapitel-02`."""
    return _CHAPTER_NAME.match(PurePosixPath(file.name).stem) is not None


def _book_of(file: File) -> str:
    """Return the book that a file belongs to: itself without a number, or its folder where it is a chapter."""
    path = PurePosixPath(file.name)
    names = path.parent.parts if _is_chapter_name(file) else (*path.parent.parts, path.stem)
    return "/".join(filter(None, (_PART_NUMBER.sub("", name) for name in names)))


def _chapter_order(file: File) -> tuple[bool, str, int, str]:
    """Order files by the numbers in their names, so that chapter 10 comes after chapter 9."""
    path = PurePosixPath(file.name)
    number = find_number(path.stem)
    return number is None, path.parent.as_posix(), number or 0, file.name


def _is_plain_prose(text: str) -> bool:
    """Return whether a Markdown file is no note of a vault: it has neither front matter nor wikilinks."""
    return not text.startswith("---") and "[[" not in text


def _is_manual(folder: Path) -> bool:
    """Return whether the chapters in a folder are those of a book about code: half of them hold a block of it.

    By folder, because the first chapter of a part often only says what comes.
    """
    chapters = [
        path
        for path in sorted(folder.glob("*"))
        if path.suffix.lower() in _MARKDOWN and _CHAPTER_NAME.match(path.stem) and path.is_file()
    ]
    held = [_text_or_empty(File(path.name, path)) for path in chapters]
    return 2 * sum(_CODE_BLOCK.search(text) is not None for text in held) >= max(len(held), 1)


def _has_lines(file: File) -> bool:
    return PurePosixPath(file.name).suffix.lower() not in PACKED_SUFFIXES | {".rtf", SCRIVENER}


def _read_text(file: File) -> tuple[str, tuple[Problem, ...]]:
    """Return the text of a file, whatever its format, with problems; raise SourceError if it cannot be read."""
    suffix = PurePosixPath(file.name).suffix.lower()
    if suffix in PACKED_SUFFIXES:
        return clean(read_packed(file)), ()
    if suffix == SCRIVENER:
        return clean(read_scrivener(file.path)), ()
    content, problem = read_bytes(file, _MAX_FILE_BYTES, binary=True)
    if problem is not None:
        raise SourceError(problem.reason)
    text, problems = _decode(content, file.name)
    return clean(read_marked(text, suffix)), problems


def _decode(content: bytes, name: str) -> tuple[str, tuple[Problem, ...]]:
    """Return the text of a manuscript in UTF-8, UTF-16 or Windows-1252, in which older programs still write."""
    if content.startswith(_UTF_16_MARKS):
        return content.decode("utf-16", "replace"), ()
    if b"\0" in content:
        raise SourceError(f"{name} is no text: it has zero bytes.")
    text, problems = decode(content, name)
    if problems:
        # Five bytes mean nothing in Windows-1252; a file with one of them is broken UTF-8.
        with suppress(UnicodeDecodeError):
            return content.decode("windows-1252"), ()
    return text, problems


def _text_or_empty(file: File) -> str:
    """Return the text of a file, or none if it cannot be read, which `read` reports later."""
    try:
        return _read_text(file)[0]
    except (OSError, SourceError):
        return ""


# --- text with marks of its own: RTF, Fountain, Scrivener ---------------------------------------------------


def read_marked(text: str, suffix: str) -> str:
    """Return the words of a text of that suffix; one without marks of its own stays as it is."""
    if suffix == ".rtf":
        return _read_rtf(text)
    return _read_fountain(text) if suffix == ".fountain" else text


def _read_fountain(text: str) -> str:
    """Return a screenplay with its scene headings as headings, without title page, notes and synopses."""
    plain = _FOUNTAIN_TITLE_PAGE.sub("", _FOUNTAIN_NOTE.sub("", text))
    # A cue stands in a line of its own, perhaps with a remark below it.
    cued = _FOUNTAIN_CUE.sub(r"\1\2: ", _FOUNTAIN_SYNOPSIS.sub("", plain))
    return _FOUNTAIN_SCENE.sub(r"## \1", cued)


def _read_rtf(text: str) -> str:
    """Return the words of an RTF file; paragraphs that its outline levels mark are headings."""
    written: list[str] = []
    depth = hidden_depth = substitutes = 0
    for match in _RTF_TOKEN.finditer(text):
        word, number, byte, sign, brace, letter = match.groups()
        if brace:
            depth += 1 if brace == "{" else -1
            hidden_depth = 0 if depth < hidden_depth else hidden_depth
        elif hidden_depth:
            continue
        elif word in _RTF_HIDDEN or sign == "*":
            hidden_depth = depth
        elif word == "u" and number:
            written.append(chr(int(number) % 65536))
            # A Unicode character is followed by a substitute for old programs.
            substitutes = 1
        elif word:
            written.append(_RTF_SIGNS.get(word, ""))
        elif substitutes and (byte or letter):
            substitutes = 0
        elif byte:
            written.append(bytes.fromhex(byte).decode("cp1252", "replace"))
        elif letter or (sign and sign in "\\{}~"):
            written.append(letter or sign)
    return "".join(written)


# --- Scrivener ---------------------------------------------------------------------------------------------


def read_scrivener(project: Path) -> str:
    """Return the manuscript of a Scrivener project, given its `.scrivx` file, in the order of the binder."""
    binder = ElementTree.parse(project).getroot().find("Binder")
    drafts = [] if binder is None else [item for item in binder if item.get("Type") == "DraftFolder"]
    pieces = [piece for draft in drafts for piece in _binder_pieces(draft, project.parent, 0)]
    return "\n\n".join(pieces) + "\n"


def _binder_pieces(item: ElementTree.Element, folder: Path, depth: int) -> Iterator[str]:
    """Iterate over the texts below an item; those of the first level are chapters, deeper ones scenes."""
    if depth:
        title = item.findtext("Title") or "Untitled"
        yield f"# {title}" if depth == 1 else "* * *"
        content = folder / "Files" / "Data" / (item.get("UUID") or item.get("ID") or "") / "content.rtf"
        if content.is_file():
            yield _read_rtf(content.read_text(encoding="cp1252", errors="replace")).strip()
    for child in item.iterfind("Children/BinderItem"):
        yield from _binder_pieces(child, folder, depth + 1)
