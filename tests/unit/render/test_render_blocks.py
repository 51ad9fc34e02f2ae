"""Every block in every format, and every level of detail."""

import pytest
from render_pages import item, printed

from weft.errors import UnknownName
from weft.model import Detail, Node, Origin
from weft.profiles.types import BLOCKS, Block
from weft.render import FORMATS, ItemStyle, open_format

NED = Node(
    "vault:ned",
    "character",
    id=7,
    title="Ned Stark",
    summary="Lord of Winterfell.",
    text="Eddard Stark is the Lord of Winterfell.\nHe rules the North.",
    fields={
        "goal": "keep the peace",
        "allies": ["Robert", "Howland"],
        "importance": 0.8,
        "lesson": {"what_worked": "honour"},
        "relationships": [{"type": "spouse", "title": "Catelyn"}, {"type": "parent", "title": "Robb"}],
        "images": ["maps/winterfell (old).png", {"ref": "ned.png", "alt": "Portrait [1]"}],
    },
    tags=("north", "stark"),
    origin=Origin("vault", "ned.md", 3),
)
ADD = Node(
    "repo:add",
    "function",
    title="add",
    text="def add(a, b):\n    # sums\n    return a + b\n",
    language="python",
    fields={"signature": "def add(a, b)"},
    origin=Origin("repo", "src/add.py", 10),
)

EXPECTED = {
    Block("title"): (
        "### Ned Stark",
        '<entity name="Ned Stark" type="character">',
        "Ned Stark",
        '"name":"Ned Stark"',
    ),
    Block("title", label="kind"): (
        "### Ned Stark (CHARACTER)",
        '<entity name="Ned Stark" type="character">',
        "Ned Stark (CHARACTER)",
        '"name":"Ned Stark","type":"character"',
    ),
    Block("line", label="Aim", form=": {goal} ({nothing})"): (
        "**Aim**: keep the peace ()",
        "Aim: keep the peace ()",
        "Aim: keep the peace ()",
        '"lines":["Aim: keep the peace ()"]',
    ),
    Block("location"): (
        "*ned.md:3*",
        'file="ned.md" line="3"',
        "[ned.md:3]",
        '"source":{"file":"ned.md","line":3}',
    ),
    Block("summary"): ("Lord of Winterfell.", "Lord of Winterfell.", "Lord of Winterfell.", '"summary":"Lord of '),
    Block("text"): (
        "Eddard Stark is the Lord of Winterfell.\nHe rules",
        "Eddard Stark is the Lord of Winterfell.\nHe rules",
        "Eddard Stark is the Lord of Winterfell.\nHe rules",
        '"text":"Eddard Stark is the Lord of Winterfell.\\nHe rules',
    ),
    Block("code"): (
        "```\nEddard Stark is the Lord of Winterfell.\nHe rules the North.\n```",
        "<code>\nEddard",
        "Eddard",
        '"text":"Eddard',
    ),
    Block("bullet"): (
        "- Eddard Stark is the Lord of Winterfell.\n  He rules the North.",
        "Eddard Stark is the Lord of Winterfell.\nHe rules",
        "- Eddard Stark is the Lord of Winterfell.\n  He rules the North.",
        '"text":"Eddard',
    ),
    Block("fields"): (
        "- **Allies**: Robert, Howland\n- **Goal**: keep the peace\n- **Importance**: 0.8",
        '<field name="Allies">Robert, Howland</field>\n<field name="Goal">keep the peace</field>',
        "- Allies: Robert, Howland\n- Goal: keep the peace\n- Importance: 0.8",
        '"fields":{"allies":["Robert","Howland"],"goal":"keep the peace","importance":0.8}',
    ),
    Block("fields", fields=("lesson.what_worked=Lesson", "missing")): (
        "- **Lesson**: honour",
        '<field name="Lesson">honour</field>',
        "- Lesson: honour",
        '"fields":{"lesson.what_worked":"honour"}',
    ),
    Block("caption", fields=("goal", "importance", "missing")): (
        "*Goal: keep the peace, Importance: 0.8*",
        "<caption>Goal: keep the peace, Importance: 0.8</caption>",
        "Goal: keep the peace, Importance: 0.8",
        '"caption":"Goal: keep the peace, Importance: 0.8"',
    ),
    Block("tags"): (
        "*Tags: north, stark*",
        "<tags>north, stark</tags>",
        "Tags: north, stark",
        '"tags":["north","stark"]',
    ),
    Block("path"): (
        "*via mentions ← atlas*",
        "<path>mentions ← atlas</path>",
        "via mentions ← atlas",
        '"path":[{"from":"atlas"},{"direction":"out","edge":"mentions"',
    ),
    Block("score"): (
        "*score 0.83 = relevance 0.7 + walk 0.13*",
        "<score>0.83 = relevance 0.7 + walk 0.13</score>",
        "score 0.83 = relevance 0.7 + walk 0.13",
        '"parts":{"relevance":0.7,"walk":0.13}',
    ),
    Block("links"): (
        "- SPOUSE → Catelyn\n- PARENT → Robb",
        '<link type="SPOUSE" to="Catelyn" />\n<link type="PARENT" to="Robb" />',
        "- SPOUSE → Catelyn\n- PARENT → Robb",
        '"links":[{"type":"SPOUSE","title":"Catelyn"},{"type":"PARENT","title":"Robb"}]',
    ),
    Block("tree"): (
        "```\nNed Stark\n  ├─ SPOUSE → Catelyn\n  └─ PARENT → Robb\n```",
        "<tree>\nNed Stark\n  ├─ SPOUSE → Catelyn\n  └─ PARENT → Robb\n</tree>",
        "Ned Stark\n  ├─ SPOUSE → Catelyn\n  └─ PARENT → Robb",
        '"tree":[{"type":"SPOUSE","title":"Catelyn"},{"type":"PARENT","title":"Robb"}]',
    ),
    Block("images"): (
        "![winterfell (old).png](maps/winterfell%20%28old%29.png)\n![Portrait \\[1\\]](ned.png)",
        '<image alt="winterfell (old).png" ref="maps/winterfell (old).png" />',
        "Image: Portrait [1] (ned.png)",
        '{"alt":"Portrait [1]","ref":"ned.png"}',
    ),
    Block("handle"): ("[more: vault:ned]", '<more key="vault:ned" />', "[more: vault:ned]", '"id":"vault:ned"'),
}


