"""Check what every store must do with nodes, names and its own books, whichever engine is below.

Import all of it into a test module, beside the fixtures of `weft.testing` and an `open_store` of your own.
"""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from weft.errors import InvalidInput
from weft.model import Alias, AliasSet, Edge, EdgeSet, Node, Origin, View
from weft.ports import Changes, NameRow, Store
from weft.testing.store_worlds import id_of, passage, prepared, write_nodes

# --- nodes ---------------------------------------------------------------------------------------------


def test_a_node_comes_back_as_it_was_written(store: Store) -> None:
    node = Node(
        key="notes:a/Straße ☃.md",
        kind="memory",
        title="Ünï\u0000code 漢字 🧵",
        summary="short",
        text="line\r\nwith \u2028 odd \x0b characters",
        language="de",
        fields={"b": [1, 2.5, None, {"x": True}], "a": "ä"},
        tags=("two", "one"),
        aliases=(Alias("Other", "notes@1", 0.5),),
        origin=Origin("notes", "a.md", 3, 9, "https://example.org", "abc"),
        sequence=4,
        known_from=2,
        created=datetime(2024, 2, 29, 12, 30, 1, 7, tzinfo=UTC),
        modified=datetime(1850, 1, 1, tzinfo=UTC),
        importance=0.25,
    )
    given_node = prepared("notes:x")
    write_nodes(store, type(given_node)(node, "h", (passage([5, 9]),), 12, b"\x00\xff", "u"))
    with store.snapshot(View()) as snapshot:
        (node_id,) = snapshot.find([node.key])[node.key]
        row = snapshot.nodes([node_id])[node_id]
    assert row.node == Node(
        **{name: getattr(node, name) for name in Node.__struct_fields__ if name != "id"}, id=node_id
    )
    assert (row.text_tokens, row.sketch) == (12, b"\x00\xff")


def test_names_come_with_all_that_linking_asks_of_them(store: Store) -> None:
    given = Alias("Other", "notes@1", 0.5)
    write_nodes(store, prepared("code:a", title="parse", language="python", aliases=(given,)), prepared("code:b"))
    rows = list(store.names("default"))
    assert rows == [NameRow("default", "code:a", "parse", (given,), "python"), NameRow("default", "code:b", "")]


def test_names_made_of_the_words_asked_for_are_all_there(store: Store) -> None:
    titles = [
        "Red Herring",
        "red",
        "Red-Letter Day",
        "“Red” Letter",
        "Mercury (planet)",
        "赤い本",
        "Blue",
        "#red day",
    ]
    write_nodes(store, *(prepared(f"n:{number}", title=title) for number, title in enumerate(titles)))
    rows = store.names("default", {"red", "herring", "letter", "day", "mercury", "赤"})
    assert {row.title for row in rows} >= set(titles) - {"Blue"}
    assert {row.title for row in store.names("default", ())} >= {"“Red” Letter", "赤い本"}
    assert list(store.names("elsewhere", {"red"})) == []


def test_long_names_and_the_aliases_of_a_node_are_found_by_their_words(store: Store) -> None:
    long = " ".join(["red"] * 200)
    given = Alias("Herring", "notes@1", 0.5)
    write_nodes(
        store, prepared("n:1", title=long), prepared("n:2", title="x" * 300), prepared("n:3", aliases=(given,))
    )
    assert {row.key for row in store.names("default", {"red", "herring", "x" * 300})} >= {"n:1", "n:2", "n:3"}


