"""Makes stored text harmless in markdown: nothing in it can open a heading, a rule, a fence, HTML or a label."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

GAP: Final = "[…]"

_HAZARD: Final = re.compile(
    r"""
    ^([ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+(?=[^ \t\n]))*+)    # quote and list marks may stand before
    (?=
        \#                                                            # headings
      | [-=*_][-=*_ \t]*$                                             # rules and underlines
      | `{3} | ~{3}                                                   # fences
      | <(?![A-Za-z][A-Za-z0-9+.-]*:)(?:[A-Za-z/?]|!(?!--))           # HTML, but not <https://...>
      | \[(?:…|more:|[^\]\n]*+(?:\]:|$))                              # our marks, and link definitions
      | \*\*[^*\n]++(?:(?<=:)\*\*|\*\*[ \t]*(?:[:(`]|$))              # bold labels
      | __[^_\n]++(?:(?<=:)__|__[ \t]*(?:[:(`]|$))
      | \*[^*\s][^*\n]*+\*[ \t]*$                                     # captions
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
_SUSPECT_FIRST: Final = re.compile(r"[ \t]*[-#=*_`~<\[>+\d]")
_SUSPECT: Final = re.compile(r"\n[ \t]*[-#=*_`~<\[>+\d]")  # begins with a literal, so that it is searched quickly
_COMMENT: Final = "<!--"
_OPENING: Final = re.compile(r"(`{3,8}|~{3,8})(?![`~])(?:(?<=`)[^`]*|(?<=~).*)")
_CLOSING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_MARK_IN_CODE: Final = re.compile(r"^([ \t]*)(?=\[…\][ \t]*$)", re.MULTILINE)
_BACKTICKS: Final = re.compile("`{3,}")


def guarded(text: str) -> str:
    """The text with a backslash before whatever could pass for ours; fences that close within it may stay."""
    if _COMMENT not in text and not _SUSPECT_FIRST.match(text) and not _SUSPECT.search(text):
        return text
    if "```" not in text and "~~~" not in text:
        return escaped(text)
    return _between_fences(text.split("\n"))


def guarded_behind(text: str) -> str:
    """The same for text printed behind other words, where its first line cannot open a fence."""
    first, newline, rest = text.partition("\n")
    return escaped(first) + newline + guarded(rest)


def escaped(text: str) -> str:
    """The text with every hazard at the start of a line escaped, fences included."""
    if _COMMENT not in text and not _SUSPECT_FIRST.match(text) and not _SUSPECT.search(text):
        return text
    return _HAZARD.sub(r"\1\\", text).replace(_COMMENT, "\\" + _COMMENT)


def guarded_code(text: str) -> str:
    """Text to stand within a fence of ours, where only the mark for a gap could mislead."""
    return _MARK_IN_CODE.sub(r"\1\\", text) if GAP in text else text


def fence_for(texts: Sequence[str]) -> str:
    """A fence longer than any run of backticks within the texts."""
    longest = max((len(run) for text in texts for run in _BACKTICKS.findall(text)), default=2)
    return "`" * (longest + 1)


def _between_fences(lines: Sequence[str]) -> str:
    closings = _closings(lines)
    printed: list[str] = []
    index = outside = 0
    while index < len(lines):
        end = _fence_end(lines[index], index, closings)
        if end is None:
            index += 1
            continue
        if outside < index:
            printed.append(escaped("\n".join(lines[outside:index])))
        printed.append(guarded_code("\n".join(lines[index : end + 1])))
        index = outside = end + 1
    if outside < len(lines):
        printed.append(escaped("\n".join(lines[outside:])))
    return "\n".join(printed)


def _closings(lines: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """For every fence of 3 to 8 marks, the lines that would close it, in order."""
    closings: dict[str, list[int]] = {mark * length: [] for mark in "`~" for length in range(3, 9)}
    for index, line in enumerate(lines):
        closing = _CLOSING.fullmatch(line)
        if closing is not None:
            mark, longest = closing[1][0], min(len(closing[1]), 8)
            for length in range(3, longest + 1):
                closings[mark * length].append(index)
    return closings


def _fence_end(line: str, index: int, closings: Mapping[str, Sequence[int]]) -> int | None:
    """The line that closes a fence opened here; indented ones do not count, since a list may end them early."""
    opening = _OPENING.fullmatch(line)
    if opening is None:
        return None
    later = closings[opening[1]]
    place = bisect_right(later, index)
    return later[place] if place < len(later) else None