@pytest.mark.parametrize("block", EXPECTED, ids=lambda block: f"{block.block}-{block.label or len(block.fields)}")
@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_a_block_prints_its_meaning_in_every_format(block: Block, format: str) -> None:
    shown = printed(format, item(NED), block)
    expected = EXPECTED[block][("markdown", "xml", "plain", "json").index(format)]
    assert expected in shown


def test_a_single_picture_needs_no_list() -> None:
    node = Node("vault:ned", "character", fields={"images": "ned.png"})
    assert printed("markdown", item(node), Block("images")).endswith("\n![ned.png](ned.png)")


def test_every_block_of_the_vocabulary_is_covered() -> None:
    assert {block.block for block in EXPECTED} == set(BLOCKS)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", BLOCKS)
def test_no_block_fails_on_a_bare_node(name: str, format: str) -> None:
    bare = open_format(format).item(item(Node("k", "note")), ItemStyle((Block(name),)))
    assert all("\n" not in line.text for line in bare)


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'markdown'.*json, markdown, plain, xml"):
        open_format("markdwon")


@pytest.mark.parametrize(
    ("form", "label", "expected"),
    [
        ("**Memory**: {text}", "", "**Memory**: use tabs"),
        (": {text}", "Memory", "**Memory**: use tabs"),
        ("({axis}, cluster size: {cluster_size}):", "Value", "**Value** (full, cluster size: 4):"),
        ("`{sha:7}` by {author} on {timestamp}", "Commit", "**Commit** `abcdef0` by Bo on 2026-01-01"),
        ("**Experience**: {domain} | {strategy}", "", "**Experience**: debugging | bisect"),
    ],
)
def test_the_lines_of_the_learning_profile_print_exactly(form: str, label: str, expected: str) -> None:
    fields = {
        "axis": "full",
        "cluster_size": 4,
        "sha": "abcdef0123456",
        "author": "Bo",
        "timestamp": "2026-01-01",
        "domain": "debugging",
        "strategy": "bisect",
    }
    node = Node("m", "memory", text="use tabs", fields=fields)
    assert printed("markdown", item(node), Block("line", form=form, label=label)) == f"\n{expected}"


def test_a_line_without_any_of_its_values_is_not_printed() -> None:
    assert printed("markdown", item(Node("m", "memory")), Block("line", form="**Seen**: {place} {text}")) == ""


def test_a_line_carries_a_text_of_several_lines() -> None:
    node = Node("m", "memory", text="one\ntwo", fields={"who": "Bo"})
    shown = printed("markdown", item(node), Block("line", form="**Memory**: {text} ({who})"))
    assert shown == "\n**Memory**: one\ntwo (Bo)"


def test_fields_are_left_out_when_not_asked_for_and_restricted_by_a_lens() -> None:
    assert printed("markdown", item(NED), Block("fields"), fields=False) == ""
    style = ItemStyle((Block("fields"),), fields=("goal",))
    lines = open_format("markdown").item(item(NED), style)
    assert [line.text for line in lines] == ["", "- **Goal**: keep the peace"]


def test_text_of_a_programming_language_is_printed_as_code() -> None:
    shown = printed("markdown", item(ADD), Block("title"), Block("location"), Block("text"))
    code = "```python\ndef add(a, b):\n    # sums\n    return a + b\n```"
    assert shown == f"\n### add\n*src/add.py:10*\n\n{code}"


@pytest.mark.parametrize("language", [None, "en", "de-AT", "markdown", "rst"])
def test_text_that_people_read_is_printed_as_it_reads(language: str | None) -> None:
    node = Node("k", "note", text="The dam is old.", language=language)
    assert printed("markdown", item(node), Block("text")) == "\nThe dam is old."


