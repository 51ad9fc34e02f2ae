"""One question asked of several kinds is made into a query of the engine once."""

from pathlib import Path

import pytest

from weft import Weft
from weft.model import Filter, Node
from weft.store.embedded.lexical import LexicalGeneration


def test_a_question_asked_of_another_kind_is_not_worked_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node(f"note:{kind}", kind, text="The broker is slow") for kind in ("note", "task")])
        found = weft.search("a slow broker", match="bm25", filter=Filter(kinds=("note",))).candidates
        monkeypatch.setattr(LexicalGeneration, "_term_query", lambda *_: pytest.fail("the terms were known"))
        other = weft.search("a slow broker", match="bm25", filter=Filter(kinds=("task",))).candidates
    assert [each.node.key for each in (*found, *other)] == ["note:note", "note:task"]
