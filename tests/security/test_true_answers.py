"""The service tells the truth about a write, whatever fails; conditions and repeats are as the standards say."""

import errno
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rest_service import Service, make_key, make_service
from weft import Weft
from weft.interfaces.cli import make_app
from weft.interfaces.keys import Scope
from weft.interfaces.rest.idempotency import KeptAnswer, KeptAnswers
from weft.interfaces.rest.problems import Problem
from weft.runtime.deadline import Deadline, limit
from weft.store.embedded.index import EmbeddedIndex
from weft.store.sqlite.salvage import is_damaged, salvage

FAQ = {
    "tenant_id": "support",
    "node_type": "faq",
    "title": "Zebra stable",
    "content": {"text": "Behind the barn."},
}
QUESTION = {"query": "zebra stable", "tenant_ids": ["support"]}
PAGE_BYTES = 4096


def titles(service: Service) -> list[str]:
    answer = service.http.post("/api/context", json=QUESTION).json()
    return [entry["title"] for entry in answer["entry_points"]]


# --- writes ---


def test_a_write_that_is_stored_is_acknowledged_though_the_search_files_cannot_be_written(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(EmbeddedIndex, "catch_up", full)
        made = service.http.post("/api/nodes", json=FAQ)
        assert made.status_code == 201
        assert "No space left" in made.headers["Weft-Note"]
        assert titles(service)[0] == FAQ["title"]
        assert service.http.delete(f"/api/nodes/{made.json()['id']}").status_code == 204
    assert service.http.post("/api/nodes", json=FAQ).status_code == 201
    assert "Weft-Note" not in service.http.get("/healthz").headers


def test_a_write_that_is_refused_is_not_stored(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**FAQ, "title": "Wrong", "content": {"text": "x" * 5_000_001}}
    batch = service.http.put("/api/nodes", json={"nodes": [FAQ, wrong]})
    assert batch.status_code == 422
    assert FAQ["title"] not in titles(service)


def test_what_is_stored_is_acknowledged_however_late(store: Path) -> None:
    now = 0.0
    patience = Deadline(10, lambda: now)
    with Weft.open(store) as weft, limit(patience):
        from weft import Node

        weft.put([Node("app:z", "faq", "support", title="Zebra")])
        now = 100.0
        assert weft.show("app:z", tenants=["support"])


def test_links_into_another_tenant_are_forbidden_and_no_conflict(service: Service) -> None:
    nodes = service.http.get("/api/nodes", params={"tenant_id": ["support", "finance"], "limit": 1000}).json()[
        "nodes"
    ]
    ends = {node["tenant_id"]: node["id"] for node in nodes}
    edge = {"source_id": ends["support"], "target_id": ends["finance"]}
    assert service.http.post("/api/edges", json=edge).status_code == 403


# --- conditions ---


def test_a_change_is_made_only_to_what_the_caller_has_seen(service: Service) -> None:
    place = f"/api/nodes/{service.http.post('/api/nodes', json=FAQ).json()['id']}"
    seen = service.http.get(place).headers["ETag"]
    assert service.http.get(place, headers={"If-None-Match": f"W/{seen}"}).status_code == 304
    first = service.http.patch(place, json={"title": "Zebra one"}, headers={"If-Match": seen})
    assert first.status_code == 200
    assert first.headers["ETag"] != seen
    late = service.http.patch(place, json={"title": "Zebra two"}, headers={"If-Match": seen})
    assert late.status_code == 412
    assert service.http.get(place).json()["title"] == "Zebra one"
    assert service.http.delete(place, headers={"If-Match": seen}).status_code == 412
    assert service.http.delete(place, headers={"If-Match": "*"}).status_code == 204


# --- repeats ---


def test_a_request_that_comes_again_is_answered_again_and_not_done_again(service: Service) -> None:
    again = {"Idempotency-Key": "a-1"}
    memory = {"tenant_id": "support", "text": "The zebra is fed at noon."}
    first = service.http.post("/api/memories", json=memory, headers=again)
    second = make_service(service.store).http.post("/api/memories", json=memory, headers=again)
    assert (first.status_code, second.status_code, second.json()) == (201, 201, first.json())
    assert second.headers["Idempotency-Replayed"] == "true"
    other = service.http.post("/api/memories", json={**memory, "text": "Other."}, headers=again)
    assert other.status_code == 422
    conflict = service.http.post("/api/nodes", json=FAQ, headers={"Idempotency-Key": "a-2"})
    assert conflict.status_code == 201
    assert service.http.post("/api/nodes", json=FAQ, headers={"Idempotency-Key": "a-2"}).status_code == 201
    assert service.http.post("/api/nodes", json=FAQ).status_code == 409


def test_the_same_idempotency_key_of_another_caller_is_another_one(service: Service) -> None:
    keys = [make_key(service.store, "support", write=True) for _ in range(2)]
    sent = [{**FAQ, "title": f"Zebra {number}"} for number in range(2)]
    done = [
        service.http.post("/api/nodes", json=body, headers={**key, "Idempotency-Key": "same"})
        for key, body in zip(keys, sent, strict=True)
    ]
    assert [each.status_code for each in done] == [201, 201]
    assert [each.json()["title"] for each in done] == ["Zebra 0", "Zebra 1"]


def test_a_request_under_way_is_not_begun_twice_and_one_that_died_may_be(tmp_path: Path) -> None:
    now = 1000.0
    kept = KeptAnswers(tmp_path, lambda: now)
    assert kept.begin("a", "k", b"x") is None
    with pytest.raises(Exception, match="under way"):
        kept.begin("a", "k", b"x")
    now = 2000.0
    assert kept.begin("a", "k", b"x") is None


def test_a_key_is_made_once_and_its_secret_is_kept_nowhere(service: Service) -> None:
    admin = make_key(service.store, "support", scopes=(Scope.ADMIN,))
    again = {**admin, "Idempotency-Key": "a-3"}
    made = service.http.post("/api/keys", json={"tenants": ["support"]}, headers=again)
    repeated = service.http.post("/api/keys", json={"tenants": ["support"]}, headers=again)
    assert (made.status_code, repeated.status_code) == (201, 409)
    assert "is not done again" in repeated.json()["detail"]
    assert len(service.http.get("/api/keys", headers=admin).json()["keys"]) == 2
    secret = made.json()["key"].encode()
    assert not [file for file in service.store.rglob("*") if file.is_file() and secret in file.read_bytes()]


def test_a_request_with_a_large_answer_is_not_done_again(service: Service) -> None:
    sent = {**FAQ, "content": {"text": "zebra " * 60_000}}
    first, second = (
        service.http.post("/api/nodes", json=sent, headers={"Idempotency-Key": "a-4"}).status_code
        for _ in range(2)
    )
    assert (first, second) == (201, 409)


def test_the_answers_kept_for_a_caller_are_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path, iter(range(10_000)).__next__)
    large = KeptAnswer(200, (), b"x" * (200 << 10))
    for number in range(200):
        kept.begin("a", str(number), b"x")
        kept.finish("a", str(number), large)
    assert kept.begin("a", "199", b"x") == large
    with pytest.raises(Problem, match="is not done again"):
        kept.begin("a", "0", b"x")
    with sqlite3.connect(tmp_path / "idempotency.sqlite") as connection:
        ((held,),) = connection.execute("SELECT sum(length(body)) FROM requests").fetchall()
    assert held <= 32 * (1 << 20)


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
def test_an_idempotency_key_that_cannot_be_one_is_refused(service: Service, key: str) -> None:
    assert service.http.post("/api/nodes", json=FAQ, headers={"Idempotency-Key": key}).status_code == 400


