"""What is remembered of what was asked last."""

from pathlib import Path

from weft import Weft
from weft.model import Filter, Node
from weft.store.recent import Recent


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    kept = Recent[str, int](2)
    kept.put("one", 1)
    kept.put("two", 2)
    assert kept.get("one") == 1
    kept.put("three", 3)
    assert (kept.get("one"), kept.get("two"), kept.get("three")) == (1, None, 3)


def test_everything_can_be_forgotten() -> None:
    kept = Recent[str, int](2)
    assert kept.put("one", 1) == 1
    kept.clear()
    assert kept.get("one") is None


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
