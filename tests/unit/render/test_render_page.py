"""Whole pages: their parts add up, every line has a source, and excerpts show where something is left out."""

import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from render_pages import ALL_BLOCKS, FRAME, item, nodes, page_of, printed, styles

from weft.model import Candidate, Detail, Item, ManifestEntry, Node, Origin, Page, PlacedSection
from weft.profiles.types import Block, Frame
from weft.render import (
    FORMATS,
    Format,
    ItemStyle,
    Lines,
    build_manifest,
    join_lines,
    open_format,
    render_lines,
)

NOTE = Node("n:1", "note", title="One", text="first\n\n# second\nthird", origin=Origin("n", "one.md", 5))
STYLES = styles((Block("title"), Block("text")), (Block("bullet"),))


def render(
    page: Page, format: Format, page_styles: dict[str, ItemStyle], frame: Frame
) -> tuple[str, tuple[ManifestEntry, ...]]:
    """The text of a page, and the source of each of its lines."""
    lines = render_lines(page, format, page_styles, frame)
    return join_lines(lines), build_manifest(lines)


def parts_of(page: Page, format: Format, page_styles: dict[str, ItemStyle]) -> Iterator[tuple[Lines, ...]]:
    """The parts of a `page_of` page, asked for one by one as a budget would."""
    items, subjects = page.sections
    (group,) = subjects.groups
    yield format.head(page.title)
    yield format.section(items.name, items.heading, True, FRAME.separator)
    yield from (format.item(placed, page_styles["items"]) for placed in items.items)
    yield format.section_end()
    yield format.section(subjects.name, subjects.heading, False, FRAME.separator)
    yield format.group(group.subject)
    yield format.part(group.parts[0].heading)
    yield from (format.item(placed, page_styles["subjects/told"]) for placed in group.parts[0].items)
    yield from (format.part_end(), format.group_end(), format.section_end())
    yield format.metadata(page.metadata)
    yield from (format.notes(page.notes), format.sources(page.sources), format.footer(page.footer), format.end())


@settings(max_examples=40, deadline=None)
@given(st.lists(nodes(), min_size=1, max_size=2), st.sampled_from(FORMATS), st.sampled_from(list(Detail)[:-1]))
def test_the_text_is_its_parts_joined(known: list[Node], name: str, detail: Detail) -> None:
    page, format = page_of(known, detail), open_format(name)
    page_styles = styles(ALL_BLOCKS, ALL_BLOCKS)
    text, _ = render(page, format, page_styles, FRAME)
    parts = [line for part in parts_of(page, format, page_styles) for line in part]
    assert text == join_lines(format.finish(parts))


@settings(max_examples=40, deadline=None)
@given(st.lists(nodes(), min_size=1, max_size=2), st.sampled_from(FORMATS), st.sampled_from(Detail))
def test_the_manifest_covers_every_line_exactly_once(known: list[Node], name: str, detail: Detail) -> None:
    text, manifest = render(page_of(known, detail), open_format(name), styles(ALL_BLOCKS, ALL_BLOCKS), FRAME)
    covered = [line for entry in manifest for line in range(entry.first_line, entry.last_line + 1)]
    assert covered == list(range(1, len(text.split("\n")) + 1))


@settings(max_examples=60, deadline=None)
@given(nodes(), st.sampled_from(FORMATS), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=4))
def test_verbatim_lines_stand_in_the_text_on_the_line_named(
    known: Node, name: str, spans: list[tuple[int, int]]
) -> None:
    origin, first = known.origin, known.origin.first_line
    base = first if origin.file and first is not None else 1
    stored = known.text.split("\n")
    placed = item(known, Detail.EXCERPT, tuple(spans))
    for lines in open_format(name).item(placed, ItemStyle(ALL_BLOCKS)):
        if lines.verbatim:
            assert lines.key == known.key
            assert lines.source_line is not None
            for number, line in enumerate(lines.text.split("\n"), lines.source_line):
                assert line in stored[number - base]


def test_neighbouring_lines_of_one_source_become_one_range() -> None:
    page = Page("T", (PlacedSection("items", "S", (item(NOTE),)),))
    text, manifest = render(page, open_format("markdown"), STYLES, Frame())
    assert text == "# T\n\n## S\n\n### One\n\nfirst\n\n\\# second\nthird"
    ranges = [(entry.first_line, entry.last_line, entry.key, entry.source_first_line) for entry in manifest]
    assert ranges == [
        (1, 4, None, None),
        (5, 5, "n:1", None),
        (6, 6, None, None),
        (7, 8, "n:1", 5),
        (9, 9, "n:1", 7),
        (10, 10, "n:1", 8),
    ]
    assert [entry.verbatim for entry in manifest] == [False, False, False, True, False, True]


