"""Read the shape of a question: whether it asks for commits, tests, callers, an overview, the ending of a story.

`read_shapes` is pure: it looks at the words of a question and at nothing else. The phrases that it looks for are
in `shape_phrases.py`; `by_shape.py` finds in a store what is wanted.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from weft.pipeline.shape_phrases import PHRASES, Shape, holds_phrase
from weft.text import looks_like_code


class Frame(Struct, frozen=True):
    """One line of a traceback, or one place that a question names: a file, a line in it, and a function."""

    file: str = ""
    line: int = 0
    function: str = ""


class Shapes(Struct, frozen=True):
    """The shapes of one question, and the names, files, frames, hashes and so on that they are about."""

    asked: frozenset[Shape] = frozenset()
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    places: tuple[Frame, ...] = ()
    hashes: tuple[str, ...] = ()
    quotations: tuple[str, ...] = ()
    chapters: tuple[int, ...] = ()


_MAX_PROSE_CHARS: Final = 1_200
"""Characters of a question that are read for phrases; people ask before or after what they paste."""
_MAX_LOG_CHARS: Final = 20_000
"""Characters of a pasted log that are read, half from its beginning and half from its end, where the error is."""
_MAX_FRAMES: Final = 24
"""Frames of a traceback that are looked up, the innermost; recursion repeats the same few."""
_MAX_NAMES: Final = 6
"""Names that are looked up; a question with more is a pasted piece of code."""
_MIN_QUOTED_WORDS: Final = 4
"""Fewer words in quotation marks are a name or a term, and not a text to look for."""
_MAX_QUOTATION_CHARS: Final = 400

# --- reading a question ----------------------------------------------------------------------------------

_CODE_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FRAME_LINE: Final = re.compile(
    r"""
    # Python
    File\ "(?P<file1>[^"\n]{1,300})",\ line\ (?P<line1>\d{1,7})(?:,\ in\ (?P<name1>[\w.<>]{1,200}))?
    # Java, JavaScript
    |\bat\ (?:async\ )?(?P<name2>[\w.$<>]{1,200})\ ?\((?P<file2>[^():\n]{1,300}):(?P<line2>\d{1,7})
    # pytest, Go
    |^[ \t]*(?P<file3>[\w./@\\~-]{1,300}\.\w{1,6}):(?P<line3>\d{1,7})(?::(?:\ in\ (?P<name3>\w{1,200}))?|\b)
    # a function of Go
    |^(?:[\w.-]{1,100}/){1,8}[\w.-]{1,100}\.(?:\(\*?\w{1,100}\)\.)?(?P<name4>\w{1,200})\(
    # the name of a test, as a test runner prints it
    |(?<![\w./\\-])(?P<file5>[\w./\\-]{1,300}\.\w{1,6})::(?:\w{1,200}::)?(?P<name5>\w{1,200})
    """,
    re.VERBOSE | re.MULTILINE,
)
_ERROR_LINE: Final = re.compile(
    r"(?:^(?:E\s{1,8}|Caused by: )?|(?<=`))(?P<error>panic|fatal(?: error)?|Uncaught \w+|[A-Za-z_][\w.]{0,200}): "
    r"(?P<message>\S.{5,400})",
    re.MULTILINE,
)
_LOG_MARKS: Final = ("Traceback (most recent call last)", "panic: ", "goroutine ", "FAILED ", "\n    at ")
_ERROR_NAME: Final = re.compile(r"(?:Error|Exception|Warning|Failure|Fault)\Z|\Apanic|\Afatal|\AUncaught")
_PLACE: Final = re.compile(
    r"(?<![\w/.])(?P<file>(?:[\w.-]{1,100}/){0,12}[\w.-]{1,100}\.[A-Za-z]\w{0,5}):(?P<line>\d{1,6})\b"
)
_FILE: Final = re.compile(r"(?<![\w/.])(?:[\w.-]{1,100}/){0,12}[\w-][\w.-]{0,100}\.[A-Za-z]\w{0,5}(?![\w/])")
_HASH: Final = re.compile(r"(?<![\w./-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w./-])")
_QUOTED: Final = re.compile(
    "[\"\u201c]([^\"\u201d\n]{12,400})[\"\u201d]|(?<!\\w)['\u2018]([^'\u2019\n]{12,400})['\u2019](?!\\w)"
)
_BACKQUOTED: Final = re.compile(r"`([A-Za-z_][\w.]{1,100})(?:\(\))?`")
_IDENTIFIER: Final = re.compile(r"(?<![\w./@-])([A-Za-z_]\w{0,100}(?:(?:\.|::|->)[A-Za-z_]\w{0,100}){0,5})(\(\))?")
_CALLED_WORD: Final = re.compile(
    r"\b(?:calls?|uses?|invokes?|(?:callers?|usages?|users?|uses) of|references? to|function|method|class)\s+"
    r"(?:the\s+)?(?:function\s+|method\s+|class\s+)?([A-Za-z_]\w{2,100})"
)
_FILE_ENDING: Final = re.compile(
    r"\.(?:py|md|rst|txt|go|js|ts|tsx|rs|java|toml|json|ya?ml|cfg|ini|c|h|cpp|rb|html|com|org|io)\Z"
)
_CHAPTER: Final = re.compile(r"\bchapter\s+(\d{1,3}|[ivxlc]{1,7}|[a-z]+)\b", re.IGNORECASE)
_ROMAN: Final = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_NUMBER_WORDS: Final = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *(
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ),
)
_ABOUT_NAMES: Final = frozenset({Shape.DEFINITION, Shape.CALLERS})


def read_shapes(question: str) -> Shapes:
    """Return the shapes of a question; a question of no special shape has an empty record."""
    log, prose = _split_log(question)
    frames = tuple(_frames(log))
    names = tuple(dict.fromkeys(_names(prose)))[:_MAX_NAMES]
    asked = {shape for shape in PHRASES if shape not in _ABOUT_NAMES and holds_phrase(shape, prose)}
    named = {shape for shape in _ABOUT_NAMES if holds_phrase(shape, prose)}
    if Shape.CALLERS in named and not names:
        # "who calls dispatch?" names a function by a plain word.
        names = tuple(dict.fromkeys(match[1] for match in _CALLED_WORD.finditer(prose)))[:_MAX_NAMES]
    if names:
        asked |= named
    quotations = (*_error_messages(log), *_quotations(prose))
    places = tuple(Frame(match["file"], int(match["line"])) for match in _PLACE.finditer(prose))[:_MAX_NAMES]
    hashes = tuple(dict.fromkeys(match[0] for match in _HASH.finditer(prose)))[:_MAX_NAMES]
    present = {
        Shape.TRACEBACK: frames,
        Shape.QUOTATION: quotations,
        Shape.PLACE: places,
        Shape.COMMIT: hashes,
    }
    asked |= {shape for shape, found in present.items() if found}
    chapters = tuple(filter(None, (parse_number(match[1]) for match in _CHAPTER.finditer(prose))))
    files = tuple(dict.fromkeys(_FILE.findall(prose)))[:_MAX_NAMES]
    return Shapes(frozenset(asked), names, files, frames, places, hashes, quotations, chapters)


def _split_log(question: str) -> tuple[str, str]:
    """Return what was pasted from a log, and what was asked in words; one without a log has none."""
    if len(question) > _MAX_LOG_CHARS:
        question = f"{question[: _MAX_LOG_CHARS // 2]}\n{question[-_MAX_LOG_CHARS // 2 :]}"
    has_frames = _FRAME_LINE.search(question) is not None
    if not has_frames and not any(mark in question for mark in _LOG_MARKS):
        return _only_errors(question), _shorten_prose(_CODE_FENCE.sub(" ", question))
    lines = _CODE_FENCE.sub(" ", question).split("\n")
    asked = [line for line in lines if not _looks_logged(line)]
    return question, _shorten_prose("\n".join(asked))


def _only_errors(question: str) -> str:
    """Return the lines of a question that read like the last line of a traceback."""
    errors = [match for match in _ERROR_LINE.finditer(question) if _ERROR_NAME.search(match["error"])]
    return "\n".join(match[0] for match in errors)


def _looks_logged(line: str) -> bool:
    """Return whether a line of a question with a traceback belongs to that."""
    return (
        not line.strip()
        or line[:1].isspace()
        or line.startswith(("Traceback", "goroutine", "E  ", "FAILED", ">  "))
        or _FRAME_LINE.search(line) is not None
        or _ERROR_LINE.match(line) is not None
    )


def _shorten_prose(prose: str) -> str:
    prose = prose.replace("\u2019", "'")
    if len(prose) <= _MAX_PROSE_CHARS:
        return prose
    half = _MAX_PROSE_CHARS // 2
    return f"{prose[:half]}\n{prose[-half:]}"


def _frames(log: str) -> list[Frame]:
    """Return the frames of a traceback, the innermost last, each once."""
    found: dict[Frame, None] = {}
    for match in _FRAME_LINE.finditer(log):
        groups = {name[:-1]: value for name, value in match.groupdict().items() if value}
        frame = Frame(groups.get("file", ""), int(groups.get("line", 0)), groups.get("name", ""))
        # Moved to the end where it is met again, because the innermost frames tell most.
        found.pop(frame, None)
        found[frame] = None
    return list(found)[-_MAX_FRAMES:]


def _error_messages(log: str) -> Iterator[str]:
    """Yield the message of the last error in a log: the line that says what went wrong."""
    errors = list(_ERROR_LINE.finditer(log))
    named = [match for match in errors if _ERROR_NAME.search(match["error"])] or errors
    if named:
        yield named[-1]["message"]


def _quotations(prose: str) -> Iterator[str]:
    for match in _QUOTED.finditer(prose):
        text = match[1] or match[2]
        if len(text.split()) >= _MIN_QUOTED_WORDS:
            yield text[:_MAX_QUOTATION_CHARS]


def _names(prose: str) -> Iterator[str]:
    """Yield what a question calls by the name it has in code: quoted, with brackets, or spelt as no word is."""
    yield from (match[1] for match in _BACKQUOTED.finditer(prose))
    for match in _IDENTIFIER.finditer(prose):
        name = match[1]
        dotted = "." in name or "::" in name or "->" in name
        # "e.g" and "i.e" are dotted as well.
        spelt = len(name) > 3 and (dotted or _is_spelt_as_code(name)) and not _FILE_ENDING.search(name)
        if match[2] or spelt:
            yield name


def _is_spelt_as_code(word: str) -> bool:
    """Return whether a word has the underscores or the inner capitals of code: `fit_all`, `fitAll`, `KeyError`."""
    if "_" in word.strip("_"):
        return True
    # HTTP and JSON are words; looking at the letters after the first leaves out all names of people.
    return not word.isupper() and any(map(str.isupper, word[1:])) and looks_like_code(word)


def parse_number(text: str) -> int:
    """Return the number of a chapter, written in digits, as a Roman numeral or as a word; 0 for none."""
    text = text.lower()
    if text.isdigit():
        return int(text)
    if text in _NUMBER_WORDS:
        return _NUMBER_WORDS.index(text) + 1
    if set(text) <= _ROMAN.keys():
        values = [_ROMAN[letter] for letter in text]
        # A smaller numeral before a larger one is taken away from it: iv, xix.
        return sum(value if value >= max(values[index:]) else -value for index, value in enumerate(values))
    return 0
