"""A client for the knowledge service, in a synchronous and an asynchronous form.

Both forms share everything but the waiting: what is sent and how the answer is read (`_Call`), which answers are
tried again and when (`_Attempts`), and how failures are explained.
"""

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import Struct

from weft.assemblers.knowledge.lists import ContextNode, Entity, EntryPoint, KnowledgeStats
from weft.errors import MissingPackage, WeftError
from weft.interfaces.request import CONTEXT_FIELDS, RequestField, fields_for

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingPackage("weft.client", "httpx") from error

DEFAULT_URL: Final = "http://localhost:8000"

# Busy, or starting: the same request may succeed in a moment.
_RETRIED_STATUSES: Final = (429, 503)
# The wait doubles with every attempt, from a fifth of a second to at most ten seconds.
_FIRST_WAIT_SECONDS: Final = 0.2
_LONGEST_WAIT_SECONDS: Final = 10.0

_Outcome = httpx.Response | httpx.TransportError
"""The result of one attempt."""
Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])


class ServiceError(WeftError):
    """The service refused or failed; `status` and the problem document's `errors` say more."""

    def __init__(self, status: int, detail: str, errors: Sequence[Mapping[str, str]] = ()) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail, self.errors = status, detail, tuple(errors)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the service about a query; `text` and `ledger` are there only where a format was asked for."""

    entry_points: tuple[EntryPoint, ...]
    context: tuple[ContextNode, ...]
    entities: tuple[Entity, ...]
    stats: KnowledgeStats
    notes: tuple[str, ...]
    text: str | None = None
    ledger: tuple[Mapping[str, Any], ...] = ()
    # Everything that the service sent, also fields that this version does not know.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


# --- what is sent, and how the answer is read -------------------------------------------------------------


class _Call(Struct, Generic[Result], frozen=True):
    """One request to the service and the function that reads its body."""

    method: str
    path: str
    read: Callable[[Any], Result]
    json: Any = None


def _context_call(query: str, tenant_ids: Sequence[str], options: Mapping[str, Any]) -> _Call[Answer]:
    body = {"query": query, "tenant_ids": list(tenant_ids), **options}
    return _Call("POST", "/api/context", _read_answer, body)


def _search_call(query: str, tenant_ids: Sequence[str], options: Mapping[str, Any]) -> _Call[list[dict[str, Any]]]:
    body = {"query": query, "tenant_ids": list(tenant_ids), **options}
    return _Call("POST", "/api/search", lambda found: found["results"], body)


def _put_nodes_call(nodes: Sequence[Mapping[str, Any]]) -> _Call[dict[str, Any]]:
    return _Call("PUT", "/api/nodes", dict, {"nodes": list(nodes)})


def _put_edges_call(edges: Sequence[Mapping[str, Any]]) -> _Call[list[dict[str, Any]]]:
    return _Call("PUT", "/api/edges", lambda written: written["edges"], {"edges": list(edges)})


def _node_call(node_id: int) -> _Call[dict[str, Any]]:
    return _Call("GET", f"/api/nodes/{node_id}", dict)


def _delete_node_call(node_id: int) -> _Call[None]:
    return _Call("DELETE", f"/api/nodes/{node_id}", lambda _: None)


def _read_answer(body: Mapping[str, Any]) -> Answer:
    return Answer(
        entry_points=tuple(EntryPoint(**_with_tuples(node)) for node in body["entry_points"]),
        context=tuple(ContextNode(**_with_tuples(node)) for node in body["context"]),
        entities=tuple(Entity(**_with_tuples(entity)) for entity in body["entities"]),
        stats=KnowledgeStats(**body["stats"]),
        notes=tuple(body["notes"]),
        text=body.get("text"),
        ledger=tuple(body.get("ledger") or ()),
        raw=body,
    )


def _with_tuples(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in body.items()}


def _read_body(response: httpx.Response) -> Any:
    """Return the body of a successful response; raise anything else."""
    if response.is_success:
        return response.json() if response.content else None
    try:
        problem = response.json()
    except ValueError:
        problem = None
    # A proxy between us and the service may answer with anything.
    fields = problem if isinstance(problem, dict) else {}
    detail = fields.get("detail") or response.text[:200] or response.reason_phrase
    raise ServiceError(response.status_code, detail, fields.get("errors", ()))


def add_context_options(method: Method, fields: Sequence[RequestField] = CONTEXT_FIELDS) -> Method:
    """Show the fields of a page as keyword parameters in the signature of a method that takes `**options`."""
    signature = inspect.signature(method)
    *own, options = signature.parameters.values()
    shown = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for field in fields_for("rest", fields)
    ]
    method.__signature__ = signature.replace(parameters=[*own, *shown, options])  # type: ignore[attr-defined]
    return method


# --- trying again -----------------------------------------------------------------------------------------


class _Attempts:
    """The attempts of one call: a busy service, or one that is not there yet, is asked again after a while."""

    def __init__(self, limit: int, url: httpx.URL) -> None:
        self._left, self._url = limit, url
        self._backoff = _FIRST_WAIT_SECONDS

    def pause_after(self, outcome: _Outcome) -> float | None:
        """Return the seconds to wait before the next attempt, or None when this outcome counts."""
        is_busy = isinstance(outcome, httpx.Response) and outcome.status_code in _RETRIED_STATUSES
        # Nothing was sent, so the call can be repeated; any other failure may have come after it was done.
        if self._left <= 0 or not (is_busy or isinstance(outcome, httpx.ConnectError)):
            return None
        header = outcome.headers.get("retry-after", "") if isinstance(outcome, httpx.Response) else ""
        # The header may also be a date; the service sends seconds only.
        asked_for = float(header) if header.isdigit() else 0.0
        # A random part keeps many clients from coming back at the same moment.
        pause = min(max(asked_for, self._backoff * random.uniform(0.75, 1.25)), _LONGEST_WAIT_SECONDS)
        self._left, self._backoff = self._left - 1, 2 * self._backoff
        return pause

    def read(self, outcome: _Outcome) -> Any:
        """Return the body of a successful response; raise anything else."""
        if isinstance(outcome, httpx.Response):
            return _read_body(outcome)
        raise _explain_failure(self._url, outcome) from outcome


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _explain_failure(url: httpx.URL, failure: httpx.TransportError) -> ServiceError:
    """Explain a call without an answer; one that was sent may have been done, so it is not sent again."""
    if isinstance(failure, httpx.ConnectError):
        return ServiceError(503, f"No service answers at {url} ({failure}). Start one with `weft serve`.")
    if isinstance(failure, httpx.TimeoutException):
        return ServiceError(504, f"{url} did not answer in time. Ask again, or give the client a longer timeout.")
    return ServiceError(502, f"The connection to {url} was lost ({failure or type(failure).__name__}). Ask again.")


# --- the two clients --------------------------------------------------------------------------------------


class WeftClient:
    """A client that asks and writes a knowledge service; busy answers (429, 503) are tried again with backoff."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._http = httpx.Client(
            base_url=base_url, timeout=timeout, headers=_headers(api_key), transport=transport
        )

    @add_context_options
    def context(self, query: str, tenant_ids: Sequence[str], **options: Any) -> Answer:
        """Return what is known about a query; options are the fields of POST /api/context."""
        return self._send(_context_call(query, tenant_ids, options))

    def search(self, query: str, tenant_ids: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        """Return the nodes that match best; options are the fields of POST /api/search."""
        return self._send(_search_call(query, tenant_ids, options))

    def put_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Create or replace nodes by their keys; the answer has their `ids` in order."""
        return self._send(_put_nodes_call(nodes))

    def put_edges(self, edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Draw edges, or change those that are there."""
        return self._send(_put_edges_call(edges))

    def node(self, node_id: int) -> dict[str, Any]:
        """Return one node, whole."""
        return self._send(_node_call(node_id))

    def delete_node(self, node_id: int) -> None:
        """Remove a node."""
        return self._send(_delete_node_call(node_id))

    def call(self, method: str, path: str, **more: Any) -> Any:
        """Call any route of the service, with the same errors and the same retries."""
        attempts = _Attempts(self._retries, self._http.base_url)
        while True:
            outcome: _Outcome
            try:
                outcome = self._http.request(method, path, **more)
            except httpx.TransportError as error:
                outcome = error
            pause = attempts.pause_after(outcome)
            if pause is None:
                return attempts.read(outcome)
            time.sleep(pause)

    def _send(self, call: _Call[Result]) -> Result:
        body = {} if call.json is None else {"json": call.json}
        return call.read(self.call(call.method, call.path, **body))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWeftClient:
    """The same client for asynchronous programs."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._http = httpx.AsyncClient(
            base_url=base_url, timeout=timeout, headers=_headers(api_key), transport=transport
        )

    @add_context_options
    async def context(self, query: str, tenant_ids: Sequence[str], **options: Any) -> Answer:
        """Return what is known about a query; options are the fields of POST /api/context."""
        return await self._send(_context_call(query, tenant_ids, options))

    async def search(self, query: str, tenant_ids: Sequence[str], **options: Any) -> list[dict[str, Any]]:
        """Return the nodes that match best; options are the fields of POST /api/search."""
        return await self._send(_search_call(query, tenant_ids, options))

    async def put_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Create or replace nodes by their keys; the answer has their `ids` in order."""
        return await self._send(_put_nodes_call(nodes))

    async def put_edges(self, edges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Draw edges, or change those that are there."""
        return await self._send(_put_edges_call(edges))

    async def node(self, node_id: int) -> dict[str, Any]:
        """Return one node, whole."""
        return await self._send(_node_call(node_id))

    async def delete_node(self, node_id: int) -> None:
        """Remove a node."""
        return await self._send(_delete_node_call(node_id))

    async def call(self, method: str, path: str, **more: Any) -> Any:
        """Call any route of the service, with the same errors and the same retries."""
        attempts = _Attempts(self._retries, self._http.base_url)
        while True:
            outcome: _Outcome
            try:
                outcome = await self._http.request(method, path, **more)
            except httpx.TransportError as error:
                outcome = error
            pause = attempts.pause_after(outcome)
            if pause is None:
                return attempts.read(outcome)
            await asyncio.sleep(pause)

    async def _send(self, call: _Call[Result]) -> Result:
        body = {} if call.json is None else {"json": call.json}
        return call.read(await self.call(call.method, call.path, **body))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
