"""A filter is judged anew after every write."""

from pathlib import Path

from weft import Weft
from weft.model import Filter, Node


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
