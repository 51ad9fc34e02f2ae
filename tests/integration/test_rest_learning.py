"""The learning memory over HTTP."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service
from weft import Weft
from weft.memory import UsageLog

STORY = {
    "tenant_id": "team",
    "domain": "debugging",
    "strategy": "read-the-error",
    "goal": "Make test_login pass",
    "hypothesis": "The proxy drops the cookie",
    "action": "Log the headers",
    "prediction": "No Set-Cookie in the log",
}
FAILED = {
    "tenant_id": "team",
    "outcome": "falsified",
    "result": "The header was there",
    "surprise": "The clock was an hour off",
    "root_cause": "environment-issue",
    "root_cause_description": "Drift",
    "lesson": "Compare clocks",
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    Weft.open(tmp_path / ".weft").close()
    made = make_service(tmp_path / ".weft")
    yield made
    made.served.close()


def sent(service: Service, method: str, path: str, status: int = 200, **more: Any) -> Any:
    done = service.http.request(method, path, **more)
    assert done.status_code == status, done.text
    return done.json() if done.content else None


def test_a_memory_is_stored_listed_searched_changed_and_forgotten(service: Service, tmp_path: Path) -> None:
    given = {"tenant_id": "team", "text": "Retry 3 times on a timeout", "importance": 0.8, "tags": ["limits"]}
    first = sent(service, "POST", "/api/memories", 201, json=given)
    key = first["memory"]["key"]
    assert (first["merged"], first["contradictions"], first["redacted"]) == (False, [], [])
    again = sent(service, "POST", "/api/memories", 201, json={**given, "text": "Retry 5 times on a timeout"})
    assert again["contradictions"][0]["other"] == key
    listed = sent(service, "GET", "/api/memories", params={"tenant_id": "team"})["memories"]
    assert [memory["key"] for memory in listed] == [again["memory"]["key"], key]
    asked = {"tenant_id": "team", "query": "retry", "category": "fact", "limit": 1}
    assert len(sent(service, "GET", "/api/memories", params=asked)["memories"]) == 1
    changed = sent(service, "PATCH", f"/api/memories/{key}", json={"tenant_id": "team", "text": "It is 4"})
    assert changed["history"][0]["text"] == "Retry 3 times on a timeout"
    uses = UsageLog(tmp_path / ".weft")
    uses.record_uses([("team", key)], datetime(2026, 3, 1, tzinfo=UTC))
    sent(service, "DELETE", f"/api/memories/{key}", 204, params={"tenant_id": "team"})
    sent(service, "DELETE", f"/api/memories/{key}", 404, params={"tenant_id": "team"})
    assert uses.read_uses([("team", key)]) == {}


def test_an_experience_goes_from_start_to_premortem(service: Service) -> None:
    begun = sent(service, "POST", "/api/experiences", 201, json=STORY)
    place = f"/api/experiences/{begun['id']}"
    told = sent(service, "PATCH", place, json={"tenant_id": "team", "hypothesis": "It expires at once"})
    assert (told["iterations"], told["before"][0]["hypothesis"]) == (2, STORY["hypothesis"])
    ended = sent(service, "POST", f"{place}/resolution", json=FAILED)
    assert (ended["status"], ended["tier"], ended["root_cause"]["category"]) == (
        "falsified",
        "silver",
        "environment-issue",
    )
    sent(service, "POST", f"{place}/resolution", 409, json=FAILED)
    sent(service, "PATCH", place, 409, json={"tenant_id": "team", "action": "again"})
    assert sent(service, "GET", place, params={"tenant_id": "team"}) == ended
    listed = sent(service, "GET", "/api/experiences", params={"tenant_id": "team", "outcome": "falsified"})
    assert listed == {"experiences": [ended]}
    page = sent(service, "POST", "/api/premortem", json={"domain": "debugging", "tenant_ids": ["team"]})
    assert page["markdown"].startswith("# Premortem: debugging\n")
    assert page["sources_used"] == {"experience": 3}
    assert page["token_count"] <= 1500
    assert sent(service, "GET", "/api/values", params={"tenant_id": "team"}) == {"values": []}


def test_bad_input_is_a_problem_that_says_what_is_allowed(service: Service) -> None:
    for method, path, status, body, says in (
        ("POST", "/api/memories", 422, {"tenant_id": "team", "text": " "}, "text"),
        ("POST", "/api/memories", 422, {"tenant_id": "team", "text": "x", "category": "opinion"}, "one of: fact"),
        ("POST", "/api/experiences", 422, {**STORY, "domain": "cooking"}, "one of: debugging"),
        ("PATCH", "/api/experiences/none", 404, {"tenant_id": "team"}, "No experience"),
        ("PATCH", "/api/memories/none", 404, {"tenant_id": "team"}, "No memory"),
        ("POST", "/api/premortem", 422, {"domain": "debugging", "strategy": "luck"}, "one of: systematic"),
    ):
        assert says in sent(service, method, path, status, json=body)["detail"]


def test_tenants_and_keys_are_kept_apart(service: Service) -> None:
    begun = sent(service, "POST", "/api/experiences", 201, json=STORY)
    reading, other = make_key(service.store, "team"), make_key(service.store, "other", write=True)
    sent(service, "POST", "/api/memories", 403, json={"tenant_id": "team", "text": "x"}, headers=reading)
    sent(service, "POST", "/api/memories", 403, json={"tenant_id": "team", "text": "x"}, headers=other)
    mine = {"params": {"tenant_id": "team"}}
    assert sent(service, "GET", "/api/memories", headers=other, **mine) == {"memories": []}
    sent(service, "GET", f"/api/experiences/{begun['id']}", 404, headers=other, **mine)
    sent(service, "GET", f"/api/experiences/{begun['id']}", headers=reading, **mine)
    page = {"domain": "debugging", "tenant_ids": ["team"]}
    assert sent(service, "POST", "/api/premortem", json=page, headers=other)["markdown"] == ""
