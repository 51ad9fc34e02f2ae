"""Parse HTML pages: the visible text in paragraphs, with its headings and the pages it links to."""

import re
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import ClassVar, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, decode, resolve_link

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
_CHARSET_SEARCH_BYTES: Final = 4096
"""How far the declaration of an encoding is searched; the standard asks for it within the first 1,024 bytes."""


class Html(DocumentFiles):
    """The HTML files of a source."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".html", ".htm", ".xhtml"})

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the page's visible text with its headings, and the pages it links to."""
        decoded, problems = decode(_to_utf8(content), name)
        page = _PageParser()
        page.feed(decoded)
        page.close()
        text, headings = page.finish()
        folder = PurePosixPath(name).parent
        targets = (resolve_link(folder, target) for target in page.links)
        links = tuple(dict.fromkeys(target for target in targets if target))
        # The heading comes first: titles in the head often carry the name of the whole site.
        first_heading = next((heading.title for heading in headings if heading.level == 1), page.title)
        return Document(first_heading or title_from_name(name), text, headings, "text", None, links), problems


def _to_utf8(content: bytes) -> bytes:
    """Convert the content to UTF-8 where the page declares another encoding that it keeps to."""
    declared = _CHARSET.search(content, 0, _CHARSET_SEARCH_BYTES)
    try:
        return content.decode(declared[1].decode("ascii")).encode("utf-8") if declared else content
    # Pages lie about their encoding; the bytes are then read as UTF-8, with a problem where that fails too.
    except (LookupError, UnicodeError):
        return content


class _Block(Struct, frozen=True):
    """A finished paragraph, list entry or heading; `follows_closely` puts no blank line before it."""

    text: str
    level: int = 0
    follows_closely: bool = False


class _OpenBlock(Struct):
    """The block that is being read; `bullet` is `- ` in a list entry."""

    parts: list[str] = field(default_factory=list)
    bullet: str = ""

    def text(self, preformatted: bool) -> str:
        """Return the text so far, its white space collapsed unless it is preformatted."""
        joined = clean("".join(self.parts))
        return joined.strip("\n") if preformatted else _SPACE.sub(" ", joined).strip()


class _PageParser(HTMLParser):
    """A parser that reads a page into blocks; elements that are never closed do no harm."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.links: list[str] = []
        self._blocks: list[_Block] = []
        self._open = _OpenBlock()
        self._hidden: list[str] = []
        self._level = 0
        self._pre_depth = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, hide what follows, or collect a link, by the tag."""
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            if self._hidden[:1] == ["head"]:
                # The end tag of the head is optional: the first block ends it.
                self._hidden.clear()
            # A block also ends the one before it, since end tags of paragraphs and list entries are optional.
            self._finish_block()
            heading = _HEADING.fullmatch(tag)
            self._level = int(heading[1]) if heading else 0
            self._pre_depth += tag == "pre"
            self._open.bullet = "- " if tag == "li" else ""
        elif tag == "br":
            self._open.parts.append("\n")
        elif tag in _CELLS and any(map(str.strip, self._open.parts)):
            self._open.parts.append(" | ")
        elif tag == "a":
            self._add_link(dict(attrs).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        """End a block or what is hidden."""
        if tag == "title":
            self._in_title = False
        elif tag in self._hidden:
            # Elements inside it that were never closed end with it.
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self._finish_block()
            self._pre_depth -= tag == "pre" and self._pre_depth > 0
            self._level = 0

    def handle_data(self, data: str) -> None:
        """Add text to the title or to the open block."""
        if self._in_title:
            self.title = _SPACE.sub(" ", clean(self.title + data)).strip()
        elif not self._hidden:
            self._open.parts.append(data)

    def finish(self) -> tuple[str, tuple[Heading, ...]]:
        """Return the text of all blocks, and the headings among them."""
        self._finish_block()
        headings = []
        written: list[str] = []
        length = 0
        for block in self._blocks:
            gap = ("\n" if block.follows_closely else "\n\n") if written else ""
            if block.level:
                start = length + len(gap)
                headings.append(Heading(block.level, block.text, start, start + len(block.text)))
            written.append(gap + block.text)
            length += len(written[-1])
        return "".join(written), tuple(headings)

    def _finish_block(self) -> None:
        block, self._open = self._open, _OpenBlock()
        text = block.text(bool(self._pre_depth))
        if text:
            in_list = bool(block.bullet) and bool(self._blocks) and self._blocks[-1].text.startswith(block.bullet)
            self._blocks.append(_Block(block.bullet + text, self._level, in_list))

    def _add_link(self, target: str) -> None:
        # `urlsplit` raises an error for brackets that are no IPv6 address; such a link leads to no file of ours.
        address = urlsplit(target) if "[" not in target else urlsplit("")
        if not address.scheme and not address.netloc and address.path:
            self.links.append(unquote(address.path))
