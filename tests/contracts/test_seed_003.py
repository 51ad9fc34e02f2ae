"""The tests that the design of the workspace's context assembly names, and what it says of limits and forms."""

import asyncio
import json
from dataclasses import asdict, fields
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from weft.assemblers import (
    AssembledContext,
    AssemblyOptions,
    ContextSource,
    Entity,
    SearchResult,
    WorkspaceAssembler,
    assemble,
)
from weft.errors import InvalidInput
from weft.model import Candidate, Node, Origin
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
LOAD = "def load(path):\n    with open(path) as file:\n        return parse(file.read())"
RESULTS = (
    SearchResult("c1", Entity("fix: read once", "commit", summary="The file was read twice."), 0.4),
    SearchResult("d1", Entity("Setup", "section", "docs/setup.md", 3, content="Run `make setup` first."), 0.7),
    SearchResult("f1", Entity("load", "function", "src/config.py", 12, None, "Loads the settings.", LOAD), 0.9),
    SearchResult("m1", Entity("Use TOML", "decision", content="We chose TOML for its comments."), 0.5),
)
TITLES = ["Relevant Code", "Related Documentation", "Previous Conversations", "Other Context"]


def assembled(results: Any = RESULTS, question: str = "", **options: Any) -> AssembledContext:
    """The page of some results."""
    return asyncio.run(assemble(results, AssemblyOptions(**options), question=question))


# --- the six tests of the document -----------------------------------------------------------------------


def test_should_assemble_context_from_search_results() -> None:
    page = assembled()
    for result in RESULTS:
        assert result.entity.name in page.context
    assert LOAD in page.context
    assert page.sources[0] == ContextSource("f1", "load", "function", "src/config.py", 12, 0.9)
    assert page.token_count == COUNT.count(page.context)
    assert (page.truncated, page.summary) == (False, None)


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_should_respect_token_budget(format: str) -> None:
    many = [
        SearchResult(
            f"f{n}", Entity(f"step_{n}", "function", f"a/{n}.py", n + 1, content=f"step {n} " * 60), 1 / (n + 1)
        )
        for n in range(30)
    ]
    for budget in (30, 100, 400, 1500):
        page = assembled(many, format=format, max_tokens=budget)
        assert COUNT.count(page.context) == page.token_count <= budget
        assert page.truncated
        assert page.summary is None or str(budget) in page.summary
    assert assembled(many, format=format, max_tokens=1500).token_count > 1350


def test_should_format_as_markdown() -> None:
    entity = f"### load\n*src/config.py:12*\n\nLoads the settings.\n\n```python\n{LOAD}\n```"
    footer = "---\n**Sources:**\n- load (src/config.py:12)\n- Setup (docs/setup.md:3)\n- Use TOML (decision)\n"
    page = assembled().context
    assert page.startswith(f"## Relevant Code\n\n{entity}\n\n---\n\n## Related Documentation\n\n### Setup\n")
    assert page.endswith(f"\n\n{footer}- fix: read once (commit)")


def test_should_format_as_xml() -> None:
    page = ElementTree.fromstring(assembled(format="xml").context)
    assert [section.get("name") for section in page.iter("section")] == TITLES
    first = next(page.iter("entity"))
    assert first.attrib == {"name": "load", "type": "function", "file": "src/config.py", "line": "12"}
    assert next(page.iter("source")).attrib == {"name": "load", "type": "function"}


def test_should_group_by_type() -> None:
    headings = [line[3:] for line in assembled().context.splitlines() if line.startswith("## ")]
    assert headings == TITLES
    flat = assembled(group_by_type=False).context
    assert "## Relevant" not in flat
    assert flat.startswith("### load\n")
    names = [line[4:] for line in flat.splitlines() if line.startswith("### ")]
    assert names == ["load", "Setup", "Use TOML", "fix: read once"]


def test_should_include_sources() -> None:
    many = [
        SearchResult(str(n), Entity(f"note {n}", "document", content=f"about {n} " * n), 0.5) for n in range(14)
    ]
    page = assembled(many)
    assert page.context.count("\n- note ") == 10
    assert len(page.sources) == 14
    assert "**Sources:**" not in assembled(many, include_sources=False).context
    assert assembled(many, include_sources=False).sources == page.sources


