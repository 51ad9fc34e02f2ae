"""Find the links, embeds, tags, fields and headings of a Markdown text, in the forms of Obsidian and Logseq too.

Everything is found by regular expressions over the text with code blanked out, so that offsets, lines and the text
as written stay exact, and wikilinks and tags, which Markdown itself does not know, are found in the same way.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from weft.sources.documents.sections import Heading
from weft.text import without_anchor

NOTE_SUFFIXES: Final = frozenset({".md", ".markdown", ".mdx"})

# Fenced code, also where the fence is never closed, and code between backticks within a line. A run of backticks
# is tried once, as a whole and up to twenty: taken apart, many runs of different lengths take minutes.
_CODE: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`{1,20}+)(?!`)[^\n]{1,1000}?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
# `[[target#heading|label]]`, an embed with `!` before it.
_WIKILINK: Final = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
# `[label](<target> "title")`; a bare target may hold one level of parentheses.
_LINK: Final = re.compile(
    r"(!?)\[([^\[\]\n]*)\]"
    r"\(\s*(?:<([^<>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+[\"'(][^\n]*?)?\)"
)
# A tag holds a letter, so that `#12` stays a number; `#` inside a word, path or link begins none.
_TAG: Final = re.compile(r"(?<![\w/#&(\[])#(?:\[\[([^\[\]\n]+)\]\]|(\d*[^\W\d_][\w/-]*))")
_ANCHOR: Final = re.compile(r"\{[ \t]*#[^{}\n]*\}")
"""The name that some dialects give a heading: `{ #first-steps }` is no tag."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WEB_ADDRESS: Final = re.compile(r"https?://\S+")
_TITLE_HEADING: Final = re.compile(r"^# +(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
# A line of its own, or in brackets within one: `due:: 2026-05-01`, `[due:: 2026-05-01]`.
_FIELD_KEY: Final = r"([^\W\d_][\w -]{0,39}?)::[ \t]+"
_FIELD_LINE: Final = re.compile(rf"^[ \t]*(?:[-*+][ \t]+)?{_FIELD_KEY}(\S[^\n]*)$", re.MULTILINE)
_FIELD_IN_BRACKETS: Final = re.compile(rf"[\[(]{_FIELD_KEY}((?:\[\[[^\]\n]*\]\]|[^\])\n])+)[\])]")
_COMMENTS: Final = (("<!--", "-->"), ("%%", "%%"))
"""The marks that open and close a comment, in HTML and in Obsidian."""
_HIDDEN_COMMENT: Final = re.compile(r"(?<![^\s(])%%(?=[^%])[^%]*(?:%(?!%)[^%]*)*%%")
"""A comment of Obsidian, which its reading view does not show."""
_QUERY: Final = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*(?:dataview|dataviewjs|tasks)\b", re.IGNORECASE)
"""The fence of a query: programs show its results in its place, and its words say nothing."""
# What Logseq keeps for its own working: ids and folding of blocks, times of work, queries.
_MACHINERY: Final = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?:(?:id|collapsed|logseq\.[\w.-]+)::[^\n]*"
    r"|:LOGBOOK:[ \t]*\n(?:(?![ \t]*:END:)[^\n]*\n)*[ \t]*:END:|\{\{(?:query|renderer)[^\n]*\}\})[ \t]*$",
    re.MULTILINE,
)
_MACHINERY_KEYS: Final = frozenset({"id", "collapsed", "template", "template_including_parent"})
_BLOCK_ID: Final = re.compile(r"^[ \t]*id::[ \t]+([0-9a-f-]{36})[ \t]*$", re.MULTILINE)
_BLOCK_REFERENCE: Final = re.compile(r"(\{\{embed[ \t]+)?\(\(([0-9a-f-]{36})\)\)")
"""A block that Logseq means by its id, shown in place with `{{embed …}}`."""
_EMBED: Final = "{{embed "
_TASK: Final = re.compile(r"^[ \t]*(?:>[ \t]*)*(?:[-*+]|\d+[.)])[ \t]+\[[^\]\n]\][ \t][^\n]*$", re.MULTILINE)
_NOT_LINE_END: Final = re.compile(r"[^\n]")


class Reference(Struct, frozen=True):
    """One link or embed: its target without heading, as it is written, its line in the text, and its label."""

    target: str
    written: str
    line: int
    embedded: bool
    wiki: bool
    label: str = ""
    remote: bool = False
    block: str = ""
    """The id by which Logseq means a block of any note; such a reference has no target."""
    query: bool = False
    """Whether it stands in a query, which lists notes by it."""


def blank_code(text: str) -> str:
    """Return the text with code and comments replaced by blanks, every other character at its offset."""
    visible = _CODE.sub(_blank_match, text)
    for opening, closing in _COMMENTS:
        # Not by a regular expression: a text with many unclosed comments would take quadratic time.
        start = visible.find(opening)
        while start >= 0 and (end := visible.find(closing, start + len(opening))) >= 0:
            end += len(closing)
            visible = visible[:start] + _NOT_LINE_END.sub(" ", visible[start:end]) + visible[end:]
            start = visible.find(opening, end)
    return visible


