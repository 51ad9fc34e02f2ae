"""docs/library.md shows every public member of Weft; test_doc_blocks.py runs its examples."""

import inspect
import re
from pathlib import Path

import pytest

from weft import Weft

TEXT = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
EXAMPLES = "\n".join(re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S))


def members() -> list[str]:
    own = {"reader", "writer", "indexer"}
    return sorted({name for name, _ in inspect.getmembers(Weft) if not name.startswith("_")} | own)


@pytest.mark.parametrize("name", members())
def test_every_public_member_has_an_example(name: str) -> None:
    assert re.search(rf"\b(weft|Weft)\.{name}\b", EXAMPLES), f"docs/library.md has no example of Weft.{name}"


@pytest.mark.parametrize("name", members())
def test_every_public_member_says_what_a_caller_gets(name: str) -> None:
    member = getattr(Weft, name, None)
    assert member is None or inspect.getdoc(member)
