"""The service in Starlette: ``uvicorn examples.service.starlette_app:app``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypedDict

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from colonnade.serve import TableResponse
from examples.service.answers import Table
from examples.service.handlers.routes import ROUTES, Handler, answer
from examples.service.logs import log_as_json
from examples.service.recent import RecentRequests
from examples.service.runtime import Runtime, running
from examples.service.settings import Settings
from examples.service.shell import in_shell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

recent = RecentRequests()


class State(TypedDict):
    """What every request sees."""

    runtime: Runtime


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[State]:
    """Open what the process holds, and close it."""
    del app
    log_as_json()
    async with running(Settings.from_environment(), recent) as runtime:
        yield {"runtime": runtime}


def endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response | TableResponse]]:
    """A handler as an endpoint of Starlette."""

    async def respond(request: Request) -> Response | TableResponse:
        found = await answer(handler, request.state.runtime, request.query_params)
        if isinstance(found, Table):
            return TableResponse(found.source, **found.options)
        return Response(found.body, found.status, dict(found.headers), found.content_type)

    return respond


application = Starlette(
    routes=[Route(path, endpoint(handler)) for path, handler in ROUTES.items()],
    lifespan=lifespan,
)
app = in_shell(application, recent)