def test_lines_of_different_tenants_are_never_merged() -> None:
    lines = (Lines("a", "k", "one", None, 1, True), Lines("b", "k", "two", None, 2, True))
    assert [entry.tenant for entry in build_manifest(lines)] == ["one", "two"]


def test_source_lines_count_within_the_text_when_the_file_is_not_known() -> None:
    lines = open_format("plain").item(item(Node("k", "note", text="a\nb")), ItemStyle((Block("text"),)))
    assert [(each.text, each.source_line) for each in lines[1:]] == [("a\nb", 1)]


def test_a_form_around_a_text_changes_its_first_and_last_line_only() -> None:
    node = Node("k", "note", text="a\nb\nc")
    lines = open_format("plain").item(item(node), ItemStyle((Block("line", form="<{text}>"),)))
    result = [(each.text, each.source_line, each.verbatim) for each in lines[1:]]
    assert result == [("<a", 1, False), ("b", 2, True), ("c>", 3, False)]


def test_a_bullet_indents_all_lines_but_the_first_and_the_empty_ones() -> None:
    node = Node("k", "note", text="a\n\nb\nc")
    lines = open_format("plain").item(item(node), ItemStyle((Block("bullet"),)))
    assert [(each.text, each.source_line, each.verbatim) for each in lines] == [("- a\n\n  b\n  c", 1, False)]


def test_an_excerpt_marks_what_is_left_out_before_between_and_after() -> None:
    node = Node("k", "note", text="zero\none\ntwo\nthree\nfour")
    excerpt = item(node, Detail.EXCERPT, ((5, 8), (13, 18)))
    assert printed("markdown", excerpt, Block("text")) == "\n[…]\none\n[…]\nthree\n[…]"
    assert printed("plain", excerpt, Block("text")) == "\n[…]\none\n[…]\nthree\n[…]"
    assert printed("xml", excerpt, Block("text")) == (
        '<entity type="note">\n<gap/>\none\n<gap/>\nthree\n<gap/>\n</entity>'
    )
    assert printed("json", excerpt, Block("text")) == (
        ',{"id":"k","name":"k","type":"note","score":0.83,"detail":"excerpt","excerpts":["one","three"]}'
    )


@pytest.mark.parametrize("spans", [((5, 8), (0, 4)), ((0, 5), (3, 8)), ((-3, 99),)])
def test_spans_are_put_in_order_and_joined_over_white_space(spans: tuple[tuple[int, int], ...]) -> None:
    node = Node("k", "note", text="zero\none")
    assert printed("markdown", item(node, Detail.EXCERPT, spans), Block("text")) == "\nzero\none"


def test_a_limited_text_ends_with_a_whole_word_and_a_mark() -> None:
    node = Node("k", "note", text="several words here")
    assert printed("markdown", item(node), Block("bullet", limit=9)) == "- several\n  […]"
    assert printed("markdown", item(node), Block("bullet", limit=13)) == "- several words\n  […]"
    assert printed("markdown", item(node), Block("bullet", limit=99)) == "- several words here"


@pytest.mark.parametrize(
    ("shown", "page"),
    [
        ("He left. She stayed.", "- He left. She stayed."),
        ("She stayed.", "- She stayed."),
        ("She", "- She\n  […]"),
        ("stayed.", "- […]\n  stayed."),
        ("Then", "- Then\n  […]"),
    ],
)
def test_a_quoted_passage_marks_only_sentences_that_are_cut(shown: str, page: str) -> None:
    text = "It rained. He left. She stayed.\n\nThen came night."
    start = text.index(shown)
    node = Node("k", "note", text=text)
    quoted = Item(Candidate(node, window=(0, len(text))), Detail.EXCERPT, ((start, start + len(shown)),))
    assert printed("markdown", quoted, Block("bullet")) == page


def test_a_page_without_a_title_does_not_begin_with_a_blank_line() -> None:
    page = Page("", (PlacedSection("items", "S", (item(NOTE),)),))
    assert render(page, open_format("markdown"), STYLES, Frame())[0].startswith("## S\n\n### One")


def test_a_page_with_nothing_found_is_its_title_and_notes() -> None:
    page = Page("T", (PlacedSection("items", "S"),), ("No matching nodes found.",))
    assert render(page, open_format("markdown"), {}, Frame())[0] == "# T\n\n*Note: No matching nodes found.*"
    assert render(page, open_format("markdown"), {}, Frame(notes=False))[0] == "# T"
    assert render(page, open_format("xml"), {}, Frame())[0] == (
        '<context title="T">\n<note>No matching nodes found.</note>\n</context>'
    )


