"""A stand-in for the Local API of Tana Desktop that holds itself and its callers to the published description."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

TOKEN = "open-sesame"


@dataclass
class Stub:
    """The contents of the app: nodes by id, tags, the clock, and how it should misbehave."""

    description: dict[str, Any] | None = None
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    tags: list[dict[str, Any]] = field(default_factory=list)
    clock: str = "2026-04-01T00:00:00.000Z"
    status: int = 200
    body: str | None = None
    hang: threading.Event | None = None
    asked: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    place: str = ""

    def add(self, name: str, said: str, parent: str = "", **values: Any) -> None:
        """A node below another."""
        self.nodes[name] = {"name": said, "children": [], "markdown": f"- {said}", "edited": 0, **values}
        if parent:
            self.nodes[parent]["children"].append(name)

    def shown(self, name: str) -> dict[str, Any]:
        """A node as lists of children and searches show it."""
        node = self.nodes[name]
        tags = [tag for tag in self.tags if tag["id"] in node.get("tags", ())]
        return {
            "id": name,
            "name": node["name"],
            "tags": [{"id": tag["id"], "name": tag["name"]} for tag in tags],
            "tagIds": [tag["id"] for tag in tags],
            "docType": node.get("docType", "node"),
            "created": "2026-01-01T00:00:00.000Z",
            "inTrash": bool(node.get("inTrash")),
            **({"description": node["description"]} if "description" in node else {}),
        }

    def answer(self, path: str, query: dict[str, str]) -> Any:
        """The body of an answer, or None when there is no such thing."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        if parts == ["health"]:
            return {"status": "ok", "timestamp": self.clock, "nodeSpaceReady": True}
        if parts == ["workspaces"]:
            return [{"id": "ws", "name": "Work", "homeNodeId": "home"}]
        if parts[0] == "workspaces":
            return self.tags
        if parts[0] == "tags":
            return {"markdown": f"Fields of {parts[1]}"}
        if parts == ["nodes", "search"]:
            since = int(query["query[edited][since]"])
            found = [name for name, node in self.nodes.items() if node["edited"] >= since]
            return [
                {**self.shown(name), "breadcrumb": ["Home"], "workspaceId": "ws"}
                for name in found[: int(query["limit"])]
            ]
        return self._node(parts[1], parts[2:], query)

    def _node(self, name: str, rest: list[str], query: dict[str, str]) -> Any:
        node = self.nodes.get(name)
        if node is None:
            return None
        if not rest:
            return {"markdown": node["markdown"], "name": node["name"], "description": node.get("description")}
        offset, limit = int(query["offset"]), int(query["limit"])
        page = node["children"][offset : offset + limit]
        listed = [{**self.shown(each), "childCount": len(self.nodes[each]["children"])} for each in page]
        total = len(node["children"])
        return {"children": listed, "total": total, "hasMore": offset + limit < total}

    def check(self, path: str, query: dict[str, str], answer: Any) -> None:
        """Note what of the question or the answer the description does not allow."""
        if self.description is None or answer is None:
            return
        operation = next(
            (
                methods["get"]
                for template, methods in sorted(
                    self.description["paths"].items(), key=lambda each: each[0].count("{")
                )
                if "get" in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path)
            ),
            None,
        )
        if operation is None:
            self.violations.append(f"no such path: {path}")
            return
        self._check_query(path, query, operation.get("parameters", []))
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        self._check_shape(path, answer, schema)

    def _check_query(self, path: str, query: dict[str, str], parameters: list[dict[str, Any]]) -> None:
        known = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
        for name, value in query.items():
            schema = known.get(name.partition("[")[0])
            for inner in re.findall(r"\[(\w+)\]", name):
                schema = (schema or {}).get("properties", {}).get(inner)
            if schema is None:
                self.violations.append(f"{path}: no parameter {name}")
            elif schema.get("type") == "number":
                low, high = schema.get("minimum", 0), schema.get("maximum", float("inf"))
                if not low <= float(value) <= high:
                    self.violations.append(f"{path}: {name}={value}")

    def _check_shape(self, path: str, value: Any, schema: dict[str, Any]) -> None:
        if schema.get("type") == "array":
            for each in value:
                self._check_shape(path, each, schema["items"])
        elif schema.get("type") == "object":
            missing = set(schema.get("required", ())) - set(value)
            self.violations += [f"{path}: the stub gives no {name}" for name in sorted(missing)]
            for name, inner in schema.get("properties", {}).items():
                if name in value:
                    self._check_shape(path, value[name], inner)


@contextmanager
def running(stub: Stub) -> Iterator[Stub]:
    """The stub behind a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            stub.asked.append(address.path)
            if stub.hang is not None:
                stub.hang.wait()
                return
            query = dict(parse_qsl(address.query))
            allowed = address.path == "/health" or self.headers["Authorization"] == f"Bearer {TOKEN}"
            answer = stub.answer(address.path, query) if allowed else None
            stub.check(address.path, query, answer)
            code = 401 if not allowed else stub.status if stub.status != 200 else 404 if answer is None else 200
            self.send_response(code)
            self.end_headers()
            self.wfile.write((stub.body if stub.body is not None else json.dumps(answer)).encode())

        def log_message(self, *_: Any) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.place = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        if stub.hang is not None:
            stub.hang.set()
        server.shutdown()
        server.server_close()
        thread.join()


def small_world() -> Stub:
    """A plan with a person, a task and a place; something in the trash, and a view."""
    stub = Stub(tags=[{"id": "person", "name": "Person"}, {"id": "task", "name": "Small Task", "color": "red"}])
    stub.add("home", "Home")
    stub.add("ws_CAPTURE_INBOX", "Inbox")
    stub.add("ws_STASH", "Library")
    stub.add("plan", "The <b>greenhouse</b> plan", "home", description="What to build before winter.")
    stub.nodes["plan"]["markdown"] = (
        "- The greenhouse plan <!-- node-id: plan -->\n"
        "  - **Owner**: [Ada Quill](tana:ada) <!-- node-id: x -->\n"
        "  - **Due**: 2026-05-01\n"
        "  - Glass from the old orangery <!-- node-id: glass -->\n"
    )
    stub.add("glass", "Glass from the old [[orangery^orangery]]", "plan")
    stub.add("ada", "Ada Quill", "ws_STASH", tags=["person"])
    stub.add("order", "Order putty", "plan", tags=["task"])
    stub.add("orangery", "The orangery", "ws_STASH")
    stub.add("thrown", "Thrown away", "home", inTrash=True)
    stub.add("machine", "A view", "home", docType="viewDef")
    return stub
