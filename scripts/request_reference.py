"""Write docs/request.md, the reference of a request's fields, from the rows of interfaces/request.py.

python scripts/request_reference.py
"""

from collections.abc import Sequence
from pathlib import Path

from weft.interfaces.request import CONTEXT_FIELDS, SEARCH_FIELDS, RequestField

PAGE = Path(__file__).parents[1] / "docs" / "request.md"

_HEAD = """---
description: "Every field that a question may have, with its type, limits and default, alike in all interfaces."
---
# The fields of a request

Every interface takes the same fields under the same names; this page is made from their one description in
`src/weft/interfaces/request.py` by `python scripts/request_reference.py`. A dash means that the interface does not
take the field: the service has its own `query`, `max_depth`, `max_tokens`, `token_model` and `filter`
([rest.md](rest.md)), and an MCP server is bound to its tenants when it is started.
"""


def reference(context_fields: Sequence[RequestField] = CONTEXT_FIELDS) -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for title, fields in (("A page (`context`)", context_fields), ("A search (`search`)", SEARCH_FIELDS)):
        parts += [f"## {title}", "", "| field | command line | MCP | REST | meaning |", "|---|---|---|---|---|"]
        parts += [_row(field) for field in fields]
        parts.append("")
    return "\n".join(parts)


def _row(field: RequestField) -> str:
    shown = {
        "cli": field.metavar if field.kind == "words" else field.option or f"--{field.name.replace('_', '-')}",
        "mcp": field.name,
        "rest": field.name,
    }
    cells = [f"`{name}`" if face in field.interfaces else "–" for face, name in shown.items()]
    meaning = field.help
    if field.choices and not all(choice in meaning for choice in field.choices):
        meaning += f" One of {', '.join(field.choices)}."
    if field.least is not None:
        meaning += f" {field.least} or more." if field.most is None else f" {field.least} to {field.most}."
    return f"| {field.name} | {' | '.join(cells)} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
