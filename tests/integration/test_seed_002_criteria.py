"""The success criteria of the context assembler for notes, each quoted above the test that shows it.

Asked as its users do: by the command and by the tool for agents, over a Tana store, with no profile named.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Cli
from mcp_calls import call, server, text, within
from msgspec.structs import replace

from tana_world import doc, workspace, write_export
from weft import Weft
from weft.model import Candidate, Node
from weft.pipeline.score import score
from weft.tokens import counter_for

NOW = "2026-10-01T00:00:00+00:00"
LENSES = ("general", "writing", "coding", "planning", "meeting-prep")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("criteria")
    docs = workspace()
    docs.append(doc("soc", "SOC Defender", children=[f"watch{number}" for number in range(40)]))
    words = "The alarm of the night shift was looked into and closed by hand. " * 9
    docs += [doc(f"watch{number}", f"Watch {number}. {words}", owner="soc") for number in range(40)]
    with Weft.open(folder / "store") as weft:
        weft.index(write_export(folder / "export.json", docs), source="t")
    return folder / "store"


@pytest.fixture
def printed(store: Path, cli: Cli) -> Any:
    def run(*words: str) -> str:
        result = cli("context", *words, "--now", NOW, "--store", str(store))
        assert result.code == 0
        return str(result.out)

    return run


def test_context_soc_defender_returns_a_structured_context_document(printed: Any) -> None:
    """`supertag context "SOC Defender"` returns a structured context document."""
    page = printed("SOC Defender")
    assert page.startswith("# Context: SOC Defender\n\n### SOC Defender\n*https://app.tana.inc/?nodeid=soc*\n")
    assert re.search(r"\n- Watch \d+\. The alarm of the night shift", page)


def test_depth_3_and_max_tokens_8000_are_both_respected(store: Path, printed: Any) -> None:
    """`supertag context <node-id> --depth 3 --max-tokens 8000` respects both parameters."""
    page = printed("t:soc", "--depth", "3", "--max-tokens", "8000")
    assert 4_000 < counter_for("cl100k_base")[0].count(page) <= 8_000
    with Weft.open(store) as weft:
        context = weft.context("t:agenda", depth=3, max_tokens=8000)
    assert max(entry.distance for entry in context.ledger) == 3


@pytest.mark.parametrize("budget", [300, 500, 1000, 2000, 4000])
@pytest.mark.parametrize("format", ["markdown", "json", "xml", "plain"])
def test_the_token_count_of_the_output_does_not_exceed_max_tokens(printed: Any, budget: int, format: str) -> None:
    """Token count of output does not exceed --max-tokens by more than 10%: here by nothing at all."""
    page = printed("SOC Defender", "--max-tokens", str(budget), "--format", format)
    assert counter_for("cl100k_base")[0].count(page.rstrip("\n")) <= budget


def test_context_meeting_with_the_lens_meeting_prep_uses_that_traversal_pattern(store: Path) -> None:
    """`supertag context "meeting" --lens meeting-prep` uses the meeting-prep traversal pattern."""
    with Weft.open(store) as weft:
        context = weft.context("review", lens="meeting-prep")
    people = [entry for entry in context.ledger if entry.kind == "person"]
    assert people
    assert all(entry.parts["raised"] > 1 for entry in people)


@pytest.mark.parametrize("lens", LENSES)
@pytest.mark.parametrize("topic", ["t:orchard", "SOC Defender", "when will there be frost in the orchard"])
def test_the_tool_tana_context_returns_content_identical_to_the_command(
    store: Path, printed: Any, topic: str, lens: str
) -> None:
    """`tana_context` MCP tool returns identical content to CLI."""
    served = server(store=str(store))
    answered = call(served, "tana_context", topic=topic, lens=lens, now=NOW)
    assert text(answered) + "\n" == printed(topic, "--lens", lens)


def test_the_tool_takes_the_capabilities_of_the_command(store: Path) -> None:
    """MCP tool `tana_context` with same capabilities."""
    tools = within(server(store=str(store)), lambda client: client.list_tools()).tools
    (tool,) = [tool for tool in tools if tool.name == "tana_context"]
    assert {"topic", "max_tokens", "lens", "format"} <= set(tool.input_schema["properties"])
    asked = {"topic": "t:orchard", "depth": 1, "include_fields": False, "now": NOW}
    page = text(call(server(store=str(store)), "tana_context", **asked))
    assert "**Status**" not in page


def test_the_context_includes_field_values_for_traversed_nodes_when_include_fields_is_set(printed: Any) -> None:
    """Context includes field values for traversed nodes when --include-fields is set."""
    assert "**Attendees**: Inés Calder, Tove Lind" in printed("t:goal", "--include-fields")
    assert "**Attendees**" not in printed("t:goal", "--no-include-fields")


def test_relevance_scoring_puts_directly_connected_nodes_higher_than_2_hop_connections(store: Path) -> None:
    """Relevance scoring puts directly connected nodes higher than 2-hop connections, other parts being equal."""
    near = Candidate(Node("t:z", "note"), parts={"semantic": 0.4}, distance=1)
    far = replace(near, node=Node("t:a", "note"), distance=2)
    with Weft.open(store) as weft:
        profile = weft.profile("notes")
        for absent in (frozenset[str](), frozenset({"semantic"})):
            ranked = score([far, near], profile.score, profile.lenses[0], None, absent)  # type: ignore[arg-type]
            assert [each.node.key for each in ranked] == ["t:z", "t:a"]
        ledger = weft.context("t:orchard").ledger
    found = {entry.key: entry for entry in ledger if entry.kind == "note" and not entry.parts.get("lexical")}
    one = [entry.score for entry in found.values() if entry.distance == 1]
    two = [entry.score for entry in found.values() if entry.distance == 2]
    assert min(one, default=1.0) > max(two, default=0.0)
