"""Check what indexing relies on in every source.

Import all of it into a test module with a fixture `open_source`: a function that opens the same small place anew
at every call. The place must hold at least one node.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from weft.api import Weft
from weft.ports import Source, Unit

OpenSource = Callable[[], Source]


def _read_all(source: Source) -> list[Unit]:
    return [source.read(name) for name, _ in list(source.units())]


def test_a_source_has_a_name_a_maker_and_an_identity_that_stay(open_source: OpenSource) -> None:
    first, second = open_source(), open_source()
    assert first.name and first.maker and first.identity()
    assert (first.name, first.maker, first.identity()) == (second.name, second.maker, second.identity())


def test_units_are_listed_in_a_stable_order_each_once_and_with_a_stamp(open_source: OpenSource) -> None:
    source = open_source()
    listed = list(source.units())
    assert listed == list(source.units()) == list(open_source().units())
    assert [name for name, count in Counter(name for name, _ in listed).items() if count > 1] == []
    assert all(name and stamp for name, stamp in listed)


def test_the_keys_of_nodes_begin_with_the_name_of_the_source_and_are_unique(open_source: OpenSource) -> None:
    source = open_source()
    keys = [node.key for unit in _read_all(source) for node in unit.nodes]
    assert keys, "the place must hold at least one node"
    assert [key for key in keys if not key.startswith(f"{source.name}:")] == []
    assert [key for key, count in Counter(keys).items() if count > 1] == []


def test_nodes_say_where_they_come_from_and_hold_text_that_can_be_stored(open_source: OpenSource) -> None:
    source = open_source()
    for unit in _read_all(source):
        for node in unit.nodes:
            assert node.kind
            assert node.origin.source == source.name
            f"{node.title}{node.summary}{node.text}".encode()


def test_reading_a_unit_twice_gives_the_same_nodes_edges_and_stamp(open_source: OpenSource) -> None:
    source = open_source()
    assert _read_all(source) == _read_all(source)
    assert _read_all(open_source()) == _read_all(source)


def test_a_unit_is_read_under_the_name_and_stamp_that_it_was_listed_with(open_source: OpenSource) -> None:
    source = open_source()
    listed = list(source.units())
    assert [(unit.name, unit.stamp) for unit in map(source.read, (name for name, _ in listed))] == listed


def test_what_is_indexed_is_found_and_a_second_run_changes_nothing(
    open_source: OpenSource, tmp_path: Path
) -> None:
    with Weft.open(tmp_path / "conformance") as weft:
        first = weft.ingest([open_source()])
        assert first.written > 0
        assert first.problems == ()
        keys = {node.key for unit in _read_all(open_source()) for node in unit.nodes}
        assert {node.key for node in weft.nodes(limit=len(keys) + 1)} >= keys
        second = weft.ingest([open_source()])
        assert (second.written, second.removed, second.units_changed) == (0, 0, 0)
        assert second.sequence == first.sequence
