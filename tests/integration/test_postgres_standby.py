"""A real standby that streams from the primary: read while it is level, passed over while it lags, promoted."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import Cli

from postgres_server import running_server, running_standby, stop, with_parameters
from weft import Node, Weft
from weft.model import View

APPLIED, LOCAL = ("-c synchronous_commit=remote_apply", "-c synchronous_commit=local")
"""Whether a write is acknowledged once the standby has it, or whatever the standby does."""


def note(key: str) -> Node:
    return Node(f"s:{key}", "note", title=key, text="a red fox")


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Path, str, str]]:
    """The folder of a primary, its URL and that of its standby."""
    if not request.config.getoption("--backends"):
        pytest.skip("needs a PostgreSQL server: run with --backends")
    pytest.importorskip("pgserver")
    with tempfile.TemporaryDirectory(prefix="weft-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "primary"
        with running_server(place) as primary, running_standby(place, Path(folder) / "standby") as standby:
            with psycopg.connect(primary, autocommit=True) as link:
                link.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                link.execute("SELECT pg_reload_conf()")
            yield place, primary, standby


def opened(primary: str, standby: str, folder: Path, options: str) -> Weft:
    return Weft.open(with_parameters(primary, replica=standby, options=options), folder=folder)


def on_standby(weft: Weft) -> bool:
    with weft.store.snapshot(View()) as snapshot:
        return bool(snapshot.rows("SELECT pg_is_in_recovery()")[0][0])  # type: ignore[attr-defined]


def test_a_standby_is_read_while_it_has_every_write_and_passed_over_while_it_lags(
    pair: tuple[Path, str, str], tmp_path: Path, cli: Cli
) -> None:
    _, primary, standby = pair
    with opened(primary, standby, tmp_path, APPLIED) as weft:
        weft.put([note("one")])
        assert on_standby(weft)
        assert [each.node.key for each in weft.search("fox").candidates] == ["s:one"]
        assert "a red fox" in weft.context("red fox").text
    with psycopg.connect(standby, autocommit=True) as link, opened(primary, standby, tmp_path, LOCAL) as weft:
        link.execute("SELECT pg_wal_replay_pause()")
        weft.put([note("two")])
        assert not on_standby(weft)
        assert len(weft.search("fox").candidates) == 2, "an acknowledged write is never missing"
        assert len(weft.search("fox", consistency="eventually").candidates) == 1, "the standby as it is"
        result = cli("status", "--store", with_parameters(primary, replica=standby)).out
        assert "up to date; replica 1 write behind" in result
        nowhere = with_parameters(primary, replica=standby.replace("standby", "nowhere"))
        assert "primary or replica does not answer" in cli("status", "--store", nowhere).out
        link.execute("SELECT pg_wal_replay_resume()")


def test_a_writer_goes_on_with_the_standby_that_was_promoted(pair: tuple[Path, str, str], tmp_path: Path) -> None:
    place, primary, standby = pair
    both = f"{primary},{place.parent / 'standby'}&target_session_attrs=read-write"
    with Weft.open(with_parameters(both, options=APPLIED), folder=tmp_path) as weft:
        weft.put([note("one")])
        stop(place, "immediate")
        writer = threading.Thread(target=weft.put, args=([note("two")],))
        writer.start()
        with psycopg.connect(standby, autocommit=True) as link:
            link.execute("ALTER SYSTEM RESET synchronous_standby_names")
            link.execute("SELECT pg_promote()")
        writer.join(60)
        assert {each.node.key for each in weft.search("fox").candidates} == {"s:one", "s:two"}
        assert not on_standby(weft)
