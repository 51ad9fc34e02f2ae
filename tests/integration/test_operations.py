"""Looking after a service: logs, backups, whole tenants, migrations, and what the runbook says."""

import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Cli
from opentelemetry import trace

from rest_service import Service, make_key, make_service
from weft import Edge, Node, Weft
from weft.errors import InvalidInput, StoreCorrupt
from weft.interfaces.audit import AuditLog
from weft.interfaces.keys import Scope
from weft.interfaces.tenants import delete_tenant, export_tenant, import_tenant
from weft.store.sqlite.backup import check_backup, make_backup, restore_backup

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FAQ = {"tenant_id": "support", "node_type": "faq", "title": "Zebra stable"}
ADMIN = (Scope.READ, Scope.ADMIN)


def audit_lines(store: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (store / "audit.log").read_text(encoding="utf-8").splitlines()]


# --- logs ---


def test_a_request_id_is_taken_from_the_caller_or_given(service: Service) -> None:
    assert service.http.get("/healthz", headers={"X-Request-Id": "abc-1"}).headers["X-Request-Id"] == "abc-1"
    for wrong in ("", "a b", "x" * 200, "<script>"):
        given = service.http.get("/healthz", headers={"X-Request-Id": wrong}).headers["X-Request-Id"]
        assert re.fullmatch(r"[0-9a-f]{32}", given)


def test_changes_and_refusals_are_audited_without_secrets_or_text(service: Service) -> None:
    key = make_key(service.store, "support", write=True)
    http = service.http
    http.post("/api/nodes", json=FAQ, headers={**key, "X-Request-Id": "r-1"})
    http.post("/api/context", json={"query": "zebra", "tenant_ids": ["support"]}, headers=key)
    http.get("/api/keys", headers=key)
    http.get("/api/profiles", headers={"Authorization": "Bearer weft_1234_secret-of-nobody"})
    lines = audit_lines(service.store)
    assert [(line["event"], line["path"], line["status"]) for line in lines] == [
        ("change", "/api/nodes", 201),
        ("refusal", "/api/keys", 403),
        ("refusal", "/api/profiles", 401),
    ]
    assert (lines[0]["request"], lines[0]["key"]) == ("r-1", key["Authorization"].split("_")[1])
    kept = (service.store / "audit.log").read_text(encoding="utf-8")
    assert key["Authorization"].split("_", 2)[2] not in kept
    assert "secret-of-nobody" not in kept
    assert "Zebra" not in kept
    assert (service.store / "audit.log").stat().st_mode & 0o077 == 0


def test_a_flood_of_refusals_does_not_push_out_what_was_changed(service: Service) -> None:
    make_key(service.store, "support")
    for _ in range(200):
        service.http.get("/api/profiles")
    assert len(audit_lines(service.store)) <= 130


def test_the_audit_log_is_rotated_and_old_files_are_dropped(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, max_bytes=500, kept_files=2)
    for number in range(60):
        log.write("change", path=f"/x/{number}", note="line\nbreak \ud800")
    names = sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".lock")
    assert names == ["audit.log", "audit.log.1", "audit.log.2"]
    for name in names:
        for line in (tmp_path / name).read_text(encoding="utf-8").splitlines():
            assert json.loads(line)["event"] == "change"


def test_the_access_log_has_a_line_for_every_request(helpdesk: Path, tmp_path: Path) -> None:
    written = tmp_path / "access.log"
    logged = make_service(helpdesk, access_log=str(written))
    logged.http.get("/healthz", headers={"X-Request-Id": "seen"})
    logged.http.post("/api/search", json={"query": "refund secret", "tenant_ids": ["support"]})
    lines = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    assert [(line["path"], line["status"]) for line in lines] == [("/healthz", 200), ("/api/search", 200)]
    assert lines[0]["request"] == "seen"
    assert "refund" not in written.read_text(encoding="utf-8")


def test_readiness_says_whether_the_search_files_are_behind(service: Service) -> None:
    assert service.http.get("/readyz").json() == {"status": "ready", "search_files": "current"}
    with Weft.open(service.store) as weft:
        weft.put([Node("app:z", "faq", "support", title="Zebra")])
    shutil.rmtree(service.store / "derived")
    assert make_service(service.store).http.get("/readyz").json()["search_files"] == "behind"


def test_requests_are_counted_by_how_they_were_answered(service: Service) -> None:
    service.http.get("/api/nodes/999999")
    told = service.http.get("/metrics").text
    line = 'weft_requests_total{caller="local",method="GET",route="/api/nodes/{node_id}",status="404"} 1.0'
    assert line in told


