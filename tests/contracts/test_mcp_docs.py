"""docs/mcp.md tells of every tool and every argument, and of none that is gone."""

import re
from pathlib import Path

import orjson
import pytest

from weft.interfaces.mcp.tools import READING, WRITING, ToolCard
from weft.tokens import counter_for

TEXT = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
CARDS = READING + WRITING


def section(name: str) -> str:
    found = re.search(rf"^### {name}\n(.*?)(?=^#|\Z)", TEXT, re.M | re.S)
    return found[1] if found else ""


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_every_argument_of_a_tool_is_described(card: ToolCard) -> None:
    told = section(card.name)
    shared = section("context") if card.name == "explain" else ""
    missing = [each.name for each in card.taken if f"`{each.name}`" not in told + shared]
    assert missing == []


def test_no_tool_is_described_that_is_gone() -> None:
    assert re.findall(r"^### (\w+)$", TEXT, re.M) == [card.name for card in CARDS]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_no_two_arguments_of_a_tool_share_a_name(card: ToolCard) -> None:
    names = [re.sub(r"[^a-z0-9]", "", name) for each in card.parameters for name in (each.name, *each.aliases)]
    assert sorted(names) == sorted(set(names))


def test_the_schemas_of_the_reading_tools_cost_few_tokens() -> None:
    """Every prompt of an agent carries them."""
    count, _ = counter_for("cl100k_base")
    texts = [
        orjson.dumps({"name": card.name, "description": card.description, "inputSchema": card.schema()}).decode()
        for card in READING
    ]
    assert sum(count.count(text) for text in texts) < 2_000
