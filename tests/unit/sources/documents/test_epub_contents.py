"""Chapters of EPUBs by their own tables of contents, in the schemes that publishers use."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from weft.sources import open_source

TALK = '<p>It rained. "We are late," said Ann.</p><p>"Not yet," said Bram. He looked long at the water.</p>' * 3
NAV, NCX = "nav", "ncx"


def write_epub(
    place: Path, pages: Sequence[tuple[str, str]], contents: Sequence[tuple[str, str]], scheme: str = NAV
) -> None:
    """Write a book of some pages (name, body) with a table of contents (place, title)."""
    manifest = "".join(f'<item id="i{number}" href="{name}"/>' for number, (name, _) in enumerate(pages))
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(pages)))
    kind = 'properties="nav"' if scheme == NAV else 'media-type="application/x-dtbncx+xml"'
    manifest += f'<item id="list" href="list.xml" {kind}/>' if contents else ""
    links = "".join(f'<li><a href="{href}">{title}</a></li>' for href, title in contents)
    points = "".join(
        f'<navPoint><navLabel><text>{title}</text></navLabel><content src="{href}"/></navPoint>'
        for href, title in contents
    )
    nav = (
        f'<html><body><nav epub:type="toc"><h1>Contents</h1><ol>{links}</ol></nav>'
        f'<nav epub:type="page-list"><ol><li><a href="a.xhtml">1</a></li></ol></nav></body></html>'
    )
    ncx = f"<ncx><docTitle><text>The Book</text></docTitle><navMap>{points}</navMap></ncx>"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="text/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "text/book.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{manifest}</manifest>'
            f"<spine>{spine}</spine></package>",
        )
        archive.writestr("text/list.xml", nav if scheme == NAV else ncx)
        for name, body in pages:
            archive.writestr(f"text/{name}", f"<html><body>{body}</body></html>")


def chapters(place: Path) -> list[tuple[int | None, str]]:
    source = open_source(str(place), reading="story")
    nodes = [node for name, _ in source.units() for node in source.read(name).nodes]
    return [(node.sequence, node.title) for node in nodes if node.kind == "chapter"]


@pytest.mark.parametrize("scheme", [NAV, NCX])
def test_titles_without_any_heading_in_the_pages_are_chapters(tmp_path: Path, scheme: str) -> None:
    pages = [(f"{name}.xhtml", f'<p class="t">{name.upper()}</p>{TALK}') for name in "abc"]
    contents = [("a.xhtml", "The Ferry"), ("b.xhtml", "The Quay"), ("c.xhtml", "The Lamp")]
    write_epub(tmp_path / "book.epub", pages, contents, scheme)
    assert chapters(tmp_path / "book.epub") == [(1, "The Ferry"), (2, "The Quay"), (3, "The Lamp")]


@pytest.mark.parametrize("scheme", [NAV, NCX])
def test_several_chapters_in_one_page_begin_at_their_ids(tmp_path: Path, scheme: str) -> None:
    body = "".join(f'<div id="c{number}"><p><b>{number}</b></p>{TALK}</div>' for number in (1, 2, 3))
    contents = [(f"a.xhtml#c{number}", f"Chapter {number}: Day {number}") for number in (1, 2, 3)]
    write_epub(tmp_path / "book.epub", [("a.xhtml", body)], contents, scheme)
    assert chapters(tmp_path / "book.epub") == [
        (1, "Chapter 1: Day 1"), (2, "Chapter 2: Day 2"), (3, "Chapter 3: Day 3"),
    ]  # fmt: skip


def test_a_title_that_the_page_repeats_in_pieces_stands_once(tmp_path: Path) -> None:
    pages = [(f"{n}.xhtml", f"<h1>Chapter {n}</h1><h2>The Day {n}</h2>{TALK}") for n in (1, 2, 3)]
    contents = [(f"{n}.xhtml", f"Chapter {n}. The Day {n}") for n in (1, 2, 3)]
    write_epub(tmp_path / "book.epub", pages, contents)
    assert [number for number, _ in chapters(tmp_path / "book.epub")] == [1, 2, 3]


def test_covers_contents_and_copyright_are_no_chapters(tmp_path: Path) -> None:
    pages = [
        ("cover.xhtml", "<h1>The Book</h1>"),
        ("rights.xhtml", "<h1>Copyright</h1><p>All rights are with the author of this book, for all time.</p>"),
        *((f"{name}.xhtml", f"<h2>The {name}</h2>{TALK}") for name in ("Ferry", "Quay", "Lamp")),
    ]
    contents = [(name, title) for (name, _), title in zip(
        pages, ("Cover", "Copyright", "The Ferry", "The Quay", "The Lamp"), strict=True
    )]  # fmt: skip
    write_epub(tmp_path / "book.epub", pages, contents)
    assert chapters(tmp_path / "book.epub") == [(1, "The Ferry"), (2, "The Quay"), (3, "The Lamp")]


def test_headings_inside_of_a_listed_chapter_and_numbers_of_scenes_are_none(tmp_path: Path) -> None:
    body = f"{TALK}<h3>A letter</h3>{TALK}<p>2</p>{TALK}"
    pages = [(f"{name}.xhtml", f"<h2>The {name}</h2>{body}") for name in ("Ferry", "Quay", "Lamp")]
    contents = [(name, f"The {name.removesuffix('.xhtml')}") for name, _ in pages]
    write_epub(tmp_path / "book.epub", pages, contents)
    assert chapters(tmp_path / "book.epub") == [(1, "The Ferry"), (2, "The Quay"), (3, "The Lamp")]


def test_without_a_table_of_contents_the_headings_of_the_pages_count(tmp_path: Path) -> None:
    pages = [(f"{name}.xhtml", f"<h2>The {name}</h2>{TALK}") for name in ("Ferry", "Quay", "Lamp")]
    write_epub(tmp_path / "book.epub", pages, ())
    assert chapters(tmp_path / "book.epub") == [(1, "The Ferry"), (2, "The Quay"), (3, "The Lamp")]
