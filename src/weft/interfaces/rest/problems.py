"""Errors as RFC 9457 problem documents: which field, what is allowed, what to do."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from weft.errors import InvalidInput, StoreReadOnly, UnknownName, WeftError

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER: Final = "1"

_TITLES: Final = {
    400: "The request cannot be read",
    401: "A valid API key is needed",
    403: "Not allowed",
    404: "Nothing there",
    405: "Method not allowed",
    409: "Conflict with what is stored",
    413: "The request is too large",
    415: "Not JSON",
    422: "A value is not allowed",
    500: "Unexpected error",
    503: "The store is not available",
}


class Problem(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.field = status, detail, field


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


def of_error(error: Exception, path: str) -> Response:
    """Return the answer to whatever went wrong."""
    if isinstance(error, Problem):
        return _problem(error, path)
    if isinstance(error, UnknownName):
        # Well formed, but of something that is not there: no description can list what users will name.
        return _problem(Problem(404, str(error), error.what), path)
    if isinstance(error, StoreReadOnly | InvalidInput):
        return document(422 if isinstance(error, InvalidInput) else 403, str(error), path)
    if isinstance(error, WeftError):
        return document(503, str(error), path, headers={"Retry-After": RETRY_AFTER})
    return document(500, f"An unexpected {type(error).__name__}; the server's log says more.", path)


def _problem(error: Problem, path: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    if error.status == 503:
        headers["Retry-After"] = RETRY_AFTER
    errors = [{"field": error.field, "detail": error.detail}] if error.field else []
    return document(error.status, error.detail, path, errors, headers)


def install(app: FastAPI) -> None:
    """Let every error of the app become a problem document."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = [_told(each) for each in error.errors()]
        status = 400 if any(each["type"] == "json_invalid" for each in error.errors()) else 422
        first = f"{found[0]['field']}: {found[0]['detail']}"
        more = f" ({len(found) - 1} more below)" if len(found) > 1 else ""
        return document(status, f"{first}{more}. Correct it and send again.", request.url.path, found)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        detail = f"{request.method} {request.url.path}: {error.detail}. /docs lists what there is."
        headers = {"Allow": _allowed(app, request.url.path)} if error.status_code == 405 else error.headers
        return document(error.status_code, detail, request.url.path, headers=headers)

    @app.exception_handler(WeftError)
    async def known(request: Request, error: WeftError) -> Response:
        return of_error(error, request.url.path)

    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        return of_error(error, request.url.path)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return of_error(error, request.url.path)


def _allowed(app: FastAPI, path: str) -> str:
    """Return all methods that the path takes; the router itself tells only those of its first match."""
    matching = [route for route in app.routes if isinstance(route, Route) and route.path_regex.match(path)]
    return ", ".join(sorted({method for route in matching for method in route.methods or ()}))


def _told(error: Mapping[str, Any]) -> dict[str, str]:
    """Return one validation error: the field, and what is allowed there."""
    place = [str(part) for part in error["loc"][1:]]
    context = error.get("ctx") or {}
    if error["type"] == "unknown_field":
        place.append(str(context["name"]))
    if error["type"] == "json_invalid":
        return {"field": "body", "detail": f"not valid JSON ({context.get('error', '')})"}
    given = error.get("input")
    shown = f" (given {repr(given)[:80]})" if isinstance(given, str | int | float) else ""
    return {"field": ".".join(place) or "body", "detail": f"{error['msg']}{shown}"}


class StrictRequest(Request):
    """A request whose body is strict JSON."""

    async def json(self) -> Any:
        """Return the body as JSON."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body that way."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
