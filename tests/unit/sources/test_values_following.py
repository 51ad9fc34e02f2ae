"""Parts of one text that follow one another."""

from pathlib import Path

import orjson

from weft import Node, Weft
from weft.sources.values import sequence_edges


def test_nodes_of_one_title_are_linked_in_the_order_of_the_sequence() -> None:
    nodes = [Node(f"s:{n}", "note", title="Tale", sequence=n) for n in (3, 1, 2, 7)]
    others = [
        Node("s:x", "note", title="Other", sequence=4),
        Node("s:y", "note", title="Tale"),
        Node("s:z", "note"),
    ]
    assert sorted((edge.source, edge.target, edge.type) for edge in sequence_edges([*nodes, *others])) == [
        ("s:1", "s:2", "next"),
        ("s:2", "s:3", "next"),
    ]


def test_a_numbered_section_gives_a_record_its_place(tmp_path: Path) -> None:
    records = [{"id": f"t{n}", "title": "Tale", "text": f"Part {n}.", "meta": {"section": n}} for n in (1, 2)]
    records.append({"id": "named", "title": "Other", "text": "x", "meta": {"section": "Introduction"}})
    (tmp_path / "tales.jsonl").write_bytes(b"\n".join(map(orjson.dumps, records)))
    with Weft.open(tmp_path / ".weft", embedder=None) as weft:
        weft.index(tmp_path / "tales.jsonl")
        assert [weft.show(key)[0].sequence for key in ("t1", "t2", "named")] == [1, 2, None]
        assert "next" in [edge.type for _, edge in weft.related("t1")]
