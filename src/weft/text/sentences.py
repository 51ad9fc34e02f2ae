"""Find where the sentences and paragraphs of a text begin and end, and the proper names in them.

A line of code or of a list is one unit. Names are found by their capitals, or known ones by their spelling.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from msgspec import Struct

from weft.text.terms import name_words

Span = tuple[int, int]

_NOT_BLANK = re.compile(r"\S")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_FENCED = re.compile(
    r"^(?P<line>(?P<mark>`{3,8}|~{3,8})(?![`~])[^`\n]*)\n"
    r"(?P<inside>.*?)(?:^ {0,3}(?P<end>(?P=mark))[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
OPENING_LINE: Final = re.compile(
    r"\s{0,3}(?:#{1,6}\s|(?:```+|~~~+)\s*[\w{]|(?:/{3}|:{3}|!{3}|\?{3}\+?)\s*\w|\.\.\s+[\w-]+::)[^\n]*"
)
"""A line that opens something and says nothing by itself: a heading, a fence, a box, a directive."""
_ANCHOR = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}\n]*\}\Z")
_PROSE_WORD: Final = (
    r"an|the|of|to|are|was|were|been|that|which|he|she|they|we|you|his|her|their|our|your|had|has|have"
)
"""Words of running text that stand in no line of code, but for its strings and comments."""
# Lines that run on into no other: of a list, a table, a quotation or code. In a text with broken lines, one that
# begins with "from" or "return", or ends in a semicolon, is prose if it has such a word before any mark of code.
_LONE_LINE = re.compile(
    r"\s*(?:[-*+•]\s|\(?\d{1,3}[.)]\s|>|\||#{1,6}\s|-{3,}\s*$"
    r"|(?:if|for|while|with|elif|else|try|except|switch|case)\b.*[:{]\s*$"
    r"|@\w+|//|/\*|\*/|</?\w[^>]*>|[\])}]+[;,)]*\s*$|[\w.\[\]\"']+\s*(?:[-+*/|:]?=|:=)\s*\S)"
    r"|\s*[\w.]+\([^()]*\)\s*$"
    r"|(?=\s*(?:def|class|import|from|return|async|const|let|var|function|public|private|static|struct|fn|func)\s"
    r".*[(:;{=.]|.*(?:[{};]|=>|->)\s*$)"
    rf"(?!(?:[^\"'`()=\[\]{{}}<>\n]|\b'\b)*\b(?i:{_PROSE_WORD})\b)"
)
_QUOTE_MARKS = re.compile(r"\s*(?:>[?!]?[ \t]?)+")
_ITEM_MARK = re.compile(r"\s*(?:[-*+•]\s|\(?\d{1,3}[.)]\s)")
_RUNNING, _ITEM, _QUOTED, _ALONE = "running text", "item", "quoted", "alone"
"""The kinds of lines: of running text, the first of an item of a list, of a quotation, or one by itself."""
# After the mark may come closing quotes and brackets; the next sentence does not begin in lower case. The marks of
# all scripts come first, because one of a set is found several times as fast as one of several alternatives.
_SENTENCE_END = re.compile(
    r"[.!?…。！？｡।؟](?:(?<=[.!?…])[.!?…]*[\"'”’»)\]]*(?=\s+(?![a-z]))|(?<=[。！？｡])[。！？｡]*[」』”’）\"']*"
    r"|(?<=[!?])[!?]*[\"'”’)\]]*(?=\s)|(?<=[।؟])[।؟]*(?=\s|$))"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'“‘])(?:[A-Z]|(?:[A-Za-z]\.)+[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sen|Rep|Rev|Hon|No"
    r"|vs|cf|al|approx|Fig|Eq|Sec|Ch|pp?|vol|ed|Inc|Ltd|Co|Corp|Mt|Ft|dept|est)$"
)
_ABBREVIATION_REACH = 16
"""Characters before a full stop that are read for an abbreviation; the longest is shorter."""
_ENDED_TEXT = re.compile(r"[.!?…。！？｡।؟][\"'”’»)\]」』）_*]*$")
_NEIGHBOURHOOD = 40
"""Characters before and after an offset that show whether it stands inside a sentence."""
_MAX_SIGNATURE_LINES: Final = 4
"""Lines of a signature that are shown; one with more arguments is told by its first."""

_PARTICLES: Final = (
    "-|of the|of|the|for|de la|de|del|della|den|der|des|di|da|do|dos|du|el|al|la|le|van|von|y|ibn|bin"
)
_SENTENCE_ENDS: Final = ".!?:;>*#|\n"
_MIN_NAME_CHARACTERS: Final = 2
"""A single letter stands in every text and names nobody."""


class Block(Struct, frozen=True):
    """A paragraph, a fenced block, a heading or a run of list lines, with its units in order."""

    units: tuple[Span, ...]
    heading: bool = False


def split_sentences(text: str) -> list[Span]:
    """Return the spans of the sentences, in order, that together hold all of the text that is not blank."""
    return [span for block in split_blocks(text) for span in block.units]


def is_blank(text: str, start: int, end: int) -> bool:
    """Return whether only blanks stand between two offsets, without a copy of what may be most of a long text."""
    return _NOT_BLANK.search(text, start, end) is None


def is_inside_sentence(text: str, offset: int) -> bool:
    """Return whether an offset is inside a sentence: nothing before it ends one, and no blank line is there."""
    before, after = text[max(offset - _NEIGHBOURHOOD, 0) : offset], text[offset : offset + _NEIGHBOURHOOD]
    left, right = before.rstrip(), after.lstrip()
    blank = before[len(left) :] + after[: len(after) - len(right)]
    return bool(left and right) and blank.count("\n") < 2 and not _ENDED_TEXT.search(left)


def find_end_without_opening(text: str, start: int, end: int) -> int:
    """Return where a span ends without lines that open what it no longer holds; its first line always stays."""
    while (line := text.rfind("\n", start, len(text[:end].rstrip()))) > start:
        if not OPENING_LINE.fullmatch(text[line + 1 : end].rstrip()):
            break
        end = line
    return end


def without_anchor(heading: str) -> str:
    """Return a heading without the anchor that some dialects write behind it: `First steps { #first-steps }`."""
    return _ANCHOR.sub("", heading) if heading.endswith("}") else heading


def find_body_start(text: str, title: str) -> int:
    """Return where the text goes on after a first line that only repeats the title; 0 where there is none."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if end < 0:
        return 0
    first_line = without_anchor(text[start:end].strip().strip("#").strip())
    return end + 1 if first_line and first_line == title.strip() else 0


