"""Send a real service requests that were made up, with keys for different tenants, and look for words of others.

Every node of every tenant holds two words that stand nowhere else. A word of a tenant that the key may not read
must not be in an answer, whatever was asked; tenants that no key may write to must be as they were at the end.
"""

import hashlib
import http.client
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct

from torture.served import NODES_OF_A_TENANT, TOPICS, make_keys, make_store, serving, title_word
from weft import Weft
from weft.interfaces.keys import Grant, Limits, Scope
from weft.model import DEFAULT_TENANT

_KEYS = 20
_THREADS = 8
_WORD = re.compile(rb"z[pq]([a-z]+\d*)n\d+xj")
_POOL = 3000
"""Ids, cursors and tags of answers that are kept to be sent with other keys."""
_UNLIMITED = Limits(concurrent=1000)
_SCOPES = (
    (Scope.READ,),
    (Scope.READ, Scope.WRITE),
    (Scope.READ, Scope.MEMORY),
    (Scope.READ, Scope.WRITE, Scope.MEMORY, Scope.ADMIN),
)
_EXPLORER = {
    "page": ("topic", "profile", "tenants", "max_tokens", "format", "as_of"),
    "growth": ("topic", "tenants"),
    "why": ("topic", "tenants", "name"),
    "around": ("key", "tenants"),
    "source": ("key", "tenant"),
    "census": ("tenants",),
    "timeline": ("tenants", "track"),
    "cast": ("tenant",),
    "learned": ("tenant",),
    "sessions": ("session",),
    "compare": ("topic", "tenants", "context", "other"),
    "corrections": ("tenants",),
    "choices": (),
}
"""Views of the explorer, which the description of the service leaves out, with what they are asked with."""
_KEPT_NAMES = frozenset({"id", "key", "cursor", "next_cursor", "session", "hash", "handle", "node_id", "context"})
"""Fields of answers whose values are sent again with other keys."""


class Operation(Struct, frozen=True):
    """One thing that can be asked of the service."""

    method: str
    path: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...] = ()
    example: Mapping[str, Any] = {}


class Holder(Struct, frozen=True):
    """A key, and the tenants it may read."""

    id: str
    secret: str
    tenants: frozenset[str]