def hide_comments(text: str) -> str:
    """Return the text without comments, queries and machinery, which a reader of the note does not see.

    Every line stays a line, so that line numbers are those of the file.
    """
    spans: list[tuple[int, int]] = []
    if "```" in text or "~~~" in text:
        spans += [match.span() for match in _CODE.finditer(text) if _QUERY.match(match[0])]
    if "%%" in text:
        spans += [match.span() for match in _HIDDEN_COMMENT.finditer(_CODE.sub(_blank_match, text))]
    if "::" in text or "{{" in text or ":LOGBOOK:" in text:
        spans += [match.span() for match in _MACHINERY.finditer(blank_code(text))]
    parts, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [text[done:start], "\n" * text.count("\n", start, end)]
            done = end
    return "".join([*parts, text[done:]])


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the links and embeds in the order of the text; of web addresses only those of pictures."""
    visible = blank_code(text)
    found = [(match.start(), _read_wikilink(match, text)) for match in _WIKILINK.finditer(visible)]
    found += [(match.start(), _read_block_reference(match, text)) for match in _BLOCK_REFERENCE.finditer(visible)]
    # Blanked, because `[[a]](b)` would otherwise be found again as a Markdown link.
    without_wikilinks = _WIKILINK.sub(_blank_match, visible)
    found += [(match.start(), _read_link(match, text)) for match in _LINK.finditer(without_wikilinks)]
    found += _query_references(text)
    found.sort(key=lambda pair: pair[0])
    return tuple(reference for _, reference in found if reference is not None)


def find_wikilinks(value: str) -> tuple[Reference, ...]:
    """Return the links of a value in front matter or of an inline field."""
    links = (_read_wikilink(match, value) for match in _WIKILINK.finditer(value))
    return tuple(link for link in links if link is not None)


def name_links(value: str) -> str:
    """Return a value with the names of notes in place of links to them: `Ada` for `[[People/Ada]]`."""
    return _WIKILINK.sub(lambda match: (match[4] or match[2].rpartition("/")[2]).strip(), value)


def find_tags(text: str) -> tuple[str, ...]:
    """Return the `#tags` of a text, in order and once each, not those inside code, links or addresses."""
    visible = blank_code(text)
    if "#" not in visible:
        return ()
    for pattern in (_LINK, _WEB_ADDRESS, _ANCHOR):
        visible = pattern.sub(_blank_match, visible)
    # A wikilink is blanked unless it is a tag itself, as Logseq writes those of several words: `#[[first draft]]`.
    visible = _WIKILINK.sub(
        lambda match: match[0] if match.string[match.start() - 1 : match.start()] == "#" else _blank_match(match),
        visible,
    )
    return tuple(dict.fromkeys((match[1] or match[2].rstrip("/-")).strip() for match in _TAG.finditer(visible)))


def find_blocks(text: str) -> tuple[str, ...]:
    """Return the ids that Logseq gave to blocks of a text."""
    return tuple(_BLOCK_ID.findall(text)) if "id::" in text else ()


def find_inline_fields(text: str) -> dict[str, tuple[str, ...]]:
    """Return the values of each `key:: value`, as Dataview and Logseq write them, by key in small letters.

    Those of tasks belong to the task and not to the note.
    """
    visible = _TASK.sub(_blank_match, blank_code(text)) if "::" in text else ""
    found: dict[str, tuple[str, ...]] = {}
    for pattern in (_FIELD_LINE, _FIELD_IN_BRACKETS):
        for match in pattern.finditer(visible):
            key = field_key(match[1])
            if key not in _MACHINERY_KEYS and not key.startswith("logseq"):
                found[key] = (*found.get(key, ()), text[match.start(2) : match.end(2)].strip())
    return found


def field_key(written: str) -> str:
    """Return the name of a field as it is stored."""
    return re.sub(r"[ .-]+", "_", written.strip().lower())


def first_heading(text: str) -> str:
    """Return the first heading of level one outside code, or an empty text."""
    match = _TITLE_HEADING.search(blank_code(text))
    return without_anchor(text[match.start(1) : match.end(1)].strip()) if match else ""


def find_headings(text: str) -> tuple[Heading, ...]:
    """Return all headings outside code, in order."""
    return tuple(
        Heading(len(match[1]), without_anchor(match[2].strip()), match.start(), min(match.end() + 1, len(text)))
        for match in _HEADING.finditer(blank_code(text))
    )


def _read_wikilink(match: re.Match[str], text: str) -> Reference | None:
    # In a table the bar before a label is written with a backslash.
    target, label = match.group(2).strip().rstrip("\\"), match.group(4) or ""
    if not target:
        return None
    embedded = bool(match.group(1)) or text.endswith(_EMBED, 0, match.start())
    line = text.count("\n", 0, match.start()) + 1
    return Reference(target, match.group(0), line, embedded, wiki=True, label=label)


def _read_block_reference(match: re.Match[str], text: str) -> Reference:
    line = text.count("\n", 0, match.start()) + 1
    return Reference("", match.group(0), line, bool(match.group(1)), wiki=True, block=match.group(2))


def _query_references(text: str) -> Iterator[tuple[int, Reference | None]]:
    """Iterate over the links in queries, each with its offset."""
    if "```" not in text and "~~~" not in text:
        return
    for block in _CODE.finditer(text):
        if _QUERY.match(block[0]):
            line = text.count("\n", 0, block.start())
            for reference in find_wikilinks(block[0]):
                yield block.start(), replace(reference, line=line + reference.line, query=True)


def _read_link(match: re.Match[str], text: str) -> Reference | None:
    """Return the reference of a Markdown link, or None for links within the note and to web pages."""
    embedded, label = bool(match.group(1)), match.group(2)
    address = match.group(3) if match.group(3) is not None else match.group(4)
    remote = bool(_SCHEME.match(address)) or address.startswith("//")
    if remote:
        target = address if embedded and _WEB_ADDRESS.fullmatch(address) else ""
    else:
        target = unquote(address.partition("#")[0]).replace("\\", "/").strip()
    if not target:
        return None
    # Lines are counted for the few links that are kept: a change log may have thousands of links to the web.
    line = text.count("\n", 0, match.start()) + 1
    return Reference(target, match.group(0), line, embedded, wiki=False, label=label, remote=remote)


def _blank_match(match: re.Match[str]) -> str:
    return _NOT_LINE_END.sub(" ", match.group(0))
