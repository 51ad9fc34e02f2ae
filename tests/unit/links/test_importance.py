"""Importance from the graph."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from weft.links import compute_importance
from weft.model import Edge, EdgeSet, Node
from weft.ports import Changes, PreparedNode
from weft.scoring.centrality import pagerank
from weft.store.sqlite.store import SqliteStore


def weigh(store: SqliteStore, tenant: str = "default") -> Mapping[tuple[str, str], float]:
    return compute_importance(store.graph(tenant), tenant)


def world(folder: Path, keys: str, pairs: list[str], **fields: object) -> SqliteStore:
    store = SqliteStore.open(folder)
    nodes = [Node(key, "note", fields={"importance": 0.5} if key in fields else {}) for key in keys]
    edges = tuple(Edge(pair[0], pair[1], "mentions") for pair in pairs)
    upserts = tuple(PreparedNode(node, repr(node), (), 0, b"") for node in nodes)
    store.write(Changes(upserts=upserts, edges=(EdgeSet("test", "default", edges),)))
    return store


def test_what_others_point_to_matters_most(tmp_path: Path) -> None:
    ranks = weigh(world(tmp_path, "abcd", ["ad", "bd", "cd", "da"]))
    assert ranks["default", "d"] == 1.0
    assert ranks["default", "d"] > ranks["default", "a"] > ranks["default", "b"] == ranks["default", "c"] > 0


def test_what_others_are_linked_over_matters_though_few_link_to_it(tmp_path: Path) -> None:
    circles = ["ab", "bc", "ca", "ba", "cb", "ac", "de", "ef", "fd", "ed", "fe", "df"]
    ranks = weigh(world(tmp_path, "abcdefg", [*circles, "ag", "gd"]))
    assert ranks["default", "g"] > ranks["default", "b"]
    order = {key: at for at, key in enumerate("abcdefg")}
    source, target = (np.array([order[pair[end]] for pair in [*circles, "ag", "gd"]]) for end in (0, 1))
    rank = pagerank(7, source, target, np.ones(len(source)))
    assert rank[order["g"]] < rank[order["b"]]


def test_the_order_of_insertion_changes_no_digit(tmp_path: Path) -> None:
    pairs = ["ab", "bc", "ca", "ad", "db", "ec", "eb", "be"]
    one = weigh(world(tmp_path / "one", "abcde", pairs))
    two = weigh(world(tmp_path / "two", "edcba", pairs[::-1]))
    assert one == two
    assert all(value == round(value, 6) for value in one.values())


def test_a_given_importance_is_left_alone_and_a_tenant_without_edges_has_none(tmp_path: Path) -> None:
    assert set(weigh(world(tmp_path / "one", "ab", ["ab"], b=True))) == {("default", "a")}
    assert weigh(world(tmp_path / "two", "ab", [])) == {}
    assert weigh(world(tmp_path / "three", "ab", ["ab"]), "elsewhere") == {}


def test_the_shares_of_all_nodes_add_up_to_one() -> None:
    source, target = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 0])
    rank = pagerank(5, source, target, np.array([1.0, 0.5, 1.0, 2.0]))
    assert rank.sum() == pytest.approx(1.0)
