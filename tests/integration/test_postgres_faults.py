"""Faults of a server: what is said then, and what goes on by itself."""

import os
import resource
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from msgspec.structs import replace

from postgres_server import new_database, running_server, start, stop
from weft import Node, Weft
from weft.errors import (
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreTimedOut,
    StoreTooNew,
    StoreUnreachable,
)
from weft.indexing.prepare import prepare
from weft.interfaces.cli.jobs import add_job, run_job
from weft.model import View
from weft.ports import Changes
from weft.store.open import read_address
from weft.store.postgres import PostgresStore, pool
from weft.store.postgres.connection import connect, translate_errors
from weft.store.postgres.schema import MIGRATIONS, install_extensions, prepare_schema

Open = Callable[..., Weft]
LARGEST_FILE = 24_000_000
"""Bytes; more than a segment of the server's log, which must not run full."""


@pytest.fixture
def opened(url: str, tmp_path: Path) -> Iterator[Open]:
    """Opens the store, each time as another process would."""
    wefts: list[Weft] = []

    def opening(url: str = url, **options: object) -> Weft:
        wefts.append(Weft.open(url, folder=tmp_path, **options))  # type: ignore[arg-type]
        return wefts[-1]

    yield opening
    for weft in wefts:
        weft.close()


def note(key: str, text: str = "a red fox", tenant: str = "default") -> Node:
    return Node(f"s:{key}", "note", tenant, key, text=text)


def end_connections(url: str) -> None:
    """Let the server drop every connection but ours."""
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")


# --- connections -----------------------------------------------------------------------------------------


def test_dropped_connections_are_replaced_unnoticed(opened: Open, postgres_url: str) -> None:
    weft = opened()
    weft.put([note("one")])
    for key in ("two", "three"):
        weft.search("fox")
        end_connections(postgres_url)
        assert weft.search("fox").candidates
        end_connections(postgres_url)
        weft.put([note(key)])
    assert {each.node.key for each in weft.search("fox").candidates} == {"s:one", "s:two", "s:three"}


def test_a_connection_lost_in_the_middle_of_reading_is_told_and_the_next_question_is_answered(
    opened: Open, postgres_url: str
) -> None:
    weft = opened()
    weft.put([note("one")])
    with pytest.raises(StoreUnreachable, match="cannot be reached"), weft.store.snapshot(View()) as snapshot:
        end_connections(postgres_url)
        snapshot.find(["s:one"])
    assert weft.search("fox").candidates


