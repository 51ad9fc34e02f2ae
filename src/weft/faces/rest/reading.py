"""Bodies read strictly: no NaN, no broken Unicode, bounded depth."""

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response


class StrictRequest(Request):
    """A request whose body is strict JSON."""

    async def json(self) -> Any:
        """The body as JSON."""
        return orjson.loads(await self.body())


class StrictRoute(APIRoute):
    """A route that reads its body that way."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
