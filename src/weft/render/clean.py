"""Characters that no page prints: controls, terminal escapes, direction overrides, broken Unicode."""

import re
from typing import Final

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_TERMINAL: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # window titles and links
    "|\x1b[@-Z\\\\^_]"
)
_SPACES: Final = frozenset("\x0b\x0c\r\x85\u2028\u2029")


def clean(text: str) -> str:
    """The text as it may be printed, with the same number of newlines (the same object when nothing changes)."""
    if text.replace("\n", "").isprintable() or _UNPRINTABLE.search(text) is None:
        return text
    return _UNPRINTABLE.sub(_replacement, _TERMINAL.sub("", text.replace("\r\n", "\n")))


def one_line(text: str) -> str:
    """The text cleaned and on one line, every run of white space a single space."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(clean(text).split())


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _SPACES:
        return " "
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""