# --- media types and methods ---


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/json", "content-encoding": "gzip"},
        {},
    ],
)
def test_a_body_that_is_not_plain_json_is_415(service: Service, headers: dict[str, str]) -> None:
    done = service.http.post("/api/context", content=b'{"query": "x"}', headers=headers)
    assert done.status_code == 415
    assert done.headers["content-type"] == "application/problem+json"


def test_json_by_another_name_is_taken(service: Service) -> None:
    for media_type in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"):
        done = service.http.post("/api/search", content=b'{"query": "x"}', headers={"content-type": media_type})
        assert done.status_code == 200


def test_head_is_get_without_its_body_and_allow_names_it(service: Service) -> None:
    got, head = service.http.get("/api/profiles"), service.http.head("/api/profiles")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert service.http.head("/api/nodes/999999").status_code == 404
    refused = service.http.delete("/api/nodes")
    assert refused.status_code == 405
    assert refused.headers["Allow"] == "GET, HEAD, POST, PUT"


# --- damage ---


def damage(file: Path, seed: int, pages: int) -> None:
    """Overwrite some pages with noise, none of the first, which hold the description of the tables."""
    chance, content = random.Random(seed), bytearray(file.read_bytes())
    for _ in range(pages):
        at = chance.randrange(20, len(content) // PAGE_BYTES) * PAGE_BYTES
        content[at : at + PAGE_BYTES] = chance.randbytes(PAGE_BYTES)
    file.write_bytes(content)


REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/api/context", {"query": "refund", "tenant_ids": ["support", "shared"]}),
    ("POST", "/api/context", {"query": "refund", "tenant_ids": ["support"], "profile": "general"}),
    ("POST", "/api/search", {"query": "refund", "tenant_ids": ["support"]}),
    ("GET", "/api/nodes?tenant_id=support", None),
    ("GET", "/api/edges?tenant_id=support", None),
    ("GET", "/api/nodes/5", None),
    ("GET", "/api/graph/5", None),
    ("POST", "/api/nodes", FAQ),
    ("POST", "/api/memories", {"tenant_id": "support", "text": "The zebra is fed at noon."}),
    ("GET", "/api/memories?tenant_id=support", None),
    ("GET", "/readyz", None),
)


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_store_is_unavailable_or_answers_and_never_breaks(store: Path, seed: int) -> None:
    damage(store / "weft.sqlite", seed, 12)
    spoilt = make_service(store)
    for method, path, body in REQUESTS:
        done = spoilt.http.request(method, path, json=body)
        assert done.status_code in (200, 201, 404, 409, 503), f"{method} {path}: {done.text}"
        if done.status_code == 503:
            assert "weft doctor" in done.text or "weft restore" in done.text
    assert spoilt.http.get("/healthz").status_code == 200
    spoilt.served.close()


