"""Faults between a store and the search index in Milvus, and what readers find meanwhile."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from postgres_server import drop_schema
from weft import Node, Weft
from weft.errors import UnknownName
from weft.indexing.reembed import reembed
from weft.model import Filter

pytest.importorskip("milvus_lite")


@pytest.fixture
def weft(postgres_url: str, tmp_path: Path) -> Iterator[Weft]:
    """Notes in PostgreSQL, searched in Milvus."""
    opened = Weft.open(
        f"{postgres_url}&schema=milvus_faults", folder=tmp_path, index=f"milvus://{tmp_path / 'milvus.db'}"
    )
    opened.reader.index._exact_below = 0  # type: ignore[union-attr]
    opened.put([note(number) for number in range(8)])
    yield opened
    opened.close()
    drop_schema(postgres_url, "milvus_faults")


def note(number: int, text: str = "a red fox") -> Node:
    return Node(f"s:{number}", "note", title=f"note {number}", text=f"{text} {number}")


def found(weft: Weft, **options: object) -> set[str]:
    return {each.node.key for each in weft.search("red fox", limit=50, **options).candidates}  # type: ignore[arg-type]


ALL = {f"s:{number}" for number in range(8)}


def test_a_search_that_fails_is_noted_and_the_rest_is_answered(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymilvus.exceptions import MilvusException

    from weft.store.milvus.collection import Collection

    def failing(*given: object) -> None:
        raise MilvusException(message="no query node is left")

    monkeypatch.setattr(Collection, "search", failing)
    context = weft.context("red fox", start=["s:3"])
    assert "a red fox 3" in context.text
    assert any("no query node is left" in each for each in context.notes)


def test_nodes_replaced_between_looking_and_searching_are_not_missed(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.store.milvus.collection import Collection

    search, searched = Collection.search, []

    def overtaken(self: Collection, *given: object) -> list[int]:
        searched.append(given)
        if len(searched) == 1:
            weft.put([note(number, "a blue whale") for number in range(4)])
        return search(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Collection, "search", overtaken)
    assert found(weft) == ALL, "the snapshot is older than the write"
    assert len(searched) > 1


def test_a_replacement_of_more_nodes_than_are_written_down_hides_nothing(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.store.milvus import collection
    from weft.store.milvus.catch_up import CatchUpLimits

    class Killed(BaseException): ...

    replace = collection.Collection.replace

    def half_done(self: collection.Collection, nodes: list[int], passages: object) -> None:
        replace(self, nodes, ())
        raise Killed

    weft.reader.index.limits = CatchUpLimits(pending_nodes=2)  # type: ignore[union-attr]
    monkeypatch.setattr(collection.Collection, "replace", half_done)
    with pytest.raises(Killed):
        weft.put([note(number, "another red fox") for number in range(8)])
    assert found(weft) == ALL
    monkeypatch.undo()
    weft.reader.index.catch_up(weft.store)
    assert found(weft) == ALL


def test_tags_and_tenants_too_long_for_an_entity_are_searched_by_all_the_same(weft: Weft) -> None:
    tag, many = "x" * 5000, tuple(f"t{number:04}" for number in range(1100))
    weft.put(
        [Node("s:long", "note", text="a red fox", tags=(tag,)), Node("s:many", "note", text="a fox", tags=many)]
    )
    assert found(weft, filter=Filter(tags=(tag,))) == {"s:long"}
    assert found(weft) == ALL | {"s:long", "s:many"}


def test_an_unknown_consistency_is_refused_before_anything_is_asked(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="consistency"):
        Weft.open(f"{postgres_url}&schema=milvus_faults", folder=tmp_path, index="milvus://host?consistency=wild")
    drop_schema(postgres_url, "milvus_faults")


def test_words_and_meaning_travel_in_one_request(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.store.milvus.collection import Collection

    search, fields = Collection.search, []

    def noted(self: Collection, questions: list[Any]) -> list[int]:
        fields.append([each.field for each in questions])
        return search(self, questions)

    monkeypatch.setattr(Collection, "search", noted)
    assert found(weft) == ALL
    assert fields == [["terms", "vector"]]


def test_every_call_may_choose_its_consistency(weft: Weft, monkeypatch: pytest.MonkeyPatch) -> None:
    from pymilvus import MilvusClient

    asked, levels = MilvusClient.hybrid_search, []

    def noted(self: MilvusClient, *given: Any, **options: Any) -> Any:
        levels.append(options["consistency_level"])
        return asked(self, *given, **options)

    monkeypatch.setattr(MilvusClient, "hybrid_search", noted)
    weft.put([note(1, "a red fox again")])
    assert found(weft) == ALL
    assert found(weft, consistency="eventually") == ALL
    weft.context("red fox", consistency="bounded")
    assert levels == ["Strong", "Eventually", "Bounded"]
    with pytest.raises(UnknownName, match="eventualy"):
        weft.context("red fox", consistency="eventualy")


def test_an_empty_collection_is_filled_without_deleting_and_an_interrupted_filling_holds_nothing_twice(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.store.milvus.catch_up import CatchUpLimits
    from weft.store.milvus.collection import Collection

    class Killed(BaseException): ...

    add, deleted = Collection.add, []

    def killed(self: Collection, passages: Any) -> None:
        add(self, passages)
        raise Killed

    def noted(self: Collection, nodes: Any, passages: Any) -> None:
        deleted.append(nodes)
        replace(self, nodes, passages)

    replace = Collection.replace
    weft.put([note(number) for number in range(8, 20)])
    weft.reader.index.limits = CatchUpLimits(first_page_nodes=5)  # type: ignore[union-attr]
    monkeypatch.setattr(Collection, "replace", noted)
    weft.reader.index.rebuild(weft.store)  # type: ignore[union-attr]
    assert not deleted
    assert weft.index_status()["passages"] == 20
    monkeypatch.setattr(Collection, "add", killed)
    with pytest.raises(Killed):
        weft.reader.index.rebuild(weft.store)  # type: ignore[union-attr]
    monkeypatch.setattr(Collection, "add", add)
    weft.reader.index.catch_up(weft.store)
    assert deleted
    assert weft.index_status()["passages"] == 20
    assert len(found(weft)) == 20


def test_another_process_searches_what_this_one_left(postgres_url: str, tmp_path: Path) -> None:
    url, index = f"{postgres_url}&schema=milvus_left", f"milvus://{tmp_path / 'left.db'}"
    program = (
        "import sys; from weft import Node, Weft\n"
        "with Weft.open(sys.argv[1], folder=sys.argv[2], index=sys.argv[3]) as weft:\n"
        "    weft.reader.index._exact_below = 0\n"
        "    if sys.argv[4:]: weft.put([Node('s:1', 'note', text='a red fox')])\n"
        "    found = weft.search('red fox')\n"
        "    print([each.node.key for each in found.candidates], found.notes, weft.index_status()['passages'])"
    )
    for more in (["write"], []):
        command = [sys.executable, "-c", program, url, str(tmp_path), index, *more]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert result.stdout.splitlines()[-1] == "['s:1'] () 1"
    drop_schema(postgres_url, "milvus_left")


def test_a_collection_of_an_older_schema_is_read_around_until_it_is_replaced(
    weft: Weft, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.store.milvus import collection

    older = set(weft.reader.index._client().list_collections())  # type: ignore[union-attr]
    monkeypatch.setattr(collection, "SCHEMA_VERSION", collection.SCHEMA_VERSION + 1)
    assert found(weft) == ALL
    weft.put([note(8)])
    newer = set(weft.reader.index._client().list_collections())  # type: ignore[union-attr]
    assert newer
    assert not older & newer
    assert weft.index_status()["passages"] == 9
    assert found(weft) == {*ALL, "s:8"}


def test_vectors_of_another_width_take_a_collection_of_their_own(weft: Weft) -> None:
    class Wide:
        name, dimensions = "wide@1", 300

        def embed(self, texts: list[str]) -> Any:
            return np.array([[1.0 + len(text) % (n + 2) for n in range(300)] for text in texts], np.float32)

    assert found(weft) == ALL
    reembed(weft.store, Wide(), lambda done, last: None)  # type: ignore[arg-type]
    assert found(weft) == ALL, "before anyone has caught up"
    weft.reader.index.catch_up(weft.store)
    kept = weft.reader.index._client().list_collections()  # type: ignore[union-attr]
    assert all("_300" in name for name in kept), "the one for the old width is gone"
    assert weft.index_status()["passages"] == 8
    assert found(weft) == ALL
