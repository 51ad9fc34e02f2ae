"""What comments and docstrings say, without the marks around it."""

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Final

_LONGEST: Final = 400
_OPENING: Final = re.compile(r"^\s*(?:/\*+!?|//+!?|\*+(?!/)|#+!?|--+)[ \t]?")
_CLOSING: Final = re.compile(r"\s*\*+/\s*$|</?(?:summary|para|remarks)>")
_QUOTES: Final = re.compile(r"""^[rRuUbBfF]*("{3}|'{3}|"|')(.*)\1$""", re.DOTALL)
_LEGAL: Final = re.compile(r"copyright|licen[cs]e|SPDX-", re.IGNORECASE)
_TAG: Final = re.compile(r"^(?:@\w|:\w+|\.\. |<\w+>$|[A-Z][a-z]+:\s*$)")
_SPACES: Final = re.compile(r"\s+")


def summary_of_docstring(written: str) -> str:
    """The first paragraph of a docstring."""
    quoted = _QUOTES.match(written.strip())
    return _first_paragraph(cleandoc(quoted.group(2)) if quoted else written)


def summary_of_comments(comments: Sequence[str]) -> str:
    """The first paragraph of the comments that stand above something; legal notices do not count."""
    bare = [_CLOSING.sub("", _OPENING.sub("", line)) for comment in comments for line in comment.split("\n")]
    text = "\n".join(bare)
    return "" if _LEGAL.search(text) else _first_paragraph(text)


def _first_paragraph(text: str) -> str:
    kept: list[str] = []
    for line in text.strip().split("\n"):
        if not line.strip(" \t*-=#/") or _TAG.match(line.strip()):
            if kept:
                break
            continue
        kept.append(line)
    told = _SPACES.sub(" ", " ".join(kept)).strip()
    return told if len(told) <= _LONGEST else told[:_LONGEST].rsplit(" ", 1)[0] + " …"
