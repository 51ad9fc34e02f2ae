"""How often one question speaks to the server: on a network, every statement is a journey there and back."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from postgres_server import drop_schema
from weft import Edge, Node, Weft
from weft.errors import InvalidInput, StoreUnreachable
from weft.indexing.freshness import checking_once
from weft.indexing.prepare import prepare
from weft.model import Filter, View
from weft.ports import Changes
from weft.scoring.bm25 import term_hash
from weft.store.postgres.search import RAISE_BUILD_MEMORY

Sent = Callable[[Callable[[], object]], list[str]]


@pytest.fixture
def weft(postgres_url: str, tmp_path: Path) -> Iterator[Weft]:
    """Open a store of notes that all link to the next one, and of which no two match a question equally well."""
    opened = Weft.open(f"{postgres_url}&schema=statements", folder=tmp_path)
    opened.put(
        [
            Node(f"s:{n}", "note", title=f"note {n}", text=f"red fox {n}{' den' * n}", tags=("even",)[n % 2 :])
            for n in range(60)
        ],
        [Edge(f"s:{n}", f"s:{n + 1}", "next") for n in range(59)],
    )
    yield opened
    opened.close()
    drop_schema(postgres_url, "statements")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return the statements that are sent to the server while something is done, in order."""
    seen: list[str] = []
    execute = psycopg.Cursor.execute

    def noted(self: psycopg.Cursor, query: str, *given: object, **options: object) -> object:
        if threading.current_thread() is threading.main_thread():
            seen.append(query)
        return execute(self, query, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)

    def during(work: Callable[[], object]) -> list[str]:
        seen.clear()
        work()
        return list(seen)

    return during


# One of them looks up whether the question is the name of a node, in the reading of the page itself; two search
# once more, because notes this short leave room on the page.


def test_a_context_from_the_engines_sends_ten_statements_at_most(weft: Weft, sent: Sent) -> None:
    weft.reader.index._exact_below = 10  # type: ignore[union-attr]
    weft.reader.index.catch_up(weft.store)
    weft.context("red fox 1")
    statements = sent(lambda: weft.context("red fox 7"))
    assert any("<@>" in statement for statement in statements), "words are searched by BM25"
    assert len(statements) <= 10, statements


def test_a_context_from_what_is_remembered_sends_ten_statements_at_most(weft: Weft, sent: Sent) -> None:
    weft.context("red fox 1")
    assert len(sent(lambda: weft.context("red fox 7"))) <= 10


def test_the_steps_of_a_question_read_one_moment_and_a_failed_one_is_read_anew(weft: Weft, sent: Sent) -> None:
    view = View()
    with checking_once():
        with weft.reading(view) as first, weft.reading(view) as again:
            assert again is first
            with weft.reading(View(("other",))) as other:
                assert other is not first
            with contextlib.suppress(InvalidInput), weft.reading(view):
                raise InvalidInput("caught inside the reading that goes on")
            assert first.snapshot.find(["s:1"])
        with pytest.raises(StoreUnreachable), weft.reading(view):
            raise psycopg.OperationalError("the server closed the connection")
        with weft.reading(view) as anew:
            assert anew is not first
            assert anew.snapshot.find(["s:1"])


def test_a_filter_is_looked_up_once_until_the_next_write(weft: Weft, sent: Sent) -> None:
    weft.reader.index._exact_below = 10  # type: ignore[union-attr]
    weft.reader.index.catch_up(weft.store)

    def ask() -> None:
        assert weft.search("red fox", filter=Filter(tags=("even",)), limit=5).candidates

    assert any("facet_names" in statement for statement in sent(ask))
    assert not any("facet_names" in statement for statement in sent(ask))
    weft.put([Node("s:new", "note", text="a new red fox", tags=("even",))])
    assert any("facet_names" in statement for statement in sent(ask))


def test_statistics_of_words_are_read_once_until_the_next_write(
    weft: Weft, sent: Sent, postgres_url: str, tmp_path: Path
) -> None:
    def counted(work: Callable[[], object]) -> bool:
        return any("term_statistics" in statement for statement in sent(work))

    # Another process, which has not searched yet: a search of so few passages counts their words itself.
    other = Weft.open(f"{postgres_url}&schema=statements", folder=tmp_path / "other")

    def frequency() -> int:
        with other.store.snapshot(View()) as snapshot:
            return sum(snapshot.statistics([term_hash("fox")]).frequency.values())

    assert counted(frequency)
    assert not counted(frequency)
    weft.put([Node("s:other", "note", "other", text="a fox of another tenant")])
    assert not counted(frequency)
    weft.put([Node("s:new", "note", text="a new fox")])
    assert frequency() == 61
    weft.store.transact(lambda link: link.execute("UPDATE term_statistics SET frequency = 7"))  # type: ignore[union-attr]
    weft.store.rebuild_derived()
    assert frequency() == 61
    other.close()


def test_statements_are_prepared_once_in_the_life_of_a_connection(weft: Weft) -> None:
    for number in range(3):
        weft.context(f"red fox {number}")
    with weft.store.pools.choose().reading("SELECT 1") as (link, _):  # type: ignore[union-attr]
        before = link.execute("SELECT name FROM pg_prepared_statements", prepare=False).fetchall()
    weft.context("red fox 7")
    with weft.store.pools.choose().reading("SELECT 1") as (link, _):  # type: ignore[union-attr]
        after = link.execute("SELECT name FROM pg_prepared_statements", prepare=False).fetchall()
    assert before
    assert after == before


def test_a_write_for_many_tenants_sends_as_many_statements_as_one_for_two(weft: Weft, sent: Sent) -> None:
    def written(tenants: range) -> list[str]:
        nodes = [Node("s:1", "note", f"tenant {number}", "a fox", text="red") for number in tenants]
        shop = weft.workshop()
        prepared = prepare([(node, "") for node in nodes], shop.embed, shop.count)
        return sent(lambda: weft.store.write(Changes(upserts=prepared)))

    assert len(written(range(2))) == len(written(range(2, 60)))
    assert weft.status([f"tenant {number}" for number in range(60)]).nodes == 60


@pytest.mark.parametrize(("given", "used"), [("64MB", "512MB"), ("1GB", "1GB")])
def test_a_graph_is_built_in_half_a_gigabyte_or_in_what_the_server_gives(
    postgres_url: str, given: str, used: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as link:
        link.execute(f"SET maintenance_work_mem = '{given}'")
        link.execute(RAISE_BUILD_MEMORY)
        assert link.execute("SHOW maintenance_work_mem").fetchall() == [(used,)]


def test_the_names_that_an_edited_text_can_hold_are_looked_up_and_not_all_read(weft: Weft) -> None:
    assert [row.title for row in weft.store.names("default", {"note", "7"})] == ["note 7"]
    assert len(list(weft.store.names("default"))) == 60