def test_the_graph_of_a_tenant_has_each_of_its_links_once(store: Store) -> None:
    """Two nodes have more neighbours than their lists hold, and are linked with each other."""
    leaves = [f"n:leaf{number}" for number in range(300)]
    own = {"importance": 0.5}
    nodes = (*("n:hub", "n:other"), *leaves)
    write_nodes(store, *(prepared(key, fields=own if key == "n:leaf0" else {}) for key in nodes))
    store.write(Changes(upserts=(prepared("n:hub", tenant="second"),)))
    drawn = [
        *(Edge(leaf, "n:hub", "calls", weight=0.5) for leaf in leaves),
        *(Edge("n:other", leaf, "calls", weight=0.25) for leaf in leaves),
        Edge("n:hub", "n:other", "calls", weight=2.0),
        Edge("n:other", "n:hub", "mentions", weight=0.1),
        Edge("n:hub", "n:hub", "mentions"),
        Edge("n:hub", "n:nowhere", "mentions"),
        Edge("n:hub", "n:hub", "calls", target_tenant="second"),
    ]
    store.share("default", ("second",))
    store.write(Changes(edges=(EdgeSet("test", "default", tuple(drawn)),)))
    graph = store.graph("default")
    links = zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True)
    found = sorted((graph.keys[source], graph.keys[target], round(weight, 6)) for source, target, weight in links)
    assert found == sorted((edge.source, edge.target, edge.weight) for edge in drawn[:-2])
    assert {key for key, is_own in zip(graph.keys, graph.has_own, strict=True) if is_own} == {"n:leaf0"}
    assert store.graph("elsewhere").keys == []


