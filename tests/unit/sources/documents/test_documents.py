"""Documents of every format become a document node with its sections, of the kinds that their headings say."""

import sys
from pathlib import Path

import pytest
from document_files import pdf, word
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Weft
from weft.model import Node
from weft.ports import Unit
from weft.sources import open_source
from weft.sources.documents.html import Html
from weft.sources.documents.plain_text import PlainText, RestructuredText
from weft.sources.files import SourceSettings

NAMING = SourceSettings("d", "source:d@1", "default")

RST = """\
.. _handbook:

==========
 Handbook
==========

How the lock is kept.

Opening
=======

Open the upper gate first. See :doc:`gates` and :doc:`the rules <rules/water>`.

Faults
------

Call the keeper.

REQ-7 The gate shall close by itself
====================================

Within nine seconds.
"""
TXT = """\
The Lock Keeper's Memo

1. Before dawn

Wind the clock.

1.1 In winter

Break the ice.

FLOOD ORDERS

Open everything.
"""
HTML = """\
<!doctype html><title>Lock &amp; Co</title><style>p { color: red }</style>
<nav><a href="/elsewhere.html">Menu</a></nav>
<h1>The   lock</h1><p>A lock lifts <b>boats</b>.<br>It is old.
<h2>Features</h2>
<h3>Two gates</h3><ul><li>upper<li>lower</ul>
<pre>if full:
    open()</pre>
<table><tr><th>Gate<th>Width<tr><td>upper<td>4 m</table>
<script>alert("no")</script><p>See <a href="../rules/water.html#top">the rules</a> and <a href="https://x.org/">x</a>.
"""
MARKDOWN = """\
---
tags: [spec]
---
# Lock control

What the control must do. See [[gates]].

## Requirements

### Close in time

Within nine seconds.

## F6.3 Night mode

Lamps dim.

## Notes

Written in March.
"""


def read(folder: Path, **files: str | bytes) -> dict[str, Unit]:
    """The units of a folder with these files."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = open_source(str(folder), name="d")
    return {unit: source.read(unit) for unit, _ in source.units()}


def told(unit: Unit) -> list[tuple[str, str, str]]:
    """The last part of each node's key, its kind and its title."""
    return [(node.key.partition(":")[2], node.kind, node.title) for node in unit.nodes]


def node(unit: Unit, key: str) -> Node:
    return next(each for each in unit.nodes if each.key == key)


def test_restructured_text_becomes_sections_with_the_lines_of_the_file(tmp_path: Path) -> None:
    unit = read(tmp_path, lock_rst=RST)["lock.rst"]
    assert told(unit) == [
        ("lock.rst", "document", "Handbook"),
        ("lock.rst#opening", "section", "Opening"),
        ("lock.rst#faults", "section", "Faults"),
        ("lock.rst#req-7-the-gate-shall-close-by-itself", "requirement", "REQ-7 The gate shall close by itself"),
    ]
    faults = node(unit, "d:lock.rst#faults")
    assert (faults.text, faults.origin.first_line, faults.origin.last_line) == ("Call the keeper.", 17, 17)
    assert RST.splitlines()[16] == "Call the keeper."
    assert faults.fields["within"] == "Handbook › Opening"
    assert [(edge.source, edge.type, edge.target) for edge in unit.edges] == [
        ("d:lock.rst", "contains", "d:lock.rst#opening"),
        ("d:lock.rst#opening", "contains", "d:lock.rst#faults"),
        ("d:lock.rst", "contains", "d:lock.rst#req-7-the-gate-shall-close-by-itself"),
        ("d:lock.rst", "links", "d:gates.rst"),
        ("d:lock.rst", "links", "d:rules/water.rst"),
    ]


def test_labels_above_a_title_are_no_text_of_the_document(tmp_path: Path) -> None:
    unit = read(
        tmp_path, lock_rst=".. _`the lock`:\n\n:orphan:\n\nHandbook\n========\n\nOpen the upper gate first.\n"
    )["lock.rst"]
    assert (unit.nodes[0].text, unit.nodes[0].origin.first_line) == ("Open the upper gate first.", 8)


