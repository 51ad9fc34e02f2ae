"""Find the links, embeds, tags and headings of a Markdown text, and split off its front matter.

Everything is found by regular expressions over the text with code blanked out, so that offsets, lines and the text
as written stay exact, and wikilinks and tags, which Markdown itself does not know, are found in the same way.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import yaml
from msgspec import Struct

from weft.model import Json
from weft.ports import Problem
from weft.sources.documents.sections import Heading
from weft.sources.values import to_json

# Fenced code, also where the fence is never closed, and code between backticks within a line.
_CODE: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?!`)[^\n]{1,1000}?(?<!`)(?P=ticks)(?!`)",
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
_TAG: Final = re.compile(r"(?<![\w/#&(\[])#(\d*[^\W\d_][\w/-]*)")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_WEB_ADDRESS: Final = re.compile(r"https?://\S+")
_TITLE_HEADING: Final = re.compile(r"^# +(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_NOT_LINE_END: Final = re.compile(r"[^\n]")
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER_CHARACTERS: Final = 65_536
"""Longer front matter is not parsed: YAML is slow, and nobody writes as much by hand."""
_MAX_ERROR_CHARACTERS: Final = 160
"""How much of the YAML parser's complaint a problem quotes."""
_YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C is about ten times as fast; some builds of PyYAML lack it."""


class Reference(Struct, frozen=True):
    """One link or embed: its target without heading, as it is written, its line in the text, and its label."""

    target: str
    written: str
    line: int
    embedded: bool
    wiki: bool
    label: str = ""
    remote: bool = False


def blank_code(text: str) -> str:
    """Return the text with code and comments replaced by blanks, every other character at its offset."""
    visible = _CODE.sub(_blank_match, text)
    # Not by a regular expression: a text with many unclosed comments would take quadratic time.
    start = visible.find("<!--")
    while start >= 0 and (end := visible.find("-->", start)) >= 0:
        end += len("-->")
        visible = visible[:start] + _NOT_LINE_END.sub(" ", visible[start:end]) + visible[end:]
        start = visible.find("<!--", end)
    return visible


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the links and embeds in the order of the text; of web addresses only those of pictures."""
    visible = blank_code(text)
    found = [(match.start(), _read_wikilink(match, text)) for match in _WIKILINK.finditer(visible)]
    without_wikilinks = _WIKILINK.sub(_blank_match, visible)
    found += [(match.start(), _read_link(match, text)) for match in _LINK.finditer(without_wikilinks)]
    found.sort(key=lambda pair: pair[0])
    return tuple(reference for _, reference in found if reference is not None)


def find_tags(text: str) -> tuple[str, ...]:
    """Return the `#tags` of a text, in order and once each, not those inside code, links or addresses."""
    visible = blank_code(text)
    for pattern in (_WIKILINK, _LINK, _WEB_ADDRESS):
        visible = pattern.sub(_blank_match, visible)
    return tuple(dict.fromkeys(match.group(1).rstrip("/-") for match in _TAG.finditer(visible)))


def first_heading(text: str) -> str:
    """Return the first heading of level one outside code, or an empty text."""
    match = _TITLE_HEADING.search(blank_code(text))
    return text[match.start(1) : match.end(1)].strip() if match else ""


def find_headings(text: str) -> tuple[Heading, ...]:
    """Return all headings outside code, in order."""
    return tuple(
        Heading(len(match[1]), match[2].strip(), match.start(), min(match.end() + 1, len(text)))
        for match in _HEADING.finditer(blank_code(text))
    )


def _read_wikilink(match: re.Match[str], text: str) -> Reference | None:
    embedded, target, label = bool(match.group(1)), match.group(2).strip(), match.group(4) or ""
    if not target:
        return None
    line = text.count("\n", 0, match.start()) + 1
    return Reference(target, match.group(0), line, embedded, wiki=True, label=label)


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


def split_front_matter(text: str, where: str) -> tuple[dict[str, Json], str, int, tuple[Problem, ...]]:
    """Split a note into its front matter by lower-case key, its body, the body's first line, and problems."""
    block = _FRONT_MATTER.match(text)
    if block is None:
        return {}, text, 1, ()
    body, line = text[block.end() :], text.count("\n", 0, block.end()) + 1
    values, reason = _parse_yaml(block.group(1))
    if reason:
        problem = Problem(f"{where}:1", f"{reason} The note is indexed without its front matter.")
        return values, body, line, (problem,)
    return values, body, line, ()


def _parse_yaml(block: str) -> tuple[dict[str, Json], str]:
    """Return the values of front matter and no reason, or no values and the reason why it cannot be used."""
    if len(block) > _MAX_FRONT_MATTER_CHARACTERS:
        limit = _MAX_FRONT_MATTER_CHARACTERS
        return {}, f"The front matter has {len(block):,} characters; at most {limit:,} are read."
    try:
        loaded = yaml.load(block, Loader=_YAML_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        message = " ".join(str(error).split())[:_MAX_ERROR_CHARACTERS]
        return {}, f"The front matter is not YAML ({message})."
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, Mapping):
        return {}, f"The front matter is {type(loaded).__name__}, not `key: value` lines."
    values = to_json(loaded)
    if not isinstance(values, dict):
        return {}, ""
    return {str(name).strip().lower(): value for name, value in values.items()}, ""
