"""Indexing touches what changed, loses nothing, and leaves nothing behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from weft.errors import EmbedderMismatch
from weft.indexing.ingest import IndexingContext, Report, ingest
from weft.model import Edge, Node, Origin, View
from weft.ports import Embedder, Problem, Unit
from weft.store import EmbeddedIndex, SqliteStore
from weft.tokens import counter_for

COUNT, _ = counter_for("cl100k_base")
Links = set[tuple[str, str, str]]


@dataclass
class Files:
    """A source of named units that tests change between runs; counts what is read."""

    units_held: dict[str, Unit]
    name: str = "world"
    version: int = 1
    reads: list[str] = field(default_factory=list)
    breaks_at: str = ""

    @property
    def maker(self) -> str:
        return f"source:{self.name}@{self.version}"

    def identity(self) -> str:
        return ""

    def units(self) -> Iterable[tuple[str, str]]:
        return [(name, str(hash_of(unit))) for name, unit in self.units_held.items()]

    def read(self, unit: str) -> Unit:
        if unit == self.breaks_at:
            raise KeyboardInterrupt
        self.reads.append(unit)
        return self.units_held[unit]


@dataclass
class Hashing:
    """An embedder that needs no model."""

    name: str = "hashing"
    dimensions: int = 8

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[1.0 + text.count(each) for each in "abcdefgh"] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hash_of(unit: Unit) -> str:
    """A stamp that changes with the content."""
    return repr((unit.nodes, unit.edges))


def note(name: str, text: str = "", *, source: str = "world", tenant: str = "default", title: str = "") -> Node:
    """A node of a source."""
    return Node(f"{source}:{name}", "note", tenant, title or name.title(), text=text, origin=Origin(source))


def files(**units: Sequence[Node]) -> Files:
    """A source with one unit for each keyword."""
    return Files({name: Unit(name, "1", tuple(nodes)) for name, nodes in units.items()})


@pytest.fixture
def indexing(tmp_path: Path) -> Iterator[IndexingContext]:
    """An empty store with its index, no embedder."""
    store = SqliteStore.open(tmp_path / ".weft")
    index = EmbeddedIndex(tmp_path / ".weft" / "derived")
    yield IndexingContext(store, index, None, COUNT)
    index.close()
    store.close()


def run(
    indexing: IndexingContext, *sources: Files, tenant: str = "default", embed: Embedder | None = None
) -> Report:
    """Index the sources."""
    return ingest(sources, replace(indexing, embed=embed), tenant)


def stored(indexing: IndexingContext, tenant: str = "default") -> Mapping[str, Node]:
    """The nodes of a tenant by key."""
    return {row.node.key: row.node for row in indexing.store.iterate(tenant)}


def links(indexing: IndexingContext, *tenants: str) -> Links:
    """All edges seen by a reader of the tenants."""
    with indexing.store.snapshot(View(tenants or ("default",))) as snapshot:
        ids = [row.node.id for tenant in tenants or ("default",) for row in indexing.store.iterate(tenant)]
        return {(edge.source, edge.type, edge.target) for _, _, edge in snapshot.edges(ids, 1000)}


def test_an_unchanged_source_is_neither_read_nor_written_again(indexing: IndexingContext) -> None:
    source = files(one=[note("a", "Words.")], two=[note("b")])
    first = run(indexing, source)
    source.reads.clear()
    second = run(indexing, source)
    assert source.reads == []
    assert (second.written, second.removed, second.sequence) == (0, 0, first.sequence)


def test_only_the_changed_unit_is_read_and_only_its_changed_nodes_are_written(indexing: IndexingContext) -> None:
    source = files(one=[note("a", "Words."), note("b")], two=[note("c")])
    run(indexing, source)
    source.reads.clear()
    source.units_held["one"] = Unit("one", "1", (note("a", "Other words."), note("b")))
    report = run(indexing, source)
    assert source.reads == ["one"]
    assert (report.units, report.units_changed, report.written, report.unchanged) == (2, 1, 1, 1)
    assert stored(indexing)["world:a"].text == "Other words."


def test_what_a_unit_no_longer_holds_is_removed(indexing: IndexingContext) -> None:
    source = files(one=[note("a"), note("b")])
    run(indexing, source)
    source.units_held["one"] = Unit("one", "1", (note("a"),))
    assert run(indexing, source).removed == 1
    assert stored(indexing).keys() == {"world:a"}


def test_what_a_vanished_unit_had_brought_is_removed(indexing: IndexingContext) -> None:
    source = files(one=[note("a")], two=[note("b")])
    run(indexing, source)
    del source.units_held["two"]
    assert run(indexing, source).removed == 1
    assert stored(indexing).keys() == {"world:a"}
    assert run(indexing, source).removed == 0


@pytest.mark.parametrize("vanishes", [True, False], ids=["its file vanishes", "its file stays"])
@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("b", "a")])
def test_a_node_that_moves_between_units_stays_with_its_id(
    indexing: IndexingContext, old: str, new: str, vanishes: bool
) -> None:
    source = files(a=[note("keeper-a")], b=[note("keeper-b")])
    source.units_held[old] = Unit(old, "1", (note("mover", "Words."), *source.units_held[old].nodes))
    run(indexing, source)
    before = stored(indexing)["world:mover"].id
    mover, *rest = source.units_held[old].nodes
    source.units_held[old] = Unit(old, "1", tuple(rest))
    source.units_held[new] = Unit(new, "1", (*source.units_held[new].nodes, mover))
    if vanishes:
        del source.units_held[old]
    run(indexing, source)
    assert stored(indexing)["world:mover"].id == before
    source.units_held.setdefault(old, Unit(old, "1"))
    source.units_held[old] = Unit(old, "1", (note("newcomer"),))
    run(indexing, source)
    assert "world:mover" in stored(indexing)


def test_two_sources_with_the_same_unit_do_not_collide(indexing: IndexingContext) -> None:
    one = Files({"readme": Unit("readme", "1", (note("readme", "One.", source="one"),))}, "one")
    two = Files({"readme": Unit("readme", "1", (note("readme", "Two.", source="two"),))}, "two")
    run(indexing, one, two)
    one.units_held.clear()
    run(indexing, one, two)
    assert stored(indexing).keys() == {"two:readme"}


def test_one_source_read_for_two_tenants_is_kept_apart(indexing: IndexingContext) -> None:
    def source(tenant: str) -> Files:
        nodes = (note("a", tenant=tenant), note("b", tenant=tenant))
        edges = (Edge("world:a", "world:b", "links", tenant=tenant),)
        return Files({"one": Unit("one", "1", nodes, edges)})

    run(indexing, source("left"), tenant="left")
    run(indexing, source("right"), tenant="right")
    run(indexing, Files({}), tenant="left")
    assert not stored(indexing, "left")
    assert links(indexing, "right") == {("world:a", "links", "world:b")}


def test_an_interrupted_run_leaves_whole_batches_and_is_completed_by_the_next(indexing: IndexingContext) -> None:
    many = tuple(note(f"n{place}", f"About Lantern {place}.") for place in range(1000))
    source = files(one=many, two=[note("lantern", "A light.")])
    source.breaks_at = "two"
    with pytest.raises(KeyboardInterrupt):
        run(indexing, source)
    assert len(stored(indexing)) == 1000
    source.breaks_at = ""
    report = run(indexing, source)
    assert (report.written, report.unchanged) == (1, 1000)
    assert len({each for each in links(indexing) if each[1] == "mentions"}) == 1000


def test_a_name_written_by_an_interrupted_run_is_found_in_older_texts_by_the_next(
    indexing: IndexingContext,
) -> None:
    source = files(old=[note("old", "We met at the Sallow Light.")])
    run(indexing, source)
    source.units_held["new"] = Unit("new", "1", (note("sallow light"),))
    broken = Files({"one": Unit("one", "1")}, "broken", breaks_at="one")
    with pytest.raises(KeyboardInterrupt):
        run(indexing, source, broken)
    run(indexing, source)
    assert links(indexing) == {("world:old", "mentions", "world:sallow light")}


def test_another_embedder_than_the_one_stored_is_refused_by_name(indexing: IndexingContext) -> None:
    run(indexing, files(one=[note("a", "Words.")]), embed=Hashing())
    with pytest.raises(EmbedderMismatch, match=r"made by hashing \(8 dimensions\), not by other"):
        run(indexing, files(one=[note("a", "More words.")]), embed=Hashing("other"))


def test_what_was_indexed_without_an_embedder_gets_its_vectors_once_there_is_one(
    indexing: IndexingContext,
) -> None:
    source = files(one=[note("a", "Words.")])
    run(indexing, source)
    assert indexing.store.status().vectors == 0
    run(indexing, source, embed=Hashing())
    assert indexing.store.status().vectors == 1


def test_a_new_version_of_a_source_reads_everything_again_and_takes_over_its_edges(
    indexing: IndexingContext,
) -> None:
    old = Edge("world:a", "world:b", "links")
    source = Files({"one": Unit("one", "1", (note("a"), note("b")), (old,))})
    run(indexing, source)
    source.version = 2
    source.units_held["one"] = replace(source.units_held["one"], edges=(replace(old, type="cites"),))
    run(indexing, source)
    assert links(indexing) == {("world:a", "cites", "world:b")}


def test_problems_of_a_source_are_reported_and_the_rest_is_indexed(indexing: IndexingContext) -> None:
    unit = Unit("one", "1", (note("a"),), (), (Problem("one:3", "no key"),))
    report = run(indexing, Files({"one": unit}))
    assert report.problems == (Problem("one:3", "no key"),)
    assert stored(indexing).keys() == {"world:a"}


def test_edges_that_a_unit_no_longer_draws_are_gone_in_every_tenant(indexing: IndexingContext) -> None:
    nodes = tuple(note(name, tenant=tenant) for tenant in ("default", "indexing") for name in "ab")
    edges = tuple(Edge("world:a", "world:b", "links", tenant=tenant) for tenant in ("default", "indexing"))
    source = Files({"nodes": Unit("nodes", "1", nodes), "edges": Unit("edges", "1", (), edges)})
    run(indexing, source)
    assert links(indexing, "indexing") == {("world:a", "links", "world:b")}
    source.units_held["edges"] = Unit("edges", "1", (), edges[:1])
    run(indexing, source)
    assert links(indexing, "indexing") == set()
    assert links(indexing) == {("world:a", "links", "world:b")}
    del source.units_held["edges"]
    run(indexing, source)
    assert links(indexing) == set()


def test_a_new_title_is_found_in_older_texts(indexing: IndexingContext) -> None:
    source = files(one=[note("old", "We met at the Sallow Light.")])
    run(indexing, source)
    source.units_held["two"] = Unit("two", "1", (note("sallow light"),))
    run(indexing, source)
    assert links(indexing) == {("world:old", "mentions", "world:sallow light")}


def test_a_new_title_is_found_in_all_older_texts_however_many(indexing: IndexingContext) -> None:
    source = files(one=[note(f"n{place}", "The Sallow Light burns.") for place in range(2300)])
    run(indexing, source)
    source.units_held["two"] = Unit("two", "1", (note("sallow light"),))
    run(indexing, source)
    with indexing.store.snapshot(View()) as snapshot:
        light = stored(indexing)["world:sallow light"].id
        assert snapshot.adjacency([light], 1).degree[light] == 2300


def test_mentions_of_a_deleted_node_are_gone_and_stay_gone(indexing: IndexingContext) -> None:
    source = files(one=[note("old", "We met at the Sallow Light.")], two=[note("sallow light")])
    run(indexing, source)
    del source.units_held["two"]
    run(indexing, source)
    source.units_held["two"] = Unit("two", "1", (note("sallow light", title="Another Thing"),))
    run(indexing, source)
    assert links(indexing) == set()


def test_mentions_by_an_old_title_are_gone_when_a_node_is_retitled(indexing: IndexingContext) -> None:
    source = files(one=[note("old", "We met at the Sallow Light, then at Fern Gate.")], two=[note("sallow light")])
    run(indexing, source)
    source.units_held["two"] = Unit("two", "1", (note("sallow light", title="Fern Gate"),))
    run(indexing, source)
    with indexing.store.snapshot(View()) as snapshot:
        (found,) = snapshot.edges([stored(indexing)["world:old"].id], 10)
    assert found[2].evidence.startswith("Fern Gate")
    source.units_held["two"] = Unit("two", "1", (note("sallow light", title="Nowhere Else"),))
    run(indexing, source)
    assert links(indexing) == set()


def test_a_shorter_name_is_linked_once_the_longer_one_around_it_is_gone(indexing: IndexingContext) -> None:
    source = files(one=[note("text", "Seen in New Harbour Bay.")], two=[note("harbour bay")])
    source.units_held["three"] = Unit("three", "1", (note("new harbour bay"),))
    run(indexing, source)
    assert ("world:text", "mentions", "world:new harbour bay") in links(indexing)
    del source.units_held["three"]
    run(indexing, source)
    assert ("world:text", "mentions", "world:harbour bay") in links(indexing)


def test_texts_of_a_tenant_are_linked_when_a_shared_tenant_gains_a_name(indexing: IndexingContext) -> None:
    indexing.store.share("default", ["glossary"])
    run(indexing, files(one=[note("text", "See the Tide Table.")]))
    words = Files({"w": Unit("w", "1", (note("tide table", source="words", tenant="glossary"),))}, "words")
    run(indexing, words, tenant="glossary")
    assert links(indexing, "default", "glossary") == {("world:text", "mentions", "words:tide table")}
    assert links(indexing) == set()
    run(indexing, Files({}, "words"), tenant="glossary")
    assert links(indexing, "default", "glossary") == set()


@dataclass
class Hoarding(Files):
    """A source that remembers what it had read when it was told to let go."""

    let_go_after: list[str] = field(default_factory=list)

    def release_memory(self) -> None:
        self.let_go_after += self.reads


def test_a_source_gives_its_memory_back_once_all_its_units_are_read(indexing: IndexingContext) -> None:
    source = Hoarding(files(one=[note("first")], two=[note("second")]).units_held)
    run(indexing, source)
    assert source.let_go_after == ["one", "two"]


def test_progress_tells_what_is_read_and_linked(indexing: IndexingContext) -> None:
    result: list[tuple[str, int, int | None]] = []
    ingest([files(one=[note("a", "B."), note("b")])], indexing, "default", lambda *each: result.append(each))
    assert result == [("reading world", 1, 1), ("linking", 2, None)]
