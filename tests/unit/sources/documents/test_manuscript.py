"""Books in several formats as chapters and scenes, and texts that are no books."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from manuscripts import CHAPTERS, TITLES, manuscript
from weft.errors import InvalidInput
from weft.model import Node
from weft.ports import Problem
from weft.sources import open_source


def read(place: Path, reading: str = "") -> tuple[list[Node], list[Problem]]:
    source = open_source(str(place), name="book", reading=reading)
    units = [source.read(name) for name, _ in source.units()]
    return [node for unit in units for node in unit.nodes], [each for unit in units for each in unit.problems]


def prose(nodes: list[Node]) -> str:
    return " ".join(" ".join(node.text.split()) for node in nodes if node.text)


def test_a_novel_in_plain_text_becomes_chapters_and_scenes(tmp_path: Path) -> None:
    file = tmp_path / "novel.txt"
    file.write_text(manuscript(), encoding="utf-8")
    nodes, problems = read(file)
    chapters = [node for node in nodes if node.kind == "chapter"]
    assert [(node.sequence, node.title) for node in chapters] == [
        (number, f"Chapter {number}: {title}") for number, title in enumerate(TITLES, start=1)
    ]
    assert [node.title for node in nodes if node.kind == "scene"] == ["Ch. 2, scene 1", "Ch. 2, scene 2"]
    assert problems == []


def test_every_piece_says_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "novel.txt"
    file.write_text(manuscript(), encoding="utf-8")
    lines = manuscript().split("\n")
    written = [node for node in read(file)[0] if node.text]
    assert len(written) >= len(TITLES)
    for node in written:
        first, last = node.origin.first_line, node.origin.last_line
        assert first is not None and last is not None
        assert "\n".join(lines[first - 1 : last]).strip() == node.text


def test_scenes_belong_to_their_chapter(tmp_path: Path) -> None:
    file = tmp_path / "novel.txt"
    file.write_text(manuscript(), encoding="utf-8")
    source = open_source(str(file), name="book")
    (unit,) = [source.read(name) for name, _ in source.units()]
    assert [(edge.source, edge.target, edge.type) for edge in unit.edges] == [
        ("book:novel.txt#002", "book:novel.txt#002.01", "contains"),
        ("book:novel.txt#002", "book:novel.txt#002.02", "contains"),
    ]


def test_a_folder_of_texts_does_not_grow_chapters(tmp_path: Path) -> None:
    (tmp_path / "minutes.txt").write_text("The budget was approved. Ann Lee asked for more.", encoding="utf-8")
    (tmp_path / "manual.txt").write_text(
        "\n\n".join(f"Chapter {number}\n\n{'Press the button and wait. ' * 5}" for number in (1, 2)),
        encoding="utf-8",
    )
    assert {node.kind for node in read(tmp_path)[0]} == {"document"}


def test_any_text_is_a_story_when_told_so_and_no_novel_is_one_when_told_not(tmp_path: Path) -> None:
    tale, novel = tmp_path / "tale.txt", tmp_path / "novel.txt"
    tale.write_text("Once there was a king called Aldo.", encoding="utf-8")
    novel.write_text(manuscript(), encoding="utf-8")
    assert [node.kind for node in read(tale, "story")[0]] == ["chapter"]
    assert "chapter" not in {node.kind for node in read(novel, "notes")[0]}


def test_chapters_in_files_of_their_own_are_numbered_by_name(tmp_path: Path) -> None:
    for number, text in enumerate(CHAPTERS, start=1):
        (tmp_path / f"chapter-{number:02d}.txt").write_text(text, encoding="utf-8")
    found = read(tmp_path, "story")[0]
    assert [node.sequence for node in found if node.kind == "chapter"] == [1, 2, 3, 4]


def test_the_volumes_of_one_story_are_numbered_on(tmp_path: Path) -> None:
    for volume in ("1.txt", "2.txt"):
        (tmp_path / volume).write_text(manuscript(2), encoding="utf-8")
    assert [node.sequence for node in read(tmp_path, "story")[0] if node.kind == "chapter"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "books"),
    [
        (("garden.txt", "island.txt"), {"garden": [1, 2], "island": [1, 2]}),
        (("saga/part 1.txt", "saga/part 2.txt"), {"": [1, 1, 2, 2]}),
        (("saga-vol-1.txt", "saga-vol-2.txt", "garden.txt"), {"saga": [1, 1, 2, 2], "garden": [1, 2]}),
        (
            ("garden/Chapter 1.txt", "garden/Chapter 2.txt", "island/Chapter 1.txt"),
            {"garden": [1, 2, 3, 4], "island": [1, 2]},
        ),
        (("Part 1/Chapter 1.txt", "Part 2/Chapter 1.txt"), {"": [1, 2, 3, 4]}),
    ],
)
def test_each_book_of_a_folder_has_its_own_chapters(
    tmp_path: Path, names: tuple[str, ...], books: dict[str, list[int]]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(manuscript(2), encoding="utf-8")
    found: dict[str, list[int]] = {}
    for node in read(tmp_path)[0]:
        if node.kind == "chapter":
            found.setdefault(str(node.fields.get("book", "")), []).append(node.sequence or 0)
    assert {book: sorted(numbers) for book, numbers in found.items()} == books


def test_a_markdown_file_with_chapters_is_a_book_and_one_without_a_note(tmp_path: Path) -> None:
    book, note = tmp_path / "book.md", tmp_path / "note.md"
    parts = (f"# Chapter {number}\n\n{text}" for number, text in enumerate(CHAPTERS, start=1))
    book.write_text("\n".join(parts), encoding="utf-8")
    note.write_text("# Ferries\n\nThey run late.", encoding="utf-8")
    assert [node.sequence for node in read(book)[0] if node.kind == "chapter"] == [1, 2, 3, 4]
    assert [node.kind for node in read(note)[0]] == ["note"]


@pytest.mark.parametrize("name", ["Chapter {}.txt", "Chapter {}.md", "kapitel-{}.txt"])
def test_files_that_are_named_as_chapters_are_one_story(tmp_path: Path, name: str) -> None:
    for number in (1, 2, 10):
        (tmp_path / name.format(number)).write_text(
            "Ann waited for the ferry, and it came late.", encoding="utf-8"
        )
    found = read(tmp_path)[0]
    assert sorted((node.kind, node.sequence) for node in found) == [
        ("chapter", 1),
        ("chapter", 2),
        ("chapter", 10),
    ]


def test_the_chapters_of_a_book_about_code_are_notes(tmp_path: Path) -> None:
    for number, body in enumerate(["What comes.", "Write:\n\n```rust\nlet a = 1;\n```", "Then:\n\n```\nrun\n```"]):
        (tmp_path / f"ch{number:02}-on-values.md").write_text(f"# Values {number}\n\n{body}\n")
    assert [(node.kind, node.title) for node in read(tmp_path)[0]] == [("note", f"Values {n}") for n in range(3)]


def test_a_note_of_a_vault_that_is_named_as_a_chapter_stays_a_note(tmp_path: Path) -> None:
    (tmp_path / "Chapter 1.md").write_text("Ann meets [[Bram]] at the ferry.", encoding="utf-8")
    assert [node.kind for node in read(tmp_path)[0]] == ["note"]


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_older_encodings_of_manuscripts_are_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "book.txt"
    file.write_bytes(manuscript().replace("ferry", "caf\u00e9").encode(encoding, "replace"))
    nodes, problems = read(file)
    assert not problems
    assert "caf\u00e9" in prose(nodes) and {node.kind for node in nodes} >= {"chapter"}


def rtf(place: Path) -> None:
    parts = (
        f"\\pard\\outlinelevel0 {title}\\par\n\\pard {' '.join(text.split())}\\par\n"
        for title, text in zip(TITLES, CHAPTERS, strict=True)
    )
    head = "{\\rtf1\\ansi{\\fonttbl{\\f0 Times;}}{\\*\\generator Pen;}\n"
    place.write_text(head + "".join(parts) + "}", encoding="cp1252", errors="replace")


def odt(place: Path) -> None:
    name = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    parts = (
        f"<t:h>{title}</t:h>" + "".join(f"<t:p>{piece}</t:p>" for piece in text.split("\n\n"))
        for title, text in zip(TITLES, CHAPTERS, strict=True)
    )
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("content.xml", f'<d xmlns:t="{name}">{"".join(parts)}</d>')


def scrivener(place: Path) -> None:
    items = []
    for number, (title, text) in enumerate(zip(TITLES, CHAPTERS, strict=True)):
        folder = place.parent / "Files" / "Data" / str(number)
        folder.mkdir(parents=True)
        body = " ".join(text.split())
        (folder / "content.rtf").write_text(f"{{\\rtf1 {body}\\par}}", encoding="cp1252", errors="replace")
        items.append(f'<BinderItem UUID="{number}" Type="Text"><Title>{title}</Title></BinderItem>')
    binder = f'<BinderItem Type="DraftFolder"><Children>{"".join(items)}</Children></BinderItem>'
    place.write_text(f"<P><Binder>{binder}</Binder></P>", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "make"), [("book.rtf", rtf), ("book.odt", odt), ("Book.scriv/Book.scrivx", scrivener)]
)
def test_what_writing_programs_save_is_read(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    make(place)
    nodes, problems = read(tmp_path)
    assert not problems
    assert [node.sequence for node in nodes if node.kind == "chapter"] == [1, 2, 3, 4]
    assert " ".join(CHAPTERS[0].split())[:200] in prose(nodes)


def test_a_screenplay_has_its_scenes(tmp_path: Path) -> None:
    (tmp_path / "play.fountain").write_text(
        "Title: The Ferry\nAuthor: A. B.\n\nINT. FERRY - DAY\n\nANN\nWe are late. It rains and it rains, "
        "and nobody comes.\n\n[[a note]]\n\nEXT. QUAY - NIGHT\n\nBRAM\nYou are here at last. I waited long.\n",
        encoding="utf-8",
    )
    nodes = read(tmp_path, "story")[0]
    assert [node.title for node in nodes] == ["Int. FERRY - DAY", "Ext. QUAY - NIGHT"]
    assert "a note" not in prose(nodes)


def test_a_screenplay_is_a_story_whose_cues_are_its_speakers(tmp_path: Path) -> None:
    (tmp_path / "play.fountain").write_text(
        "INT. FERRY - DAY\n\nIt rains on the ferry, and nobody comes to the door.\n\nANN (O.S.)\n(softly)\n"
        "We are late.\n\n@McBram\nYou waited.\n\nEXT. QUAY\n\nThe quay is empty until morning, and it rains.\n",
        encoding="utf-8",
    )
    nodes = read(tmp_path)[0]
    assert [node.sequence for node in nodes if node.kind == "chapter"] == [1, 2]
    assert "ANN: We are late." in prose(nodes) and "McBram: You waited." in prose(nodes)


def epub(place: Path) -> None:
    pages = "".join(f'<item id="c{number}" href="c{number}.xhtml"/>' for number in range(4))
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(4))
    package = f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{pages}</manifest><spine>{spine}</spine></package>'
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="text/book.opf"/></rootfiles></container>',
        )
        archive.writestr("text/book.opf", package)
        for number, text in enumerate(CHAPTERS):
            body = "".join(f"<p>{' '.join(part.split())}</p>" for part in text.split("\n\n"))
            head = f"<head><title>no</title></head><h2>Chapter {number + 1}</h2>"
            archive.writestr(f"text/c{number}.xhtml", f"<html>{head}<body>{body}</body></html>")


def docx(place: Path) -> None:
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    parts = []
    for number, text in enumerate(CHAPTERS, start=1):
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        parts.append(f"<w:p>{style}<w:r><w:t>Chapter {number}</w:t></w:r></w:p>")
        parts += [f"<w:p><w:r><w:t>{' '.join(part.split())}</w:t></w:r></w:p>" for part in text.split("\n\n")]
    with zipfile.ZipFile(place, "w") as archive:
        body = f'<w:document xmlns:w="{name}"><w:body>{"".join(parts)}</w:body></w:document>'
        archive.writestr("word/document.xml", body)


@pytest.mark.parametrize(("name", "make"), [("book.epub", epub), ("book.docx", docx)])
def test_e_books_and_word_files_hold_the_same_story(tmp_path: Path, name: str, make: object) -> None:
    assert callable(make)
    make(tmp_path / name)
    nodes, problems = read(tmp_path / name)
    assert problems == []
    assert [node.sequence for node in nodes if node.kind == "chapter"] == [1, 2, 3, 4]
    plain = " ".join(" ".join(text.split()) for text in CHAPTERS).replace("* * * ", "")
    assert prose(nodes) == plain


@pytest.mark.parametrize("name", ["broken.epub", "broken.docx"])
def test_a_damaged_file_is_reported_and_the_rest_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04 not really")
    (tmp_path / "novel.txt").write_text(manuscript(), encoding="utf-8")
    nodes, problems = read(tmp_path)
    assert [problem.where for problem in problems] == [name]
    assert any(node.kind == "chapter" for node in nodes)


def test_a_reading_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Allowed: story, notes, auto"):
        open_source(str(tmp_path), reading="novel")


def test_five_megabytes_without_a_chapter_are_parted(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    paragraph = '"It is late," said Orla Finch, and nobody answered her for a long time that night.\n\n'
    file.write_text(paragraph * 60_000, encoding="utf-8")
    nodes, problems = read(file)
    assert problems == []
    assert max(len(node.text) for node in nodes) < 3_000
