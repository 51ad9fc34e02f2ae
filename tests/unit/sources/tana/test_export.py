"""Tana exports become notes with fields, tags and links; machinery and trash stay out; broken ones do no harm."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tana_world import START, doc, export, shared, tagged, workspace, write_export
from weft import Weft
from weft.model import Edge, Node
from weft.ports import Unit
from weft.sources import open_source
from worlds import own_fields


def read(path: Path) -> list[Unit]:
    source = open_source(str(path), name="t")
    return [source.read(name) for name, _ in source.units()]


def nodes(units: list[Unit]) -> dict[str, Node]:
    return {node.key.removeprefix("t:"): node for unit in units for node in unit.nodes}


def edges(units: list[Unit]) -> dict[tuple[str, str, str], Edge]:
    found = [edge for unit in units for edge in unit.edges]
    return {(each.source.removeprefix("t:"), each.type, each.target.removeprefix("t:")): each for each in found}


@pytest.fixture
def units(tmp_path: Path) -> list[Unit]:
    return read(write_export(tmp_path / "export.json", workspace()))


def test_notes_are_nodes_with_the_name_of_their_first_tag_as_kind(units: list[Unit]) -> None:
    found = nodes(units)
    assert {name: found[name].kind for name in ("orchard", "ines", "goal", "task")} == {
        "orchard": "project",
        "ines": "person",
        "goal": "note",
        "task": "supertag",
    }


def test_trash_machinery_and_remains_of_deletions_are_left_out(units: list[Unit]) -> None:
    gone = {"binned", "binned2", "view", "viewing", "saved", "orphan", "wsp", "wsp_STASH", "f-status"}
    assert not gone & nodes(units).keys()
    assert not [name for name in nodes(units) if name.endswith(("-meta", "-tags"))]


def test_names_lose_their_markup_and_keep_what_it_says(units: list[Unit]) -> None:
    found = nodes(units)
    assert found["order"].title == "Order twelve probes & cables"
    assert found["agenda"].title == "Agenda: read Frost alarm specification together"
    assert found["essay"].title == "A letter about Orchard telemetry and cold"


def test_a_long_name_is_the_text_and_its_beginning_the_title(units: list[Unit]) -> None:
    pool = nodes(units)["pool"]
    assert pool.title.endswith("…")
    assert len(pool.title) <= 121
    assert pool.text.startswith("The probes hang at knee height")
    assert pool.text.count("cold air") == 4


def test_fields_hold_values_and_lead_to_the_nodes_among_them(units: list[Unit]) -> None:
    found, drawn = nodes(units), edges(units)
    assert own_fields(found["orchard"]) == {"status": "active", "owner": "Inés Calder"}
    assert own_fields(found["review"]) == {"attendees": ["Inés Calder", "Tove Lind"], "date": "2026-04-02"}
    assert drawn["orchard", "field", "ines"].evidence == "Owner"
    assert ("review", "field", "tove") in drawn


def test_supertags_bring_what_they_extend(units: list[Unit]) -> None:
    found, drawn = nodes(units), edges(units)
    assert found["order"].tags == ("small-errand", "task", "entity")
    assert found["order"].kind == "small-errand"
    assert ("order", "tagged", "errand") in drawn
    assert ("errand", "extends", "task") in drawn
    assert found["order"].fields["done"] is True


def test_parents_references_and_children_that_live_elsewhere_are_edges(units: list[Unit]) -> None:
    drawn = edges(units)
    assert ("orchard", "parent", "goal") in drawn
    assert ("agenda", "references", "frost") in drawn
    assert ("essay", "references", "orchard") in drawn
    assert ("orchard", "references", "tove") in drawn


def test_a_missing_node_is_named_as_missing_and_its_link_waits(units: list[Unit]) -> None:
    assert nodes(units)["lost"].title == "See (missing node)"
    assert ("lost", "references", "nowhere") in edges(units)
    assert ("frost", "references", "gone") in edges(units)


def test_names_that_refer_to_each_other_in_a_circle_end(units: list[Unit]) -> None:
    assert nodes(units)["ring"].title.startswith("Round: Back: Round:")


def test_created_and_modified_are_the_exports(units: list[Unit]) -> None:
    review = nodes(units)["review"]
    assert review.modified is not None
    assert review.created is not None
    assert review.modified.timestamp() * 1000 == START + 86_400_000
    assert (review.modified - review.created).days == 2


def test_a_node_can_be_opened_in_tana(units: list[Unit]) -> None:
    assert nodes(units)["orchard"].origin.url == "https://app.tana.inc/?nodeid=orchard"


def test_the_next_export_rewrites_only_what_changed(tmp_path: Path) -> None:
    path, docs = tmp_path / "export.json", workspace()
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        first = weft.index(write_export(path, docs))
        goal = next(each for each in docs if each["id"] == "goal")
        goal["props"]["name"] = "Know of frost two hours before it comes"
        docs[:] = [each for each in docs if each["id"] != "lost"]
        report = weft.index(write_export(path, docs))
        again = weft.index(write_export(path, docs, indent=None))
    assert first.written > 20
    assert report.written == 1
    assert report.removed == 1
    assert report.units_changed < report.units
    assert (again.units_changed, again.written) == (0, 0)


def test_a_truncated_export_is_told_with_its_line_and_takes_nothing_away(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export.json", workspace())
    with Weft.open(tmp_path / "store", embedder=None) as weft:
        whole = weft.index(path).written
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(lines[:300]), encoding="utf-8")
        report = weft.index(path)
        assert weft.status().nodes == whole
    (problem,) = report.problems
    assert problem.where == "export.json:300"
    assert "not whole" in problem.reason
    assert (report.written, report.removed) == (0, 0)


def test_an_export_without_documents_is_told_as_foreign(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"formatVersion": 1, "editors": [], "lastTxid": 3, "pages": []}', encoding="utf-8")
    problems = [problem for unit in read(path) for problem in unit.problems]
    assert [problem.where for problem in problems] == ["other.json:1"]
    assert "no list `docs`" in problems[0].reason


def test_documents_that_are_none_are_skipped_and_told(tmp_path: Path) -> None:
    path = write_export(tmp_path / "export.json", workspace())
    value = json.loads(path.read_text(encoding="utf-8"))
    value["docs"][3:3] = [7, {"props": {}}, {"id": "odd", "props": {"created": "soon"}, "children": None}]
    path.write_text(json.dumps(value), encoding="utf-8")
    units = read(path)
    assert [each.where for unit in units for each in unit.problems] == [
        "export.json: docs[3]",
        "export.json: docs[4]",
    ]
    assert "orchard" in nodes(units)


def test_a_tree_of_a_hundred_levels_is_read(tmp_path: Path) -> None:
    docs = workspace() + [
        doc(f"level{n}", f"Level {n}", owner=f"level{n - 1}" if n else "home", children=[f"level{n + 1}"])
        for n in range(100)
    ]
    found = nodes(read(write_export(tmp_path / "export.json", docs[::-1])))
    assert "level99" in found


def test_owners_in_a_circle_are_left_out(tmp_path: Path) -> None:
    docs = [*workspace(), doc("x", "X", owner="y"), doc("y", "Y", owner="x")]
    assert not {"x", "y"} & nodes(read(write_export(tmp_path / "export.json", docs))).keys()


def test_supertags_that_extend_each_other_end(tmp_path: Path) -> None:
    docs = workspace()
    docs += tagged(doc("a", "a", owner="wsp_SCHEMA", type="tagDef"), "b")
    docs += tagged(doc("b", "b", owner="wsp_SCHEMA", type="tagDef"), "a")
    docs += tagged(doc("n", "N"), "a")
    assert nodes(read(write_export(tmp_path / "export.json", docs)))["n"].tags == ("a", "b")


def test_an_export_inside_store_data_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"storeData": export(workspace())}), encoding="utf-8")
    assert "orchard" in nodes(read(path))


def test_other_json_files_are_still_records(tmp_path: Path) -> None:
    (tmp_path / "records.json").write_text('[{"key": "a", "text": "a record"}]', encoding="utf-8")
    write_export(tmp_path / "export.json", workspace())
    found = nodes(read(tmp_path))
    assert {"a", "orchard"} <= found.keys()


def test_the_sample_workspace_is_read_without_a_problem() -> None:
    units = read(shared("sample-workspace.json"))
    assert [problem for unit in units for problem in unit.problems] == []
    kinds = Counter(node.kind for node in nodes(units).values())
    assert kinds["chapter"] > 50
    assert kinds["book"] == 3
    assert not [node.title for node in nodes(units).values() if "<span" in node.title]