@pytest.mark.parametrize("name", FORMATS)
def test_printing_the_same_page_twice_gives_the_same_bytes(name: str) -> None:
    page = page_of([NOTE])
    assert render(page, open_format(name), STYLES, FRAME) == render(page, open_format(name), STYLES, FRAME)


def test_the_order_of_fields_in_memory_changes_nothing() -> None:
    one = Node("k", "note", fields={"b": 1, "a": {"y": 1, "x": 2}, "c": [1]})
    other = Node("k", "note", fields={"c": [1], "a": {"x": 2, "y": 1}, "b": 1})
    for name in FORMATS:
        blocks = (Block("fields"), Block("caption", fields=("a",)))
        assert printed(name, item(one), *blocks) == printed(name, item(other), *blocks)


def test_a_workspace_page_reads_as_its_users_know_it() -> None:
    node = Node("r:f", "function", title="load", summary="Loads it.", text="def load(): ...", language="python")
    placed = Item(item(node).candidate, Detail.WHOLE)
    page = Page("", tuple(PlacedSection(name, name.title(), (placed,)) for name in ("code", "other")))
    style = ItemStyle((Block("title"), Block("location"), Block("summary"), Block("code")))
    text, _ = render(page, open_format("markdown"), {"code": style, "other": style}, Frame(separator=True))
    entity = "### load\n*function*\n\nLoads it.\n\n```python\ndef load(): ...\n```"
    assert text == f"## Code\n\n{entity}\n\n---\n\n## Other\n\n{entity}"


def test_a_narrative_page_reads_as_its_users_know_it() -> None:
    ned = Node("v:ned", "character", title="Ned Stark", text="Lord of Winterfell.")
    lines = render_lines(
        page_of([ned]), open_format("markdown"), styles((Block("text"),), (Block("bullet"),)), FRAME
    )
    assert "### Ned Stark (CHARACTER)\n\n**Told:**\n- Lord of Winterfell.\n" in join_lines(lines)


CODE = "def weigh(parcel):\n    grams = 0\n    grams += 1\n    grams += 2\n    return grams"
FUNCTION = Node(
    "k#weigh", "function", title="weigh", text=CODE, language="python", origin=Origin("k", "w.py", 40, 44)
)


def test_a_gap_in_code_tells_the_line_that_follows_it() -> None:
    excerpt = item(FUNCTION, Detail.EXCERPT, ((0, 18), (48, len(CODE))))
    assert printed("markdown", excerpt, Block("code")).split("\n")[1:] == [
        "```python",
        "def weigh(parcel):",
        "[… 43:]",
        "    grams += 2",
        "    return grams",
        "```",
    ]
    assert "[… 43:]" in printed("plain", excerpt, Block("code"))
    assert '<gap line="43"/>' in printed("xml", excerpt, Block("code"))
    assert '"excerpts":["def weigh(parcel):","    grams += 2' in printed("json", excerpt, Block("code"))


def test_lines_behind_a_numbered_gap_keep_their_source() -> None:
    excerpt = item(FUNCTION, Detail.EXCERPT, ((0, 18), (48, len(CODE))))
    lines = open_format("markdown").item(excerpt, ItemStyle((Block("code"),)))
    quoted = [(each.source_line, each.verbatim) for each in lines if each.key and each.source_line]
    assert quoted == [(40, True), (43, True)]


def test_code_cannot_imitate_the_mark_of_a_gap() -> None:
    forged = msgspec.structs.replace(FUNCTION, text="x = 1\n[… 99:]\ny = 2")
    assert "\n\\[… 99:]\n" in printed("markdown", item(forged), Block("code"))


def test_members_are_a_line_each_with_the_source_of_their_own() -> None:
    member = Node(
        "k#Scales.weigh",
        "method",
        title="Scales.weigh",
        fields={"signature": "def weigh(self, parcel)"},
        origin=Origin("k", "w.py", 12, 20),
    )
    scales = Node("k#Scales", "class", title="Scales", text="class Scales:", language="python")
    held = Item(Candidate(scales, members=(member,)), Detail.WHOLE)
    lines = open_format("markdown").item(held, ItemStyle((Block("code"),)))
    (line,) = [each for each in lines if "weigh" in each.text]
    assert (line.text, line.key) == ("[… 12:] def weigh(self, parcel)", "k#Scales.weigh")
    outline = json.loads(open_format("json").item(held, ItemStyle((Block("code"),)))[0].text[1:])["outline"]
    assert outline == [{"title": "Scales.weigh", "line": 12, "signature": "def weigh(self, parcel)"}]
