"""Several real PostgreSQL servers as one store: tenants by hash, shards added and lost, standbys promoted."""

import json
import os
import shlex
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import Cli
from starlette.testclient import TestClient

from cluster_servers import Servers, running_servers
from postgres_server import running_standby, with_parameters
from weft import Edge, Node, Weft
from weft.errors import InvalidInput, StoreUnreachable
from weft.interfaces.rest.app import make_app
from weft.interfaces.rest.served_store import Served, Serving
from weft.model import View
from weft.store.cluster import ClusterStore
from weft.store.cluster.move import drain, move_tenant, rebalance
from weft.store.cluster.placement import ClusterMap

ROOT = Path(__file__).parents[2]
TENANTS = [f"tenant-{number}" for number in range(9)]


def quiet(stage: str, done: int, total: int | None) -> None:
    """Show no progress."""


def notes(tenant: str, count: int = 12) -> list[Node]:
    return [
        Node(
            f"s:{number}", "note", tenant, title=f"note {number}", text=f"A red fox, number {number} of {tenant}."
        )
        for number in range(count)
    ]


def links(tenant: str, count: int = 12) -> list[Edge]:
    return [Edge(f"s:{number}", f"s:{number + 1}", "next", tenant=tenant) for number in range(count - 1)]


def fill(weft: Weft, tenants: list[str] = TENANTS) -> None:
    for tenant in tenants:
        weft.put(notes(tenant), links(tenant))


def cluster_of(weft: Weft) -> ClusterStore:
    assert isinstance(weft.store, ClusterStore)
    return weft.store


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Three servers, a, b and c."""
    if not request.config.getoption("--backends"):
        pytest.skip("needs PostgreSQL servers: run with --backends")
    pytest.importorskip("pgserver")
    with tempfile.TemporaryDirectory(prefix="weft-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with running_servers(Path(folder), "a", "b", "c") as running:
            yield running


@pytest.fixture
def schema(request: pytest.FixtureRequest) -> str:
    """A schema of the test's own, so that every test has a cluster of its own."""
    return f"t{abs(hash(request.node.name)):x}"[:30]


@pytest.fixture
def two(servers: Servers, schema: str, tmp_path: Path) -> Iterator[Weft]:
    """A cluster of two of the servers, with nine tenants."""
    with Weft.open(servers.location("a", "b", schema=schema), folder=tmp_path / "two") as weft:
        fill(weft)
        yield weft


# --- routing ---


def test_every_tenant_is_on_one_shard_and_answered_as_from_a_single_store(two: Weft, tmp_path: Path) -> None:
    cluster = cluster_of(two)
    held = {name: set(store.status(None).by_tenant) for name, store in cluster.everywhere(lambda store: store)}
    assert held["a"] | held["b"] == set(TENANTS)
    assert not held["a"] & held["b"]
    assert held["a"] and held["b"], "nine names do not all fall on one of two"
    with Weft.open(tmp_path / "single") as single:
        fill(single)
        for tenant in TENANTS:
            one, other = (each.context("red fox 7", tenants=tenant) for each in (two, single))
            assert one.text == other.text
            assert "number 7" in one.text


def test_a_question_to_tenants_of_several_shards_gives_the_page_of_a_single_store(
    two: Weft, tmp_path: Path
) -> None:
    with Weft.open(tmp_path / "single") as single:
        fill(single)
        for question in ("red fox 7", "note 3", "what of tenant-4?"):
            one, other = (each.context(question, tenants=TENANTS, max_tokens=3000) for each in (two, single))
            assert one.text == other.text
        assert [node.ref for node in two.nodes(tenants=TENANTS, limit=200)] != []
        assert two.status(TENANTS).nodes == single.status(TENANTS).nodes == 9 * 12


