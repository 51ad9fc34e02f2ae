"""HTML pages: what a reader sees, in paragraphs, with the headings that part it."""

import re
from dataclasses import field
from html.parser import HTMLParser
from typing import ClassVar, Final
from urllib.parse import unquote, urlsplit

from weft.frozen import dataclass
from weft.sources.documents import DocumentFiles, Understood, beside, stem_of
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, decode

_HIDDEN: Final = frozenset({"script", "style", "noscript", "template", "svg", "head", "nav", "iframe", "object"})
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section"}
    | {"summary", "table", "tbody", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_CELLS: Final = frozenset({"td", "th"})
_HEADING: Final = re.compile(r"h([1-6])")
_SPACE: Final = re.compile(r"\s+")
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_SNIFFED: Final = 4096


class Html(DocumentFiles):
    """HTML files as documents."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".html", ".htm", ".xhtml"})

    def understand(self, name: str, content: bytes) -> Understood:
        """The page's words with its headings, and the pages it links to."""
        decoded, problems = decode(_as_utf8(content), name)
        page = _Page()
        page.feed(decoded)
        page.close()
        text, headings = page.finished()
        targets = (beside(name, target) for target in page.links)
        links = tuple(dict.fromkeys(target for target in targets if target))
        title = next((heading.title for heading in headings if heading.level == 1), page.title) or stem_of(name)
        return Document(title, text, headings, "text", None, links), problems


def _as_utf8(content: bytes) -> bytes:
    """The content in UTF-8 where the page says that it is in another encoding."""
    declared = _CHARSET.search(content, 0, _SNIFFED)
    try:
        return content.decode(declared[1].decode("ascii")).encode("utf-8") if declared else content
    except (LookupError, UnicodeError):
        return content


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    level: int = 0
    close: bool = False


@dataclass(slots=True)
class _Words:
    """The words of the block that is being read."""

    parts: list[str] = field(default_factory=list)
    mark: str = ""

    def text(self, verbatim: bool) -> str:
        """The words, with single spaces unless they are quoted as they are."""
        joined = clean("".join(self.parts))
        return joined.strip("\n") if verbatim else _SPACE.sub(" ", joined).strip()


class _Page(HTMLParser):
    """Reads a page into blocks; elements that are never closed do no harm."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.links: list[str] = []
        self._blocks: list[_Block] = []
        self._words = _Words()
        self._hidden: list[str] = []
        self._level = 0
        self._quoted = 0
        self._titled = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag == "title" and not self.title:
            self._titled = True
        elif tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            if self._hidden[:1] == ["head"]:
                # Its end may be left out.
                self._hidden.clear()
            self._flush()
            heading = _HEADING.fullmatch(tag)
            self._level = int(heading[1]) if heading else 0
            self._quoted += tag == "pre"
            self._words.mark = "- " if tag == "li" else ""
        elif tag == "br":
            self._words.parts.append("\n")
        elif tag in _CELLS and any(map(str.strip, self._words.parts)):
            self._words.parts.append(" | ")
        elif tag == "a":
            self._link(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if tag == "title":
            self._titled = False
        elif tag in self._hidden:
            # What was opened inside and never closed ends with it.
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self._flush()
            self._quoted -= tag == "pre" and self._quoted > 0
            self._level = 0

    def handle_data(self, data: str) -> None:
        """Words."""
        if self._titled:
            self.title = _SPACE.sub(" ", clean(self.title + data)).strip()
        elif not self._hidden:
            self._words.parts.append(data)

    def finished(self) -> tuple[str, tuple[Heading, ...]]:
        """The text of all blocks, and the headings among them."""
        self._flush()
        headings = []
        written: list[str] = []
        length = 0
        for block in self._blocks:
            gap = ("\n" if block.close else "\n\n") if written else ""
            if block.level:
                start = length + len(gap)
                headings.append(Heading(block.level, block.text, start, start + len(block.text)))
            written.append(gap + block.text)
            length += len(written[-1])
        return "".join(written), tuple(headings)

    def _flush(self) -> None:
        words, self._words = self._words, _Words()
        text = words.text(bool(self._quoted))
        if text:
            listed = bool(words.mark) and bool(self._blocks) and self._blocks[-1].text.startswith(words.mark)
            self._blocks.append(_Block(words.mark + text, self._level, listed))

    def _link(self, target: str) -> None:
        address = urlsplit(target) if "[" not in target else urlsplit("")
        if not address.scheme and not address.netloc and address.path:
            self.links.append(unquote(address.path))
