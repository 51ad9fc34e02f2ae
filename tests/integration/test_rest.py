"""The knowledge service over HTTP: its contract, its tenants, its keys, and what it does with bad input."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service
from weft import Filter, Weft

FAQ = {
    "tenant_id": "support",
    "node_type": "faq",
    "title": "Where is my zebra?",
    "summary": "In the stable.",
    "content": {"question": "Where is my zebra?", "answer": "In the stable, behind the lighthouse."},
    "tags": ["zebra"],
}


# --- the contract ---


def test_the_documents_request_is_answered_with_the_documents_fields(service: Service) -> None:
    answer = service.ask(
        "How do I process a refund request?",
        *("support", "shared"),
        entry_types=["faq", "playbook", "permission_rule"],
        entry_limit=10,
        expand=True,
        max_depth=2,
        context_limit=50,
        include_entities=True,
        include_schemas=False,
        include_examples=False,
        max_tokens=8000,
        token_model="gpt-4",
    )
    assert list(answer) == ["entry_points", "context", "entities", "stats", "notes"]
    entry = answer["entry_points"][0]
    assert list(entry) == ["id", "node_type", "title", "summary", "content", "tags", "score", "match_source"]
    assert entry["content"].keys() == {"question", "answer"}
    around = answer["context"][0]
    assert list(around)[6:] == ["score", "distance", "path", "edge_type"]
    assert around["path"][-1] == around["id"]
    request = next(each for each in answer["entities"] if each["title"] == "Refund Request")
    assert request["entity_path"] == "orders.refund_requests"
    assert request["related_schemas"] == ["orders", "payments"]
    stats = answer["stats"]
    assert stats["total_tokens"] == sum(stats["tokens_used"].values()) <= 8000
    assert stats["entry_points_found"] == len(answer["entry_points"])
    assert stats["context_nodes_found"] == len(answer["context"])


USE_CASES: dict[str, dict[str, Any]] = {
    "support": {
        "query": "Customer asking about refund policy",
        "tenant_ids": ["support"],
        "entry_types": ["faq", "playbook"],
        "entry_limit": 5,
        "expand": True,
        "max_depth": 2,
        "max_tokens": 4000,
    },
    "data analysis": {
        "query": "How to query order data",
        "tenant_ids": ["analytics"],
        "entry_types": ["schema_index", "schema_field", "example"],
        "include_schemas": True,
        "include_examples": True,
        "entry_limit": 10,
        "max_tokens": 8000,
    },
    "compliance": {
        "query": "What permissions are needed for financial reports",
        "tenant_ids": ["finance", "shared"],
        "entry_types": ["permission_rule", "playbook"],
        "include_entities": True,
        "max_depth": 3,
        "max_tokens": 6000,
    },
}
EXPECTED = {
    "support": "How do I process a refund?",
    "data analysis": "Schema orders",
    "compliance": "Access to financial reports",
}


@pytest.mark.parametrize("case", USE_CASES)
def test_the_three_use_cases_find_what_they_are_about(service: Service, case: str) -> None:
    asked = USE_CASES[case]
    done = service.http.post("/api/context", json=asked)
    assert done.status_code == 200
    answer = done.json()
    assert EXPECTED[case] in [each["title"] for each in answer["entry_points"]]
    assert {each["node_type"] for each in answer["entry_points"]} <= set(asked["entry_types"])
    assert answer["context"]
    assert answer["stats"]["total_tokens"] <= asked["max_tokens"]
    assert answer["notes"] == []


def test_without_a_budget_the_token_figures_are_null(service: Service) -> None:
    stats = service.ask("refund", "support")["stats"]
    assert stats["total_tokens"] is None
    assert stats["tokens_used"] is None


def test_an_unknown_token_model_is_counted_as_cl100k_and_said_so(service: Service) -> None:
    notes = service.ask("refund", "support", max_tokens=500, token_model="mystery")["notes"]
    assert any("cl100k_base" in note for note in notes)


@pytest.mark.parametrize("shape", ["markdown", "xml", "plain", "json"])
def test_with_a_format_the_answer_carries_a_page_and_its_ledger(service: Service, shape: str) -> None:
    answer = service.ask("process a refund", "support", "shared", format=shape, max_tokens=700, entry_limit=3)
    assert answer["stats"]["total_tokens"] <= 700
    assert "refund" in answer["text"].lower()
    assert answer["ledger"]
    assert len(answer["entry_points"]) <= 3
    assert {entry["tenant"] for entry in answer["ledger"]} <= {"support", "shared"}


def test_several_topics_share_one_page_by_their_shares(service: Service) -> None:
    topics = [{"query": "How do I process a refund?", "share": 70}, {"query": "carrier claims", "share": 30}]
    answer = service.ask("", "support", topics=topics, format="markdown", max_tokens=600)
    first, second = answer["text"].index("process a refund"), answer["text"].index("Carrier")
    assert first < second
    assert answer["stats"]["total_tokens"] <= 600
    more = service.ask("carrier claims", "support", topics=topics[:1], format="markdown", max_tokens=600)
    assert "Carrier" in more["text"]
    both = service.http.post("/api/context", json={"candidates": [{"title": "x"}], "topics": topics})
    assert both.status_code == 422
    assert both.json()["errors"][0]["field"] == "candidates"


def test_earlier_turns_a_filter_and_fields_shape_the_page_as_in_the_library(service: Service) -> None:
    asked = {"profile": "general", "max_tokens": 900}
    more = {"history": ["damaged parcels"], "include_fields": False}
    told = service.ask("what is allowed", "support", **asked, **more, filter={"kinds": ["permission_rule"]})
    with Weft.open(service.store) as weft:
        same = weft.context(
            "what is allowed",
            tenants=["support"],
            profile="general",
            max_tokens=900,
            history=["damaged parcels"],
            include_fields=False,
            filter=Filter(kinds=("permission_rule",)),
        )
    assert told["text"] == same.text
    assert {entry["kind"] for entry in told["ledger"] if not entry["distance"]} == {"permission_rule"}


def test_a_session_is_not_told_again_what_it_received(service: Service) -> None:
    asked = {"profile": "general", "max_tokens": 400, "session": "chat"}
    first = service.ask("refund", "support", **asked)
    again = service.ask("refund", "support", **asked)
    shown = {entry["key"] for entry in first["ledger"] if entry["detail"] == "whole"}
    left_out = {entry["key"] for entry in again["ledger"] if "already received in session" in entry["reason"]}
    assert shown
    assert shown <= left_out
    assert service.ask("refund", "support", **{**asked, "session": "another"})["text"] == first["text"]


def test_a_session_belongs_to_the_key_it_is_used_with(service: Service) -> None:
    body = {"query": "refund", "tenant_ids": ["support"], "profile": "general", "session": "chat"}
    keys = [make_key(service.store, "support"), make_key(service.store, "support")]
    first, other = (service.http.post("/api/context", json=body, headers=key).json() for key in keys)
    assert first["text"] == other["text"]


def test_what_was_found_elsewhere_is_printed_instead_of_searching(service: Service) -> None:
    found = [
        {"title": "Tide table", "content": {"text": "High water at noon."}, "score": 0.4},
        {"key": "k", "node_type": "faq", "title": "Mooring", "summary": "Where to moor.", "score": 0.9},
    ]
    told = service.ask("high water", "support", profile="general", candidates=found)
    assert "High water at noon." in told["text"]
    assert {entry["key"].partition(":")[0] for entry in told["ledger"]} == {"found"}
    assert service.ask("high water", profile="general", candidates=found)["ledger"] == []
    wrong = {"query": "x", "tenant_ids": ["support"], "candidates": [{"title": "x", "score": 2}]}
    refused = service.http.post("/api/context", json=wrong)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "candidates.0.score")


def test_a_profile_that_is_edited_while_serving_is_used_by_the_next_question(service: Service) -> None:
    folder = service.store / "profiles"
    folder.mkdir(exist_ok=True)
    text = 'name = "mine"\ninherits = "general"\n[frame]\ntitle = "{}: {{question}}"\n'
    for title in ("First", "Second one"):
        (folder / "mine.toml").write_text(text.format(title), encoding="utf-8")
        assert service.ask("refund", "support", profile="mine")["text"].startswith(f"# {title}: refund")


def test_a_filter_takes_times_with_their_zone_only(service: Service) -> None:
    for wrong in ("2026-05-01T12:00:00", "yesterday", 5):
        body = {"query": "refund", "tenant_ids": ["support"], "filter": {"since": wrong}}
        assert service.http.post("/api/context", json=body).status_code == 422
    later = service.ask("refund", "support", format="plain", filter={"since": "2026-05-01T12:00:00Z"})
    assert later["entry_points"] == []


def test_another_profile_gives_its_own_page_and_refuses_limits_that_are_not_its_own(service: Service) -> None:
    answer = service.ask("refund", "support", profile="general", max_tokens=600)
    assert answer["profile"] == "general"
    asked = {"query": "refund", "tenant_ids": ["support"], "profile": "general", "entry_limit": 3}
    assert service.http.post("/api/context", json=asked).status_code == 422


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"profile": "/etc/passwd"}, 404),
        ({"token_model": "/etc/x.json"}, 422),
        ({"profile": "nope"}, 404),
        ({"lens": "nope"}, 404),
        ({"preset": "nope"}, 404),
    ],
)
def test_no_name_can_be_a_path_on_the_server(service: Service, wrong: dict[str, str], status: int) -> None:
    done = service.http.post("/api/context", json={"query": "x", "tenant_ids": ["support"], **wrong})
    assert done.status_code == status
    assert done.json()["errors"][0]["field"] in wrong


# --- nodes and edges ---


def test_a_node_is_created_found_changed_and_deleted(service: Service) -> None:
    http = service.http
    made = http.post("/api/nodes", json=FAQ)
    assert made.status_code == 201
    node = made.json()
    assert node["content"] == FAQ["content"]
    assert service.ask("zebra lighthouse", "support")["entry_points"][0]["id"] == node["id"]
    assert http.post("/api/nodes", json=FAQ).status_code == 409
    place = f"/api/nodes/{node['id']}"
    changed = http.patch(place, json={"title": "Where is my giraffe?", "summary": None})
    assert (changed.json()["title"], changed.json()["summary"]) == ("Where is my giraffe?", None)
    assert http.get(place).json() == changed.json()
    assert http.delete(place).status_code == 204
    assert http.get(place).status_code == 404
    assert node["id"] not in [entry["id"] for entry in service.ask("giraffe", "support")["entry_points"]]


def test_a_batch_is_upserted_by_key_and_says_what_changed(service: Service) -> None:
    nodes = [{**FAQ, "key": f"z{number}", "title": f"Zebra {number}"} for number in range(5)]
    first = service.http.put("/api/nodes", json={"nodes": nodes}).json()
    nodes[0]["title"] = "Zebra zero"
    again = service.http.put("/api/nodes", json={"nodes": nodes}).json()
    assert (first["written"], again["written"], again["unchanged"]) == (5, 1, 4)
    assert first["ids"] == again["ids"]


def test_nodes_and_edges_are_listed_page_by_page(service: Service) -> None:
    for what in ("nodes", "edges"):
        seen: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            asked = {"tenant_id": ["support", "shared"], "limit": 4, **({"cursor": cursor} if cursor else {})}
            page = service.http.get(f"/api/{what}", params=asked).json()
            seen += [each["id"] for each in page[what]]
            cursor = page["next_cursor"]
        whole = service.http.get(f"/api/{what}", params={"tenant_id": ["support", "shared"], "limit": 1000}).json()
        assert seen == [each["id"] for each in whole[what]]
        assert len(seen) == len(set(seen)) > 8


def test_an_edge_is_drawn_changed_walked_and_removed(service: Service) -> None:
    http = service.http
    one = http.post("/api/nodes", json=FAQ).json()["id"]
    two = http.post("/api/nodes", json={**FAQ, "node_type": "concept", "title": "Barn", "content": {}}).json()[
        "id"
    ]
    edge = {"source_id": one, "target_id": two, "edge_type": "parent", "weight": 0.8}
    made = http.post("/api/edges", json=edge)
    assert made.status_code == 201
    assert http.post("/api/edges", json=edge).status_code == 409
    place = f"/api/edges/{made.json()['id']}"
    around = service.ask("zebra lighthouse", "support", entry_types=["faq"], entry_limit=1)["context"]
    assert (around[0]["id"], around[0]["edge_type"], around[0]["score"]) == (two, "parent", 0.4)
    assert http.patch(place, json={"weight": 0.5}).json()["weight"] == 0.5
    graph = http.get(f"/api/graph/{one}", params={"depth": 1}).json()
    assert {each["id"] for each in graph["nodes"]} == {one, two}
    assert http.delete(place).status_code == 204
    assert http.get(place).status_code == 404


def test_an_edge_of_a_source_is_not_taken_away_here(service: Service) -> None:
    edges = service.http.get("/api/edges", params={"tenant_id": "support"}).json()["edges"]
    drawn = next(each for each in edges if each["makers"][0].startswith("source:"))
    done = service.http.delete(f"/api/edges/{drawn['id']}")
    assert done.status_code == 409
    assert "source:" in done.json()["detail"]


# --- tenants and keys ---


def test_no_tenant_reads_nothing_and_unknown_ones_are_noted(service: Service) -> None:
    nothing = service.ask("refund")
    assert nothing["entry_points"] == []
    assert [note[:19] for note in nothing["notes"]] == ["tenant_ids is empty"]
    unknown = service.ask("refund", "nobody")
    assert unknown["entry_points"] == []
    assert [note[:29] for note in unknown["notes"]] == ["Tenant 'nobody' holds nothing"]


def test_a_key_sees_and_counts_its_tenants_only(service: Service) -> None:
    key = make_key(service.store, "support")
    http = service.http
    asked = {"query": "four eyes rule approval", "tenant_ids": ["support", "shared", "finance"], "max_depth": 3}
    mine = http.post("/api/context", json=asked, headers=key).json()
    alone = http.post("/api/context", json={**asked, "tenant_ids": ["support"]}, headers=key).json()
    assert [mine[part] for part in ("entry_points", "context", "entities", "stats")] == [
        alone[part] for part in ("entry_points", "context", "entities", "stats")
    ]
    ids = {each["id"] for each in http.get("/api/nodes?tenant_id=support", headers=key).json()["nodes"]}
    foreign = next(number for number in range(1, 60) if number not in ids)
    answers = [http.get(f"/api/nodes/{number}", headers=key) for number in (foreign, 10**9)]
    assert {each.status_code for each in answers} == {404}
    assert (
        len(
            {
                each.json()["detail"].replace(str(number), "N")
                for each, number in zip(answers, (foreign, 10**9), strict=True)
            }
        )
        == 1
    )
    assert http.get("/api/nodes?tenant_id=finance", headers=key).json()["nodes"] == []
    assert http.get("/api/edges?tenant_id=finance", headers=key).json()["edges"] == []
    assert http.get(f"/api/graph/{foreign}", headers=key).status_code == 404


def test_a_reading_key_does_not_write_and_a_writing_key_only_to_its_tenants(service: Service) -> None:
    reader, writer = make_key(service.store, "support"), make_key(service.store, "support", write=True)
    assert service.http.post("/api/nodes", json=FAQ, headers=reader).status_code == 403
    assert service.http.post("/api/nodes", json={**FAQ, "tenant_id": "finance"}, headers=writer).status_code == 403
    assert service.http.post("/api/nodes", json=FAQ, headers=writer).status_code == 201


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer x", "Basic abc", "Bearer weft_x_y", "Bearer \xff", "weft__"]
)
def test_with_keys_in_use_anything_else_is_refused(service: Service, given: str) -> None:
    make_key(service.store, "support")
    headers = {"Authorization": given.encode("latin-1")}
    done = service.http.post("/api/context", json={}, headers=headers)  # type: ignore[arg-type]
    assert done.status_code == 401
    assert done.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_stops_at_once(service: Service) -> None:
    key, other = make_key(service.store, "support"), make_key(service.store, "finance")
    assert service.http.get("/api/profiles", headers=key).status_code == 200
    service.served.keys.revoke(key["Authorization"].split("_")[1])
    assert service.http.get("/api/profiles", headers=key).status_code == 401
    assert service.http.get("/api/profiles", headers=other).status_code == 200


def test_without_keys_only_this_machine_is_served(helpdesk: Path) -> None:
    outside = make_service(helpdesk, client="192.0.2.7")
    assert outside.http.post("/api/context", json={}).status_code == 403
    assert outside.http.get("/metrics").status_code == 403
    assert outside.http.get("/healthz").status_code == 200
    rebound = make_service(helpdesk)
    assert rebound.http.post("/api/context", json={}, headers={"host": "evil.example"}).status_code == 403


def test_a_read_only_service_refuses_writes_and_answers_questions(helpdesk: Path) -> None:
    service = make_service(helpdesk, read_only=True)
    assert service.http.post("/api/nodes", json=FAQ).status_code == 403
    assert service.ask("refund", "support")["entry_points"]


# --- answers that are remembered ---


def _hits(service: Service) -> float:
    lines = service.served.metrics.exposition().decode().splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith('weft_cache_total{result="hit"'))


def test_answers_are_remembered_until_a_tenant_they_read_changes(service: Service) -> None:
    first = service.ask("zebra", "support")
    assert service.ask("zebra", "support") == first
    assert _hits(service) == 1
    service.http.post("/api/nodes", json={**FAQ, "tenant_id": "finance"})
    assert service.ask("zebra", "support") == first
    assert _hits(service) == 2
    service.http.post("/api/nodes", json=FAQ)
    assert service.ask("zebra", "support")["entry_points"][0]["title"] == FAQ["title"]
    assert _hits(service) == 2


def test_a_remembered_answer_is_for_the_same_question_with_the_same_rights(service: Service) -> None:
    body = {"query": "refund", "tenant_ids": ["support", "finance"]}
    one, other = make_key(service.store, "support"), make_key(service.store, "finance")
    first = service.http.post("/api/context", json=body, headers=one)
    assert service.http.post("/api/context", json=body, headers=one).content == first.content
    assert _hits(service) == 1
    assert service.http.post("/api/context", json=body, headers=other).content != first.content
    assert service.http.put("/api/context", json=body, headers=one).status_code == 405
    assert service.http.post("/api/context", json=body).status_code == 401
    form = {**one, "Content-Type": "text/plain"}
    assert service.http.post("/api/context", content=first.request.content, headers=form).status_code == 415
    assert _hits(service) == 1


def test_only_two_answers_are_computed_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    computing, most, waiting = 0, 0, threading.Barrier(2)
    knowledge = Weft.knowledge

    def watched(*given: Any, **more: Any) -> Any:
        nonlocal computing, most
        computing += 1
        most = max(most, computing)
        waiting.wait(10)
        try:
            return knowledge(*given, **more)
        finally:
            computing -= 1

    monkeypatch.setattr(Weft, "knowledge", watched)
    with service.http, ThreadPoolExecutor(6) as asking:
        answers = list(asking.map(lambda number: service.ask(f"zebra {number}", "support"), range(6)))
    assert len(answers) == 6
    assert most == 2


def test_a_budget_that_was_not_given_is_not_taken_for_none(service: Service) -> None:
    told = service.ask("refund", "support", profile="general")["stats"]
    assert told["total_tokens"] is not None
    unlimited = service.ask("refund", "support", profile="general", max_tokens=None)["stats"]
    assert unlimited["total_tokens"] is None


def test_what_another_process_writes_is_found_by_the_next_question(service: Service) -> None:
    service.ask("zebra", "support")
    with Weft.open(service.store) as other:
        from weft import Node

        other.put([Node("app:z", "faq", "support", title="Zebra elsewhere")])
    assert service.ask("zebra", "support")["entry_points"][0]["title"] == "Zebra elsewhere"


# --- bad input and bad days ---


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"max_depth": 99}, "max_depth"),
        ({"max_depth": 11}, "max_depth"),
        ({"entry_limit": -1}, "entry_limit"),
        ({"context_limit": -5}, "context_limit"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"query": 3}, "query"),
        ({"query": "x" * 20_001}, "query"),
        ({"entry_types": ["FAQ"]}, "entry_types.0"),
        ({"entry_types": []}, "entry_types"),
        ({"tenant_ids": [str(number) for number in range(10_000)]}, "tenant_ids"),
        ({"tenant_ids": ["\u0000"]}, "tenant_ids.0"),
        ({"quary": "refund"}, "quary"),
        ({"expand": "perhaps"}, "expand"),
        ({"token_model": ""}, "token_model"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    service: Service, wrong: dict[str, Any], field: str
) -> None:
    done = service.http.post("/api/context", json=wrong)
    assert done.status_code == 422
    assert done.headers["content-type"] == "application/problem+json"
    problem = done.json()
    assert problem["errors"][0]["field"] == field
    assert problem.keys() == {"type", "title", "status", "detail", "instance", "errors"}


def test_a_misspelt_field_is_told_the_nearest_known_one(service: Service) -> None:
    assert "Did you mean 'query'?" in service.http.post("/api/context", json={"quary": "x"}).json()["detail"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100_000, b'{"query": NaN}', b'{"query": "\\ud800"}', b'{"query": "\xff"}', b"[]", b"null"],
)
def test_a_body_that_is_not_a_json_object_is_refused(service: Service, body: bytes) -> None:
    done = service.http.post("/api/context", content=body, headers={"content-type": "application/json"})
    assert done.status_code in (400, 422)
    assert done.headers["content-type"] == "application/problem+json"


def test_content_that_is_too_deep_or_a_body_that_is_too_large_is_refused(service: Service) -> None:
    deep: Any = "bottom"
    for _ in range(40):
        deep = {"a": deep}
    assert service.http.post("/api/nodes", json={**FAQ, "content": deep}).status_code == 422
    large = b'{"query": "' + b"x" * (9 << 20) + b'"}'
    done = service.http.post("/api/context", content=large, headers={"content-type": "application/json"})
    assert done.status_code == 413


@pytest.mark.parametrize(
    "place", ["/api/nodes/0", "/api/nodes/x", "/api/nodes/99999999999999999999", "/api/edges/1"]
)
def test_an_id_that_cannot_be_one_is_refused(service: Service, place: str) -> None:
    assert service.http.get(place).status_code == 422


def test_a_store_that_vanishes_is_unavailable_and_comes_back_by_itself(service: Service) -> None:
    assert service.ask("refund", "support")["entry_points"]
    away = service.store.with_name("away")
    service.store.rename(away)
    for path in ("/api/profiles", "/readyz"):
        gone = service.http.get(path)
        assert gone.status_code == 503
        assert gone.headers["Retry-After"]
    assert service.http.get("/healthz").status_code == 200
    away.rename(service.store)
    assert service.http.get("/readyz").status_code == 200
    assert service.ask("refund", "support")["entry_points"]


def test_the_figures_are_told_to_prometheus(service: Service) -> None:
    service.ask("refund", "support", max_tokens=500)
    service.http.post("/api/context", json={"max_depth": 99})
    told = service.http.get("/metrics").text
    for name in ("weft_request_seconds", "weft_stage_seconds", "weft_tokens_total", "weft_cache_total"):
        assert name in told
    assert 'weft_errors_total{status="422"} 1.0' in told
