"""A notebook is read as its prose and its code in order; what it printed is cut to a few lines."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from weft.model import Node
from weft.ports import Unit
from weft.sources import open_source

_MAX_COPIES = 5
"""How often the content may be held at once: as bytes, by the parser and as values."""


def cell(kind: str, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": list(outputs)}


def read(folder: Path, content: object, name: str = "a.ipynb") -> tuple[dict[str, Node], Unit]:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    unit = open_source(str(folder), name="s", file_times=False).read(name)
    return {node.key.removeprefix("s:"): node for node in unit.nodes}, unit


def test_prose_makes_sections_and_code_stands_in_fences_in_order(tmp_path: Path) -> None:
    cells = [
        cell("markdown", "# Sales\nWhat was sold."),
        cell("code", "# load it\nimport pandas\n", {"output_type": "stream", "text": ["loaded\n"]}),
        cell("markdown", "## Result\nMore than before."),
        cell("code", "total()", {"data": {"text/plain": "42", "image/png": "AAAA"}}),
        cell("code", ""),
    ]
    nodes, unit = read(tmp_path, {"cells": cells, "metadata": {"language_info": {"name": "python"}}})
    assert [(key, node.kind, node.title) for key, node in nodes.items()] == [
        ("a.ipynb", "document", "Sales"),
        ("a.ipynb#result", "section", "Result"),
    ]
    assert nodes["a.ipynb"].text == (
        "What was sold.\n\n```python\n# load it\nimport pandas\n```\n\nOutput:\n```\nloaded\n```"
    )
    assert nodes["a.ipynb#result"].text == "More than before.\n\n```python\ntotal()\n```\n\nOutput:\n```\n42\n```"
    assert (unit.problems, nodes["a.ipynb"].origin.file) == ((), "a.ipynb")


def test_outputs_are_cut_and_pictures_left_out(tmp_path: Path) -> None:
    printed = {"output_type": "stream", "text": [f"line {number} {'x' * 1000}\n" for number in range(1000)]}
    picture = {"data": {"image/png": "A" * 5_000_000}}
    nodes, _ = read(tmp_path, {"cells": [cell("code", "run()", printed, picture)]})
    text = nodes["a.ipynb"].text
    assert "line 4" in text and "line 5" not in text and "AAAA" not in text
    assert len(text) < 2_000


def test_a_notebook_of_fifty_megabytes_of_output_is_read_in_a_few_copies_of_it(tmp_path: Path) -> None:
    # A letter outside the base plane makes Python hold a text of the whole file in four bytes a character.
    picture = "iVBORw0KGgoAAAANSUhEUgAA" * 2_200_000
    size = len(json.dumps(picture))
    content = {"cells": [cell("markdown", "# Plot 🙂"), cell("code", "plot()", {"data": {"image/png": picture}})]}
    (tmp_path / "a.ipynb").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    del picture, content
    # In a process of its own, whose highest use of memory is that of this file.
    source = f"""
import resource
from weft.sources import open_source
source = open_source({str(tmp_path)!r}, name="s", file_times=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit = source.read("a.ipynb")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, [node.text for node in unit.nodes])
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    grown, _, texts = done.stdout.partition(" ")
    assert texts.strip() == str(["```python\nplot()\n```"])
    # In kilobytes on Linux, in bytes on macOS.
    assert int(grown) * (1 if sys.platform == "darwin" else 1024) < _MAX_COPIES * size


def test_a_secret_on_the_border_of_what_is_kept_of_a_line_leaves_no_half(tmp_path: Path) -> None:
    printed = {"output_type": "stream", "text": "x" * 190 + " ghp_" + "aB3dE6gH9j" * 4 + "\n"}
    nodes, unit = read(tmp_path, {"cells": [cell("code", "run()", printed)]})
    assert "ghp_" not in nodes["a.ipynb"].text
    assert unit.redacted == 1


def test_a_huge_notebook_is_kept_in_part_with_a_problem(tmp_path: Path) -> None:
    cells = [cell("markdown", f"Cell {number}. " + "word " * 20_000) for number in range(60)]
    nodes, unit = read(tmp_path, {"cells": cells})
    assert len(nodes["a.ipynb"].text) <= 1_000_200
    assert "more than 1,000,000 characters" in unit.problems[0].reason


def test_secrets_in_cells_are_redacted(tmp_path: Path) -> None:
    nodes, _ = read(tmp_path, {"cells": [cell("code", "password = 'hunter2hunter2'")]})
    assert "hunter2" not in nodes["a.ipynb"].text


def test_notebooks_of_version_3_are_read(tmp_path: Path) -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "go()", "outputs": []}]}]}
    nodes, _ = read(tmp_path, old)
    assert nodes["a.ipynb"].text == "```python\ngo()\n```"


def test_what_is_no_notebook_is_a_problem_and_an_empty_one_is_skipped(tmp_path: Path) -> None:
    for content in ("{", "[1]", '{"cells": 3}', '{"cells": [], "metadata": 4, "x": "\\ud800"}'):
        _, unit = read(tmp_path, content)
        assert unit.nodes == () and (unit.problems or unit.skipped == "empty")
