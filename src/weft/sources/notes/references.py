"""What a Markdown text points to: links, embeds and images, tags, and its headings."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import yaml

from weft.frozen import dataclass
from weft.model import Json
from weft.ports import Problem
from weft.sources.documents.sections import Heading
from weft.sources.values import plain

_CODE: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?!`)[^\n]{1,1000}?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_WIKI: Final = re.compile(r"(!?)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_LINK: Final = re.compile(
    r"(!?)\[([^\[\]\n]*)\]"
    r"\(\s*(?:<([^<>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+[\"'(][^\n]*?)?\)"
)
_TAG: Final = re.compile(r"(?<![\w/#&(\[])#(\d*[^\W\d_][\w/-]*)")
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_URL: Final = re.compile(r"https?://\S+")
_HEADING: Final = re.compile(r"^# +(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_ANY_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reference:
    """One link or embed as it is written: its target without heading, its label, and where it stands."""

    target: str
    written: str
    line: int
    embedded: bool
    wiki: bool
    label: str = ""
    remote: bool = False


def without_code(text: str) -> str:
    """The text with code and comments blanked out, every other character in its place."""
    visible = _CODE.sub(_blank, text)
    start = visible.find("<!--")
    while start >= 0 and (end := visible.find("-->", start)) >= 0:
        hidden = "".join("\n" if character == "\n" else " " for character in visible[start : end + 3])
        visible = visible[:start] + hidden + visible[end + 3 :]
        start = visible.find("<!--", end)
    return visible


def references(text: str) -> tuple[Reference, ...]:
    """Links and embeds in the order of the text; of web addresses only those of pictures."""
    visible = without_code(text)
    found = [(match.start(), _from_wiki(match, text)) for match in _WIKI.finditer(visible)]
    found += [(match.start(), _from_link(match, text)) for match in _LINK.finditer(_WIKI.sub(_blank, visible))]
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]) if one.target)


def tags_in(text: str) -> tuple[str, ...]:
    """The `#tags` of a text, in order and once each, not those inside code, links or addresses."""
    visible = without_code(text)
    for pattern in (_WIKI, _LINK, _URL):
        visible = pattern.sub(_blank, visible)
    return tuple(dict.fromkeys(match.group(1).rstrip("/-") for match in _TAG.finditer(visible)))


def first_heading(text: str) -> str:
    """The first heading of level one outside code, or nothing."""
    match = _HEADING.search(without_code(text))
    return text[match.start(1) : match.end(1)].strip() if match else ""


def headings_in(text: str) -> tuple[Heading, ...]:
    """All headings outside code, in order."""
    return tuple(
        Heading(len(match[1]), match[2].strip(), match.start(), min(match.end() + 1, len(text)))
        for match in _ANY_HEADING.finditer(without_code(text))
    )


def _from_wiki(match: re.Match[str], text: str) -> Reference:
    line = text.count("\n", 0, match.start()) + 1
    label = match.group(4) or ""
    return Reference(match.group(2).strip(), match.group(0), line, bool(match.group(1)), wiki=True, label=label)


def _from_link(match: re.Match[str], text: str) -> Reference:
    embedded, label = bool(match.group(1)), match.group(2)
    written = match.group(3) if match.group(3) is not None else match.group(4)
    line = text.count("\n", 0, match.start()) + 1
    if _ADDRESS.match(written) or written.startswith("//"):
        target = written if embedded and _URL.fullmatch(written) else ""
        return Reference(target, match.group(0), line, embedded, wiki=False, label=label, remote=True)
    target = unquote(written.partition("#")[0]).replace("\\", "/").strip()
    return Reference(target, match.group(0), line, embedded, wiki=False, label=label)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


_BLOCK: Final = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_BLOCK: Final = 65_536
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def split_front_matter(text: str, where: str) -> tuple[dict[str, Json], str, int, tuple[Problem, ...]]:
    """The front matter by lower-case key, the body, the line it begins on, and what was wrong."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text, 1, ()
    body, line = text[block.end() :], text.count("\n", 0, block.end()) + 1
    values, reason = _load(block.group(1))
    problems = (
        (Problem(f"{where}:1", f"{reason} The note is indexed without its front matter."),) if reason else ()
    )
    return values, body, line, problems


def _load(block: str) -> tuple[dict[str, Json], str]:
    if len(block) > _MAX_BLOCK:
        return {}, f"The front matter has {len(block):,} characters; at most {_MAX_BLOCK:,} are read."
    try:
        loaded = yaml.load(block, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return {}, f"The front matter is not YAML ({' '.join(str(error).split())[:160]})."
    if loaded is None:
        return {}, ""
    if not isinstance(loaded, Mapping):
        return {}, f"The front matter is {type(loaded).__name__}, not `key: value` lines."
    made = plain(loaded)
    return (
        ({str(name).strip().lower(): value for name, value in made.items()}, "")
        if isinstance(made, dict)
        else ({}, "")
    )
