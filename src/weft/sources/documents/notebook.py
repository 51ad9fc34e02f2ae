"""Parse Jupyter notebooks: prose as it is written, code in fences, and the first lines of what it printed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import orjson

from weft.ports import Problem
from weft.sources.documents import DocumentFiles, ParsedDocument, title_from_name
from weft.sources.documents.sections import Document, Heading
from weft.sources.files import clean, decode
from weft.text.redact import redact

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MAX_CHARACTERS: Final = 1_000_000
"""Text that is kept of one notebook; those with more hold data between their cells."""
_MAX_CELLS: Final = 20_000
"""Cells that are read of one notebook: people write some hundred, and half a million take minutes."""
_MAX_CELL_CHARACTERS: Final = 50_000
"""Text that is kept of one cell: a longer one is data that was pasted."""
_MAX_OUTPUT_LINES: Final = 5
_MAX_OUTPUT_LINE_CHARACTERS: Final = 200
"""How much of what a cell printed is kept: enough to see what it is, since tables and logs have no end."""
_MAX_SEARCHED_CHARACTERS: Final = 4_000
"""How much of a printed line is searched for secrets before it is cut, so that no half of one remains."""
_HEADING: Final = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_FENCED: Final = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)


class Notebook(DocumentFiles):
    """The notebooks of a source; headings in their prose begin sections."""

    suffixes: ClassVar[frozenset[str]] = frozenset({".ipynb"})
    # Pictures and tables in outputs make notebooks large; they are parsed and dropped.
    max_bytes: ClassVar[int] = 100_000_000

    def shorten(self, content: bytes) -> bytes:
        """Return the notebook without pictures and with the first lines of what it printed only."""
        try:
            notebook = orjson.loads(content.removeprefix(_BYTE_ORDER_MARK))
        except orjson.JSONDecodeError:
            return content
        cells = _find_cells(notebook)
        if cells is None:
            return content
        # One cell more than is read shows that there were more.
        first = cells[: _MAX_CELLS + 1]
        kept = [{**cell, "attachments": {}, "outputs": _shorten_outputs(cell.get("outputs"))} for cell in first]
        short = {"metadata": notebook.get("metadata"), "cells": kept}
        # On lines of their own, as notebooks are saved: secrets are searched for by line.
        return orjson.dumps(short, option=orjson.OPT_INDENT_2)

    def parse(self, name: str, content: bytes) -> ParsedDocument:
        """Return the cells in order as Markdown, with the headings of their prose."""
        try:
            notebook = orjson.loads(content.removeprefix(_BYTE_ORDER_MARK))
        except orjson.JSONDecodeError as error:
            return None, (Problem(name, f"Not a notebook ({error}). Save it again, or remove it."),)
        cells = _find_cells(notebook)
        if cells is None:
            return None, (Problem(name, "The file holds no cells, so it is no notebook. Save it again."),)
        language = _find_language(notebook)
        read = cells[:_MAX_CELLS]
        blocks, problems = _keep_first([block for cell in read for block in _cell_blocks(cell, language)], name)
        if len(cells) > _MAX_CELLS:
            problems += (Problem(name, f"Only the first {_MAX_CELLS:,} cells were read. Split the notebook."),)
        # Decoded again, because JSON may hold lone surrogates that no store can keep.
        text, _ = decode(clean(redact("\n\n".join(blocks)).text).encode("utf-8", "replace"), name)
        headings = tuple(_find_headings(text))
        title = next((heading.title for heading in headings if heading.level == 1), title_from_name(name))
        # Without lines: the text is not made of the lines of the file, which is JSON.
        return Document(title, text, headings, "markdown", None), problems


def _find_cells(notebook: Any) -> Sequence[Mapping[str, Any]] | None:
    """Return the cells of a notebook of any version, or None if it has none."""
    if not isinstance(notebook, Mapping):
        return None
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):
        # Before version 4 a notebook had worksheets, nearly always one.
        cells = [cell for sheet in notebook["worksheets"] if isinstance(sheet, Mapping) for cell in sheet["cells"]]
    return [cell for cell in cells if isinstance(cell, Mapping)] if isinstance(cells, list) else None


def _find_language(notebook: Mapping[str, Any]) -> str:
    info = notebook.get("metadata", {})
    for key, field in (("language_info", "name"), ("kernelspec", "language")):
        named = info.get(key, {}).get(field) if isinstance(info, Mapping) else None
        if isinstance(named, str) and named.isidentifier():
            return named.lower()
    return "python"


def _cell_blocks(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    """Iterate over the text of a cell and the beginning of what it printed."""
    source = _join_lines(cell.get("source", cell.get("input", "")))[:_MAX_CELL_CHARACTERS].strip("\n")
    if not source.strip():
        return
    if cell.get("cell_type") != "code":
        yield source
        return
    yield f"```{language}\n{source}\n```"
    outputs = cell.get("outputs")
    printed = "\n".join(map(_output_text, outputs if isinstance(outputs, list) else ())).strip()
    if printed:
        lines = [line[:_MAX_OUTPUT_LINE_CHARACTERS] for line in printed.split("\n")]
        more = ["…"] if len(lines) > _MAX_OUTPUT_LINES else []
        yield "\n".join(["Output:", "```", *lines[:_MAX_OUTPUT_LINES], *more, "```"])


def _shorten_outputs(outputs: Any) -> list[dict[str, str]]:
    """Return the beginning of what each output printed; an output of other forms prints nothing."""
    short = []
    for output in outputs if isinstance(outputs, list) else ():
        # One line more than is kept shows that there were more.
        lines = _output_text(output).lstrip("\n").split("\n", _MAX_OUTPUT_LINES + 1)[: _MAX_OUTPUT_LINES + 1]
        short.append({"text": "\n".join(line[:_MAX_SEARCHED_CHARACTERS] for line in lines)})
    return short


def _output_text(output: Any) -> str:
    """Return the plain text of an output; pictures and pages have none."""
    if not isinstance(output, Mapping):
        return ""
    data = output.get("data")
    shown = data.get("text/plain", "") if isinstance(data, Mapping) else output.get("text", "")
    return _join_lines(shown) or _join_lines(output.get("evalue", ""))


def _join_lines(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _keep_first(blocks: Sequence[str], name: str) -> tuple[list[str], tuple[Problem, ...]]:
    """Return the blocks that fit, and a problem if there are more."""
    kept: list[str] = []
    size = 0
    for block in blocks:
        size += len(block)
        if size > _MAX_CHARACTERS:
            reason = f"The notebook has more than {_MAX_CHARACTERS:,} characters; the rest is left out. Split it."
            return kept, (Problem(name, reason),)
        kept.append(block)
    return kept, ()


def _find_headings(text: str) -> Iterator[Heading]:
    """Find the headings of the prose; a line of code that begins with `#` is none."""
    fenced = [found.span() for found in _FENCED.finditer(text)]
    for found in _HEADING.finditer(text):
        if not any(start <= found.start() < end for start, end in fenced):
            body = min(found.end() + 1, len(text))
            yield Heading(len(found[1]), found[2], found.start(), body)