def test_only_this_machine_is_told_where_a_damaged_store_is(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = make_key(store, "support")
    (store / "weft.sqlite").write_bytes(b"\x13" * 100_000)
    for client, is_told in (("127.0.0.1", True), ("192.0.2.7", False)):
        # The log is written to the stream that stands for stderr when the service is made.
        spoilt = make_service(store, client=client)
        answers = [spoilt.http.get("/readyz"), spoilt.http.get("/api/nodes?tenant_id=support", headers=key)]
        for done in answers:
            assert done.status_code == 503
            assert (str(store) in done.text) is is_told
            assert "weft doctor" in done.text
        assert (str(store) in capsys.readouterr().err) is not is_told
        spoilt.served.close()


def test_values_that_make_no_sense_are_told_as_damage(store: Path) -> None:
    connection = sqlite3.connect(store / "weft.sqlite")
    connection.execute("UPDATE nodes SET kind_id = 999")
    connection.commit()
    connection.close()
    spoilt = make_service(store)
    done = spoilt.http.post(
        "/api/context", json={"query": "refund", "tenant_ids": ["support"], "profile": "general"}
    )
    assert done.status_code == 503, done.text
    assert "weft restore" in done.text
    spoilt.served.close()


def test_what_can_be_read_of_a_damaged_store_is_saved_counted_and_sound(store: Path, tmp_path: Path) -> None:
    with Weft.open(store) as weft:
        before = weft.status()
    damage(store / "weft.sqlite", 3, 6)
    spoilt = (store / "weft.sqlite").read_bytes()
    assert is_damaged(store)
    saved = salvage(store, tmp_path / "saved")
    assert (store / "weft.sqlite").read_bytes() == spoilt
    with Weft.open(tmp_path / "saved") as weft:
        after = weft.status()
        assert weft.verify() == ()
        assert weft.context("refund", tenants=["support"]).text
    assert after.nodes <= before.nodes
    assert saved.saved["nodes"] + saved.lost["nodes"] >= after.nodes


def test_the_doctor_saves_a_damaged_store_with_its_keys_and_does_not_advise_itself(store: Path) -> None:
    make_key(store, "support")
    damage(store / "weft.sqlite", 3, 6)
    done = CliRunner().invoke(make_app(False), ["doctor", "--repair", "--store", str(store)])
    assert done.exit_code == 4
    assert "saved:" in done.output
    assert "doctor --repair" not in done.output
    saved = store.with_name(".weft.saved")
    assert (saved / "keys.json").exists()
    again = CliRunner().invoke(make_app(False), ["doctor", "--store", str(saved)])
    assert again.exit_code == 0, again.output


def test_a_sound_store_is_not_saved_a_second_time(store: Path) -> None:
    done = CliRunner().invoke(make_app(False), ["doctor", "--repair", "--store", str(store)])
    assert done.exit_code == 0, done.output
    assert not store.with_name(".weft.saved").exists()
    shutil.rmtree(store / "derived")
    assert CliRunner().invoke(make_app(False), ["doctor", "--store", str(store)]).exit_code == 0