def test_tenants_whose_names_begin_alike_are_on_one_shard_and_may_share(
    two: Weft, servers: Servers, schema: str, cli: Cli
) -> None:
    cluster = cluster_of(two)
    for group in range(20):
        shards = {cluster.shard_of(f"group-{group}/{name}").name for name in ("notes", "shared", "alice")}
        assert len(shards) == 1
    two.put([Node("s:1", "note", "acme/notes", text="See the handbook.")])
    two.put([Node("s:2", "note", "acme/shared", title="handbook", text="All the rules.")])
    two.share("acme/notes", "acme/shared")
    assert cluster.shared("acme/notes") == ("acme/shared",)
    assert cluster.shared_apart() == []
    far = next(name for name in TENANTS if cluster.shard_of(name) is not cluster.shard_of("acme/notes"))
    two.share("acme/notes", "acme/shared", far)
    assert cluster.shared_apart() == [("acme/notes", far)]
    told = cli("cluster", "status", "--store", servers.location("a", "b", schema=schema))
    assert f"acme/notes shares with {far} on another shard" in told.err


def test_a_shard_that_is_added_takes_tenants_only_for_itself() -> None:
    before, after = ClusterMap(members=("a", "b", "c")), ClusterMap(members=("a", "b", "c", "d"))
    names = [f"tenant {number}" for number in range(4000)]
    moved = [name for name in names if before.home(name) != after.home(name)]
    assert all(after.home(name) == "d" for name in moved)
    assert 0.2 < len(moved) / len(names) < 0.3, "a quarter of them"


def test_a_cluster_is_copied_into_a_folder_and_back(
    two: Weft, servers: Servers, schema: str, tmp_path: Path
) -> None:
    with (
        Weft.open(tmp_path / "folder") as folder,
        Weft.open(servers.location("b", "c", schema=f"{schema}_x"), folder=tmp_path / "own") as other,
    ):
        assert two.copy_to(folder).nodes == 9 * 12
        assert folder.copy_to(other).fingerprint == two.store.fingerprint().digest
        assert (
            other.context("red fox 7", tenants=TENANTS[1]).text
            == two.context("red fox 7", tenants=TENANTS[1]).text
        )


@pytest.mark.parametrize("location", ["postgresql://h/d postgresql://i/d", "{a} {a}", "postgresql://h/d?shard=ä"])
def test_addresses_without_names_of_shards_are_refused_with_what_to_write(
    servers: Servers, location: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="shard="):
        Weft.open(location.format(a=servers.location("a")), folder=tmp_path)


# --- moving ---


def test_a_shard_is_added_while_its_tenants_are_read_and_written(
    two: Weft, servers: Servers, schema: str, tmp_path: Path
) -> None:
    pages = {tenant: two.context("red fox 7", tenants=tenant).text for tenant in TENANTS}
    stop, problems, written = threading.Event(), [], []

    def keep(work: object) -> None:
        number = 0
        try:
            while not stop.is_set():
                work(number)  # type: ignore[operator]
                number += 1
        except Exception as error:  # noqa: BLE001  (told by the test)
            problems.append(error)

    with Weft.open(servers.location(schema=schema), folder=tmp_path / "three") as three:

        def write(number: int) -> None:
            tenant = TENANTS[number % len(TENANTS)]
            three.put([Node(f"w:{number}", "memo", tenant, text="written while it moved")])
            written.append((tenant, f"w:{number}"))

        def read(number: int) -> None:
            tenant = TENANTS[number % len(TENANTS)]
            assert "number 7" in three.context("red fox 7", tenants=tenant).text

        threads = [threading.Thread(target=keep, args=(work,)) for work in (write, read)]
        for thread in threads:
            thread.start()
        # Another process moves them; those who use them learn of it from the shards.
        with Weft.open(servers.location(schema=schema), folder=tmp_path / "operator") as operator:
            moved = rebalance(cluster_of(operator), quiet)
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == []
        assert {each.target for each in moved} == {"c"}
        assert len(written) > 0
        cluster = cluster_of(three)
        cluster.reload_map()
        assert not cluster.map.waiting
        for tenant, key in written:
            assert cluster.hashes(tenant, [key]), "an acknowledged write is never lost"
        for tenant in TENANTS:
            three.delete(*(key for owner, key in written if owner == tenant), tenant=tenant)
            assert three.context("red fox 7", tenants=tenant).text == pages[tenant]
        held = {name: set(store.status(None).by_tenant) for name, store in cluster.everywhere(lambda store: store)}
        assert sum(len(names) for names in held.values()) == len(TENANTS), "each on one shard only"
        assert cluster.verify() == ()


