"""Errors as RFC 9457 problem documents: which field, what is allowed, what to do."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import Scope as Connection

from weft.errors import EmbedderError, InvalidInput, StoreError, StoreReadOnly, UnknownName, WeftError

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER: Final = 1
"""Seconds after which a caller may ask again: a store that is locked or replaced is back by then."""

_MOST_ERRORS: Final = 100
"""Wrong values that an answer describes: a batch may hold thousands."""
_LONGEST_FIELD: Final = 300
"""Characters of the place of a wrong value, which may be a name that the caller chose."""
_UNUSABLE: Final = (
    "The store cannot be used now. Try again in a moment. Its operator finds the reason in the service's log, and "
    "`weft doctor` says what to do."
)
"""The answer to callers elsewhere where the store is damaged, gone, busy, or takes no writes."""

_TITLES: Final = {
    400: "The request cannot be read",
    401: "A valid API key is needed",
    403: "Not allowed",
    404: "Nothing there",
    405: "Method not allowed",
    408: "The request is too slow",
    409: "Conflict with what is stored",
    412: "Changed meanwhile",
    413: "The request is too large",
    414: "The path is too long",
    415: "Not JSON",
    421: "Not served under this name",
    422: "A value is not allowed",
    429: "Too many requests",
    431: "The headers are too large",
    500: "Unexpected error",
    503: "The service is not available",
}


class Problem(Exception):
    """An answer that is an error."""

    def __init__(
        self, status: int, detail: str, field: str | None = None, *, retry_after: int = RETRY_AFTER
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field, self.retry_after = status, detail, field, retry_after


def document(
    status: int,
    detail: str,
    path: str,
    errors: Sequence[Mapping[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem document as a response."""
    title = _TITLES.get(status, "The request was refused")
    body = {
        "type": f"urn:weft:problem:{title.lower().replace(' ', '-')}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": path,
        "errors": list(errors),
    }
    return Response(orjson.dumps(body), status, headers, MEDIA_TYPE)


def problem_response(error: Exception, connection: Connection) -> Response:
    """Return the problem document for the error of a request."""
    path = connection["path"]
    if isinstance(error, StoreError | EmbedderError) and not _is_told_all(connection):
        # The message is for the operator: it may name files, and servers with their users.
        state = connection["state"]
        connection["app"].state.served.log.error(
            "store_unusable", request=state.get("request_id"), reason=str(error)
        )
        error = Problem(403 if isinstance(error, StoreReadOnly) else 503, _UNUSABLE)
    if isinstance(error, Problem):
        return _problem_document(error, path)
    if isinstance(error, UnknownName):
        # Well formed, but of something that is not there: no description can list what users will name.
        return _problem_document(Problem(404, str(error), error.what), path)
    if isinstance(error, StoreReadOnly | InvalidInput):
        return document(422 if isinstance(error, InvalidInput) else 403, str(error), path)
    if isinstance(error, WeftError):
        return document(503, str(error), path, headers={"Retry-After": str(RETRY_AFTER)})
    # The message of an unexpected error may hold stored text, so only its type is sent.
    return document(500, f"An unexpected {type(error).__name__}; the server's log says more.", path)


def _is_told_all(connection: Connection) -> bool:
    """Return whether a request comes from this machine itself, whose user may read the store anyway."""
    peer = connection["state"].get("peer")
    return peer is not None and bool(peer.is_local)


def _problem_document(error: Problem, path: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    if error.status in (429, 503):
        headers["Retry-After"] = str(error.retry_after)
    errors = [{"field": error.field, "detail": error.detail}] if error.field else []
    return document(error.status, error.detail, path, errors, headers)


def install(app: FastAPI) -> None:
    """Let every error of the app become a problem document."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        errors = [_describe_error(each) for each in found[:_MOST_ERRORS]]
        status = 400 if any(each["type"] == "json_invalid" for each in found) else 422
        first = f"{errors[0]['field']}: {errors[0]['detail']}"
        below = f", the first {len(errors) - 1} of them below" if len(found) > len(errors) else " below"
        more = f" ({len(found) - 1} more{below})" if len(found) > 1 else ""
        return document(status, f"{first}{more}. Correct it and send again.", request.url.path, errors)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        detail = f"{request.method} {request.url.path}: {error.detail}. /docs lists what there is."
        headers = {"Allow": _allowed(app, request.url.path)} if error.status_code == 405 else error.headers
        return document(error.status_code, detail, request.url.path, headers=headers)

    @app.exception_handler(WeftError)
    async def known(request: Request, error: WeftError) -> Response:
        return problem_response(error, request.scope)

    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return problem_response(error, request.scope)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return problem_response(error, request.scope)


def _allowed(app: FastAPI, path: str) -> str:
    """Return all methods that the path takes; the router itself names only those of its first match."""
    methods: set[str] = set()
    # The description is kept by the app; the routes themselves are nested in ways that change between versions.
    for described, operations in app.openapi()["paths"].items():
        if compile_path(described)[0].match(path):
            methods |= {method.upper() for method in operations}
    # The gate answers HEAD wherever there is a GET.
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def _describe_error(error: Mapping[str, Any]) -> dict[str, str]:
    """Return one validation error: the field, and what is allowed there."""
    # The first part says where the value stood: in the body, the path or the query.
    path = [str(part) for part in error["loc"][1:]]
    context = error.get("ctx") or {}
    if error["type"] == "unknown_field":
        path.append(str(context["name"]))
    if error["type"] == "json_invalid":
        return {"field": "body", "detail": f"not valid JSON ({context.get('error', '')})"}
    # Only short plain values are repeated; an object may be the whole body.
    value = error.get("input")
    value_shown = f" (given {repr(value)[:80]})" if isinstance(value, str | int | float) else ""
    return {"field": ".".join(path)[:_LONGEST_FIELD] or "body", "detail": f"{error['msg']}{value_shown}"}


class StrictRequest(Request):
    """A request whose body is strict JSON: Python's own reader would accept NaN and Infinity."""

    async def json(self) -> Any:
        """Return the body as JSON."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body as a `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly
