"""The holder of a key is told the same, whatever other tenants hold and do.

Two stores are the same but for other tenants: in one of them these hold much more, and have asked, remembered and
indexed. The same requests with the same key must be answered alike, word for word.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rest_service import Service, make_key, make_service
from weft import Edge, Node, Weft
from weft.interfaces.keys import Scope
from weft.interfaces.mcp import ServedStore, Settings
from weft.interfaces.mcp.protocol import ProtocolError, answer_request
from weft.memory.experience_store import start_experience
from weft.memory.memory_store import remember
from weft.model import Alias

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN = "acme"
OTHERS = ("zulu", "yankee", "default")
TOPICS = ("refund", "invoice", "password", "delivery", "warranty", "voucher", "lighthouse")
TENANTS = ((OWN,), (OWN, "zulu"), ("zulu",), ("nobody",), ("default",), ("*",), ())
QUESTIONS = ("refund late", "app:3", "zulu refund 0", "17", "what did Anna do", "")
FROM_THE_EXPLORER = {"X-Weft-Explorer": "1"}

Told = tuple[str, int, str]


def write_nodes(weft: Weft, tenant: str, count: int, named: str) -> None:
    """Write nodes whose keys, titles and aliases other tenants have too."""
    nodes = [
        Node(
            f"app:{number}",
            ("faq", "playbook", "concept")[number % 3],
            tenant,
            title=f"{named} {TOPICS[number % len(TOPICS)]} {number}",
            text=f"How to handle a {TOPICS[number % len(TOPICS)]} when it is late, of {tenant}. "
            * (2 + number % 3),
            tags=(TOPICS[number % len(TOPICS)],),
            aliases=(Alias(f"case {number}", "app@1"),),
            created=NOW,
            modified=NOW,
        )
        for number in range(count)
    ]
    edges = [
        Edge(node.key, nodes[(number * 5 + 3) % count].key, "related", tenant=tenant)
        for number, node in enumerate(nodes)
    ]
    weft.put(nodes, edges)


def write_memories(weft: Weft, tenant: str, count: int) -> None:
    """Write memories that others have too or contradict, and experiences of one goal."""
    context = weft.indexing_context()
    for number in range(count):
        topic = TOPICS[number % len(TOPICS)]
        remember(context, f"The {topic} desk closes at {number + len(tenant)} o'clock.", now=NOW, tenant=tenant)
        tried = {"hypothesis": "h", "action": "a", "prediction": "p", "strategy": "research-first"}
        goal = {"domain": "testing", "goal": f"goal {number}"}
        start_experience(context, now=NOW, tenant=tenant, files=(), **goal, **tried)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """Two stores with the same tenant of ours, the second with much more of others; and our key."""
    folder = tmp_path_factory.mktemp("tenants")
    quiet, busy = folder / "quiet" / ".weft", folder / "busy" / ".weft"
    story = folder / "story"
    story.mkdir()
    (story / "one.md").write_text("# One\n\nAnna met Ben at the lighthouse.\n\n# Two\n\nBen left Anna.\n")
    with Weft.open(quiet) as weft:
        write_nodes(weft, OWN, 30, "acme")
        write_memories(weft, OWN, 4)
        write_nodes(weft, "zulu", 5, "zulu")
        weft.index(story, tenant=OWN)
    key = make_key(quiet, OWN, scopes=tuple(Scope))
    service = make_service(quiet)
    ask(service, key, OWN, 3)
    service.served.close()
    shutil.copytree(quiet, busy)
    with Weft.open(busy) as weft:
        for tenant in OTHERS:
            write_nodes(weft, tenant, 120, "acme")
            write_memories(weft, tenant, 7)
            weft.index(story, tenant=tenant)
    service = make_service(busy)
    ask(service, make_key(busy, *OTHERS, scopes=tuple(Scope)), "zulu", 250)
    service.served.close()
    (story / "one.md").write_text("# One\n\nChanged since.\n")
    (story / "one.md").unlink()
    return quiet, busy, key


def ask(service: Service, key: dict[str, str], tenant: str, times: int) -> None:
    """Ask in a session of one name."""
    for number in range(times):
        body = {"query": f"refund {number}", "tenant_ids": [tenant], "format": "plain", "session": "mine"}
        assert service.http.post("/api/context", json=body, headers=key).status_code == 200


def plain(stores: Sequence[Path]) -> Callable[[str], str]:
    """Return a function that puts names by order of appearance in place of what is new in every store."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"<{len(names)}>")

    def make_plain(text: str) -> str:
        for store in stores:
            text = text.replace(str(store), "STORE")
        text = re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+(\+00:00|Z)?", "TIME", text)
        # Secrets, ids of nodes and keys that were made now, tags and digests of what holds a time or such an id.
        new = r"weft_[\w-]{20,}|\b\d{9,}\b|\"[0-9a-f]{32}\"|\"[0-9a-f]{8}\"|\b[0-9a-f]{12}\b|\b[0-9a-f]{64}\b"
        return re.sub(new, name, text)

    return make_plain


def reading_requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield requests that read: method, path, and what belongs to it."""
    for tenants, question in product(TENANTS, QUESTIONS):
        asked = {"query": question, "tenant_ids": list(tenants)}
        yield "POST", "/api/search", {"json": {**asked, "floor": 0, "limit": 30}}
        yield "POST", "/api/context", {"json": asked}
        yield "POST", "/api/context", {"json": {**asked, "format": "json", "profile": "general"}}
        yield "POST", "/api/context", {"json": {**asked, "format": "plain", "session": "mine"}}
        yield "GET", "/explore/page", {"params": {"topic": question, "tenants": tenants}}
        yield "GET", "/explore/why", {"params": {"topic": "refund", "tenants": tenants, "name": question or "x"}}
    for tenants in TENANTS:
        for number in (1, 7, 31, 60, 200):
            body = {"query": "", "tenant_ids": list(tenants), "format": "plain", "start": [str(number)]}
            yield "POST", "/api/context", {"json": body}
        for listed in ("nodes", "edges"):
            yield "GET", f"/api/{listed}", {"params": {"tenant_id": tenants or ("x",), "limit": 7}}
        for view in ("census", "timeline", "growth?topic=refund", "around?key=app:3"):
            yield "GET", f"/explore/{view}", {"params": {"tenants": tenants}}
        yield "POST", "/api/premortem", {"json": {"domain": "testing", "tenant_ids": list(tenants)}}
        for tenant in tenants or ("",):
            for path in ("/explore/cast", "/explore/learned", "/explore/source?key=app:3"):
                yield "GET", path, {"params": {"tenant": tenant}}
            for path in ("/api/memories", "/api/memories?query=refund", "/api/experiences", "/api/values"):
                yield "GET", path, {"params": {"tenant_id": tenant}}
            yield "GET", f"/api/admin/tenants/{tenant or 'x'}/export", {}
    for path in ("profiles", "keys", "admin/status", "admin/tenants", "admin/jobs", "admin/snapshots", "nodes/5"):
        yield "GET", f"/api/{path}", {}
    for path in (
        "choices",
        "sessions",
        "compare",
        "corrections",
        "indexing",
        "compare?left=context=abcd&right=topic=x",
    ):
        yield "GET", f"/explore/{path}", {}
    yield "GET", "/readyz", {}
    yield "GET", "/metrics", {}


def changing_requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield requests that change something, of our tenant and of others."""
    for tenant in (OWN, "zulu", "nobody"):
        node = {"tenant_id": tenant, "key": "app:new", "node_type": "faq", "title": "acme refund 0"}
        yield "POST", "/api/nodes", {"json": node, "headers": {"Idempotency-Key": "one"}}
        yield "POST", "/api/nodes", {"json": {**node, "key": "app:1"}}
        yield "PUT", "/api/nodes", {"json": {"nodes": [node, {**node, "key": "app:2", "title": "zulu refund 2"}]}}
        yield (
            "POST",
            "/api/memories",
            {"json": {"tenant_id": tenant, "text": "The refund desk closes at 9 o'clock."}},
        )
        yield "GET", "/api/memories", {"params": {"tenant_id": tenant}}
        yield "POST", "/api/keys", {"json": {"tenants": [tenant]}}
        for change in (
            {"action": "edit", "key": "app:4", "parts": {"title": "Other"}},
            {"action": "forget", "key": "app:6"},
        ):
            body = {**change, "tenant": tenant, "asked": f"topic=refund&tenants={OWN}"}
            for what in ("preview", "correction"):
                yield "POST", f"/explore/write/{what}", {"json": body, "headers": FROM_THE_EXPLORER}
        for of in ("edit", "entity", "page"):
            undo = {"of": of, "tenant": tenant, "name": "app"}
            yield "POST", "/explore/write/undo", {"json": undo, "headers": FROM_THE_EXPLORER}
        indexed = {"path": "/etc", "tenant": tenant}
        yield "POST", "/explore/write/index", {"json": indexed, "headers": FROM_THE_EXPLORER}
        for target in ("zulu", "nobody", "shared"):
            edge = {"edge": {"source": "app:1", "target": "app:2", "type": "x", "target_tenant": target}}
            lines = {"content": json.dumps(edge), "headers": {"Content-Type": "application/x-ndjson"}}
            yield "POST", f"/api/admin/tenants/{tenant}/import", lines
    yield "GET", "/api/edges", {"params": {"tenant_id": OWN, "limit": 1000}}
    yield "GET", "/explore/corrections", {}
    yield "DELETE", "/api/keys/00000000", {}
    for tenant in ("zulu", "nobody", OWN):
        yield "DELETE", f"/api/admin/tenants/{tenant}", {}
        yield "GET", "/api/admin/tenants", {}


def told_over_http(store: Path, key: dict[str, str], make_plain: Callable[[str], str]) -> Iterator[Told]:
    """Yield every request with what it was answered."""
    service = make_service(store, explorer_writes=True)

    def send(method: str, path: str, more: dict[str, Any]) -> tuple[Told, Any]:
        headers = {**key, **more.pop("headers", {})}
        answer = service.http.request(method, path, headers=headers, **more)
        facts = {
            name: value for name, value in answer.headers.items() if name not in ("x-request-id", "content-length")
        }
        return (f"{method} {path} {more}", answer.status_code, make_plain(f"{facts} {answer.text}")), answer

    for request in reading_requests():
        told, answer = send(*request)
        yield told
        while answer.status_code == 200 and (
            cursor := answer.json().get("next_cursor") if "limit" in told[0] else None
        ):
            more = {"params": {**request[2]["params"], "cursor": cursor}}
            told, answer = send(request[0], request[1], more)
            yield told
    first = service.http.get("/api/nodes", params={"tenant_id": OWN, "limit": 5}, headers=key).json()["nodes"]
    for node in first:
        yield send("GET", f"/api/nodes/{node['id']}", {})[0]
        yield send("GET", f"/api/graph/{node['id']}", {"params": {"depth": 3}})[0]
    for page in service.http.get("/explore/compare", headers=key).json()["kept"][:2]:
        sides = {"left": f"context={page['id']}", "right": f"now={page['id']}"}
        yield send("GET", "/explore/compare", {"params": sides})[0]
    for request in changing_requests():
        yield send(*request)[0]
    service.served.close()


def told_over_mcp(store: Path, make_plain: Callable[[str], str]) -> Iterator[Told]:
    """Yield every request to a server for our tenant with what it was answered, whatever carries them."""
    served = ServedStore(Settings(store=store, tenants=(OWN,), write=True))

    def send(method: str, params: dict[str, Any]) -> tuple[Told, dict[str, Any]]:
        try:
            answer, status = answer_request(served, method, params), 0
        except ProtocolError as error:
            answer, status = {"error": str(error)}, error.code
        return (f"{method} {params}", status, make_plain(json.dumps(answer))), answer

    cursor: str | None = ""
    while cursor is not None:
        told, answer = send("resources/list", {"cursor": cursor})
        yield told
        cursor = answer.get("nextCursor")
    for name in ("app:3", "7", "60", "zulu refund 3", "nothing"):
        yield send("resources/read", {"uri": f"weft://node/{name}"})[0]
        for what in ("text", "facts", "links", "log"):
            yield send("tools/call", {"name": "fetch", "arguments": {"key": name, "what": what}})[0]
    for question in QUESTIONS[:-1]:
        for tool in ("context", "search", "explain"):
            yield send("tools/call", {"name": tool, "arguments": {"query": question, "session": "mine"}})[0]
    yield send("tools/call", {"name": "search", "arguments": {"query": "of", "exact": True}})[0]
    for arguments in ({"context_id": "abcd"}, {"context_id": "0123456789abcdef"}):
        yield send("tools/call", {"name": "explain", "arguments": arguments})[0]
    yield send("tools/call", {"name": "premortem", "arguments": {"domain": "testing"}})[0]
    yield send("tools/call", {"name": "remember", "arguments": {"text": "The invoice desk closes at 9 o'clock."}})[
        0
    ]
    yield send("tools/call", {"name": "forget", "arguments": {"key": "memory:000000000000"}})[0]
    for method in ("tools/list", "prompts/list", "resources/templates/list"):
        yield send(method, {})[0]
    served.close()


def assert_alike(quiet: list[Told], busy: list[Told]) -> None:
    """Compare answers one by one, so that the first that differs is shown."""
    for one, other in zip(quiet, busy, strict=True):
        assert one == other


def test_others_change_no_answer_over_http(stores: tuple[Path, Path, dict[str, str]], tmp_path: Path) -> None:
    quiet, busy, key = stores
    told = []
    for store in (quiet, busy):
        copy = Path(shutil.copytree(store, tmp_path / store.parent.name / ".weft"))
        told.append(list(told_over_http(copy, key, plain((copy, store)))))
    assert_alike(*told)
    statuses = {status for _, status, _ in told[0]}
    assert statuses >= {200, 201, 403, 404, 409}
    assert not any(f"of {other}." in text for _, _, text in told[0] for other in OTHERS)


def test_others_change_no_answer_over_mcp(stores: tuple[Path, Path, dict[str, str]], tmp_path: Path) -> None:
    quiet, busy, _ = stores
    told = []
    for store in (quiet, busy):
        copy = Path(shutil.copytree(store, tmp_path / store.parent.name / ".weft"))
        told.append(list(told_over_mcp(copy, plain((copy, store)))))
    assert_alike(*told)
    assert sum(status == 0 for _, status, _ in told[0]) > 30
    assert not any(f"of {other}." in text for _, _, text in told[0] for other in OTHERS)