def test_a_process_with_an_old_map_reads_and_writes_where_the_tenant_is_now(
    two: Weft, servers: Servers, schema: str, tmp_path: Path
) -> None:
    tenant = TENANTS[0]
    with Weft.open(servers.location("a", "b", schema=schema), folder=tmp_path / "operator") as operator:
        old = cluster_of(operator).shard_of(tenant).name
        target = "b" if old == "a" else "a"
        move_tenant(cluster_of(operator), tenant, target, quiet)
        two.put([Node("s:late", "note", tenant, text="a late heron")])
        assert "heron" in two.context("heron", tenants=tenant).text
        assert "number 7" in two.context("red fox 7", tenants=tenant).text
        with cluster_of(operator).shards[target].using() as store:
            assert store.hashes(tenant, ["s:late"])
        assert cluster_of(operator).map.pinned == {tenant: target}
        assert rebalance(cluster_of(operator), quiet) == [], "what was put there by name stays"


def test_tenants_that_share_are_moved_together_or_not_at_all(two: Weft) -> None:
    cluster = cluster_of(two)
    two.put([Node("s:1", "note", "acme/notes", title="notes", text="See the rules.")])
    two.put([Node("s:2", "note", "acme/shared", title="rules", text="All of them.")])
    two.share("acme/notes", "acme/shared")
    two.put(edges=[Edge("s:1", "s:2", "cites", tenant="acme/notes", target_tenant="acme/shared")])
    target = "b" if cluster.shard_of("acme/notes").name == "a" else "a"
    with pytest.raises(InvalidInput, match="acme/shared"):
        move_tenant(cluster, "acme/notes", target, quiet)
    both = ["acme/notes", "acme/shared"]
    for tenant in both:
        move_tenant(cluster, tenant, target, quiet, together=both)
    assert cluster.shared("acme/notes") == ("acme/shared",)
    with cluster.snapshot(View(tuple(both))) as snapshot:
        (found,) = snapshot.find(["s:1"]).values()
        assert [edge.target for _, _, edge in snapshot.edges(found)] == ["s:2"]