# --- the data model and the implementation, sentence by sentence ---------------------------------------------


def test_an_object_with_assemble_gives_the_same_as_the_function() -> None:
    options = AssemblyOptions(max_tokens=300)
    made = asyncio.run(WorkspaceAssembler().assemble(RESULTS, options, question="load"))
    assert made == assembled(max_tokens=300, question="load")


def test_the_records_have_the_documented_fields() -> None:
    names = {record: {each.name for each in fields(record)} for record in (AssembledContext, ContextSource)}
    assert names[AssembledContext] == {"context", "sources", "token_count", "truncated", "summary"}
    assert names[ContextSource] == {"entity_id", "name", "type", "file", "line", "relevance"}
    documented = {"max_tokens", "format", "include_sources", "include_code_content", "group_by_type"}
    assert {each.name for each in fields(AssemblyOptions)} == documented


def test_results_are_sorted_by_relevance_within_their_group() -> None:
    scores = (0.2, 0.9, 0.5)
    results = [
        SearchResult(f"d{score}", Entity(f"at {score}", "document", content=f"Of {score}"), score)
        for score in scores
    ]
    assert [source.relevance for source in assembled(results).sources] == [0.9, 0.5, 0.2]


def test_groups_come_in_the_order_code_documentation_conversation_other() -> None:
    assert [assembled().context.index(title) for title in TITLES] == sorted(
        assembled().context.index(title) for title in TITLES
    )


def test_groups_without_results_have_no_heading() -> None:
    assert [title for title in TITLES if title in assembled(RESULTS[:1]).context] == [TITLES[3]]


def test_groups_are_separated_by_a_rule() -> None:
    assert assembled(include_sources=False).context.count("\n\n---\n\n") == 3


def test_the_location_is_file_and_line_or_file_or_type() -> None:
    places = [("a.py", 3, "*a.py:3*"), ("a.py", None, "*a.py*"), (None, None, "*function*")]
    for file, line, shown in places:
        result = SearchResult("a", Entity("load", "function", file, line, summary="Loads."), 1.0)
        assert f"### load\n{shown}\n\nLoads." in assembled([result]).context


def test_long_code_is_cut_and_says_so() -> None:
    content = "\n".join(f"value_{number} = compute({number})" for number in range(400))
    page = assembled(
        [SearchResult("a", Entity("values", "function", "a.py", 1, content=content), 1.0)], max_tokens=300
    )
    assert page.truncated
    assert "…" in page.context


def test_truncated_is_set_and_the_summary_says_what_was_done_to_fit() -> None:
    results = [
        SearchResult(f"d{n}", Entity(f"n{n}", "document", content=f"Text {n}. " * 90), 1.0) for n in range(9)
    ]
    page = assembled(results, max_tokens=250)
    assert page.truncated
    assert page.summary is not None
    assert "to fit 250 tokens" in page.summary


def test_sources_are_those_of_what_is_on_the_page_only() -> None:
    results = [
        SearchResult(f"d{n}", Entity(f"n{n}", "document", content=f"Text {n}. " * 90), 1.0) for n in range(9)
    ]
    page = assembled(results, max_tokens=120)
    assert 0 < len(page.sources) < 9
    assert all(source.name in page.context for source in page.sources)


def test_the_footer_lists_sources_in_each_format() -> None:
    assert "**Sources:**\n- load (src/config.py:12)" in assembled().context
    assert '<source name="load" type="function" />' in assembled(format="xml").context
    assert "Sources:\n  - load\n" in assembled(format="plain").context


def test_headings_of_groups_are_those_of_each_format() -> None:
    assert "## Relevant Code" in assembled().context
    assert '<section name="Relevant Code">' in assembled(format="xml").context
    assert "=== Relevant Code ===" in assembled(format="plain").context


# --- what else it says, and what it leaves open ----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        *((kind, TITLES[0]) for kind in ("function", "method", "class", "interface", "type", "file", "module")),
        *((kind, TITLES[1]) for kind in ("document", "section", "requirement", "feature")),
        *((kind, TITLES[2]) for kind in ("session", "message", "decision")),
        *((kind, TITLES[3]) for kind in ("commit", "memory", "anything")),
    ],
)
def test_every_type_has_its_group(kind: str, title: str) -> None:
    assert assembled([SearchResult("x", Entity("X", kind, content="y"))]).context.startswith(f"## {title}\n")


