"""Read what was pasted from a log: the frames of a traceback in one of many languages, and the error's message.

`shapes.py` loads this for questions that may hold such lines. Python and pytest print the innermost frame last,
the others print it first; here it is always the last one.
"""

import re
from collections.abc import Iterator
from typing import Final

from weft.pipeline.shapes import Frame

_MAX_LOG_CHARS: Final = 20_000
"""Characters of a pasted log that are read, half from its beginning and half from its end: the error and the
innermost frames stand at one of them."""
_MAX_FRAMES: Final = 24
"""Frames of a traceback that are looked up, the innermost; recursion repeats the same few."""

_CODE_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FRAME_LINE: Final = re.compile(
    r"""
    # Python
    File\ "(?P<file1>[^"\n]{1,300})",\ line\ (?P<line1>\d{1,7})(?:,\ in\ (?P<name1>[\w.<>]{1,200}))?
    # C#
    |\bat\ (?P<name2>[\w.$<>`+]{1,200})\([^()\n]{0,300}\)\ in\ (?P<file2>[^\n]{1,300}?):line\ (?P<line2>\d{1,7})
    # Java, JavaScript
    |\bat\ (?:async\ |new\ )?(?:[\w.@-]{1,100}/{1,2}){0,2}(?P<name3>[\w.$<>]{1,200})(?:\ \[as\ \w{1,100}\])?\ ?
        \((?P<file3>(?:\w{2,12}:/{2,3}|[A-Za-z]:)?[^():\n]{1,300}):(?P<line3>\d{1,7})
    # JavaScript without a name, Rust
    |\bat\ (?:async\ )?(?:'[^\n]{1,300}',\ )?(?P<file4>(?:\w{2,12}:/{2,3})?[\w./@\\~-]{1,300}\.\w{1,6})
        :(?P<line4>\d{1,7}):\d
    # Ruby
    |(?:^|\bfrom\ )[ \t]*(?P<file5>[\w./@\\~-]{1,300}\.\w{1,6}):(?P<line5>\d{1,7}):in\ [`']
        (?:[a-z]{1,20}\ (?:\(\d+\ levels\)\ )?in\ )?(?:[\w:]{1,200}[#.])?(?P<name5>[\w?!<>]{1,200})'
    # PHP
    |^\#\d{1,5}\ (?P<file6>[^\n(]{1,300})\((?P<line6>\d{1,7})\):\ (?:[\w\\]{1,200}(?:->|::))?(?P<name6>\w{1,200})\(
    # pytest, Go
    |^[ \t]*(?P<file7>[\w./@\\~-]{1,300}\.\w{1,6}):(?P<line7>\d{1,7})(?::(?:\ in\ (?P<name7>\w{1,200}))?|\b)
    # a function of Go
    |^(?:[\w.-]{1,100}/){1,8}[\w.-]{1,100}\.(?:\(\*?\w{1,100}\)\.)?(?P<name8>\w{1,200})\(
    # the name of a test, as a test runner prints it
    |(?<![\w./\\-])(?P<file9>[\w./\\-]{1,300}\.\w{1,6})::(?:\w{1,200}::)?(?P<name9>\w{1,200})
    """,
    re.VERBOSE | re.MULTILINE,
)
_INNERMOST_LAST: Final = ("file1", "name7", "name9")
"""The groups of frames that are printed with the innermost one last."""
_CAUSE: Final = re.compile(r"^(?=Caused by: )", re.MULTILINE)
"""Where Java begins to tell the cause of the error that it told before."""
_MADE_NAME: Final = re.compile(r"lambda\$(\w+)\$\d+\Z|<(\w{2,})>[a-z]__.*\Z", re.DOTALL)
"""The names that compilers give to a lambda of Java and an asynchronous method of C#; the method around counts."""
_ERROR_LINE: Final = re.compile(
    r"(?:^(?:E\s{1,8}|Caused by: |Unhandled exception[.:] |(?:PHP )?Fatal error: {1,2}"
    r"|Exception in thread \"[^\"\n]{1,100}\" )?|(?<=`))"
    r"(?P<error>panic|fatal(?: error)?|Uncaught \w+|[A-Za-z_][\w.\\]{0,200}): (?P<message>\S.{5,400})",
    re.MULTILINE,
)
_MESSAGE_AFTER_PLACE: Final = re.compile(
    r"panicked at [^\n]{1,300}:\d+:\n(?P<rust>\S.{5,400})|panicked at '(?P<old_rust>[^\n]{6,400})', "
    r"|:in [`'][^'\n]{1,200}': (?P<ruby>\S[^\n]{5,400}?) \([\w:]{1,200}\)"
)
"""Errors of Rust and Ruby, which tell the place before the message."""
_NESTED_ERROR: Final = re.compile(
    r":?\s+[<(]?[A-Za-z_][\w.]{0,200}(?:Error|Exception)\b(?:[^'\"\n]{0,60}message=|\(|:\s)"
    r"['\"]?(?P<message>[^'\"\n]{6,400})"
)
"""Another error that a message quotes: `<TransferEncodingError: 400, message='Not enough data'>`."""
_LOG_MARKS: Final = ("Traceback (most recent call last)", "panic: ", "goroutine ", "FAILED ", "\n    at ")
_ERROR_NAME: Final = re.compile(r"(?:Error|Exception|Warning|Failure|Fault)\Z|\Apanic|\Afatal|\AUncaught")
_LOG_STARTS: Final = (
    *("Traceback", "goroutine", "E  ", "FAILED", ">  ", "stack backtrace:", "note: run with ", "Caused by: "),
    *("Exception in thread ", "Unhandled exception", "thread '", "Stack trace:"),
)


