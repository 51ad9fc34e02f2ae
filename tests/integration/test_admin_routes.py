"""Jobs, snapshots and imports over HTTP: for admin keys, of their own tenants, all or nothing."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rest_service import Service, make_key, make_service
from weft import Weft
from weft.interfaces.keys import Scope
from weft.store.sqlite.backup_archive import restore_at

ADMIN = (Scope.READ, Scope.ADMIN)
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def admin(service: Service) -> dict[str, str]:
    return make_key(service.store, "support", "copy", scopes=ADMIN)


def exported(service: Service, admin: dict[str, str]) -> list[bytes]:
    return service.http.get("/api/admin/tenants/support/export", headers=admin).content.splitlines(keepends=True)


def count(service: Service, tenant: str) -> int:
    with Weft.open(service.store, create=False) as weft:
        return weft.status([tenant]).nodes


def test_an_export_comes_back_as_another_tenant_in_pieces(service: Service, admin: dict[str, str]) -> None:
    lines = exported(service, admin)
    answers = [
        service.http.post(
            "/api/admin/tenants/copy/import", content=b"".join(lines[at : at + 3]), headers={**admin, **NDJSON}
        )
        for at in range(0, len(lines), 3)
    ]
    assert {answer.status_code for answer in answers} == {200}
    assert sum(answer.json()["nodes"] for answer in answers) == count(service, "support") == count(service, "copy")
    again = service.http.get("/api/admin/tenants/copy/export", headers=admin).content.splitlines()
    assert len(again) == len(lines)
    written = [json.loads(line) for line in (service.store / "audit.log").read_text().splitlines()]
    assert [line["tenant"] for line in written if line["event"] == "import"] == ["copy"] * len(answers)


@pytest.mark.parametrize(
    "bad",
    [
        b"not json\n",
        b"[]\n",
        b'{"surprise": 1}\n',
        b'{"node": {"key": "x"}}\n',
        b'{"node": 7}\n',
        b'{"edge": {"source": 1, "target": "b", "type": "t"}}\n',
        b'{"edge": {"source": "a", "target": "b", "type": "t", "target_tenant": "finance"}}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=lambda line: line[:30].decode("latin-1"),
)
def test_a_piece_with_one_bad_line_stores_nothing(service: Service, admin: dict[str, str], bad: bytes) -> None:
    body = b"".join(exported(service, admin)[:4]) + bad
    answer = service.http.post("/api/admin/tenants/copy/import", content=body, headers={**admin, **NDJSON})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert count(service, "copy") == 0


def test_a_wrong_value_in_a_node_is_refused_by_its_name(service: Service, admin: dict[str, str]) -> None:
    node = next(json.loads(line)["node"] for line in exported(service, admin) if b'"node"' in line[:8])
    for name, value in (("title", 5), ("tags", [1]), ("created", "yesterday"), ("fields", []), ("surprise", 1)):
        body = json.dumps({"node": {**node, name: value}}).encode()
        answer = service.http.post("/api/admin/tenants/copy/import", content=body, headers={**admin, **NDJSON})
        assert answer.status_code == 422
        assert name in answer.json()["detail"]


def test_imports_are_lines_of_json_for_ones_own_tenants(service: Service, admin: dict[str, str]) -> None:
    post = service.http.post
    assert post("/api/admin/tenants/finance/import", content=b"{}", headers={**admin, **NDJSON}).status_code == 404
    assert post("/api/admin/tenants/copy/import", json={}, headers=admin).status_code == 415
    large = b" " * (8 * 1024 * 1024 + 1)
    assert post("/api/admin/tenants/copy/import", content=large, headers={**admin, **NDJSON}).status_code == 413
    reader = make_key(service.store, "copy")
    assert post("/api/admin/tenants/copy/import", content=b"{}", headers={**reader, **NDJSON}).status_code == 403


def test_snapshots_are_made_and_listed_by_keys_for_everything_only(
    service: Service, admin: dict[str, str]
) -> None:
    http, every = service.http, make_key(service.store, "*", scopes=ADMIN)
    assert http.get("/api/admin/snapshots", headers=admin).status_code == 403
    assert http.post("/api/admin/snapshots", headers=admin).status_code == 403
    assert http.get("/api/admin/snapshots", headers=every).json() == {"snapshots": []}
    first = http.post("/api/admin/snapshots", headers=every)
    assert first.status_code == 201
    assert first.json()["whole"]
    second = http.post("/api/admin/snapshots", headers=every).json()
    assert not second["whole"]
    assert second["bytes"] < first.json()["bytes"]
    assert http.get("/api/admin/snapshots", headers=every).json()["snapshots"] == [first.json(), second]


def test_a_snapshot_restores_what_was_deleted_after_it(service: Service, tmp_path: Path) -> None:
    every = make_key(service.store, "*", scopes=ADMIN)
    held = count(service, "support")
    made = service.http.post("/api/admin/snapshots", headers=every).json()
    service.http.delete("/api/admin/tenants/support", headers=every).raise_for_status()
    assert count(service, "support") == 0
    archive = service.store.with_name(".weft.backups") / "snapshots"
    restore_at(
        archive, tmp_path / "r", sequence=made["sequence"], replace=False, now=datetime(2026, 1, 1, tzinfo=UTC)
    )
    with Weft.open(tmp_path / "r", create=False) as weft:
        assert weft.status(["support"]).nodes == held


def test_an_embedded_store_has_no_jobs(service: Service, admin: dict[str, str]) -> None:
    assert service.http.get("/api/admin/jobs", headers=admin).json() == {"jobs": []}


def test_a_service_that_only_reads_makes_no_snapshots_and_imports_nothing(helpdesk: Path, tmp_path: Path) -> None:
    store = Path(shutil.copytree(helpdesk, tmp_path / ".weft"))
    every = make_key(store, "*", scopes=ADMIN)
    service = make_service(store, read_only=True)
    try:
        assert service.http.post("/api/admin/snapshots", headers=every).status_code == 403
        answer = service.http.post("/api/admin/tenants/copy/import", content=b"{}", headers={**every, **NDJSON})
        assert answer.status_code == 403
    finally:
        service.served.close()