@pytest.mark.parametrize(
    ("file", "language"),
    [
        ("a.ts", "typescript"),
        ("a.tsx", "typescript"),
        ("a.js", "javascript"),
        ("a.jsx", "javascript"),
        ("a.py", "python"),
        ("a.go", "go"),
        ("a.rs", "rust"),
        ("a.java", "java"),
        ("a.xyz", "xyz"),
        (None, ""),
    ],
)
def test_code_stands_in_a_fence_of_its_language(file: str | None, language: str) -> None:
    page = assembled([SearchResult("x", Entity("X", "function", file, content="y"))]).context
    assert f"\n```{language}\ny\n```\n" in page


def test_plain_text_names_the_place_or_the_type() -> None:
    lines = assembled(format="plain").context.splitlines()
    assert lines[0] == "=== Relevant Code ==="
    assert "load [src/config.py:12]" in lines
    assert "Use TOML [decision]" in lines
    assert lines[-5:-3] == ["Sources:", "  - load"]


def test_code_is_left_out_when_it_is_not_wanted_and_prose_is_not() -> None:
    page = assembled(include_code_content=False)
    assert "def load" not in page.context
    assert "Loads the settings." in page.context
    assert "Run `make setup` first." in page.context
    assert not page.truncated


def test_code_of_another_kind_is_left_out_with_the_rest_of_the_code() -> None:
    snippet = SearchResult(
        "s1", Entity("Loading", "example", summary="How to.", content=LOAD, language="python"), 1
    )
    page = assembled([snippet], include_code_content=False)
    assert "How to." in page.context
    assert "def load" not in page.context


def test_a_result_without_a_type_is_code_where_its_file_is() -> None:
    result = {"src/a.py": LOAD, "docs/a.md": "How settings are read."}
    found = [{"id": name, "page_content": text, "metadata": {"source": name}} for name, text in result.items()]
    code, documentation = assembled(found).context.split("## Related Documentation")
    assert f"*src/a.py*\n\n```python\n{LOAD}\n```" in code
    assert "*docs/a.md*" in documentation


def test_results_come_in_many_shapes() -> None:
    entity = asdict(RESULTS[2].entity)
    node = Node(
        "f1", "function", title="load", text=LOAD, language="python", origin=Origin("", "src/config.py", 12)
    )
    at = {"name": "load", "type": "function", "file": "src/config.py", "line": 12}
    camel = {"name": "load", "type": "function", "filePath": "src/config.py", "startLine": 12, "content": LOAD}
    shapes: list[object] = [
        RESULTS[2],
        {"entityId": "f1", "entity": camel, "score": 0.9},
        {"entity_id": "f1", "score": 0.9, **entity},
        SimpleNamespace(entity_id="f1", entity=SimpleNamespace(**entity), score=0.9),
        (RESULTS[2], 0.9),
        Candidate(node, score=0.9),
        {"id": "f1", "page_content": LOAD, "metadata": at, "score": "0.9"},
    ]
    for shape in shapes:
        page = assembled([shape])
        assert page.sources == (ContextSource("f1", "load", "function", "src/config.py", 12, 0.9),)
        assert f"```python\n{LOAD}\n```" in page.context


def test_parts_of_one_entity_stay_apart_and_the_same_part_twice_does_not() -> None:
    parts = [
        SearchResult("big", Entity("big", "file", "b.py", at, content=f"line_{at} = {at}"), 0.5) for at in (1, 90)
    ]
    page = assembled([*parts, *parts])
    assert [(source.entity_id, source.line) for source in page.sources] == [("big", 1), ("big", 90)]


def test_scores_of_any_scale_order_the_page_and_come_back_unchanged() -> None:
    names = {"a": -3.5, "b": 12.0, "c": 0.2}
    page = assembled(
        [SearchResult(name, Entity(name, "commit", content=name), score) for name, score in names.items()]
    )
    assert [(source.entity_id, source.relevance) for source in page.sources] == [
        ("b", 12.0),
        ("c", 0.2),
        ("a", -3.5),
    ]