# --- backups ---


def test_a_backup_that_is_made_while_others_write_is_whole_and_restored_alike(
    helpdesk: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copytree(helpdesk, tmp_path / ".weft"))
    make_key(store, "support")
    stop = threading.Event()

    def write() -> None:
        with Weft.open(store) as weft:
            number = 0
            while not stop.is_set():
                number += 1
                weft.put([Node(f"app:{number}", "faq", "support", title=f"Zebra {number}")])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        from datetime import UTC, datetime

        backups = [make_backup(store, tmp_path / f"b{number}", datetime.now(UTC)) for number in range(3)]
    finally:
        stop.set()
        writer.join()
    for number, made in enumerate(backups):
        assert check_backup(tmp_path / f"b{number}") == made
        restored, aside = restore_backup(
            tmp_path / f"b{number}", tmp_path / f"r{number}", replace=False, now=datetime.now(UTC)
        )
        assert (restored, aside) == (made, None)
        with Weft.open(tmp_path / f"r{number}") as weft:
            assert weft.status().nodes == made.nodes
            assert weft.verify() == ()
            assert weft.context("refund", tenants=["support"]).text
        # Restoring must not open what had keys.
        assert (tmp_path / f"r{number}" / "keys.json").exists()


def test_a_backup_that_was_changed_is_refused_and_a_store_is_never_overwritten(cli: Cli, world: Path) -> None:
    folder = world.parent / "saved"
    assert cli("backup", folder).code == 0
    assert cli("backup", folder).code == 2
    refused = cli("restore", folder)
    assert refused.code == 2
    assert "--replace" in refused.err
    done = cli("restore", folder, "--replace", "--json")
    moved = Path(json.loads(done.out)["moved"])
    assert (moved / "weft.sqlite").exists()
    assert (world / "weft.sqlite").exists()
    content = bytearray((folder / "weft.sqlite").read_bytes())
    content[9000] ^= 1
    (folder / "weft.sqlite").write_bytes(content)
    with pytest.raises(StoreCorrupt):
        check_backup(folder)
    (folder / "manifest.json").write_text('{"format": "weft-backup"}', encoding="utf-8")
    with pytest.raises(InvalidInput):
        check_backup(folder)