@pytest.mark.parametrize("step", ["_copy_settings", "_switch", "_remove"])
def test_a_move_that_broke_off_at_any_step_loses_nothing_and_is_continued(
    servers: Servers, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with Weft.open(servers.location("a", schema=schema), folder=tmp_path / "one") as one:
        fill(one)
        pages = {tenant: one.context("red fox 7", tenants=tenant).text for tenant in TENANTS}
    with Weft.open(servers.location("a", "b", schema=schema), folder=tmp_path / "two") as two:
        assert cluster_of(two).map.waiting, "what was on one server stays there until it is moved"
        with monkeypatch.context() as broken:
            broken.setattr(f"weft.store.cluster.move.{step}", lambda *given: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                rebalance(cluster_of(two), quiet)
        assert {tenant: two.context("red fox 7", tenants=tenant).text for tenant in TENANTS} == pages
        rebalance(cluster_of(two), quiet)
        assert not cluster_of(two).map.waiting
        assert {tenant: two.context("red fox 7", tenants=tenant).text for tenant in TENANTS} == pages
        assert two.status().by_tenant == dict.fromkeys(sorted(TENANTS), 12), "and nothing is there twice"


def test_a_shard_is_emptied_before_it_is_switched_off(two: Weft) -> None:
    cluster = cluster_of(two)
    pages = {tenant: two.context("red fox 7", tenants=tenant).text for tenant in TENANTS}
    drain(cluster, "b", quiet)
    assert cluster.shards["b"].transact(lambda c: c.execute("SELECT count(*) FROM nodes").fetchone()) == (0,)
    assert {tenant: two.context("red fox 7", tenants=tenant).text for tenant in TENANTS} == pages
    with pytest.raises(InvalidInput, match="one has to stay"):
        drain(cluster, "a", quiet)


# --- losing a shard ---


def test_a_lost_shard_costs_its_own_tenants_an_answer_and_nobody_else(
    two: Weft, servers: Servers, schema: str, tmp_path: Path
) -> None:
    cluster = cluster_of(two)
    lost, kept = ([name for name in TENANTS if cluster.shard_of(name).name == shard] for shard in ("b", "a"))
    pages = {tenant: two.context("red fox 7", tenants=tenant).text for tenant in kept}
    servers.kill("b")
    try:
        with pytest.raises(StoreUnreachable, match=f"shard 'b', which holds tenant '{lost[0]}'"):
            two.context("red fox 7", tenants=lost[0])
        with pytest.raises(StoreUnreachable):
            two.put([Node("s:x", "note", lost[0], text="not stored")])
        for tenant in kept:
            assert two.context("red fox 7", tenants=tenant).text == pages[tenant]
            two.put([Node("s:new", "note", tenant, text="a new badger")])
            assert "badger" in two.context("badger", tenants=tenant).text
        # A process that starts now knows the map from the shards that are there.
        location = servers.location("a", "b", schema=schema)
        served = Served(Serving(tmp_path, on_server=True), lambda: Weft.open(location, folder=tmp_path / "served"))
        with TestClient(make_app(served), base_url="http://localhost", client=("127.0.0.1", 5000)) as http:
            for tenant, status in ((kept[0], 200), (lost[0], 503)):
                answer = http.post("/api/context", json={"query": "red fox 7", "tenant_ids": [tenant]})
                assert answer.status_code == status, answer.text
            assert "shard 'b'" in answer.text
            assert "Retry-After" in answer.headers
            assert http.get("/readyz").status_code == 200
    finally:
        servers.start("b")
    with Weft.open(location, folder=tmp_path / "later") as later:
        assert "number 7" in later.context("red fox 7", tenants=lost[0]).text


def test_the_standby_of_a_lost_shard_is_read_then_promoted_and_written_to(
    servers: Servers, schema: str, tmp_path: Path, cli: Cli
) -> None:
    folder = servers.folder
    with running_standby(folder / "c", folder / f"standby-{schema}") as standby:
        with psycopg.connect(servers.urls["c"], autocommit=True) as link:
            link.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            link.execute("SELECT pg_reload_conf()")
        both = f"{servers.urls['c']},{folder / f'standby-{schema}'}&target_session_attrs=read-write"
        third = with_parameters(
            both, shard="c", schema=schema, replica=standby, options="-c synchronous_commit=remote_apply"
        )
        location = f"{servers.location('a', schema=schema)} {third}"
        with Weft.open(location, folder=tmp_path / "own") as weft:
            fill(weft)
            own = next(name for name in TENANTS if cluster_of(weft).shard_of(name).name == "c")
            before = weft.context("red fox 7", tenants=own).text
            servers.kill("c")
            assert weft.context("red fox 7", tenants=own).text == before, "the standby answers"
            told = cli("cluster", "status", "--store", location).out
            assert "c" in told
            with psycopg.connect(standby, autocommit=True) as link:
                link.execute("ALTER SYSTEM RESET synchronous_standby_names")
            assert json.loads(cli("cluster", "promote", "c", "--store", location, "--json").out) == {
                "promoted": "c"
            }
            weft.put([Node("s:after", "note", own, text="an otter after the promotion")])
            assert "otter" in weft.context("otter", tenants=own).text
            assert weft.context("red fox 7", tenants=own).text
    servers.start("c")


def test_the_commands_of_the_runbook_do_what_it_says(
    servers: Servers, schema: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    block = text.partition("## A cluster")[2].partition("```sh\n")[2].partition("```")[0]
    monkeypatch.setenv("A", servers.location("a", schema=schema))
    monkeypatch.setenv("B", servers.location("b", schema=schema))
    monkeypatch.setenv("C", servers.location("c", schema=schema))
    shown = []
    for line in block.splitlines():
        words = shlex.split(os.path.expandvars(line), comments=True)
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            continue
        done = cli(*(str(ROOT / word) if word.startswith("examples/") else word for word in words[1:]))
        assert done.code == 0, (line, done.err)
        shown.append(done.out)
    rows = {row.split()[0]: row.split()[1:3] for row in shown[-2].splitlines()}
    assert rows["b"] == ["unused", "0"], "what was emptied holds nothing"
    assert rows["a"][0] == rows["c"][0] == "up"
    assert int(rows["a"][1]) >= 1
