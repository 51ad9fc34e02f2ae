"""Names as Tana stores them, with markup and inline references, as plain text."""

import html
import re
from collections.abc import Callable
from typing import Final

import orjson

from weft.frozen import dataclass
from weft.sources.files import clean

TitleOf = Callable[[str], str]
"""The readable name of a node, by its id; empty when there is no such node."""

MISSING: Final = "(missing node)"

_NODE: Final = re.compile(
    r'<span\b[^<>]*?\bdata-inlineref-node="([^"<>]*)"[^<>]*>(.*?)</span>', re.IGNORECASE | re.DOTALL
)
_DATE: Final = re.compile(r'<span\b[^<>]*?\bdata-inlineref-date="([^"<>]*)"[^<>]*>.*?</span>', re.I | re.DOTALL)
_LINK: Final = re.compile(r'<a\b[^<>]*?\bhref="([^"<>]*)"[^<>]*>(.*?)</a>', re.IGNORECASE | re.DOTALL)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"</?(?:a|b|code|del|div|em|i|ins|mark|p|s|span|strike|strong|sub|sup|u)\b[^<>]*>", re.I
)
_BRACKETS: Final = re.compile(r"\[\[([^\[\]^]+)(?:\^([\w-]+))?\]\]")


@dataclass(frozen=True, slots=True)
class PlainName:
    """A name without markup, and the ids of the nodes that it refers to, in order."""

    text: str
    references: tuple[str, ...] = ()


def plain_name(raw: str, title_of: TitleOf) -> PlainName:
    """The name as people read it: references as the names they point to, dates as dates, links with addresses."""
    if "<" not in raw and "[[" not in raw and "&" not in raw:
        return PlainName(clean(raw).strip())
    references: list[str] = []

    def named(match: re.Match[str]) -> str:
        references.append(html.unescape(match[1]))
        return html.escape(title_of(references[-1]) or _stripped(match[2]) or MISSING, quote=False)

    def bracketed(match: re.Match[str]) -> str:
        if match[2]:
            references.append(match[2])
        return match[1]

    text = _BRACKETS.sub(bracketed, _LINK.sub(_linked, _DATE.sub(_dated, _NODE.sub(named, raw))))
    return PlainName(clean(_stripped(text)).strip(), tuple(dict.fromkeys(references)))


def _stripped(markup: str) -> str:
    return html.unescape(_MARKUP.sub("", _BREAK.sub("\n", markup)))


def _dated(match: re.Match[str]) -> str:
    """What Tana keeps as JSON inside an attribute; anything else is shown as it is."""
    said = html.unescape(match[1])
    try:
        value = orjson.loads(said)
    except orjson.JSONDecodeError:
        return html.escape(said, quote=False)
    date = value.get("dateTimeString") if isinstance(value, dict) else None
    return html.escape(str(date or ""), quote=False)


def _linked(match: re.Match[str]) -> str:
    words = match[2].strip()
    return match[1] if not words or words == match[1] else f"{words} ({match[1]})"