class Caller:
    """One thread that asks with every key in turn."""

    def __init__(self, port: int, holders: list[Holder], operations: list[Operation], seed: int) -> None:
        self._port, self._holders, self._operations = port, holders, operations
        self._chance = random.Random(seed)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._pool: list[str] = []
        self.statuses: Counter[int] = Counter()
        self.wrong: list[str] = []

    def ask(self, said: dict[str, set[bytes]]) -> None:
        """Send one request, and look for what its answer must not hold."""
        chance = self._chance
        holder, operation = chance.choice(self._holders), chance.choice(self._operations)
        own = sorted(holder.tenants)
        path = re.sub(r"{(\w+)}", lambda found: quote(str(self._value(found[1], holder)), safe=""), operation.path)
        given = [name for name in operation.parameters if chance.random() < 0.7]
        query = urlencode([(name, str(self._value(name, holder))) for name in given])
        body = self._body(operation, holder) if operation.fields else b""
        token = holder.secret if chance.random() < 0.98 else chance.choice(("", "weft_wrong", holder.secret[:-1]))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if chance.random() < 0.05:
            headers["X-Forwarded-For"] = "127.0.0.1"
        target = f"{path}?{query}" if query else path
        said[holder.id] |= {found[0] for found in _WORD.finditer(target.encode() + body)}
        status, answer = self._send(operation.method, target, body, headers)
        self.statuses[status] += 1
        if status == 500:
            self.wrong.append(f"500 for {operation.method} {target[:200]} {body[:200]!r}")
        readable = holder.tenants if token == holder.secret else frozenset[str]()
        for found in _WORD.finditer(answer):
            if found[1].decode() not in readable and found[0] not in said[holder.id]:
                self.wrong.append(f"{found[0].decode()} told to {own}: {operation.method} {target[:200]}")
        self._keep(answer)

    def _send(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            self._connection.request(method, target, body, headers)
            answer = self._connection.getresponse()
            return answer.status, b"%r" % answer.getheaders() + answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self.wrong.append(f"{type(error).__name__} for {method} {target[:200]}")
            return 0, b""

    def _keep(self, answer: bytes) -> None:
        """Keep ids and cursors, to try them with other keys."""
        for found in re.finditer(rb'"(\w+)":"?([^",\]}]{1,200})', answer[:20_000]):
            if found[1].decode() in _KEPT_NAMES:
                value = found[2].decode("utf-8", "replace")
                if len(self._pool) < _POOL:
                    self._pool.append(value)
                else:
                    self._pool[self._chance.randrange(_POOL)] = value

    def _body(self, operation: Operation, holder: Holder) -> bytes:
        chance = self._chance
        # Only questions may hold words of others: what is written with them would be read back by right.
        asks = operation.path in ("/api/context", "/api/search", "/api/premortem")
        made = dict(operation.example)
        for name in operation.fields:
            required = name in ("tenant_id", "tenant_ids", "query", "node_type", "title")
            if chance.random() < (0.9 if required else 0.15):
                made[name] = self._value(name, holder, may_name_others=asks)
        if name_of_batch := next((name for name in ("nodes", "edges") if name in operation.fields), ""):
            node = {"tenant_id": self._value("tenant_id", holder), "node_type": "faq", "title": "A case"}
            edge = {name: self._value(name, holder, may_name_others=False) for name in ("source_id", "target_id")}
            made[name_of_batch] = [node if name_of_batch == "nodes" else {**edge, "edge_type": "related"}]
        text = json.dumps(made).encode()
        if chance.random() < 0.03:
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice((b"", b"\x00", b"[[[[", b'"', b"\xff")) + text[place + 1 :]
        return text

    def _value(self, name: str, holder: Holder, *, may_name_others: bool = True) -> Any:
        chance, tenant = self._chance, self._tenant(holder)
        made: Any = chance.choice(_ODD)
        if name in ("tenant_ids", "tenants") and chance.random() < 0.8:
            made = [tenant, *(self._tenant(holder) for _ in range(chance.randrange(3)))]
        elif name in ("tenant_id", "tenant", "tenants"):
            made = tenant
        elif name == "key_id":
            # A key of the caller's own tenants it may well end; the run needs them.
            made = chance.choice([other.id for other in self._holders if not other.tenants & holder.tenants])
        elif name.endswith("_id") or name in ("key", "cursor", "start", "session", "context", "other", "name"):
            is_seen = self._pool and chance.random() < 0.7
            made = chance.choice(self._pool) if is_seen else f"app:{chance.randrange(NODES_OF_A_TENANT)}"
        elif name in ("query", "topic", "question", "text", "title", "situation"):
            word = title_word(f"t{chance.randrange(_KEYS)}", chance.randrange(NODES_OF_A_TENANT))
            made = f"handle a {chance.choice(TOPICS)} {word if may_name_others and chance.random() < 0.3 else ''}"
        return made

    def _tenant(self, holder: Holder) -> str:
        draw = self._chance.random()
        if draw < 0.45:
            return self._chance.choice(sorted(holder.tenants))
        other = f"t{self._chance.randrange(_KEYS)}"
        odd = (DEFAULT_TENANT, "*", "", f"../{other}", f"{other} ", other.upper())
        return other if draw < 0.9 else self._chance.choice(odd)


_ODD: tuple[Any, ...] = (
    *(
        0,
        1,
        3,
        -1,
        20,
        2**53,
        1.5,
        True,
        None,
        "",
        "*",
        "knowledge",
        "general",
        "plain",
        "markdown",
        "json",
        "xml",
    ),
    *("bm25", "related", "faq", "../../etc/passwd", "%00", "\u202e", "a" * 300, [], ["*"], {}, {"tenant": "t1"}),
    *("2026-01-01T00:00:00Z", "session", ["app:1", "app:2"], [{"query": "refund"}], "'; drop table nodes; --"),
)
"""Values of every type, for fields that are not filled by their meaning."""


def describe_operations(description: Mapping[str, Any]) -> Iterator[Operation]:
    """Return all that the description of the service and the explorer's views offer."""
    models = description["components"]["schemas"]
    for path, operations in description["paths"].items():
        for method, told in operations.items():
            parameters = tuple(each["name"] for each in told.get("parameters", ()) if each["in"] == "query")
            body = next(iter(told.get("requestBody", {}).get("content", {}).values()), {}).get("schema", {})
            model = models.get(body.get("$ref", "").rpartition("/")[2], {})
            example = next(iter(model.get("examples", ())), {})
            yield Operation(method.upper(), path, parameters, tuple(model.get("properties", ())), example)
    for name, parameters in _EXPLORER.items():
        yield Operation("GET", f"/explore/{name}", parameters)


def run_leaks(folder: Path, seed: int, until: float, most: int) -> dict[str, int]:
    """Return how many requests were sent with how many keys, and how many told something of others."""
    store = folder / ".weft"
    # One has the name of the tenant that is read where none is given.
    tenants = make_store(store, _KEYS - 1, DEFAULT_TENANT)
    grants = [
        Grant(tenant, (tenant,), _SCOPES[number % len(_SCOPES)], limits=_UNLIMITED)
        for number, tenant in enumerate(tenants)
    ]
    holders = [
        Holder(id, secret, frozenset(grant.tenants))
        for (id, secret), grant in zip(make_keys(store, grants), grants, strict=True)
    ]
    unwritten = [tenant for number, tenant in enumerate(tenants) if number % len(_SCOPES) == 0]
    before = _digests(store, unwritten)
    with serving(store, "--workers", "2", "--write") as server:
        callers = _ask_together(server.port, holders, seed, until, most)
    statuses = sum((caller.statuses for caller in callers), Counter[int]())
    wrong = [each for caller in callers for each in caller.wrong]
    after = _digests(store, unwritten)
    wrong += [f"{tenant} was changed without a right" for tenant in unwritten if before[tenant] != after[tenant]]
    print(f"   answers: {dict(sorted(statuses.items()))}")
    for what, count in Counter(wrong).most_common(20):
        print(f"   {what} ({count} times)")
    return {"requests": statuses.total(), "keys": len(holders), "losses": len(wrong)}


def _ask_together(port: int, holders: list[Holder], seed: int, until: float, most: int) -> list[Caller]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/openapi.json")
    operations = list(describe_operations(json.loads(connection.getresponse().read())))
    callers = [Caller(port, holders, operations, seed * 1000 + number) for number in range(_THREADS)]
    said: dict[str, set[bytes]] = {holder.id: set() for holder in holders}

    def work(caller: Caller) -> None:
        for _ in range(max(most // _THREADS, 1)):
            if time.monotonic() >= until:
                return
            caller.ask(said)

    working = [threading.Thread(target=work, args=(caller,)) for caller in callers]
    for each in working:
        each.start()
    for each in working:
        each.join()
    return callers


def _digests(store: Path, tenants: list[str]) -> dict[str, str]:
    """Return a digest of all that each tenant holds."""
    with Weft.open(store) as weft:
        return {
            tenant: hashlib.sha256(
                repr(
                    [(row.node.key, row.node.title, row.node.text) for row in weft.store.iterate(tenant)]
                ).encode()
            ).hexdigest()
            for tenant in tenants
        }
