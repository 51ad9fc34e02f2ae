"""A filter is judged once between two writes."""

from pathlib import Path

import pytest

from weft import Weft
from weft.model import Filter, Node
from weft.store.embedded.vectors import VectorGeneration


def test_a_filter_asked_for_again_sees_what_was_written_meanwhile(tmp_path: Path) -> None:
    wanted = Filter(where=(("axis", "full"),))
    with Weft.open(tmp_path / ".weft") as weft:
        for at in range(3):
            weft.put([Node(f"note:{at}", "note", text=f"The broker is slow {at}", fields={"axis": "full"})])
            found = weft.search("a slow broker", match="vector", filter=wanted).candidates
            assert {each.node.key for each in found} == {f"note:{each}" for each in range(at + 1)}
        weft.delete("note:1")
        found = weft.search("a slow broker", match="vector", filter=wanted).candidates
        assert {each.node.key for each in found} == {"note:0", "note:2"}


def test_a_filter_asked_for_again_is_not_worked_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Filter(kinds=("note",), where=(("axis", "full"),))
    with Weft.open(tmp_path / ".weft") as weft:
        weft.put([Node("note:1", "note", text="The broker is slow", fields={"axis": "full"})])
        before = weft.search("a slow broker", match="vector", filter=wanted)
        monkeypatch.setattr(VectorGeneration, "rows", lambda *_: pytest.fail("the rows were known"))
        assert weft.search("a slow broker", match="vector", filter=wanted) == before