def test_a_question_whose_connection_is_lost_is_asked_again(
    opened: Open, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weft = opened()
    weft.put([note("one")])
    asked = []
    search = weft.reader.index.lexical

    def losing(*given: object) -> object:
        asked.append(given)
        if len(asked) == 1:
            end_connections(postgres_url)
        return search(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(weft.reader.index, "lexical", losing)
    assert "red fox" in weft.context("red fox").text
    assert len(asked) == 2


def test_a_writer_whose_connection_is_lost_between_two_writes_goes_on(opened: Open, postgres_url: str) -> None:
    weft = opened()
    with weft.store.writing():
        weft.put([note("one")])
        end_connections(postgres_url)
        weft.put([note("two")])
    assert weft.status().nodes == 2


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    url = f"postgresql://nobody@/x?host={quote(str(tmp_path))}"
    with pytest.raises(StoreUnreachable, match=r"nobody@/x.*Check that the server runs"):
        Weft.open(url, folder=tmp_path)


@pytest.fixture
def own_server(postgres_url: str) -> Iterator[tuple[Path, str]]:
    """The folder and the URL of a server that a test may stop and start."""
    with tempfile.TemporaryDirectory(prefix="weft-postgres-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        with running_server(data) as url:
            yield data, url


def test_a_server_that_restarts_is_waited_for_by_writers_and_found_again_by_readers(
    own_server: tuple[Path, str], tmp_path: Path
) -> None:
    data, url = own_server
    with Weft.open(url, folder=tmp_path / "one") as weft:
        weft.put([note("one")])
        stop(data)
        with pytest.raises(StoreUnreachable):
            Weft.open(url, folder=tmp_path / "two")
        writer = threading.Thread(target=weft.put, args=([note("two")],))
        writer.start()
        start(data)
        writer.join(30)
        assert {each.node.key for each in weft.search("fox").candidates} == {"s:one", "s:two"}


def test_a_question_waits_some_seconds_for_a_server_that_is_away_and_the_next_one_finds_it_again(
    own_server: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, url = own_server
    with Weft.open(url, folder=tmp_path) as weft:
        weft.store.pools.close()  # type: ignore[union-attr]
        weft.store.pools = pool.ReaderPools(read_address(url), 0.2)  # type: ignore[union-attr]
        weft.put([note("one")])
        stop(data)
        begun, reading = [], weft.store.snapshot
        monkeypatch.setattr(weft.store, "snapshot", lambda view: begun.append(view) or reading(view))
        with pytest.raises(StoreTimedOut, match="cannot be reached"):
            weft.search("fox")
        assert len(begun) == 1, "who has waited in vain does not wait once more"
        start(data)
        assert weft.search("fox").candidates


def test_a_disk_that_takes_no_more_is_told_and_leaves_the_state_before(
    own_server: tuple[Path, str], tmp_path: Path
) -> None:
    data, url = own_server
    stop(data)
    start(data, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE)))
    with Weft.open(url, folder=tmp_path, embedder=None) as weft:
        sequence = weft.put([note("one")]).sequence
        (small,) = prepare([(note("large"), "")], None, weft.workshop().count)
        large = replace(small, node=replace(small.node, text=os.urandom(LARGEST_FILE).hex()))
        with pytest.raises(StoreError, match="disk of the server") as failure:
            weft.store.write(Changes(upserts=(large,)))
        assert not isinstance(failure.value, StoreCorrupt)
        assert weft.status().sequence == sequence
        assert weft.verify() == ()
        assert weft.put([note("two")]).sequence > sequence


def test_a_wrong_password_is_told_without_printing_it(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as link:
        link.execute("DROP ROLE IF EXISTS locked")
        link.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
        rules = Path(link.execute("SHOW hba_file").fetchone()[0])
        rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
        link.execute("SELECT pg_reload_conf()")
    host = postgres_url.partition("?")[2]
    with pytest.raises(StoreError, match="refused the user or the password") as failure:
        Weft.open(f"postgresql://locked:secret@/postgres?{host}", folder=tmp_path)
    assert "secret" not in str(failure.value)


def test_a_database_or_a_store_that_is_not_there_is_told(postgres_url: str, url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such database"):
        Weft.open(postgres_url.replace("/postgres?", "/nowhere?"), folder=tmp_path)
    with pytest.raises(StoreError, match="There is no Weft store"):
        Weft.open(url, folder=tmp_path, create=False)


# --- the server ------------------------------------------------------------------------------------------


def test_an_extension_that_may_not_be_installed_is_named_with_its_statement(
    postgres_url: str, tmp_path: Path
) -> None:
    bare = new_database(postgres_url, "bare")
    with psycopg.connect(bare, autocommit=True) as link:
        link.execute("DROP ROLE IF EXISTS humble")
        link.execute("CREATE ROLE humble LOGIN")
    with pytest.raises(StoreError, match=r"CREATE EXTENSION vector;"):
        Weft.open(bare.replace("postgres:@", "humble@"), folder=tmp_path)


def test_a_user_who_may_make_no_schema_is_told_the_statement_and_works_in_one_that_was_made(
    postgres_url: str, tmp_path: Path
) -> None:
    shared = new_database(postgres_url, "shared")
    address = f"{shared.replace('postgres:@', 'modest@')}&schema=modest"
    with psycopg.connect(shared, autocommit=True) as link:
        link.execute("CREATE EXTENSION IF NOT EXISTS vector")
        link.execute("CREATE ROLE modest LOGIN")
        with pytest.raises(StoreReadOnly) as failure:
            Weft.open(address, folder=tmp_path)
        statement = str(failure.value).rpartition(": ")[2]
        assert statement == "CREATE SCHEMA modest AUTHORIZATION modest;"
        link.execute(statement)
    with Weft.open(address, folder=tmp_path) as weft:
        weft.reader.index._exact_below = 10  # type: ignore[union-attr]
        weft.put([note(f"{number}", f"red fox {number}", tenant) for number in range(20) for tenant in ("a", "b")])
        assert weft.engine()["row_security"] == "on"
        found = weft.search("red fox 7", limit=50, tenants=("a",)).candidates
        assert {(each.node.tenant, each.node.key) for each in found} == {("a", f"s:{n}") for n in range(20)}
        add_job(weft, "search", "default", "")
        assert run_job(weft).state == "done"  # type: ignore[union-attr]
        with Weft.open(tmp_path / "copy") as copy:
            assert weft.copy_to(copy).nodes == 40
        assert weft.verify() == ()


class Answering:
    """A connection to a server that has these extensions to offer."""

    def __init__(self, *offered: tuple[str, str]) -> None:
        self._offered = list(offered)

    def execute(self, query: str) -> "Answering":
        assert "pg_available_extensions" in query
        return self

    def fetchall(self) -> list[tuple[str, str]]:
        return self._offered


@pytest.mark.parametrize(
    ("offered", "told"),
    [
        ([], r"has no pgvector.*CREATE EXTENSION vector;"),
        ([("pg_textsearch", "1.0.0")], r"has no pgvector.*CREATE EXTENSION vector;"),
        ([("vector", "0.7.4")], r"has pgvector 0\.7\.4; Weft needs 0\.8.*ALTER EXTENSION vector UPDATE;"),
    ],
)
def test_a_server_without_pgvector_or_with_an_old_one_is_told_what_to_run(
    url: str, offered: list[tuple[str, str]], told: str
) -> None:
    with pytest.raises(StoreError, match=told):
        install_extensions(Answering(*offered), read_address(url))  # type: ignore[arg-type]


def test_bm25_that_the_server_does_not_have_is_named_with_its_statement(postgres_url: str, tmp_path: Path) -> None:
    bare = f"{new_database(postgres_url, 'wordless')}&schema=wordless"
    Weft.open(bare, folder=tmp_path).close()
    with psycopg.connect(read_address(bare).server, autocommit=True) as link:
        link.execute("DROP EXTENSION pg_textsearch")
    with pytest.raises(StoreError, match=r"CREATE EXTENSION pg_textsearch;"):
        Weft.open(f"{bare}&words=bm25", folder=tmp_path)
    with Weft.open(bare, folder=tmp_path) as weft:
        weft.put([note("one")])
        assert weft.search("fox").candidates
        assert weft.index_status()["words"] == "tsvector"


def test_an_old_server_is_refused_by_its_version(url: str) -> None:
    with pytest.raises(StoreError, match=r"is PostgreSQL 18; Weft needs 99 or newer"):
        prepare_schema(read_address(url), create=True, read_only=False, oldest_server=99)


def test_a_full_disk_leaves_the_state_before(opened: Open, url: str) -> None:
    weft = opened()
    sequence = weft.put([note("one")]).sequence
    name = read_address(url).schema
    with psycopg.connect(read_address(url).server, autocommit=True) as link:
        link.execute(
            f"CREATE FUNCTION {name}.no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'; END $$"
        )
        link.execute(f"CREATE TRIGGER fill BEFORE INSERT ON {name}.passages EXECUTE FUNCTION {name}.no_space()")
        with pytest.raises(StoreError, match="disk of the server"):
            weft.put([note("two")])
        link.execute(f"DROP TRIGGER fill ON {name}.passages")
    assert weft.status().sequence == sequence
    assert weft.put([note("two")]).sequence > sequence


def test_a_reader_may_not_write_and_a_busy_writer_is_told(opened: Open, url: str) -> None:
    opened()
    with pytest.raises(StoreReadOnly, match="read-only"):
        opened(read_only=True).put([note("one")])
    holder = PostgresStore.open(read_address(url))
    waiting = PostgresStore.open(read_address(url), busy_seconds=0.05)
    with holder.writing(), pytest.raises(StoreBusy, match=r"0\.05 seconds"), waiting.writing():
        pass
    holder.close()
    waiting.close()


# --- migrations ------------------------------------------------------------------------------------------


def test_many_that_open_a_new_store_at_once_make_it_once(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: PostgresStore.open(read_address(url)), range(4)))
    assert len({store.status().location for store in stores}) == 1
    for store in stores:
        store.close()


def test_several_servers_that_bring_an_old_store_up_to_date_at_once_do_it_once(url: str) -> None:
    prepare_schema(read_address(url), create=True, read_only=False, migrations=MIGRATIONS[:1])
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: PostgresStore.open(read_address(url)), range(4)))
    applied = stores[0]._rows("SELECT number FROM migrations ORDER BY number")
    assert [number for (number,) in applied] == [*range(1, len(MIGRATIONS) + 1)]
    for store in stores:
        store.close()


def test_a_migration_that_breaks_off_leaves_the_steps_before_it_and_goes_on_next_time(url: str) -> None:
    address = read_address(url)
    broken = (*MIGRATIONS, ("a step", "CREATE TABLE half (id int); SELECT 1/0"))
    with pytest.raises((StoreError, InvalidInput)), translate_errors(address):
        prepare_schema(address, create=True, read_only=False, migrations=broken)
    whole = (*MIGRATIONS, ("a step", "CREATE TABLE half (id int)"))
    prepare_schema(address, create=True, read_only=False, migrations=whole)
    with connect(address) as connection:
        assert connection.execute("SELECT count(*) FROM half").fetchall() == [(0,)]


def test_a_store_of_a_newer_weft_is_left_alone(opened: Open, url: str) -> None:
    opened()
    address = read_address(url)
    with psycopg.connect(address.server, autocommit=True) as link:
        link.execute(f"INSERT INTO {address.schema}.migrations VALUES (99, 'from the future')")
    with pytest.raises(StoreTooNew, match="version 99"):
        opened()


# --- tenants ---------------------------------------------------------------------------------------------


def test_the_server_hides_other_tenants_from_a_query_that_forgets_them(opened: Open, url: str) -> None:
    weft = opened()
    weft.put([note("mine"), note("theirs", tenant="other")], [])
    address = read_address(url)
    with psycopg.connect(address.server, autocommit=True) as link:
        link.execute("CREATE ROLE guest LOGIN")
        link.execute(f"GRANT USAGE ON SCHEMA {address.schema} TO guest")
        link.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {address.schema} TO guest")
    with psycopg.connect(address.server.replace("postgres:@", "guest@")) as link:
        link.execute(f"SET search_path = {address.schema}, public")
        for table in ("nodes", "passages", "keys", "marks", "vectors", "names", "facets", "term_statistics"):
            link.execute("SET weft.tenants = ''")
            assert link.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
            link.execute("SET weft.tenants = '{1}'")
            assert link.execute(f"SELECT DISTINCT tenant_id FROM {table}").fetchall() == [(1,)]


def test_a_tenant_with_nine_tenths_of_the_nodes_hides_nothing_of_a_small_one(opened: Open) -> None:
    weft = opened()
    weft.reader.index._exact_below = 50  # type: ignore[union-attr]
    weft.put([note(f"big{number}", f"red fox number {number}", "big") for number in range(270)])
    weft.put([note(f"small{number}", f"red fox number {number}", "small") for number in range(30)])
    assert weft.index_status()["indexes"] != ""
    found = weft.search("red fox", limit=100, tenants=("small",))
    assert {each.node.key for each in found.candidates} == {f"s:small{number}" for number in range(30)}


def test_a_replica_is_read_while_it_has_every_write_and_the_primary_otherwise(opened: Open, url: str) -> None:
    weft = opened()
    weft.put([note("one")])
    weft.close()
    address = read_address(url)
    copied = address.server.replace("/postgres?", "/replica?")
    with psycopg.connect(address.server.replace("/postgres?", "/template1?"), autocommit=True) as link:
        link.execute("DROP DATABASE IF EXISTS replica")
        link.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'")
        link.execute("CREATE DATABASE replica TEMPLATE postgres")
    weft = opened(f"{url}&replica={quote(copied, safe='')}")
    assert weft.store.pools.choose() is weft.store.pools.replica  # type: ignore[union-attr]
    assert weft.search("fox").candidates
    weft.put([note("two")])
    assert weft.store.pools.choose() is weft.store.pools.primary  # type: ignore[union-attr]
    assert weft.store.pools.lag() == 1  # type: ignore[union-attr]
    assert len(weft.search("fox").candidates) == 2
    assert len(weft.search("fox", consistency="session").candidates) == 2
    assert len(weft.search("fox", consistency="eventually").candidates) == 1, "the replica as it is"


def test_while_the_primary_is_away_the_replica_answers_and_the_other_way_round(
    opened: Open, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened().put([note("one")])
    address = read_address(url)
    nowhere, tried = address.server.replace("host=", "host=/nowhere"), []

    def trying(*given: object) -> object:
        tried.append(given)
        return connect(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "connect", trying)
    for primary, replica in ((nowhere, address.server), (address.server, nowhere)):
        pools = pool.ReaderPools(replace(address, server=primary, replica=replica), 60.0)
        tried.clear()
        for _ in range(3):
            with pools.choose().reading("SELECT sequence FROM state") as (_, (sequence,)):
                assert sequence > 0
        assert pools.lag() is None
        assert len(tried) == 1, "a server that is away is let be for a while"
        pools.close()
