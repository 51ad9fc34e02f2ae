"""Keys fail closed: losing, damaging or outliving them opens nothing, and none gives more than it has."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from rest_service import Service, make_key, make_service
from weft.errors import InvalidInput, StoreError
from weft.interfaces.keys import Grant, KeyRing, KeysUnreadable, Limits, Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADMIN = (Scope.READ, Scope.WRITE, Scope.MEMORY, Scope.ADMIN)
FAQ = {"tenant_id": "support", "node_type": "faq", "title": "Zebra"}
QUESTION = {"query": "refund", "tenant_ids": ["support"]}


def ask(service: Service, headers: dict[str, str] | None = None) -> int:
    return service.http.post("/api/context", json=QUESTION, headers=headers).status_code


def id_of(headers: dict[str, str]) -> str:
    return headers["Authorization"].split("_")[1]


def test_revoking_the_last_key_closes_the_service_instead_of_opening_it(service: Service) -> None:
    key = make_key(service.store, "support")
    assert ask(service, key) == 200
    KeyRing(service.store).revoke(id_of(key))
    assert ask(service, key) == 401
    assert ask(service) == 401


def test_an_expired_key_is_refused_and_opens_nothing(service: Service) -> None:
    key = make_key(service.store, "support", expires=NOW + timedelta(hours=1))
    assert ask(service, key) == 401
    assert ask(service) == 401


@pytest.mark.parametrize("spoilt", [b"", b"{", b"[]", b'{"keys": [{}]}', b'{"keys": 3}', b"\xff", None])
def test_a_key_file_that_is_lost_or_damaged_refuses_everybody(service: Service, spoilt: bytes | None) -> None:
    key = make_key(service.store, "support")
    assert ask(service, key) == 200
    file = service.store / "keys.json"
    file.unlink() if spoilt is None else file.write_bytes(spoilt)
    for other in (service, make_service(service.store)):
        for headers in (key, None):
            done = other.http.post("/api/context", json=QUESTION, headers=headers)
            assert done.status_code == 503
            assert str(service.store) not in done.text
    assert service.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("change", [{"expires": "2030-01-01"}, {"hash": "\u00e9" * 64}, {"tenants": 5}])
def test_a_key_that_makes_no_sense_refuses_everybody(service: Service, change: dict[str, object]) -> None:
    key, file = make_key(service.store, "support"), service.store / "keys.json"
    held = orjson.loads(file.read_bytes())
    held["keys"][0] |= change
    file.write_bytes(orjson.dumps(held))
    assert ask(service, key) == ask(service) == 503


def test_a_folder_that_is_replaced_refuses_everybody(service: Service, tmp_path: Path) -> None:
    key, aside = make_key(service.store, "support"), tmp_path / "aside"
    assert ask(service, key) == 200
    service.store.rename(aside)
    service.store.write_text("no folder", encoding="utf-8")
    assert ask(service, key) == ask(service) == 503
    service.store.unlink()
    aside.rename(service.store)
    assert ask(service, key) == 200


def test_losing_both_files_does_not_open_a_running_service(service: Service) -> None:
    key = make_key(service.store, "support")
    assert ask(service, key) == 200
    for name in ("keys.json", "keys.required"):
        (service.store / name).unlink()
    assert ask(service) == 503


def test_only_the_command_opens_up_again_and_only_without_keys(service: Service) -> None:
    key = make_key(service.store, "support")
    ring = KeyRing(service.store)
    with pytest.raises(InvalidInput, match=id_of(key)):
        ring.open_up()
    ring.revoke(id_of(key))
    assert ask(service) == 401
    ring.open_up()
    assert ask(service) == 200
    again = make_key(service.store, "support")
    assert (ask(service), ask(service, again)) == (401, 200)


def test_a_lost_key_file_is_replaced_by_making_a_key_on_the_server(service: Service) -> None:
    old = make_key(service.store, "support")
    (service.store / "keys.json").unlink()
    new = make_key(service.store, "support")
    assert (ask(service, new), ask(service, old), ask(service)) == (200, 401, 401)


def test_a_key_file_of_the_first_format_keeps_its_rights(store: Path) -> None:
    _, token = KeyRing(store).create(Grant("old", ("support",)), NOW)
    row = orjson.loads((store / "keys.json").read_bytes())["keys"][0]
    old = {name: row[name] for name in ("id", "name", "tenants", "hash", "created")}
    (store / "keys.json").write_bytes(orjson.dumps({"keys": [{**old, "write": True}]}))
    (store / "keys.required").unlink()
    key = KeyRing(store).find(token, NOW)
    assert key is not None
    assert key.scopes == (Scope.READ, Scope.WRITE, Scope.MEMORY)


ROUTES: list[tuple[str, str, Any, Scope]] = [
    ("POST", "/api/context", QUESTION, Scope.READ),
    ("POST", "/api/search", QUESTION, Scope.READ),
    ("GET", "/api/nodes?tenant_id=support", None, Scope.READ),
    ("GET", "/api/memories?tenant_id=support", None, Scope.READ),
    ("POST", "/api/nodes", FAQ, Scope.WRITE),
    ("PUT", "/api/nodes", {"nodes": [FAQ]}, Scope.WRITE),
    ("PATCH", "/api/nodes/1", {"title": "x"}, Scope.WRITE),
    ("DELETE", "/api/nodes/1", None, Scope.WRITE),
    ("DELETE", "/api/edges/1:related:2", None, Scope.WRITE),
    ("POST", "/api/memories", {"tenant_id": "support", "text": "x"}, Scope.MEMORY),
    ("DELETE", "/api/memories/x?tenant_id=support", None, Scope.MEMORY),
    ("GET", "/api/keys", None, Scope.ADMIN),
    ("POST", "/api/keys", {"tenants": ["support"]}, Scope.ADMIN),
    ("DELETE", "/api/keys/00000000", None, Scope.ADMIN),
    ("GET", "/metrics", None, Scope.ADMIN),
]


@pytest.mark.parametrize(("method", "path", "body", "needed"), ROUTES)
def test_a_route_is_refused_to_keys_without_its_scope(
    service: Service, method: str, path: str, body: Any, needed: Scope
) -> None:
    without = make_key(service.store, "support", scopes=tuple(scope for scope in Scope if scope is not needed))
    refused = service.http.request(method, path, json=body, headers=without)
    assert refused.status_code == 403
    assert str(needed) in refused.json()["detail"]
    having = make_key(service.store, "*", scopes=(needed,))
    assert service.http.request(method, path, json=body, headers=having).status_code in (200, 201, 204, 404)


def test_a_key_for_routes_is_refused_everywhere_else(service: Service) -> None:
    key = make_key(service.store, "support", routes=("/api/context",))
    assert ask(service, key) == 200
    assert service.http.post("/api/search", json=QUESTION, headers=key).status_code == 403
    assert service.http.post("/api/contexts", json=QUESTION, headers=key).status_code == 403


def test_a_star_is_every_tenant_and_a_tenant_of_that_name_is_not(service: Service) -> None:
    every = make_key(service.store, "*")
    assert service.http.get("/api/nodes?tenant_id=finance", headers=every).json()["nodes"]
    one = make_key(service.store, "support")
    assert service.http.get("/api/nodes?tenant_id=*", headers=one).json()["nodes"] == []
    with pytest.raises(InvalidInput, match="alone"):
        make_key(service.store, "*", "support")


def test_rotation_overlaps_and_then_ends_the_old_key(store: Path) -> None:
    ring = KeyRing(store)
    old, old_token = ring.create(Grant("app", ("support",), (Scope.READ, Scope.WRITE), ("/api",)), NOW)
    new, new_token = ring.rotate(old.id, timedelta(hours=2), NOW)
    assert (new.tenants, new.scopes, new.routes) == (old.tenants, old.scopes, old.routes)
    soon, later = NOW + timedelta(hours=1), NOW + timedelta(hours=3)
    assert [bool(ring.find(token, soon)) for token in (old_token, new_token)] == [True, True]
    assert [bool(ring.find(token, later)) for token in (old_token, new_token)] == [False, True]


def test_rotating_never_lengthens_a_life_and_gives_the_new_key_as_long_a_one(store: Path) -> None:
    ring = KeyRing(store)
    old, token = ring.create(Grant("app", ("support",), expires=NOW + timedelta(hours=1)), NOW)
    new, _ = ring.rotate(old.id, timedelta(hours=24), NOW + timedelta(minutes=30))
    assert ring.find(token, NOW + timedelta(hours=2)) is None
    assert new.expires == (NOW + timedelta(minutes=90)).isoformat(timespec="seconds")


def test_the_last_use_is_noted_to_the_minute_and_without_the_secret(service: Service) -> None:
    key = make_key(service.store, "support")
    assert KeyRing(service.store).last_uses() == {}
    ask(service, key)
    uses = KeyRing(service.store).last_uses()
    assert list(uses) == [id_of(key)]
    secret = key["Authorization"].split("_", 2)[2]
    assert not any(secret.encode() in file.read_bytes() for file in service.store.rglob("*") if file.is_file())


# --- over HTTP ---


def test_an_admin_key_makes_lists_rotates_and_revokes_keys_of_its_tenants(service: Service) -> None:
    admin, http = make_key(service.store, "support", scopes=ADMIN), service.http
    made = http.post("/api/keys", json={"tenants": ["support"], "scopes": ["read"], "name": "app"}, headers=admin)
    assert made.status_code == 201
    header = {"Authorization": f"Bearer {made.json()['key']}"}
    assert ask(service, header) == 200
    place = f"/api/keys/{made.json()['id']}"
    turned = http.post(f"{place}/rotation", json={"overlap_hours": 0}, headers=admin).json()
    assert (ask(service, header), ask(service, {"X-API-Key": turned["key"]})) == (401, 200)
    listed = http.get("/api/keys", headers=admin)
    assert "key" not in listed.json()["keys"][0]
    assert http.delete(f"/api/keys/{turned['id']}", headers=admin).status_code == 204
    assert ask(service, {"X-API-Key": turned["key"]}) == 401


def test_an_admin_key_cannot_reach_beyond_its_tenants_or_its_own_life(service: Service) -> None:
    soon = datetime.now(UTC) + timedelta(days=1)
    admin, http = make_key(service.store, "support", scopes=ADMIN, expires=soon), service.http
    foreign = make_key(service.store, "finance")
    for tenants in (["finance"], ["support", "finance"], ["*"]):
        body = {"tenants": tenants, "expires": soon.isoformat()}
        assert http.post("/api/keys", json=body, headers=admin).status_code == 403
    assert http.post("/api/keys", json={"tenants": ["support"]}, headers=admin).status_code == 403
    assert [key["tenants"] for key in http.get("/api/keys", headers=admin).json()["keys"]] == [["support"]]
    missing = http.delete("/api/keys/00000000", headers=admin)
    hidden = http.delete(f"/api/keys/{id_of(foreign)}", headers=admin)
    assert missing.status_code == hidden.status_code == 404
    assert missing.json()["detail"].replace("00000000", id_of(foreign)) == hidden.json()["detail"]
    every = make_key(service.store, "*")
    assert http.post(f"/api/keys/{id_of(every)}/rotation", json={}, headers=admin).status_code == 404
    lasting = make_key(service.store, "support")
    assert http.post(f"/api/keys/{id_of(lasting)}/rotation", json={}, headers=admin).status_code == 403


def test_a_key_that_is_replaced_near_its_end_lives_no_longer_than_the_one_that_replaces_it(
    service: Service,
) -> None:
    now = datetime.now(UTC)
    admin = make_key(service.store, "support", scopes=ADMIN, expires=now + timedelta(days=2))
    # Made at the beginning of the year: its replacement would live for as many months.
    old = make_key(service.store, "support", expires=now + timedelta(days=1))
    done = service.http.post(f"/api/keys/{id_of(old)}/rotation", json={}, headers=admin)
    assert done.status_code == 403


def test_an_admin_key_makes_and_replaces_no_key_with_more_routes_or_larger_limits(service: Service) -> None:
    http = service.http
    bound = make_key(service.store, "support", scopes=ADMIN, routes=("/api/keys",))
    slow = make_key(service.store, "support", scopes=ADMIN, limits=Limits(requests=100))
    for routes in ([], ["/api"], ["/api/keys", "/api/context"], ["/api/keysmith"]):
        body = {"tenants": ["support"], "routes": routes}
        assert http.post("/api/keys", json=body, headers=bound).status_code == 403, routes
    within = {"tenants": ["support"], "routes": ["/api/keys", "/api/keys/x"]}
    assert http.post("/api/keys", json=within, headers=bound).status_code == 201
    # Whoever replaces a key is told its secret.
    free = make_key(service.store, "support")
    for admin in (bound, slow):
        assert http.post(f"/api/keys/{id_of(free)}/rotation", json={}, headers=admin).status_code == 403
        assert http.post(f"/api/keys/{id_of(admin)}/rotation", json={}, headers=admin).status_code == 201


def test_a_key_for_a_tenant_that_holds_nothing_is_noted(service: Service) -> None:
    admin = make_key(service.store, "*", scopes=ADMIN)
    notes = service.http.post("/api/keys", json={"tenants": ["suport", "shared"]}, headers=admin).json()["notes"]
    assert len(notes) == 1
    assert "'suport'" in notes[0]


def test_the_first_key_is_not_made_over_http(service: Service) -> None:
    assert service.http.post("/api/keys", json={"tenants": ["support"]}).status_code == 409
    assert not (service.store / "keys.json").exists()


def test_two_keys_in_one_request_are_none(service: Service) -> None:
    good, token = make_key(service.store, "support"), "weft_x_y"
    assert ask(service, {**good, "X-API-Key": token}) == 401


def test_a_ring_that_cannot_read_its_file_says_what_to_do(store: Path) -> None:
    make_key(store, "support")
    (store / "keys.json").unlink()
    with pytest.raises(KeysUnreadable, match="weft keys create"):
        KeyRing(store).all_keys()


def test_a_key_that_cannot_be_written_is_refused_in_our_own_words(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    kept, _ = ring.create(Grant("first", ("t0",)), NOW)
    # Where the new file is drafted, nothing can be written.
    (tmp_path / "keys.json.new").mkdir()
    with pytest.raises(StoreError, match=r"keys\.json cannot be written .*weft keys list"):
        ring.create(Grant("second", ("t0",)), NOW)
    assert [key.id for key in KeyRing(tmp_path).all_keys()] == [kept.id]