def test_plain_text_has_numbered_headings_and_headings_in_capitals(tmp_path: Path) -> None:
    unit = read(tmp_path, memo_txt=TXT)["memo.txt"]
    assert told(unit) == [
        ("memo.txt", "document", "memo"),
        ("memo.txt#1.-before-dawn", "section", "1. Before dawn"),
        ("memo.txt#1.1-in-winter", "section", "1.1 In winter"),
        ("memo.txt#flood-orders", "section", "FLOOD ORDERS"),
    ]
    assert node(unit, "d:memo.txt#1.1-in-winter").fields["within"] == "memo › 1. Before dawn"
    assert unit.nodes[0].text == "The Lock Keeper's Memo"


def test_a_text_without_headings_is_one_document(tmp_path: Path) -> None:
    text = "Wind the clock, then\n2. wait for the bell,\nand open.\n\nThen rest."
    unit = read(tmp_path, memo_txt=text)["memo.txt"]
    assert [(each.kind, each.text) for each in unit.nodes] == [("document", text)]


def test_html_is_read_as_a_reader_sees_it(tmp_path: Path) -> None:
    unit = read(tmp_path, guide__lock_html=HTML)["guide/lock.html"]
    assert told(unit) == [
        ("guide/lock.html", "document", "The lock"),
        ("guide/lock.html#features", "section", "Features"),
        ("guide/lock.html#two-gates", "feature", "Two gates"),
    ]
    assert unit.nodes[0].text == "A lock lifts boats. It is old."
    assert unit.nodes[1].summary == "Sections: Two gates."
    assert unit.nodes[2].text == (
        "- upper\n- lower\n\nif full:\n    open()\n\nGate | Width\n\nupper | 4 m\n\nSee the rules and x."
    )
    assert unit.nodes[2].origin.first_line is None
    assert "d:rules/water.html" in [edge.target for edge in unit.edges if edge.type == "links"]


