"""Whether a page shows a document's evidence: its text whole, or an excerpt that holds the answer."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from weft.model import Context, Detail, Item, LedgerEntry, PlacedSection
from weft.text.scripts import UNSPACED

_WORD: Final = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_MARKS: Final = re.compile(r"[\W_]+")


def shown(context: Context, answers: Sequence[str], texts: Mapping[str, str]) -> dict[str, Detail]:
    """Which of the documents, given as texts by key, the page shows, with the detail that shows each.

    What the page says it prints is looked up in the printed text itself, marks and spaces aside. The same text
    printed whole under another key shows the document as well.
    """
    page = _letters(_plain(context))
    wanted = [words for words in map(_words, answers) if words.strip()]
    found: dict[str, Detail] = {}
    whole: set[str] = set()
    for item in items_of(context.page.sections):
        node = item.candidate.node
        if item.detail is Detail.WHOLE and (letters := _letters(node.text)) in page:
            found[node.key] = Detail.WHOLE
            whole.add(letters)
        elif item.detail is Detail.EXCERPT and node.key in texts and _tells(item, wanted, page):
            found.setdefault(node.key, Detail.EXCERPT)
    found |= {key: Detail.WHOLE for key, text in texts.items() if text and _letters(text) in whole}
    return {key: found[key] for key in texts if key in found}


def items_of(sections: Sequence[PlacedSection]) -> Iterator[Item]:
    """Every item of some sections and of the groups within them, in printed order."""
    for section in sections:
        yield from section.items
        for group in section.groups:
            yield from items_of(group.parts)


def _tells(item: Item, wanted: Sequence[str], page: str) -> bool:
    """Whether an excerpt holds an answer that its document holds."""
    text = item.candidate.node.text
    spans = [text[start:end] for start, end in item.spans]
    printed = [_words(span) for span in spans if _letters(span) in page]
    whole = _words(text)
    return any(answer in whole and any(answer in span for span in printed) for answer in wanted)


def _words(text: str) -> str:
    """The words of a text in lower case between single spaces, so that only whole words are found in it."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _letters(text: str) -> str:
    """The letters and digits alone: what escaping, fences, bullets and line breaks leave as it was."""
    return _MARKS.sub("", text)


def _plain(context: Context) -> str:
    """The page without the escapes of its format."""
    if context.format == "xml":
        return html.unescape(context.text)
    if context.format == "json" and context.text:
        return " ".join(_strings(json.loads(context.text)))
    return context.text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def ranking(ledger: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """The keys of all candidates, best first, each once: what was thought of them before any budget."""
    ordered = sorted(ledger, key=lambda entry: (-entry.score, entry.tenant, entry.key))
    return tuple(dict.fromkeys(entry.key for entry in ordered))
