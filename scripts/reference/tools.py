"""Make the reference of the MCP tools from their cards."""

from scripts.reference.markdown import code, head, page, table

from weft.interfaces.mcp.tools import READING, WRITING, ToolCard
from weft.interfaces.request import RequestField


def tools_page() -> str:
    """Return every tool with the description that agents read and all its arguments."""
    lines = head(
        "Tools for agents",
        "Every tool of `weft mcp`, with the description that the model reads. "
        "[The MCP server](../mcp.md) explains how answers look, and how misspelled arguments are read.",
    )
    lines += table(
        ("tool", "title", "writes"),
        (
            (f"[`{card.name}`](#{card.name})", card.title, "yes" if card.writes else "")
            for card in READING + WRITING
        ),
    )
    lines += ["Tools that write are offered only by `weft mcp --write`.", ""]
    for card in READING + WRITING:
        lines += _tool(card)
    return page(lines)


def _tool(card: ToolCard) -> list[str]:
    nature = ["reads only"] if not card.writes else ["writes"]
    nature += ["removes something"] if card.removes else []
    nature += ["the same call twice changes nothing more"] if card.writes and card.repeatable else []
    lines = [f"## {card.name}", "", f"{card.title}: {', '.join(nature)}.", "", f"> {card.description}", ""]
    return [
        *lines,
        *table(("argument", "type", "meaning", "also read as"), (_row(card, each) for each in card.taken)),
    ]


def _row(card: ToolCard, field: RequestField) -> tuple[str, str, str, str]:
    marks = ["required"] if field.name in card.required else []
    marks += ["not in the schema"] if field in card.unlisted else []
    name = code(field.name) + (f" ({', '.join(marks)})" if marks else "")
    meaning = field.help
    if field.choices and not all(choice in meaning for choice in field.choices):
        meaning += f" One of {', '.join(field.choices)}."
    if field.least is not None:
        meaning += f" {field.least} or more." if field.most is None else f" {field.least} to {field.most}."
    return name, field.kind, meaning, ", ".join(code(each) for each in field.aliases)