def find_signature(text: str, signature: str) -> Span | None:
    """Return the lines of a definition's text that hold its signature, which is known on one line.

    Of a signature over many lines only the first is returned; None where the text does not hold it.
    """
    words = signature.split()
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), text)
    if found is None:
        return None
    start = text.rfind("\n", 0, found.start()) + 1
    last = found.end() if text.count("\n", start, found.end()) < _MAX_SIGNATURE_LINES else found.start()
    end = text.find("\n", last)
    return start, end if end >= 0 else len(text)


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the paragraphs of a text; blank lines and headings part them, a fence keeps its blank lines inside."""
    lines: list[Span] = []
    fence = ""
    for match in _LINE.finditer(text):
        line, opened = match.group(), _FENCE.match(match.group())
        if fence or opened:
            mark = opened.group(1) if opened else ""
            if not fence and lines:
                yield _prose(text, lines)
                lines = []
            lines.append(match.span())
            # As in Markdown: a fence ends with at least as many of its own marks, and nothing behind them.
            closes = bool(fence) and mark.startswith(fence) and line.strip() == mark
            fence = "" if closes else fence or mark
            if closes:
                yield _fenced(text, lines)
                lines = []
        elif not line.strip() or _HEADING.match(line):
            if lines:
                yield _prose(text, lines)
            lines = []
            if line.strip():
                yield Block((_trimmed(text, *match.span()),), heading=True)
        else:
            lines.append(match.span())
    if lines:
        yield _fenced(text, lines) if fence else _prose(text, lines)


def find_fences(text: str) -> list[tuple[int, int, str, str]]:
    """Return where the insides of the fences of a Markdown text begin and end, with the lines around each."""
    if "```" not in text and "~~~" not in text:
        return []
    # One that is never closed is found too, because looking for its end from every further one would take long.
    found = [match for match in _FENCED.finditer(text) if match["end"]]
    return [(*match.span("inside"), match["line"], match["mark"]) for match in found]


def _fenced(text: str, lines: list[Span]) -> Block:
    """Make a block of a fence, each of its lines a unit."""
    return Block(tuple(_trimmed(text, *line) for line in lines if text[line[0] : line[1]].strip()))


def _prose(text: str, lines: list[Span]) -> Block:
    """Make a block of a paragraph, whose units are sentences and lines that stand alone."""
    units: list[Span] = []
    for start, end, is_unit in _runs(text, lines):
        units += (_trimmed(text, start, end),) if is_unit else _split(text, start, end)
    return Block(tuple(units))


def _runs(text: str, lines: list[Span]) -> Iterator[tuple[int, int, bool]]:
    """Yield the lines over which sentences run on, and whether they are a single line that stays one unit.

    An item of a list goes on in indented lines below it, and a quotation in the next line with its mark.
    """
    start = end = lines[0][0]
    current, count = _RUNNING, 0
    for low, high in lines:
        kind, begins = _line_kind(text, low, high)
        goes_on = not begins and (kind == current or (current == _ITEM and text[low].isspace()))
        if count and not goes_on:
            yield start, end, count == 1 and current != _RUNNING
            start, count = low, 0
        current = current if count else kind
        end, count = high, count + 1
    yield start, end, count == 1 and current != _RUNNING


def _line_kind(text: str, start: int, end: int) -> tuple[str, bool]:
    """Return what a line is, and whether it begins something: an item of a list, in a quotation too."""
    if _LONE_LINE.match(text, start, end) is None:
        return _RUNNING, False
    quoting = _QUOTE_MARKS.match(text, start, end)
    inside = quoting.end() if quoting else start
    is_item = _ITEM_MARK.match(text, inside, end) is not None
    if quoting is None:
        return (_ITEM, True) if is_item else (_ALONE, True)
    is_alone = is_blank(text, inside, end) or (not is_item and _LONE_LINE.match(text, inside, end) is not None)
    return (_ALONE, True) if is_alone else (_QUOTED, is_item)


def _split(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences between two offsets."""
    for match in _SENTENCE_END.finditer(text, start, end):
        # A full stop behind `Mr` or an initial ends no sentence.
        if match.group()[0] == "." and _is_abbreviation(text, start, match.start()):
            continue
        if text[start : match.end()].strip():
            yield _trimmed(text, start, match.end())
        start = match.end()
    if text[start:end].strip():
        yield _trimmed(text, start, end)


