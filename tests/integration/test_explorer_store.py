"""The routes of the explorer that look over the store, and those that change it."""

from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service
from weft import Node, Weft
from weft.interfaces.explorer.background import FILE_NAME, read_progress
from weft.interfaces.keys import Scope

OWN = {"X-Weft-Explorer": "1"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / ".weft"
    with Weft.open(folder) as weft:
        weft.put(Node("a:1", "note", "acme", "Lunch", text="Lunch is served at noon."))
        weft.put(Node("b:1", "commit", "other", "Secret commit", text="The other lunch is secret."))
        weft.context("When is lunch?", tenants="acme", session="agent")
        weft.context("When is the other lunch?", tenants="other", session="spy")
    return folder


def get(service: Service, route: str, **query: Any) -> Any:
    done = service.http.get(f"/explore/{route}", params=query)
    assert done.status_code == 200, done.text
    return done.json()


def test_the_views_of_a_key_hold_its_tenants_only(store: Path) -> None:
    service = make_service(store)
    service.http.headers.update(make_key(store, "acme"))
    for route in ("census", "timeline", "cast", "learned", "sessions"):
        text = service.http.get(f"/explore/{route}", params={"tenants": "other"} if route == "census" else {}).text
        assert "other" not in text, route
        assert "ecret" not in text, route
    assert get(service, "census")["census"]["by_tenant"] == {"acme": 1}
    assert get(service, "census")["size"] is None
    # The sessions of pages that were made without this key are not its own.
    assert get(service, "sessions")["sessions"] == []


def test_without_keys_everything_is_shown(store: Path) -> None:
    service = make_service(store)
    assert get(service, "census")["census"]["nodes"] == 2
    assert [line["name"] for line in get(service, "sessions")["sessions"]] == ["spy", "agent"]
    (page,) = get(service, "sessions", session="agent")["pages"]
    assert page["asked"] == "When is lunch?"
    assert "noon" not in str(page)
    assert page["items"][0]["why"]


def wait_until_done(service: Service) -> dict[str, Any]:
    while True:
        state: dict[str, Any] = get(service, "indexing")
        if state["state"] != "running":
            return state


def test_a_folder_is_indexed_and_its_progress_is_told(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nTea is served at five.\n")
    service = make_service(store, explorer_writes=True)
    assert get(service, "choices")["writes"]
    done = service.http.post("/explore/write/index", json={"path": str(folder), "tenant": "acme"}, headers=OWN)
    assert done.status_code == 200, done.text
    state = wait_until_done(service)
    assert (state["state"], state["written"]) == ("done", 1)
    assert "five" in get(service, "page", topic="When is tea served?", tenants="acme")["text"]
    # The outcome is in a file, so that a page which is loaded again still has it.
    assert read_progress(store)["path"] == str(folder)
    assert (store / FILE_NAME).is_file()


@pytest.mark.parametrize(
    ("serving", "headers", "body", "said"),
    [
        ({}, OWN, {"path": "."}, "weft explore --write"),
        ({"explorer_writes": True}, {}, {"path": "."}, "X-Weft-Explorer"),
        ({"explorer_writes": True, "read_only": True}, OWN, {"path": "."}, "only reads"),
        ({"explorer_writes": True}, OWN, {"path": "/nowhere/at/all"}, "nothing at /nowhere/at/all"),
        ({"explorer_writes": True}, OWN, {"path": ".", "reading": "aloud"}, "aloud"),
    ],
)
def test_indexing_is_refused_with_the_reason(
    store: Path, serving: dict[str, Any], headers: dict[str, str], body: dict[str, Any], said: str
) -> None:
    service = make_service(store, **serving)
    done = service.http.post("/explore/write/index", json=body, headers=headers)
    assert 400 <= done.status_code < 500
    assert said in done.json()["detail"]
    assert get(service, "indexing")["state"] == "none"


def test_a_key_for_one_tenant_cannot_read_folders_of_the_server(store: Path, tmp_path: Path) -> None:
    service = make_service(store, explorer_writes=True)
    key = make_key(store, "acme", scopes=(Scope.READ, Scope.WRITE, Scope.ADMIN))
    done = service.http.post(
        "/explore/write/index", json={"path": str(tmp_path), "tenant": "acme"}, headers={**key, **OWN}
    )
    assert done.status_code == 403
    assert "every tenant" in done.json()["detail"]


def test_a_run_whose_process_is_gone_is_told_as_failed(store: Path) -> None:
    import os

    (store / FILE_NAME).write_text('{"state": "running", "path": "/x"}')
    os.utime(store / FILE_NAME, (1, 1))
    assert read_progress(store)["state"] == "failed"


# --- marks -----------------------------------------------------------------------------------------------------

MARKS = [{"question": "When is lunch?", "line": "Lunch is served at noon.", "needed": True}]


def test_marks_score_the_settings_they_are_sent_with(store: Path) -> None:
    service = make_service(store)
    done = service.http.post("/explore/judge", json={"marks": MARKS, "asked": "tenants=acme"})
    assert done.status_code == 200, done.text
    assert (done.json()["score"]["found"], done.json()["score"]["needed"]) == (1, 1)
    small = service.http.post("/explore/judge", json={"marks": MARKS, "asked": "tenants=acme&max_tokens=3"})
    assert small.json()["score"]["found"] == 0
    wrong = service.http.post("/explore/judge", json={"marks": MARKS, "asked": "max_tokens=0"})
    assert "max_tokens" in wrong.json()["detail"]


def test_a_key_is_judged_by_its_own_tenants(store: Path) -> None:
    service = make_service(store)
    marks = [{"question": "the other lunch", "line": "The other lunch is secret.", "needed": True}]
    key = make_key(store, "acme")
    done = service.http.post("/explore/judge", json={"marks": marks, "asked": "floor=0"}, headers=key)
    assert done.json()["score"]["found"] == 0
    refused = service.http.post("/explore/judge", json={"marks": marks, "asked": "tenants=other"}, headers=key)
    assert refused.status_code == 403


def test_a_set_is_saved_beside_the_store_only_with_write(store: Path) -> None:
    refused = make_service(store).http.post("/explore/write/judged", json={"marks": MARKS}, headers=OWN)
    assert refused.status_code == 403
    service = make_service(store, explorer_writes=True)
    done = service.http.post("/explore/write/judged", json={"marks": MARKS, "name": "mine"}, headers=OWN)
    assert Path(done.json()["file"]) == store / "judged" / "mine.json"
    assert (store / "judged" / "mine.json").is_file()
    outside = service.http.post("/explore/write/judged", json={"marks": MARKS, "name": "../x"}, headers=OWN)
    assert outside.status_code == 422


# --- corrections -----------------------------------------------------------------------------------------------

FORGET = {"action": "forget", "tenant": "acme", "key": "a:1", "asked": "topic=lunch&tenants=acme"}


def post(service: Service, route: str, body: dict[str, Any], **headers: str) -> Any:
    return service.http.post(f"/explore/write/{route}", json=body, headers={**OWN, **headers})


def test_a_correction_is_previewed_applied_listed_and_undone(store: Path) -> None:
    service = make_service(store, explorer_writes=True)
    preview = post(service, "preview", FORGET).json()
    assert [change["what"] for change in preview["changes"]] == ["vanished"]
    assert get(service, "corrections")["corrections"] == []
    undo = post(service, "correction", FORGET).json()["undo"]
    assert "noon" not in get(service, "page", topic="lunch", tenants="acme", floor=0)["text"]
    assert [each["undo"] for each in get(service, "corrections")["corrections"]] == [undo]
    assert post(service, "undo", undo).status_code == 200
    assert "noon" in get(service, "page", topic="lunch", tenants="acme")["text"]


def test_a_profile_of_ones_own_is_offered_once_it_is_saved(store: Path) -> None:
    service = make_service(store, explorer_writes=True)
    body = {"action": "page", "name": "mine", "kinds": {"note": 2.0}, "asked": "topic=lunch&tenants=acme"}
    assert "note = 2" in post(service, "preview", body).json()["toml"]
    undo = post(service, "correction", body).json()["undo"]
    assert "mine" in {profile["name"] for profile in get(service, "choices")["profiles"]}
    post(service, "undo", undo)
    assert "mine" not in {profile["name"] for profile in get(service, "choices")["profiles"]}


@pytest.mark.parametrize("route", ["preview", "correction"])
def test_corrections_need_the_right_to_write_the_tenant(store: Path, route: str) -> None:
    assert post(make_service(store), route, FORGET).status_code == 403
    service = make_service(store, explorer_writes=True)
    without = service.http.post(f"/explore/write/{route}", json=FORGET)
    assert without.status_code == 403
    key = make_key(store, "other", write=True)
    assert post(service, route, FORGET, **key).status_code == 403
    own = make_key(store, "acme", write=True)
    page = {"action": "page", "name": "mine", "kinds": {"note": 2.0}, "asked": "topic=lunch&tenants=acme"}
    assert post(service, route, page, **own).status_code == 403
    assert post(service, route, FORGET, **own).status_code == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"action": "page", "name": "../x"}, "name"),
        ({"action": "page"}, "no name"),
        ({"action": "burn"}, "action"),
        ({"action": "edit", "key": "a:1", "tenant": "acme", "parts": {"kind": "x"}}, "parts"),
        ({"action": "forget", "key": "a:9", "tenant": "acme"}, "a:9"),
    ],
)
def test_wrong_corrections_are_named(store: Path, body: dict[str, Any], said: str) -> None:
    service = make_service(store, explorer_writes=True)
    done = post(service, "correction", {"asked": "topic=lunch&tenants=acme", **body})
    assert 400 <= done.status_code < 500
    assert said in done.json()["detail"]
