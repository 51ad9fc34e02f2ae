"""The worlds in examples/ read cleanly: no problems, no edge that leads nowhere."""

from collections import Counter
from pathlib import Path

import pytest

from weft.model import Edge, Node
from weft.sources import open_source

EXAMPLES = Path(__file__).parents[3] / "examples"


def read(world: str) -> tuple[list[Node], list[Edge]]:
    source = open_source(str(EXAMPLES / world), file_times=False)
    units = [source.read(name) for name, _ in list(source.units())]
    assert [problem for unit in units for problem in unit.problems] == []
    return [node for unit in units for node in unit.nodes], [edge for unit in units for edge in unit.edges]


@pytest.mark.parametrize("world", ["novel", "helpdesk", "repo"])
def test_every_edge_of_an_example_leads_to_a_node(world: str) -> None:
    nodes, edges = read(world)
    places = {(node.tenant, node.key) for node in nodes}
    assert len(places) == len(nodes)
    assert [edge for edge in edges if (edge.tenant, edge.source) not in places] == []
    assert [edge for edge in edges if (edge.target_tenant or edge.tenant, edge.target) not in places] == []


def test_the_novel_has_six_chapters_and_every_note_a_place_in_the_story() -> None:
    nodes, _ = read("novel")
    assert sorted(node.sequence for node in nodes if node.sequence) == [1, 2, 3, 4, 5, 6]
    assert all(node.sequence or node.known_from for node in nodes)
    assert all(250 <= len(node.text.split()) <= 400 for node in nodes if node.kind == "chapter")


def test_the_help_desk_has_every_kind_and_tenant() -> None:
    nodes, edges = read("helpdesk")
    assert {node.tenant for node in nodes} == {"purchasing", "support", "analytics", "finance", "shared"}
    kinds = {"faq", "playbook", "permission_rule", "concept", "schema_index", "schema_field", "example", "entity"}
    assert {node.kind for node in nodes} == kinds
    assert {edge.type for edge in edges} == {"related", "parent", "example_of"}
    assert all(node.fields["related_schemas"] for node in nodes if node.kind == "entity")


def test_the_repository_has_what_its_people_remember() -> None:
    nodes, _ = read("repo")
    assert Counter(node.kind for node in nodes) == {
        "experience": 28,
        "commit": 47,
        "memory": 26,
        "value": 10,
        "note": 28,
        "file": 27,
        "class": 15,
        "function": 71,
        "method": 26,
        "config": 4,
    }
    axes = {node.fields["axis"] for node in nodes if node.kind == "experience"}
    assert axes == {"full", "surprise", "root_cause", "strategy"}