def test_html_in_another_encoding_is_read_as_it_says(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>Schleusenwärter'.encode("iso-8859-1")
    unit = read(tmp_path, a_html=page)["a.html"]
    assert (unit.nodes[0].text, unit.problems) == ("Schleusenwärter", ())


def test_markdown_whose_headings_name_requirements_or_features_becomes_sections(tmp_path: Path) -> None:
    unit = read(tmp_path, spec_md=MARKDOWN)["spec.md"]
    assert told(unit) == [
        ("spec.md", "document", "Lock control"),
        ("spec.md#requirements", "section", "Requirements"),
        ("spec.md#close-in-time", "requirement", "Close in time"),
        ("spec.md#f6.3-night-mode", "feature", "F6.3 Night mode"),
        ("spec.md#notes", "section", "Notes"),
    ]
    assert unit.nodes[0].tags == ("spec",)
    assert (unit.nodes[0].text, unit.nodes[0].origin.first_line) == ("What the control must do. See [[gates]].", 6)
    assert unit.nodes[2].origin.first_line == 12
    assert ("d:spec.md", "links", "d:gates.md") in [(edge.source, edge.type, edge.target) for edge in unit.edges]


def test_other_markdown_stays_one_note(tmp_path: Path) -> None:
    text = "# Diary\n\n## Features of the day\n\nFog.\n\n## Monday\n\nRequirements were met."
    unit = read(tmp_path, diary_md=text)["diary.md"]
    assert [(each.kind, each.text) for each in unit.nodes] == [("note", text)]


def test_a_pdf_follows_its_outline(tmp_path: Path) -> None:
    made = pdf(
        ["Opening\nOpen the upper gate.", "Still opening.\nFaults\nCall the keeper."],
        [("Opening", 0), ("Faults", 1)],
    )
    unit = read(tmp_path, lock_pdf=made)["lock.pdf"]
    assert told(unit) == [
        ("lock.pdf", "document", "lock"),
        ("lock.pdf#opening", "section", "Opening"),
        ("lock.pdf#faults", "section", "Faults"),
    ]
    assert unit.nodes[1].text == "Open the upper gate.\n\nStill opening."
    assert (unit.nodes[2].text, unit.nodes[2].fields["page"]) == ("Call the keeper.", 2)


def test_a_pdf_without_an_outline_has_a_section_for_each_page(tmp_path: Path) -> None:
    unit = read(tmp_path, lock_pdf=pdf(["One.", "Two."]))["lock.pdf"]
    assert [each.title for each in unit.nodes] == ["lock", "lock, page 1", "lock, page 2"]
    assert [each.text for each in unit.nodes[1:]] == ["One.", "Two."]


def test_a_word_document_keeps_its_headings_lists_and_tables(tmp_path: Path) -> None:
    blocks = [
        ("Title", "Lock rules"),
        ("Normal", "For all boats."),
        ("Heading 1", "Feature: two gates"),
        ("List Bullet", "upper"),
        ("List Bullet", "lower"),
    ]
    unit = read(tmp_path, rules_docx=word(blocks, [["Gate", "Width"], ["upper", "4 m"]]))["rules.docx"]
    assert told(unit) == [
        ("rules.docx", "document", "Lock rules"),
        ("rules.docx#feature-two-gates", "feature", "Feature: two gates"),
    ]
    assert unit.nodes[0].text == "For all boats."
    assert unit.nodes[1].text == "- upper\n- lower\n\nGate | Width\nupper | 4 m"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a_pdf", b"%PDF-1.7 cut off", "broken"),
        ("a_pdf", pdf(["Secret."], password="x"), "encrypted"),
        ("a_pdf", pdf([""]), "only pictures"),
        ("a_docx", b"PK\x03\x04 not a zip", "broken"),
        ("a_txt", b"\x00\x01\x02", "binary"),
        ("a_rst", "Grün\n====\n".encode("latin-1"), "Broken UTF-8"),
        ("a_txt", b"x" * 20_000_001, "bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (unit,) = read(tmp_path, **{name: content}).values()
    assert [reason in problem.reason for problem in unit.problems] == [True]
    assert unit.stamp


@pytest.mark.parametrize(("name", "module"), [("a_pdf", "pypdf"), ("a_docx", "docx")])
def test_a_missing_extra_says_what_to_install(
    tmp_path: Path, name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    (unit,) = read(tmp_path, **{name: b"x"}).values()
    assert "pip install 'weft-context[documents]'" in unit.problems[0].reason


def test_a_file_that_vanishes_and_a_link_in_a_circle_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello.")
    (tmp_path / "round").symlink_to(tmp_path)
    source = open_source(str(tmp_path), name="d")
    units = [unit for unit, _ in source.units()]
    assert units == ["a.txt"]
    (tmp_path / "a.txt").unlink()
    unit = source.read("a.txt")
    assert (unit.stamp, len(unit.problems)) == ("", 1)


MARKUP = st.lists(
    st.sampled_from(
        ["<p>", "</p>", "<h1>", "</h2>", "<pre>", "</pre>", "<head>", "<nav>", "</nav>", "<li>", "a b", "<"]
    )
    | st.sampled_from(
        ["&amp;", "<!--", "-->", '<a href="[">', "\n", "====", "1. X", "A\n=\n", "TITLE", "\n\n", "é"]
    )
).map("".join)


@settings(deadline=None)
@given(MARKUP)
def test_any_markup_can_be_read_and_every_section_says_where_it_stands(text: str) -> None:
    for made in (Html, PlainText, RestructuredText):
        document, _ = made(NAMING).parse("x", text.encode())
        assert document is not None
        starts = [heading.start for heading in document.headings]
        assert starts == sorted(starts)
        assert all(heading.start <= heading.body <= len(document.text) for heading in document.headings)
        assert all(heading.title in document.text for heading in document.headings)


@pytest.mark.parametrize("name", ["a b.txt", 'o\'clock "x".rst', "Schleuse-水門.html", "#hash%20.txt"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("Lock\n====\n\nOpen it.", encoding="utf-8")
    source = open_source(str(tmp_path), name="d")
    ((unit, _),) = source.units()
    nodes = source.read(unit).nodes
    assert {node.origin.file for node in nodes} == {name}
    assert nodes[0].key == f"d:{name}"


def test_a_document_that_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lock.rst").write_text(RST, encoding="utf-8")
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        assert weft.index(folder).written == 4
        assert weft.index(folder).units_changed == 0
        (folder / "lock.rst").write_text(RST.replace("Call the keeper.", "Ring the bell."), encoding="utf-8")
        changed = weft.index(folder)
        page = weft.context("What must close by itself?", profile="workspace", max_tokens=500)
    assert changed.written + changed.unchanged == 4
    assert "### REQ-7 The gate shall close by itself\n*lock.rst:" in page.text
