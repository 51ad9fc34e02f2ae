"""Make stored text harmless before any format prints it: hidden characters, chat-template tokens and tags.

`clean` and `one_line` are applied to everything stored, in every format. What a tag may do depends on the format:
Markdown writes its bracket as an entity, JSON as an escape, plain text breaks the tag with a backslash.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

# Controls, line and paragraph separators, direction overrides, surrogates and noncharacters.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_TERMINAL_ESCAPE: Final = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    "|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"  # window titles and links
    "|\x1b[@-Z\\\\^_]"
)
# These separate words or lines in stored text, so a space takes their place; the other controls just go.
_BREAKING: Final = frozenset("\x0b\x0c\r\x85\u2028\u2029")

_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Characters that a person does not see and a model reads: they hide marks at the start of a line, or sentences.
# Joiners stay within words of other scripts and within emoji, and so does one variation selector behind a sign.
_HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    "|(?<![^\x00-\x7f\\s\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\\s\u200c\u200d])"
    f"|(?<=[{_SELECTORS}])[{_SELECTORS}]|(?<![^\x00-\x7f\\s])[\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)
# The marks by which chat templates tell who speaks. With a space within them no tokenizer takes them as such.
_CHAT_TOKEN: Final = re.compile(
    r"""
    <(?= [|｜] [^<>|｜\n]{1,60} [|｜]> )                           # <|im_start|>, <|eot_id|>
  | <(?= </?SYS>> ) | <(?= (?:start|end)_of_(?:turn|text)> )       # <<SYS>>, <start_of_turn>
  | <(?= /?(?:s|bos|eos|pad|unk|think|tool_call|tool_response)> )   # the single tokens of many models
  | \[(?= /?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\] )
    """,
    re.VERBOSE,
)

_FRAME_TAGS: Final = "context|system|assistant|human"
"""The tags that programs put around a page in a prompt."""
_ACTIVE_TAGS: Final = "script|style|iframe|object|embed|svg|form|meta|link|base"
"""The tags that a browser acts on."""
_TEXT_TAGS: Final = (
    "a|abbr|address|article|aside|audio|b|big|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup"
    "|dd|del|details|dfn|dialog|div|dl|dt|em|fieldset|figcaption|figure|font|footer|frame|h[1-6]|head|header|hr|html"
    "|i|img|input|ins|kbd|label|legend|li|main|mark|math|menu|nav|noscript|ol|option|p|param|picture|pre|q|s|samp"
    "|section|select|small|source|span|strike|strong|sub|summary|sup|table|tbody|td|template|textarea|tfoot|th|thead"
    "|time|title|tr|track|tt|u|ul|var|video|wbr|entity|subject|part|sources|note|field|documents?|instructions?|user"
)
"""The other tags of HTML, those of our own XML, and more that programs put into prompts."""

_TAG_OPENING: Final = re.compile(r"<(?=[A-Za-z/!?])")
# CommonMark's links in angle brackets. One with a backtick does not count: it would shift the spans behind it.
_AUTOLINK: Final = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>`]*|[\w.!#$%&'*+/=?^{}~-]+@[\w.-]+)>")
_KNOWN_TAG: Final = re.compile(
    # A backslash may follow too: in JSON it begins a line break that stands behind the name.
    rf"<(?=/?(?:{_FRAME_TAGS}|{_ACTIVE_TAGS}|{_TEXT_TAGS})(?:[\s/>\\]|\Z)|/\s+(?:{_FRAME_TAGS})\s*>"
    r"|!--|!\[|!doctype|\?[a-z])",
    re.IGNORECASE,
)
_TAG_IN_CODE: Final = re.compile(
    rf"<(?=/?(?:{_FRAME_TAGS}|{_ACTIVE_TAGS})(?:[\s/>]|\Z)|/\s+(?:{_FRAME_TAGS})\s*>)", re.IGNORECASE
)
# In code for which Markdown promises that no tag acts; still, no page hands a script or the end of a prompt on.
_FRAME_TAG: Final = re.compile(rf"<(?=(?:/\s*)?(?:{_FRAME_TAGS})\s*>|/?script(?:[\s/>]|\Z))", re.IGNORECASE)
_BACKTICKS: Final = re.compile("`+")
_TICK_IN_TARGET: Final = re.compile(r"\]\([^)\n]*`")
_BLANK_LINE: Final = re.compile(r"(\n[ \t]*(?:\n[ \t]*)*\n)")

Span = tuple[int, int]


def clean(text: str) -> str:
    """Return the text without hidden or unprintable characters and chat tokens, with the same number of newlines.

    If nothing changes, the same object is returned, so that callers can compare with `is`.
    """
    # `isprintable` is many times faster than the patterns, and true for almost every text.
    if not text.replace("\n", "").isprintable() and _UNPRINTABLE.search(text) is not None:
        text = _UNPRINTABLE.sub(_replacement, _TERMINAL_ESCAPE.sub("", text.replace("\r\n", "\n")))
    # Some hidden characters count as printable, so that every text beyond ASCII is looked through.
    if not text.isascii() and _HIDDEN.search(text) is not None:
        text = _HIDDEN.sub("", text)
    if ("<" in text or "[" in text) and _CHAT_TOKEN.search(text) is not None:
        text = _CHAT_TOKEN.sub(r"\g<0> ", text)
    return text


def one_line(text: str) -> str:
    """Return the text cleaned and on one line, with every run of white space as a single space."""
    if text.isascii() and text.isprintable() and not ("  " in text or "<" in text or "[" in text):
        return text.strip()
    return " ".join(clean(text).split())


def _replacement(match: re.Match[str]) -> str:
    character = match[0]
    if character in _BREAKING:
        return " "
    # Half a surrogate pair stood for some character: the replacement character says that one is missing.
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""


def break_tags(text: str) -> str:
    """Put a backslash into the tags of prose, so that no reader of HTML or XML takes them for tags."""
    return _KNOWN_TAG.sub(r"<\\", text) if "<" in text else text


def break_tags_in_code(text: str) -> str:
    """Do the same for code, where only the tags that act or that surround a page in a prompt matter."""
    return _TAG_IN_CODE.sub(r"<\\", text) if "<" in text else text


def break_frame_tags(text: str) -> str:
    """Do the same for code in a fence or span, where only scripts and the tags around a page matter."""
    return _FRAME_TAG.sub(r"<\\", text) if "<" in text else text


def encode_tags(text: str) -> str:
    """Write the brackets of tags in a JSON document as escapes, which parsers turn back into brackets."""
    return _KNOWN_TAG.sub(r"\\u003c", text) if "<" in text else text


def write_entities(text: str, *, in_paragraph: bool) -> str:
    """Write the bracket of every HTML tag in Markdown as an entity; links in angle brackets stay.

    Most tags in code spans stay too, in paragraphs where the spans are certain. They are not in the first
    paragraph of a text that goes on `in_paragraph`, since a backtick before it may pair with one of its own.
    """
    if "<" not in text or _TAG_OPENING.search(text) is None:
        return text
    if "`" not in text:
        return _write_entities(text)
    # A code span never goes beyond a blank line, so that each paragraph is judged by itself.
    first, *others = _BLANK_LINE.split(text)
    opened = _write_entities(first) if in_paragraph else _write_outside_code(first)
    return opened + "".join(map(_write_outside_code, others))


def escape_odd_backticks(text: str) -> str:
    """Put a backslash before the backticks of a line if they do not pair within it."""
    return text.replace("`", r"\`") if "`" in text and _code_spans(text) is None else text


def _write_entities(text: str) -> str:
    """Write every opening bracket of a tag as an entity, but for those of links in angle brackets."""
    links = [match.span() for match in _AUTOLINK.finditer(text)]
    pieces = _alternate(text, links)
    return "".join(piece if inside else _TAG_OPENING.sub("&lt;", piece) for inside, piece in pieces)


def _write_outside_code(paragraph: str) -> str:
    lines = paragraph.split("\n") if "<" in paragraph else []
    spans = [_code_spans(line) for line in lines]
    if any(found is None for found in spans):
        return _write_entities(paragraph)
    # Where the backticks of every line pair within it, they pair so however the lines are grouped into blocks.
    written = [
        "".join(
            break_frame_tags(piece) if inside else _write_entities(piece)
            for inside, piece in _alternate(line, found or ())
        )
        for line, found in zip(lines, spans, strict=True)
    ]
    return "\n".join(written) if lines else paragraph


def _alternate(text: str, spans: Sequence[Span]) -> Iterator[tuple[bool, str]]:
    """Yield the text in pieces, each with whether it is one of the spans."""
    end = 0
    for start, stop in spans:
        yield False, text[end:start]
        yield True, text[start:stop]
        end = stop
    yield False, text[end:]


def _code_spans(line: str) -> list[Span] | None:
    """Return the code spans of a line, or None if its backticks may pair in another way than within it."""
    if _TICK_IN_TARGET.search(line) is not None:
        return None
    runs = [match.span() for match in _BACKTICKS.finditer(line)]
    spans: list[Span] = []
    index = 0
    while index < len(runs):
        start, end = runs[index]
        closing = next((i for i in range(index + 1, len(runs)) if runs[i][1] - runs[i][0] == end - start), None)
        if closing is None or line[start - 1 : start] == "\\":
            return None
        spans.append((start, runs[closing][1]))
        # The cells of a table are split before code is looked for.
        if "|" in line[start : runs[closing][1]]:
            return None
        index = closing + 1
    return spans
