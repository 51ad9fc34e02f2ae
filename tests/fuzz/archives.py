"""Documents that are packed (Word, OpenDocument, EPUB) or bound together (PDF), with fuzzed parts and bytes."""

from collections.abc import Callable

from hypothesis import strategies as st

from security.hostile_files import WORD, book, office, packed, pdf, word

_WORD_TOKENS = (
    *(
        "<w:p>",
        "</w:p>",
        "<w:r>",
        "</w:r>",
        "<w:t>",
        "</w:t>",
        "<w:tbl>",
        "<w:tr>",
        "<w:tc>",
        "</w:tc>",
        "</w:tr>",
    ),
    *("</w:tbl>", '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', "<w:br/>", "<w:tab/>", "<w:del>", "<w:sdt>"),
    *("text ", "&amp;", "&#0;", "&j;", "<![CDATA[", "]]>", "<!--", "-->", "</w:body>", '<w:hyperlink r:id="x">'),
)
_OFFICE_TOKENS = (
    *("<text:p>", "</text:p>", '<text:h text:outline-level="1">', "</text:h>", "<text:list>", "<text:list-item>"),
    *(
        "</text:list-item>",
        "</text:list>",
        "<table:table>",
        "<table:table-row>",
        "<table:table-cell>",
        "<text:s/>",
    ),
    *(
        '<text:s text:c="99999999"/>',
        "<text:tab/>",
        "text ",
        "&amp;",
        "&#0;",
        "&j;",
        "<![CDATA[",
        "</office:text>",
    ),
)
_PAGE_TOKENS = (
    *("<h1>", "</h1>", "<p>", "</p>", "<table>", "<td>", "<img src='file:///etc/passwd'/>", "<a href='../x'>"),
    *("&nbsp;", "&j;", "<!DOCTYPE x>", "<script>", "text ", "<svg>", "<![CDATA[", "<pre>", "</body>"),
)
_PDF_TOKENS = (
    *("BT ", "ET ", "/F1 12 Tf ", "(text) Tj ", "[(a) -120 (b)] TJ ", "1 0 0 1 72 720 Tm ", "T* ", "<48656c> Tj "),
    *("q ", "Q ", "BI /W 1 /H 1 ID x EI ", "/Im1 Do ", "999999999999 0 Td ", "(", ")", "<<", ">>", "[", "]", "%"),
)
_NAMES = (
    *(
        "word/document.xml",
        "content.xml",
        "[Content_Types].xml",
        "META-INF/container.xml",
        "../../x",
        "/etc/passwd",
    ),
    *("mimetype", "_rels/.rels", "p.opf", "a.xhtml", "word/styles.xml"),
)


def _text(tokens: tuple[str, ...]) -> st.SearchStrategy[str]:
    # What is no character of XML at all is among the fuzzed bytes.
    pieces = st.one_of(st.sampled_from(tokens), st.sampled_from(tokens), st.text("aé<&\u202e\n", max_size=8))
    return st.lists(pieces, max_size=50).map("".join)


def _spoil(change: tuple[bytes, list[tuple[int, int]], int]) -> bytes:
    """Return bytes with some of them changed, and cut off."""
    content, places, kept = bytearray(change[0]), change[1], change[2]
    for place, value in places:
        if content:
            content[place % len(content)] = value
    return bytes(content[: max(len(content) * kept // 100, 1)])


def _documents(make: Callable[[str], bytes], tokens: tuple[str, ...]) -> st.SearchStrategy[bytes]:
    sound = _text(tokens).map(make)
    changes = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=6)
    spoilt = st.tuples(sound, changes, st.sampled_from((100, 100, 100, 90, 50, 5))).map(_spoil)
    loose = st.dictionaries(st.sampled_from(_NAMES), _text(tokens), max_size=5).map(packed)
    return st.one_of(sound, spoilt, spoilt, loose, st.binary(max_size=200))


ARCHIVES: dict[str, st.SearchStrategy[bytes]] = {
    ".docx": st.one_of(
        _documents(word, _WORD_TOKENS),
        _text(_WORD_TOKENS).map(lambda body: packed({"word/document.xml": f"<w:document {WORD}>{body}"})),
    ),
    ".odt": _documents(office, _OFFICE_TOKENS),
    ".epub": _documents(book, _PAGE_TOKENS),
    ".pdf": _documents(lambda text: pdf(text.encode("utf-8", "replace")), _PDF_TOKENS),
}
"""Inputs by the end of their file names."""