def _is_abbreviation(text: str, start: int, dot: int) -> bool:
    return _ABBREVIATION.search(text[max(start, dot - _ABBREVIATION_REACH) : dot]) is not None


def _trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without the blanks at its ends."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))


# --- proper names ------------------------------------------------------------------------------------------


def find_proper_names(text: str) -> Iterator[str]:
    """Yield the runs of words with capitals in a text, particles between them included, in order.

    A lone word that opens a sentence or a line has its capital from there and is no name, unless it has more of
    them. Scripts without capitals have none.
    """
    for match in _name_pattern(text.isascii()).finditer(text):
        name = match.group()
        if " " in name or "\n" in name or not name[1:].islower() or not _opens_sentence(text, match.start()):
            yield name


@cache
def _name_pattern(ascii_only: bool) -> re.Pattern[str]:
    """Compile the pattern of a name; the regex engine has no class for capitals, so they are listed."""
    # Above this range hardly any script has capitals, and a longer class is slower to compile.
    capital = "A-Z" if ascii_only else "".join(filter(str.isupper, map(chr, range(0x2000))))
    word = rf"[{capital}](?:\.(?=\s)|(?:[\w'’\-]|\.(?=\w))*)"
    return re.compile(rf"(?<!\w){word}(?:\s(?:(?:{_PARTICLES})\s)?(?:{word}|\d\w*))*")


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(start - 4, 0) : start].rstrip(" \t\"'“‘(")
    return not before or before[-1] in _SENTENCE_ENDS


