"""A client for the knowledge service, in a synchronous and an asynchronous form."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import TracebackType
from typing import Any, Final, Self

from weft.assemblers.knowledge.lists import ContextNode, Entity, EntryPoint, KnowledgeStats
from weft.errors import MissingExtra, WeftError
from weft.frozen import dataclass

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtra("weft.interfaces.client", "client") from error

DEFAULT_URL: Final = "http://localhost:8000"
_RETRIED: Final = (429, 503)
_FIRST_WAIT: Final = 0.2
_LONGEST_WAIT: Final = 10.0


class ServiceError(WeftError):
    """The service refused or failed; `status` and the problem document's `errors` say more."""

    def __init__(self, status: int, detail: str, errors: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail, self.errors = status, detail, tuple(errors)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service knows about a query; `text` and `ledger` only where a format was asked for."""

    entry_points: tuple[EntryPoint, ...]
    context: tuple[ContextNode, ...]
    entities: tuple[Entity, ...]
    stats: KnowledgeStats
    notes: tuple[str, ...]
    text: str | None = None
    ledger: tuple[Mapping[str, Any], ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


def answer_from(body: Mapping[str, Any]) -> Answer:
    """The typed answer of a response."""
    return Answer(
        entry_points=tuple(EntryPoint(**_tuples(each)) for each in body["entry_points"]),
        context=tuple(ContextNode(**_tuples(each)) for each in body["context"]),
        entities=tuple(Entity(**_tuples(each)) for each in body["entities"]),
        stats=KnowledgeStats(**body["stats"]),
        notes=tuple(body["notes"]),
        text=body.get("text"),
        ledger=tuple(body.get("ledger") or ()),
        raw=body,
    )


def _tuples(shape: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in shape.items()}


@dataclass(frozen=True, slots=True)
class _Calls:
    """How calls are made: headers, and how often and how long to wait before trying again."""

    api_key: str | None
    retries: int

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def wait(self, attempt: int, response: httpx.Response | None) -> float | None:
        """Seconds to wait before the next attempt, or None when this one counts."""
        if attempt >= self.retries or (response is not None and response.status_code not in _RETRIED):
            return None
        told = response.headers.get("retry-after", "") if response is not None else ""
        backoff = _FIRST_WAIT * 2**attempt * random.uniform(0.75, 1.25)
        least = float(told) if told.isdigit() else 0.0
        return float(min(max(least, backoff), _LONGEST_WAIT))


def _body(response: httpx.Response) -> Any:
    """The body of a good answer; anything else is raised."""
    if response.is_success:
        return response.json() if response.content else None
    try:
        problem = response.json()
    except ValueError:
        problem = None
    # What stands between may answer with anything.
    told = problem if isinstance(problem, dict) else {}
    detail = told.get("detail") or response.text[:200] or response.reason_phrase
    raise ServiceError(response.status_code, detail, told.get("errors", ()))


def _asked(query: str, tenant_ids: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    return {"query": query, "tenant_ids": list(tenant_ids), **options}


class WeftClient:
    """Asks and writes a knowledge service; busy answers (429, 503) are tried again with backoff."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._calls = _Calls(api_key, retries)
        self._http = httpx.Client(
            base_url=base_url, timeout=timeout, headers=self._calls.headers(), transport=transport
        )

    def context(self, query: str, tenant_ids: Sequence[str], **options: Any) -> Answer:
        """What is known about a query; options are the fields of POST /api/context."""
        return answer_from(self.call("POST", "/api/context", json=_asked(query, tenant_ids, options)))

    def search(self, query: str, tenant_ids: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        """The nodes that match best."""
        found = self.call("POST", "/api/search", json=_asked(query, tenant_ids, options))
        results: list[dict[str, Any]] = found["results"]
        return results

    def put_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Create or replace nodes by their keys; the answer has their `ids` in order."""
        done: dict[str, Any] = self.call("PUT", "/api/nodes", json={"nodes": list(nodes)})
        return done

    def put_edges(self, edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Draw edges, or change those that are there."""
        drawn: list[dict[str, Any]] = self.call("PUT", "/api/edges", json={"edges": list(edges)})["edges"]
        return drawn

    def node(self, node_id: int) -> dict[str, Any]:
        """One node, whole."""
        found: dict[str, Any] = self.call("GET", f"/api/nodes/{node_id}")
        return found

    def delete_node(self, node_id: int) -> None:
        """Remove a node."""
        self.call("DELETE", f"/api/nodes/{node_id}")

    def call(self, method: str, path: str, **more: Any) -> Any:
        """Any route of the service, with the same errors and the same patience."""
        attempt = 0
        while True:
            response, failure = None, None
            try:
                response = self._http.request(method, path, **more)
            except httpx.ConnectError as error:
                failure = error
            except httpx.TransportError as error:
                raise _lost(self._http.base_url, error) from error
            pause = self._calls.wait(attempt, response)
            if pause is None:
                break
            time.sleep(pause)
            attempt += 1
        if response is None:
            raise _unreachable(self._http.base_url, failure)
        return _body(response)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWeftClient:
    """The same client for programs that wait in other ways."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._calls = _Calls(api_key, retries)
        self._http = httpx.AsyncClient(
            base_url=base_url, timeout=timeout, headers=self._calls.headers(), transport=transport
        )

    async def context(self, query: str, tenant_ids: Sequence[str], **options: Any) -> Answer:
        """What is known about a query; options are the fields of POST /api/context."""
        return answer_from(await self.call("POST", "/api/context", json=_asked(query, tenant_ids, options)))

    async def search(self, query: str, tenant_ids: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        """The nodes that match best."""
        found = await self.call("POST", "/api/search", json=_asked(query, tenant_ids, options))
        results: list[dict[str, Any]] = found["results"]
        return results

    async def put_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Create or replace nodes by their keys; the answer has their `ids` in order."""
        done: dict[str, Any] = await self.call("PUT", "/api/nodes", json={"nodes": list(nodes)})
        return done

    async def put_edges(self, edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Draw edges, or change those that are there."""
        drawn: list[dict[str, Any]] = (await self.call("PUT", "/api/edges", json={"edges": list(edges)}))["edges"]
        return drawn

    async def node(self, node_id: int) -> dict[str, Any]:
        """One node, whole."""
        found: dict[str, Any] = await self.call("GET", f"/api/nodes/{node_id}")
        return found

    async def delete_node(self, node_id: int) -> None:
        """Remove a node."""
        await self.call("DELETE", f"/api/nodes/{node_id}")

    async def call(self, method: str, path: str, **more: Any) -> Any:
        """Any route of the service, with the same errors and the same patience."""
        attempt = 0
        while True:
            response, failure = None, None
            try:
                response = await self._http.request(method, path, **more)
            except httpx.ConnectError as error:
                failure = error
            except httpx.TransportError as error:
                raise _lost(self._http.base_url, error) from error
            pause = self._calls.wait(attempt, response)
            if pause is None:
                break
            await asyncio.sleep(pause)
            attempt += 1
        if response is None:
            raise _unreachable(self._http.base_url, failure)
        return _body(response)

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _unreachable(url: httpx.URL, failure: Exception | None) -> ServiceError:
    return ServiceError(503, f"No service answers at {url} ({failure}). Start one with `weft serve`.")


def _lost(url: httpx.URL, failure: httpx.TransportError) -> ServiceError:
    """A call that was sent and not answered: it may have been done, so it is not sent again by itself."""
    if isinstance(failure, httpx.TimeoutException):
        return ServiceError(504, f"{url} did not answer in time. Ask again, or give the client a longer timeout.")
    return ServiceError(502, f"The connection to {url} was lost ({failure or type(failure).__name__}). Ask again.")