def test_a_long_document_leaves_room_for_code() -> None:
    guide = SearchResult(
        "d", Entity("Guide", "document", "guide.md", content="The beacon is lit at dusk. " * 900), 0.9
    )
    code = [
        SearchResult(
            f"f{n}", Entity(f"light_{n}", "function", f"{n}.py", 1, content=f"def light_{n}():\n    return {n}")
        )
        for n in range(3)
    ]
    page = assembled([guide, *code], question="beacon", max_tokens=500)
    assert all(f"def light_{n}():" in page.context for n in range(3))
    assert page.context.count("lit at dusk") > 10


def test_a_long_content_is_shown_around_what_was_asked() -> None:
    body = "\n".join(f"    value_{n} = compute_{n}(value_{n - 1})" for n in range(1, 400))
    text = f"def enormous(seed):\n{body}\n    raise QuotaExceeded('the quota is used up')\n{body}"
    result = SearchResult(
        "e", Entity("enormous", "function", "e.py", 1, content=text, signature="def enormous(seed)")
    )
    page = assembled([result], "Where is the quota exceeded?", max_tokens=400)
    assert "QuotaExceeded" in page.context
    assert "def enormous(seed):" in page.context
    assert page.truncated
    assert page.summary == "1 of 1 results shown, 1 shortened to fit 400 tokens."


@pytest.mark.parametrize("options", [{"format": "html"}, {"max_tokens": 0}])
def test_options_that_mean_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        assembled(**options)


@pytest.mark.parametrize(
    "broken", [{}, {"id": "x", "name": "x", "score": "high"}, {"id": "x", "name": "x", "score": float("nan")}]
)
def test_a_result_that_cannot_be_used_is_named(broken: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        assembled([broken])


@pytest.mark.parametrize("format", ["markdown", "xml", "plain", "json"])
def test_no_results_give_the_empty_context_of_the_document(format: str) -> None:
    assert assembled([], format=format) == AssembledContext("", (), 0, truncated=False)


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 300, "format": "plain", "include_sources": False},
        {"maxTokens": "300", "format": "plain", "includeSources": "false"},
        AssemblyOptions(max_tokens="300", format="plain", include_sources=False),  # type: ignore[arg-type]
    ],
)
def test_options_may_be_a_mapping_and_numbers_may_be_text(options: Any) -> None:
    expected = assembled(max_tokens=300, format="plain", include_sources=False)
    assert asyncio.run(assemble(RESULTS, options)) == expected


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_tokens": "many"}, "'many'"),
        ({"max_tokens": True}, "True"),
        ({"max_tokens": 2.5}, "2.5"),
        ({"max_tokens": float("inf")}, "inf"),
        ({"maxToken": 300}, "maxToken"),
        ({"groupByType": "perhaps"}, "'perhaps'"),
        (300, "300"),
    ],
)
def test_options_that_cannot_be_read_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        asyncio.run(assemble(RESULTS, options))


@pytest.mark.parametrize("kind", ["document", "function", "commit"])
@pytest.mark.parametrize("format", ["markdown", "xml", "plain"])
def test_an_entity_with_a_long_summary_is_excerpted(kind: str, format: str) -> None:
    summary = " ".join(f"Refund number {number} is paid within ten days." for number in range(80))
    result = SearchResult("a", Entity("Refunds", kind, "a.py", 1, summary=summary), 0.9)
    page = assembled([result], format=format, max_tokens=200)
    assert 120 < page.token_count <= 200
    assert "paid within ten days" in page.context
    assert page.truncated


HOSTILE = st.lists(
    st.sampled_from(
        ("```", "~~~~", "</entity>", "</context>", "<section>", "## Relevant Code", "---", "**Sources:**", "&amp;")
    )
    | st.sampled_from(("=== Other Context ===", "]]>", '"', "x", "\n", "    ", "\x00", "é")),
    max_size=14,
)


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE)
def test_no_content_breaks_out_of_its_place(content: list[str], name: list[str]) -> None:
    entity = Entity("".join(name) or "n", "function", "a.py", 1, content="\n".join(content) or "x")
    results = [SearchResult("x", entity, 1.0), RESULTS[1]]
    tree = ElementTree.fromstring(assembled(results, format="xml").context)
    assert len(list(tree.iter("section"))) == len(list(tree.iter("entity"))) == 2
    json.loads(assembled(results, format="json").context)
    tokens = MarkdownIt().parse(assembled(results).context)
    headings = [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert headings == TITLES[:2]