def test_a_store_of_the_first_release_is_migrated_after_a_backup(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "old"
    store.mkdir()
    packed = ROOT / "tests" / "fixtures" / "store_0_1_0" / "weft.sqlite.gz"
    (store / "weft.sqlite").write_bytes(gzip.decompress(packed.read_bytes()))
    done = json.loads(cli("migrate", "--store", store, "--json").out)
    assert done["from"] < done["to"]
    assert done["problems"] == []
    assert check_backup(Path(done["backup"])).schema == done["from"]
    assert json.loads(cli("migrate", "--store", store, "--json").out)["backup"] is None


# --- tenants ---


def test_a_tenant_is_exported_imported_and_deleted_with_proof(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "support.ndjson"
    with Weft.open(service.store) as weft:
        before = weft.status(["support"]).nodes
        file.write_bytes(b"".join(export_tenant(weft, "support")))
        with file.open("rb") as lines:
            again = import_tenant(weft, lines, "copy")
        assert again.nodes == before == weft.status(["copy"]).nodes
        there = {node.key: (node.title, node.text) for node in weft.nodes(tenants="support", limit=1000)}
        assert there == {node.key: (node.title, node.text) for node in weft.nodes(tenants="copy", limit=1000)}
        proof = delete_tenant(weft, "support")
        assert (proof.nodes, proof.left) == (before, 0)
        assert weft.nodes(tenants="support") == ()
        assert weft.status(["copy"]).nodes == before
        assert weft.verify() == ()


@pytest.mark.parametrize("cut", [0, 1, 10])
def test_an_export_that_was_cut_off_is_not_imported_at_all(service: Service, tmp_path: Path, cut: int) -> None:
    file = tmp_path / "cut.ndjson"
    with Weft.open(service.store) as weft:
        lines = list(export_tenant(weft, "support"))
        file.write_bytes(b"".join(lines[: cut or None])[: None if cut else -5])
        with pytest.raises(InvalidInput), file.open("rb") as stream:
            import_tenant(weft, stream, "copy")
        assert weft.nodes(tenants="copy") == ()


def test_an_export_of_any_size_is_imported_from_a_pipe_a_batch_at_a_time(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Weft.open(service.store, embedder=None) as weft:
        weft.put([Node(f"put:{n}", "note", "many", text="a word") for n in range(450)])
        links = [Edge(f"put:{n}", "put:0", f"t{kind}", tenant="many") for n in range(450) for kind in range(3)]
        weft.put(edges=links)
        exported = b"".join(export_tenant(weft, "many"))
    with Weft.open(tmp_path / "other", embedder=None) as other:
        sizes: list[int] = []
        put = other.writer.put
        monkeypatch.setattr(other.writer, "put", lambda n, e: sizes.append(max(len(n), len(e))) or put(n, e))
        reading, writing = os.pipe()
        # A pipe holds less than the export, so it is written while it is read.
        sender = threading.Thread(target=lambda: os.fdopen(writing, "wb").write(exported))
        sender.start()
        with os.fdopen(reading, "rb") as stream:
            done = import_tenant(other, stream)
        sender.join()
        assert (done.nodes, done.edges) == (450, 1350)
        assert max(sizes) <= 1000
        assert b"".join(export_tenant(other, "many")) == exported


def test_a_line_longer_than_any_node_is_refused_before_it_is_held(tmp_path: Path) -> None:
    with Weft.open(tmp_path / "store", embedder=None) as weft, pytest.raises(InvalidInput, match="longer than"):
        import_tenant(weft, io.BytesIO(b'{"format": "weft-export"}\n"' + b"x" * 33_000_000))


def test_over_http_an_admin_exports_and_deletes_its_own_tenants_only(service: Service) -> None:
    admin = make_key(service.store, "support", scopes=ADMIN)
    http = service.http
    assert list(http.get("/api/admin/tenants", headers=admin).json()["tenants"]) == ["support"]
    lines = http.get("/api/admin/tenants/support/export", headers=admin).text.splitlines()
    assert json.loads(lines[-1])["end"]["nodes"] == len([line for line in lines if line.startswith('{"node"')])
    for method, path in (("GET", "/api/admin/tenants/finance/export"), ("DELETE", "/api/admin/tenants/finance")):
        assert http.request(method, path, headers=admin).status_code == 404
    assert http.get("/api/admin/status", headers=admin).status_code == 403
    gone = http.delete("/api/admin/tenants/support", headers=admin).json()
    assert gone["left"] == 0
    every = make_key(service.store, "*", scopes=ADMIN)
    assert http.get("/api/admin/status", headers=every).json()["lag"] == 0


def test_the_answers_that_are_kept_for_a_day_quote_no_deleted_tenant(service: Service) -> None:
    admin = make_key(service.store, "support", scopes=tuple(Scope))
    other = make_key(service.store, "finance", write=True)
    again = {"Idempotency-Key": "one"}
    written = []
    for key, tenant in ((admin, "support"), (other, "finance")):
        node = {"tenant_id": tenant, "node_type": "faq", "title": f"A zebraword of {tenant}"}
        written.append(service.http.post("/api/nodes", json=node, headers={**key, **again}))
        assert written[-1].status_code == 201
    kept = service.store / "idempotency.sqlite"
    assert b"zebraword of support" in kept.read_bytes()
    assert service.http.delete("/api/admin/tenants/support", headers=admin).status_code == 200
    assert b"zebraword of support" not in kept.read_bytes()
    # Others are answered again as before.
    node = {"tenant_id": "finance", "node_type": "faq", "title": "A zebraword of finance"}
    assert service.http.post("/api/nodes", json=node, headers={**other, **again}).json() == written[1].json()


# --- traces ---


class Recorder:
    """A tracer of OpenTelemetry's API that keeps what it is told of every span."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any], trace.Span]] = []

    def start_span(self, name: str, *, attributes: dict[str, Any] | None = None, **times: Any) -> trace.Span:
        told = dict(attributes or {})
        span = RecordedSpan(told)
        self.spans.append((name, told, trace.get_current_span()))
        return span

    @contextmanager
    def start_as_current_span(self, name: str, **more: Any) -> Iterator[trace.Span]:
        span = self.start_span(name, **more)
        with trace.use_span(span):
            yield span


class RecordedSpan(trace.NonRecordingSpan):
    """A span that keeps its attributes."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.told = told

    def set_attribute(self, key: str, value: Any) -> None:
        self.told[key] = value


def test_a_request_and_its_stages_are_spans_that_quote_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(trace, "get_tracer", lambda name: recorder)
    answer = service.http.post(
        "/api/context",
        json={"query": "a zebraword refund", "tenant_ids": ["support"], "format": "plain"},
        headers={"X-Request-Id": "request-of-mine"},
    )
    assert answer.status_code == 200
    (name, told, _), *stages = recorder.spans
    assert name == "POST request"
    assert told["weft.request_id"] == "request-of-mine"
    assert told["http.response.status_code"] == 200
    assert {stage for stage, _, _ in stages} >= {"weft.retrieve", "weft.budget"}
    assert all(isinstance(parent, RecordedSpan) and parent.told is told for _, _, parent in stages)
    assert "zebraword" not in repr(recorder.spans)


# --- stopping ---


def test_a_service_that_is_stopped_gives_its_answer_first(helpdesk: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "weft", "serve", "--port", "0", "--workers", "1", "--store", str(helpdesk)]
    around = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(words, env=around, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        told = next(found for line in serving.stderr if (found := re.search(r"http://\S+", line)))
        import httpx

        with httpx.Client(base_url=told[0]) as client:
            assert client.post("/api/search", json={"query": "x", "tenant_ids": ["support"]}).status_code == 200
        serving.terminate()
        assert serving.wait(30) in (0, -15)


# --- what is shipped ---


def test_the_files_for_deployment_are_valid_and_name_what_there_is() -> None:
    for file in (*DEPLOY.glob("compose/*.yaml"), *DEPLOY.glob("helm/weft/*.yaml")):
        assert yaml.safe_load(file.read_text(encoding="utf-8")), file
    units = "\n".join(file.read_text(encoding="utf-8") for file in DEPLOY.glob("systemd/*.service"))
    options = {
        option
        for line in re.findall(r"weft (?:serve|backup) (?:.*\\\n)*.*", units)
        for option in re.findall(r"--[a-z-]+", line)
    }
    described = "".join(
        (ROOT / "docs" / "commands" / name).read_text("utf-8") for name in ("serve.md", "back-up.md")
    )
    assert all(f"`{option}" in described for option in options)
    dashboard = json.loads((DEPLOY / "grafana" / "weft.json").read_text(encoding="utf-8"))
    named = set(re.findall(r"weft_[a-z_]+", json.dumps(dashboard["panels"])))
    source = (ROOT / "src" / "weft" / "interfaces" / "rest" / "metrics.py").read_text(encoding="utf-8")
    counted = set(re.findall(r'"(weft_[a-z_]+)"', source))
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in named} <= counted


def test_the_templates_of_the_chart_use_only_values_that_it_has() -> None:
    values = yaml.safe_load((DEPLOY / "helm" / "weft" / "values.yaml").read_text(encoding="utf-8"))
    for template in (DEPLOY / "helm" / "weft" / "templates").glob("*.yaml"):
        text = template.read_text(encoding="utf-8")
        assert yaml.safe_load(re.sub(r"\{\{.*?\}\}", "x", text)), template.name
        for path in re.findall(r"\.Values\.([A-Za-z.]+)", text):
            found: object = values
            for part in path.split("."):
                assert isinstance(found, dict), f"{template.name}: {path}"
                assert part in found, f"{template.name}: {path}"
                found = found[part]


def test_a_followed_store_comes_back_as_it_was_after_any_write(cli: Cli, tmp_path: Path) -> None:
    store, archive, sequences = tmp_path / ".weft", tmp_path / "archive", []
    with Weft.open(store, embedder=None) as weft:
        weft.put(Node("app:0", "note", text="first"))
        words = ("-m", "weft", "backup", str(archive), "--follow", "--store", str(store))
        with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True) as following:
            assert following.stdout is not None
            assert following.stdout.readline().startswith("Following ")
            for number in range(1, 6):
                weft.put(Node("app:0", "note", text=f"version {number}"))
                sequences.append(weft.store.last_sequence())
            following.send_signal(signal.SIGTERM)
            assert following.stdout.read() == "5 transactions followed.\n"
        assert following.returncode == 0
    for number, sequence in enumerate(sequences, 1):
        target = tmp_path / f"at-{sequence}"
        restored = cli("restore", str(archive), "--at", str(sequence), "--store", str(target))
        assert f"up to write {sequence}," in restored.out
        with Weft.open(target, embedder=None) as weft:
            assert [node.text for node in weft.nodes()] == [f"version {number}"]
            assert weft.verify() == ()
