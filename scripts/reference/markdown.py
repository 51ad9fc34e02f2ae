"""Write the parts of Markdown that every reference page has."""

import re
from collections.abc import Iterable, Sequence

MADE = (
    "This page is made from the code by `python -m scripts.reference`, and a test fails while it is not current. "
    "Change the code, not the page."
)


def head(title: str, *paragraphs: str) -> list[str]:
    """Return the beginning of a page: its title, what it is for, and that it is made from the code."""
    return [f"# {title}", "", *(line for each in paragraphs for line in (each, "")), MADE, ""]


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table; nothing where there are no rows."""
    written = [f"| {' | '.join(cell(each) for each in row)} |" for row in rows]
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *written, ""] if written else []


def cell(text: str) -> str:
    """Return a text on one line, with bars that do not end the cell."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


def code(text: str) -> str:
    """Return a text as inline code, also where it contains backticks."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    blank = " " if "`" in text else ""
    return f"{fence}{blank}{text}{blank}{fence}"


def page(lines: Iterable[str]) -> str:
    """Return the lines as a file: one blank line at most between them, one line break at the end."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
