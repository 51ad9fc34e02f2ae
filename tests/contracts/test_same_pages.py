"""The same question over the same world prints the same page, whatever engine is below."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from backends import Backend
from weft import Weft
from weft.api.reader import Reader
from weft.embed import open_embedder
from weft.history import History
from weft.indexing.ingest import IndexingContext, ingest
from weft.model import Filter
from weft.store import OpenedStore
from weft.tokens import counter_for
from worlds import NOW, MemorySource, question, random_world

COUNT, _ = counter_for("cl100k_base")
QUESTIONS = [question(Random(seed)) for seed in range(6)]
NARROWED = Filter(kinds=("note", "faq", "memory"))


def opened(backend: Backend) -> Weft:
    """An empty store of that engine."""
    store = backend.store()
    pair = OpenedStore(store, backend.index(store), backend.folder)  # type: ignore[arg-type]
    return Weft(Reader(pair, open_embedder("static"), (), History(backend.folder)))


def filled(backend: Backend, size: int) -> Weft:
    """A store of that engine with a random world, and a small one of another tenant beside it."""
    weft = opened(backend)
    shop = IndexingContext(weft.store, weft.reader.index, weft.reader.embedder, COUNT)
    ingest([MemorySource(*random_world(7, size))], shop)
    ingest([MemorySource(*random_world(8, 20, "other"), "beside")], shop)
    return weft


@pytest.fixture
def both(backend: Backend, open_index: object) -> Iterator[tuple[Weft, Weft]]:
    """The embedded store and the engine under trial, with the same world."""
    embedded = filled(Backend("sqlite", backend.folder / "embedded"), 90)
    tried = filled(backend, 90)
    yield embedded, tried
    embedded.close()
    tried.close()


@pytest.mark.backends("postgres", "postgres-engines", "postgres-tsvector", "postgres-files", "postgres-milvus")
def test_pages_of_small_worlds_are_the_same_to_the_byte(both: tuple[Weft, Weft]) -> None:
    embedded, tried = both
    for profile in ("general", "knowledge", "narrative", "workspace"):
        for asked in QUESTIONS:
            for narrowed in (Filter(), NARROWED):
                wanted = {"profile": profile, "filter": narrowed, "max_tokens": 3000, "now": NOW}
                ours, theirs = (weft.context(asked, **wanted) for weft in (embedded, tried))
                assert theirs.text == ours.text
                assert [entry.key for entry in theirs.ledger] == [entry.key for entry in ours.ledger]


@pytest.mark.backends("postgres", "postgres-engines")
def test_pages_as_of_a_chapter_and_of_several_tenants_are_the_same(both: tuple[Weft, Weft]) -> None:
    embedded, tried = both
    for asked in QUESTIONS[:3]:
        for view in ({"as_of": 40}, {"tenants": ("default", "other")}, {"tenants": ("other",)}):
            ours, theirs = (weft.context(asked, now=NOW, **view) for weft in (embedded, tried))
            assert theirs.text == ours.text


@pytest.fixture
def larger(backend: Backend, open_index: object) -> Iterator[tuple[Weft, Weft]]:
    """The same with more than a thousand nodes, of which the engines propose."""
    embedded = filled(Backend("sqlite", backend.folder / "embedded"), 1000)
    tried = opened(backend)
    embedded.copy_to(tried)
    yield embedded, tried
    embedded.close()
    tried.close()


@pytest.mark.backends("postgres-engines", "postgres-tsvector", "postgres-milvus")
def test_nine_of_ten_selected_items_of_larger_worlds_are_the_same(larger: tuple[Weft, Weft]) -> None:
    shares = []
    for asked in QUESTIONS:
        ours, theirs = (
            {source.key for source in weft.context(asked, max_tokens=3000, now=NOW).sources} for weft in larger
        )
        shares.append(len(ours & theirs) / len(ours))
    assert sum(shares) / len(shares) >= 0.9


@pytest.fixture(scope="module")
def thousand(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Weft, str]]:
    """An embedded store of just under a thousand nodes as users open it, and the URL of its copy on a server."""
    from postgres_server import drop_schema

    folder, url = tmp_path_factory.mktemp("thousand"), f"{postgres_url}&schema=thousand"
    filled(Backend("sqlite", folder), 880).close()
    with Weft.open(folder / "world" / ".weft") as embedded:
        with Weft.open(url, folder=folder / "copy") as copy:
            embedded.copy_to(copy)
        yield embedded, url
    drop_schema(postgres_url, "thousand")


@pytest.mark.parametrize("engine", ["server", "server&words=tsvector", "files", "milvus"])
def test_pages_of_worlds_just_under_a_thousand_nodes_are_the_same_on_every_engine(
    thousand: tuple[Weft, str], engine: str, tmp_path: Path
) -> None:
    embedded, url = thousand
    index, _, words = engine.partition("&")
    place = f"milvus://{tmp_path / 'milvus.db'}" if index == "milvus" else index
    assert 900 < embedded.status().nodes < 1000
    with Weft.open(f"{url}&{words}", folder=tmp_path, index=place) as tried:
        tried.reader.index.catch_up(tried.store)
        for asked in QUESTIONS:
            for narrowed in (Filter(), NARROWED):
                wanted = {"filter": narrowed, "max_tokens": 3000, "now": NOW}
                assert tried.context(asked, **wanted).text == embedded.context(asked, **wanted).text  # type: ignore[arg-type]