def test_times_are_kept_as_the_same_moment_in_utc(store: Store) -> None:
    local = datetime(2024, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    write_nodes(store, prepared("notes:a", created=local, modified=datetime(2024, 1, 1)))  # noqa: DTZ001
    node_id = id_of(store, "notes:a")
    with store.snapshot(View()) as snapshot:
        node = snapshot.nodes([node_id])[node_id].node
    assert node.created == datetime(2023, 12, 31, 23, 0, tzinfo=UTC)
    assert node.modified == datetime(2024, 1, 1, tzinfo=UTC)


def test_nodes_come_in_the_order_asked_and_unknown_ids_are_absent(store: Store) -> None:
    write_nodes(store, prepared("notes:a"), prepared("notes:b"))
    first, second = id_of(store, "notes:a"), id_of(store, "notes:b")
    with store.snapshot(View()) as snapshot:
        assert list(snapshot.nodes([second, 999, first])) == [second, first]
        assert snapshot.nodes([]) == {}


def test_an_upsert_keeps_the_id_and_replaces_the_passages(store: Store) -> None:
    write_nodes(store, prepared("notes:a", passage([1]), passage([2], 1), text="old"))
    node_id = id_of(store, "notes:a")
    with store.snapshot(View()) as snapshot:
        old = [row.id for row in snapshot.passages_of_nodes([node_id])]
    write_nodes(store, prepared("notes:a", passage([3]), text="new"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.nodes([node_id])[node_id].node.text == "new"
        (row,) = snapshot.passages_of_nodes([node_id])
        assert snapshot.passages(old) == []
    assert row.id not in old
    assert row.term_hashes == np.array([3], "<u4").tobytes()


def test_an_unchanged_upsert_changes_nothing(store: Store) -> None:
    node = prepared("notes:a", text="same")
    sequence = write_nodes(store, node)
    with store.snapshot(View()) as snapshot:
        before = snapshot.passages_of_nodes([id_of(store, "notes:a")])
    assert write_nodes(store, node) == sequence
    with store.snapshot(View()) as snapshot:
        assert snapshot.passages_of_nodes([id_of(store, "notes:a")]) == before
        assert snapshot.changes_since(sequence, 10).changed_nodes == ()


def test_a_write_without_effect_keeps_the_sequence(store: Store) -> None:
    sequence = write_nodes(store, prepared("notes:a"))
    nothing = Changes(
        removes=(("default", "notes:none"), ("nobody", "x")),
        edges=(EdgeSet("linker@1", "default", ()),),
        aliases=(AliasSet("linker@1", "default", {}),),
        importance={("default", "notes:a"): 1e-12, ("default", "notes:none"): 3.0},
    )
    assert store.write(nothing) == sequence
    assert store.write(Changes()) == sequence


def test_of_two_upserts_of_one_key_the_last_wins(store: Store) -> None:
    write_nodes(store, prepared("notes:a", title="one"), prepared("notes:a", title="two"))
    assert id_of(store, "two") == id_of(store, "notes:a")


def test_a_key_removed_and_upserted_in_one_write_keeps_its_id(store: Store) -> None:
    write_nodes(store, prepared("notes:a", unit="one"))
    before = id_of(store, "notes:a")
    node = prepared("notes:a", unit="two", title="moved")
    store.write(Changes(upserts=(node,), removes=(("default", "notes:a"),)))
    assert id_of(store, "notes:a") == before


def test_ids_are_never_used_again(store: Store) -> None:
    seen: set[int] = set()
    for _ in range(3):
        write_nodes(store, prepared("notes:a", passage([1], vector=b"")))
        node_id = id_of(store, "notes:a")
        with store.snapshot(View()) as snapshot:
            ids = {node_id, *(-row.id for row in snapshot.passages_of_nodes([node_id]))}
        assert not ids & seen
        seen |= ids
        store.write(Changes(removes=(("default", "notes:a"),)))


def test_importance_is_set_without_making_the_node_change(store: Store) -> None:
    sequence = write_nodes(store, prepared("notes:a"))
    after = store.write(Changes(importance={("default", "notes:a"): 0.75}))
    node_id = id_of(store, "notes:a")
    with store.snapshot(View()) as snapshot:
        assert snapshot.nodes([node_id])[node_id].node.importance == 0.75
        assert snapshot.changes_since(sequence, 10).changed_nodes == ()
    assert after == sequence + 1


def test_text_that_is_not_unicode_is_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(InvalidInput, match="Unicode"):
        write_nodes(store, prepared("notes:good"), prepared("notes:bad", text="\ud800"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.find(["notes:good"]) == {}
        assert snapshot.sequence == 0


def test_fields_that_are_not_json_are_refused_by_name(store: Store) -> None:
    with pytest.raises(InvalidInput, match="notes:bad"):
        write_nodes(store, prepared("notes:bad", fields={"huge": 1 << 70}))


def test_numbers_that_no_store_can_hold_are_refused(store: Store) -> None:
    for values in ({"sequence": 1 << 64}, {"importance": float("nan")}):
        with pytest.raises(InvalidInput, match="Allowed"):
            write_nodes(store, prepared("notes:bad", **values))
    assert store.status().nodes == 0


# --- finding -------------------------------------------------------------------------------------------


def test_find_knows_keys_bare_keys_titles_aliases_and_ids(store: Store) -> None:
    write_nodes(store, prepared("notes:a.md", title="The Title", aliases=(Alias("Nick"),)))
    node_id = id_of(store, "notes:a.md")
    names = ["notes:a.md", "a.md", "the TITLE", "nick", str(node_id)]
    with store.snapshot(View()) as snapshot:
        assert snapshot.find([*names, "absent", "", "٣"]) == dict.fromkeys(names, (node_id,))


def test_find_gives_all_bearers_of_a_name_in_the_order_of_their_keys(store: Store) -> None:
    write_nodes(store, prepared("notes:b", title="Ann"), prepared("notes:a", aliases=(Alias("ANN"),)))
    with store.snapshot(View()) as snapshot:
        assert snapshot.find(["ann"]) == {"ann": (id_of(store, "notes:a"), id_of(store, "notes:b"))}


def test_a_name_of_digits_finds_the_node_called_so_before_the_id(store: Store) -> None:
    write_nodes(store, prepared("notes:first"), prepared("notes:second", title="1"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.find(["1"]) == {"1": (id_of(store, "notes:second"),)}


def test_a_changed_title_is_no_longer_found_by_the_old_one(store: Store) -> None:
    write_nodes(store, prepared("notes:a", title="Old"))
    write_nodes(store, prepared("notes:a", title="New"))
    with store.snapshot(View()) as snapshot:
        assert snapshot.find(["Old", "New"]) == {"New": (id_of(store, "notes:a"),)}


def test_aliases_are_replaced_by_their_own_maker_only(store: Store) -> None:
    write_nodes(store, prepared("notes:a", aliases=(Alias("own", "notes@1"),)), prepared("notes:b"))
    store.write(Changes(aliases=(AliasSet("one@1", "default", {"notes:a": (Alias("uno"),)}),)))
    store.write(Changes(aliases=(AliasSet("two@1", "default", {"notes:a": (Alias("due"),)}),)))
    store.write(Changes(aliases=(AliasSet("one@1", "default", {"notes:b": (Alias("una"),)}),)))
    write_nodes(store, prepared("notes:a", title="rewritten", aliases=(Alias("mine", "notes@1"),)))
    node_id = id_of(store, "notes:a")
    with store.snapshot(View()) as snapshot:
        assert [(alias.text, alias.maker) for alias in snapshot.nodes([node_id])[node_id].node.aliases] == [
            ("due", "two@1"),
            ("mine", "notes@1"),
        ]
        assert set(snapshot.find(["own", "uno", "due", "una", "mine"])) == {"due", "una", "mine"}


def test_aliases_outside_the_scope_stay(store: Store) -> None:
    write_nodes(store, prepared("notes:a"), prepared("notes:b"))
    both = {"notes:a": (Alias("x"),), "notes:b": (Alias("y"),)}
    store.write(Changes(aliases=(AliasSet("one@1", "default", both),)))
    store.write(Changes(aliases=(AliasSet("one@1", "default", {}, scope=("notes:a",)),)))
    with store.snapshot(View()) as snapshot:
        assert set(snapshot.find(["x", "y"])) == {"y"}


# --- bookkeeping ---------------------------------------------------------------------------------------


def test_units_remember_their_stamp_and_their_nodes(store: Store) -> None:
    units = (("default", "notes", "one", "s1"), ("default", "notes", "two", "s2"), ("other", "notes", "one", "x"))
    nodes = (prepared("notes:b", unit="one"), prepared("notes:a", unit="one"), prepared("notes:c", unit="two"))
    sequence = store.write(Changes(upserts=nodes, units=units))
    assert store.units("default", "notes") == {"one": "s1", "two": "s2"}
    assert store.unit_keys("notes", "one") == (("default", "notes:a"), ("default", "notes:b"))
    forget = (("default", "notes", "two", ""), ("default", "notes", "one", "s9"))
    assert store.write(Changes(units=forget)) == sequence
    assert store.units("default", "notes") == {"one": "s9"}
    assert store.units("default", "unknown") == {}


def test_an_unchanged_node_brought_by_another_unit_belongs_to_it_from_then_on(store: Store) -> None:
    sequence = write_nodes(store, prepared("notes:a", unit="one"))
    assert write_nodes(store, prepared("notes:a", unit="two")) == sequence
    assert store.unit_keys("notes", "one") == ()
    assert store.unit_keys("notes", "two") == (("default", "notes:a"),)


def test_hashes_are_known_for_the_nodes_that_exist(store: Store) -> None:
    node = prepared("notes:a")
    write_nodes(store, node)
    assert store.hashes("default", ["notes:a", "notes:b"]) == {"notes:a": node.content_hash}
    assert store.hashes("other", ["notes:a"]) == {}


def test_iterating_passes_every_node_once_in_id_order_while_others_write(store: Store) -> None:
    write_nodes(store, *(prepared(f"n:{number}") for number in range(1200)), prepared("n:x", tenant="other"))
    seen = []
    for row in store.iterate("default"):
        seen.append(row.node.id)
        if len(seen) == 600:
            write_nodes(store, prepared("n:late"))
    assert seen == sorted(seen)
    assert len(seen) == 1201
    assert [row.node.id for row in store.iterate("default", after_id=seen[-3])] == seen[-2:]


def test_several_writes_may_be_made_while_holding_the_right_to_write(store: Store) -> None:
    with store.writing():
        first = write_nodes(store, prepared("s:a"))
        with store.writing():
            write_nodes(store, prepared("s:b"))
        with store.snapshot(View()) as snapshot:
            assert snapshot.sequence == first + 1