def test_a_fence_is_longer_than_any_run_of_backticks_inside() -> None:
    node = Node("k", "doc", text="````\nx\n````")
    assert printed("markdown", item(node), Block("code")) == "\n`````\n````\nx\n````\n`````"


def test_plain_puts_name_and_location_on_one_line() -> None:
    assert printed("plain", item(NED), Block("title"), Block("location")) == "\nNed Stark [ned.md:3]"


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("markdown", "- Ned Stark (character, ned.md:3)"),
        ("xml", '<entity name="Ned Stark" type="character" file="ned.md" line="3" />'),
        ("plain", "- Ned Stark (character, ned.md:3)"),
        ("json", ',{"id":"vault:ned","name":"Ned Stark","type":"character","detail":"pointer"}'),
    ],
)
def test_a_pointer_says_name_kind_and_place(format: str, expected: str) -> None:
    assert printed(format, item(NED, Detail.POINTER), *EXPECTED) == expected


@pytest.mark.parametrize("format", FORMATS)
def test_a_pointer_without_a_place_names_the_key(format: str) -> None:
    assert "vault:x" in printed(format, item(Node("vault:x", "note", title="X"), Detail.POINTER))


@pytest.mark.parametrize("format", FORMATS)
def test_one_of_many_in_a_file_is_pointed_to_by_its_key(format: str) -> None:
    file = Origin("export", file="export.json")
    assert "export:b7" in printed(format, item(Node("export:b7", "note", title="X", origin=file), Detail.POINTER))
    alone = Node("vault:people/x.md", "note", title="X", origin=Origin("vault", file="people/x.md"))
    # JSON always has the key, by which programs ask on.
    assert format == "json" or "vault:" not in printed(format, item(alone, Detail.POINTER))


@pytest.mark.parametrize("format", FORMATS)
def test_a_dropped_item_prints_nothing(format: str) -> None:
    assert open_format(format).item(item(NED, Detail.DROPPED), ItemStyle(tuple(EXPECTED))) == ()


def test_a_summary_is_printed_once_even_with_both_blocks() -> None:
    shown = printed("markdown", item(NED, Detail.SUMMARY), Block("title"), Block("summary"), Block("text"))
    assert shown == "\n### Ned Stark\n\nLord of Winterfell."


def test_a_summary_of_code_is_its_signature() -> None:
    shown = printed("markdown", item(ADD, Detail.SUMMARY), Block("title"), Block("code"))
    assert shown == "\n### add\n\n```python\ndef add(a, b)\n```"


def test_a_summary_leaves_lists_out_and_prints_given_spans() -> None:
    summary = item(NED, Detail.SUMMARY, ((0, 12),))
    shown = printed("markdown", summary, Block("text"), Block("fields"), Block("tags"), Block("tree"))
    assert shown == "\nEddard Stark\n[…]"


def test_a_form_names_the_book_of_a_scene_and_leaves_it_out_of_a_note() -> None:
    block = Block("bullet", form="([[{book}, ]]{title}) {text}")
    origin = Origin("s", "books/HardTimes.txt", 5, 9)
    scene = Node("s:books/HardTimes.txt#001.02", "scene", "t", title="Ch. 1", text="It rained.", origin=origin)
    note = Node("s:Chapters/One.md", "chapter", "t", title="One", text="It rained.", origin=origin)
    assert "(HardTimes, Ch. 1) It rained." in printed("markdown", item(scene), block)
    assert "(One) It rained." in printed("markdown", item(note), block)


@pytest.mark.parametrize(
    ("kind", "text", "printed_text"),
    [
        ("note", 'Run:\n\n<div class="a">\n\n    weft\n\n</div>\n\nDone.', "Run:\n\n    weft\n\nDone."),
        ("document", '<p align="center"><br></p>\n<img src="a.png">\nWords.', "Words."),
        ("note", '<img src="a.png" alt="The menu">', '&lt;img src="a.png" alt="The menu">'),
        ("note", "<p>Words</p>", "&lt;p>Words&lt;/p>"),
        ("note", "```html\n<div>\n```", "```html\n<div>\n```"),
        ("note", '<!-- Old headings. -->\n\n<a id="oil"></a>\n\nWords <!-- so -->', "Words &lt;!-- so -->"),
        ("note", "<!-- Never\nclosed", "&lt;!-- Never\nclosed"),
        ("section", ".. _oil-label:\n\nWords.", "Words."),
        ("section", "Words.\n\n.. _oil: https://oil.example", "Words.\n\n.. _oil: https://oil.example"),
        ("document", "(oil-label)=\n\nWords (and so on)=", "Words (and so on)="),
        ("section", "Words.\n\n.. _the next part:\n", "Words."),
        ("message", "<div>\ndoes not close", "&lt;div>\ndoes not close"),
    ],
)
def test_lines_of_layout_alone_are_left_out_of_documents(kind: str, text: str, printed_text: str) -> None:
    assert printed("markdown", item(Node("k", kind, text=text)), Block("text")).strip() == printed_text
