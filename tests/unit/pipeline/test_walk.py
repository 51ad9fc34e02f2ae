"""The walk: bounded, in both directions, first visit wins, hubs noted, the same whatever the ids."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from weft.indexing.ingest import IndexingContext, ingest
from weft.model import Candidate, Edge, Node, View
from weft.pipeline.retrieve import find_starts
from weft.pipeline.walk import WalkResult, walk_graph
from weft.profiles.types import Lens
from weft.store import EmbeddedIndex, SqliteStore
from weft.tokens import counter_for
from worlds import MemorySource, random_world

COUNT, _ = counter_for("cl100k_base")
BREADTH = Lens("x", walk="breadth", depth=3)


@contextmanager
def store_of(folder: Path, nodes: Sequence[Node], edges: Sequence[Edge]) -> Iterator[SqliteStore]:
    """A store that holds the nodes, in the order given."""
    store, index = SqliteStore.open(folder / ".weft"), EmbeddedIndex(folder / ".weft" / "derived")
    ingest([MemorySource(nodes, edges)], IndexingContext(store, index, None, COUNT))
    yield store
    index.close()
    store.close()


def walk(store: SqliteStore, lens: Lens, *starts: str) -> WalkResult:
    """Walk with the lens from the named nodes."""
    with store.snapshot(View()) as snapshot:
        return walk_graph(find_starts(starts, snapshot, "probe")[0], lens, snapshot)


def reached(walked: WalkResult) -> dict[str, int]:
    """Distance by key, without the starts."""
    return {each.node.key: each.distance for each in walked.candidates if each.distance}


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[SqliteStore]:
    """a - b - c - d in a row, a shortcut a - c, and a cycle back to a."""
    nodes = [Node(f"world:{name}", "bad" if name == "b" else "good") for name in "abcd"]
    drawn = [("a", "b", "next", 1.0), ("b", "c", "next", 1.0), ("c", "d", "next", 1.0), ("d", "a", "back", 0.5)]
    edges = [Edge(f"world:{one}", f"world:{two}", name, weight) for one, two, name, weight in drawn]
    with store_of(tmp_path, nodes, edges) as store:
        yield store


def test_the_first_visit_wins_and_cycles_end(chain: SqliteStore) -> None:
    assert reached(walk(chain, BREADTH, "a")) == {"world:b": 1, "world:d": 1, "world:c": 2}


def test_direction_and_edge_types_bound_the_walk(chain: SqliteStore) -> None:
    out = Lens("x", walk="breadth", depth=3, direction="out", edges=("next",))
    assert reached(walk(chain, out, "a")) == {"world:b": 1, "world:c": 2, "world:d": 3}
    assert reached(walk(chain, Lens("x", walk="breadth", direction="in", depth=1), "a")) == {"world:d": 1}


def test_kinds_that_are_refused_are_not_walked_through(chain: SqliteStore) -> None:
    lens = Lens("x", walk="breadth", depth=3, kinds=("good",), edges=("next",))
    assert reached(walk(chain, lens, "a")) == {}


def test_an_edge_type_of_weight_nothing_is_not_followed(chain: SqliteStore) -> None:
    lens = Lens("x", walk="breadth", depth=1, edge_weights={"back": 0.0})
    assert reached(walk(chain, lens, "a")) == {"world:b": 1}


def test_the_path_leads_from_the_root_with_types_weights_and_directions(chain: SqliteStore) -> None:
    lens = Lens("x", walk="breadth", depth=2, edges=("back", "next"))
    found = {each.node.key: each for each in walk(chain, lens, "a").candidates}["world:c"]
    assert found.root == "world:a"
    assert [step.key for step in found.path] in (["world:b", "world:c"], ["world:d", "world:c"])
    assert found.probe == "probe"


def test_no_walk_returns_what_was_found_as_it_is(chain: SqliteStore) -> None:
    assert reached(walk(chain, Lens("x", walk="none"), "a")) == {}
    stranger = Candidate(Node("x:1", "hit"))
    with chain.snapshot(View()) as snapshot:
        assert walk_graph([stranger], BREADTH, snapshot).candidates == (stranger,)


def test_a_hub_does_not_flood_and_is_noted(tmp_path: Path) -> None:
    nodes = [Node("world:hub", "hub"), *(Node(f"world:{place:02}", "leaf") for place in range(30))]
    edges = [Edge("world:hub", node.key, "has", 1.0 - place / 100) for place, node in enumerate(nodes[1:])]
    with store_of(tmp_path, nodes, edges) as store:
        walked = walk(store, Lens("x", walk="breadth", depth=1, fan_out=5), "hub")
        assert sorted(reached(walked)) == [f"world:{place:02}" for place in range(5)]
        assert walked.notes == (
            "1 node has more than 5 links (at most 30); "
            "only the strongest 5 of each were followed, and 25 left out.",
        )
        limited = walk(store, Lens("x", walk="breadth", depth=1, fan_out=30, limit=7), "hub")
        assert len(reached(limited)) == 7
        assert limited.notes == ("The walk reached 30 nodes; the 7 nearest were considered.",)


@pytest.mark.parametrize("kind", ["pagerank", "breadth"])
def test_the_walk_is_the_same_whatever_ids_the_store_gave(tmp_path: Path, kind: str) -> None:
    nodes, edges = random_world(5, 60)
    shuffled = list(nodes)
    Random(3).shuffle(shuffled)
    lens = Lens("x", walk="pagerank" if kind == "pagerank" else "breadth", depth=2, fan_out=3, limit=30)
    seen = []
    for name, order in (("one", list(nodes)), ("two", shuffled)):
        with store_of(tmp_path / name, order, edges) as store:
            walked = walk(store, lens, "world:1", "world:2")
            seen.append(
                [(each.node.key, each.parts, [step.key for step in each.path]) for each in walked.candidates]
            )
    assert seen[0] == seen[1]


def test_a_wide_node_can_be_sampled_by_what_its_links_lead_to(tmp_path: Path) -> None:
    nodes = [Node("world:hub", "hub"), *(Node(f"world:{place:02}", "leaf") for place in range(30))]
    edges = [Edge("world:hub", node.key, "has") for node in nodes[1:]]
    with store_of(tmp_path, nodes, edges) as store, store.snapshot(View()) as snapshot:
        ids = {key: snapshot.find([key])[key][0] for key in ("world:29", "world:17", "world:hub")}
        found = [Candidate(node=snapshot.nodes([ids["world:hub"]])[ids["world:hub"]].node)]
        lens = Lens("x", walk="breadth", depth=1, fan_out=2, sample="relevance")
        walked = walk_graph(found, lens, snapshot, lambda _: {ids["world:29"]: 0.9, ids["world:17"]: 0.5})
    assert {each.node.key for each in walked.candidates[1:]} == {"world:29", "world:17"}
    assert "only the most relevant 2 of each were followed, and 28 left out" in walked.notes[0]


def test_the_step_told_is_the_one_the_lens_weighs_most(tmp_path: Path) -> None:
    nodes = [Node("world:a", "note"), Node("world:b", "note")]
    edges = [Edge("world:a", "world:b", "mentions", 1.0), Edge("world:a", "world:b", "links", 0.9)]
    with store_of(tmp_path, nodes, edges) as store:
        walked = walk(store, Lens("x", walk="breadth", depth=1, edge_weights={"mentions": 0.5}), "a")
    assert [step.edge_type for step in walked.candidates[1].path] == ["links"]


def scores(walked: WalkResult) -> dict[str, float]:
    """The walk's score by key."""
    return {each.node.key: each.parts["walk"] for each in walked.candidates}