def split_log(question: str) -> tuple[str, str]:
    """Return what was pasted from a log, and what was asked in words; one without a log has none."""
    if len(question) > _MAX_LOG_CHARS:
        question = f"{question[: _MAX_LOG_CHARS // 2]}\n{question[-_MAX_LOG_CHARS // 2 :]}"
    has_frames = _FRAME_LINE.search(question) is not None
    if not has_frames and not any(mark in question for mark in _LOG_MARKS):
        return _only_errors(question), _CODE_FENCE.sub(" ", question)
    lines = _CODE_FENCE.sub(" ", question).split("\n")
    return question, "\n".join(line for line in lines if not _looks_logged(line))


def _only_errors(question: str) -> str:
    """Return the lines of a question that read like the last line of a traceback."""
    errors = [match for match in _ERROR_LINE.finditer(question) if _ERROR_NAME.search(match["error"])]
    # An error in backquotes ends with them.
    quoted = [question[max(match.start() - 1, 0) : match.start()] == "`" for match in errors]
    pairs = zip(errors, quoted, strict=True)
    return "\n".join(match[0].partition("`")[0] if ends else match[0] for match, ends in pairs)


def _looks_logged(line: str) -> bool:
    """Return whether a line of a question with a traceback belongs to that."""
    return (
        not line.strip()
        or line[:1].isspace()
        or line.startswith(_LOG_STARTS)
        or _FRAME_LINE.search(line) is not None
        or _ERROR_LINE.match(line) is not None
    )


def read_frames(log: str) -> tuple[Frame, ...]:
    """Return the frames of a traceback, the innermost last, each once."""
    found: dict[Frame, None] = {}
    # The cause that is told last is the one that began it.
    for part in _CAUSE.split(log):
        matches = list(_FRAME_LINE.finditer(part))
        if not any(match[group] for match in matches for group in _INNERMOST_LAST):
            matches.reverse()
        for match in matches:
            frame = _make_frame(match)
            # Moved to the end where it is met again, because the innermost frames tell most.
            found.pop(frame, None)
            found[frame] = None
    return tuple(found)[-_MAX_FRAMES:]


def _make_frame(match: re.Match[str]) -> Frame:
    groups = {name[:-1]: value for name, value in match.groupdict().items() if value}
    name = _MADE_NAME.sub(lambda made: made[1] or made[2], groups.get("name", ""))
    return Frame(groups.get("file", ""), int(groups.get("line", 0)), name)


def error_messages(log: str) -> Iterator[str]:
    """Yield the message of the last error in a log: the line that says what went wrong."""
    errors = list(_ERROR_LINE.finditer(log))
    named = [match for match in errors if _ERROR_NAME.search(match["error"])]
    messages = [match[match.lastgroup or 0] for match in _MESSAGE_AFTER_PLACE.finditer(log)]
    if messages and not named:
        yield messages[-1]
    elif named or errors:
        yield from _split_nested((named or errors)[-1]["message"])


def _split_nested(message: str) -> Iterator[str]:
    """Yield a message that quotes another error as two: they are made at different places."""
    nested = _NESTED_ERROR.search(message)
    if nested is None:
        yield message
        return
    yield message[: nested.start()]
    yield nested["message"]