def name_spellings(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names as texts write them, longest first: "the pilot" also opens a sentence, and titles shout."""
    written: dict[str, None] = {}
    for name in names:
        plain = " ".join(name.split())
        if len(plain) >= _MIN_NAME_CHARACTERS:
            written |= dict.fromkeys((plain, plain[0].upper() + plain[1:], plain.upper()))
    return tuple(sorted(written, key=lambda name: (-len(name), name)))


def find_name_spans(text: str, names: Sequence[str], within: Span) -> list[Span]:
    """Return where one of the names stands in text[within], over line ends too, in order, none inside another."""
    found: list[Span] = []
    low, high = within
    # One character for one, so that offsets stay while a name may go on over the end of a line.
    flat = text[low:high].replace("\n", " ")
    for name in names:
        offset = flat.find(name)
        while offset >= 0:
            start, end = low + offset, low + offset + len(name)
            # Names come longest first, so a shorter one inside a longer one is always met later.
            is_inside = any(first <= start and end <= last for first, last in found)
            if not is_inside and _stands_alone(text, start, end):
                found.append((start, end))
            offset = flat.find(name, offset + len(name))
    return sorted(found)


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether no letter of a script with spaces between words touches the name."""
    joined_before = start and _joins(text[start - 1], text[start])
    joined_after = end < len(text) and _joins(text[end - 1], text[end])
    return not (joined_before or joined_after)


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and (_is_spaced_script(left) or _is_spaced_script(right))


def _is_spaced_script(character: str) -> bool:
    """Return whether a character belongs to a script that writes spaces between words."""
    return character < "\u0e00" or "\u1e00" <= character < "\u3000"


# --- questions about all that is stored ----------------------------------------------------------------------

_NOUNS_FOR_ALL = """
    app application book codebase collection documentation framework library novel package program project repo
    repository service software store story tale tool vault workspace
"""
_WHOLE_NOUNS: Final = frozenset(_NOUNS_FOR_ALL.split())
_POINTING_WORDS: Final = frozenset({"this", "the", "our", "your", "my", "whole", "entire"})
_CUES_FOR_ALL = """
    about begin begins close closes closing describe end ending ends explain finish finishes first kind last open
    opening opens organised organized overview purpose sort start starts structure structured summarise summarize
    summary what
"""
_WHOLE_CUES: Final = frozenset(_CUES_FOR_ALL.split())
_MAX_WHOLE_WORDS: Final = 20
"""A longer question asks for something of its own, even where it mentions the project."""


def is_about_whole(question: str) -> bool:
    """Return whether a question is about all that is stored: what this project is, how the story ends.

    Such a question shares few words with any text, and still every store that holds a text can answer it.
    """
    words = name_words(question)
    if len(words) > _MAX_WHOLE_WORDS or not _WHOLE_CUES.intersection(words):
        return False
    return any(
        noun in _WHOLE_NOUNS and pointing in _POINTING_WORDS for pointing, noun in pairwise(words)
    ) or _asks_what_this_is(words)


def _asks_what_this_is(words: Sequence[str]) -> bool:
    """Return whether the words are such as "what kind of software is this"."""
    return words[:1] in (["what"], ["which"]) and "this" in words and bool(_WHOLE_NOUNS.intersection(words))