def test_with_focus_the_walk_begins_mostly_at_the_most_relevant(tmp_path: Path) -> None:
    nodes = [Node(f"world:{name}", "note") for name in ("best", "worse", "near best", "near worse")]
    edges = [Edge("world:best", "world:near best", "links"), Edge("world:worse", "world:near worse", "links")]
    with store_of(tmp_path, nodes, edges) as store, store.snapshot(View()) as snapshot:
        first, second = find_starts(("world:best", "world:worse"), snapshot, "probe")[0]
        found = [replace(first, parts={"relevance": 1.0}), replace(second, parts={"relevance": 0.5})]
        even = scores(walk_graph(found, Lens("x", walk="pagerank"), snapshot))
        sharp = scores(walk_graph(found, Lens("x", walk="pagerank", focus=4.0), snapshot))
    assert even["world:near worse"] == pytest.approx(even["world:near best"] / 2)
    assert sharp["world:near worse"] == pytest.approx(sharp["world:near best"] / 16)


def test_what_only_a_name_speaks_for_starts_no_walk_unless_it_is_named(tmp_path: Path) -> None:
    nodes = [Node("world:scene", "scene"), Node("world:hero", "character"), Node("world:friend", "character")]
    nodes.append(Node("world:footnote", "character", fields={"mentions": 1}))
    edges = [Edge("world:scene", "world:hero", "mentions"), Edge("world:footnote", "world:friend", "co_occurs")]
    lens = Lens("x", walk="pagerank", named_with="mentions")
    with store_of(tmp_path, nodes, edges) as store, store.snapshot(View()) as snapshot:
        found = find_starts(("world:footnote", "world:scene"), snapshot, "probe")[0]
        passed, scene = (replace(each, parts={"relevance": 0.9}) for each in found)
        named = replace(passed, parts={"relevance": 0.9, "named": 1.0})
        assert set(scores(walk_graph([passed, scene], lens, snapshot))) == {
            "world:footnote",
            "world:scene",
            "world:hero",
        }
        assert "world:friend" in scores(walk_graph([named, scene], lens, snapshot))
        assert "world:friend" in scores(walk_graph([passed], lens, snapshot)), "where there is nothing else"


def test_with_specificity_a_walk_steps_less_to_hubs(tmp_path: Path) -> None:
    crowd = [f"world:crowd{number}" for number in range(15)]
    nodes = [Node(key, "note") for key in ("world:start", "world:hub", "world:rare", *crowd)]
    edges = [Edge("world:start", "world:hub", "links"), Edge("world:start", "world:rare", "links")]
    edges += [Edge(key, "world:hub", "links") for key in crowd]
    with store_of(tmp_path, nodes, edges) as store:
        plain = scores(walk(store, Lens("x", walk="pagerank", depth=2), "start"))
        specific = scores(walk(store, Lens("x", walk="pagerank", depth=2, specificity=0.5), "start"))
    assert plain["world:hub"] >= plain["world:rare"]
    assert specific["world:rare"] > 3 * specific["world:hub"]
