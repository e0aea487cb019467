"""The service in Starlette: ``uvicorn examples.service.starlette_app:app``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypedDict

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from colonnade.serve import TableResponse
from examples.service.answers import Answer, Table
from examples.service.away import AWAY, database_is_away
from examples.service.handlers.routes import ROUTES, Handler, answer
from examples.service.logs import log_as_json
from examples.service.runtime import Runtime, running
from examples.service.settings import Settings
from examples.service.shell import Shell

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from starlette.requests import Request


class State(TypedDict):
    """The state that every request sees."""

    runtime: Runtime


@contextlib.asynccontextmanager
async def lifespan(starlette: Starlette) -> AsyncGenerator[State]:
    """Open the resources of the process, and close them."""
    del starlette
    settings = Settings.from_environment()
    log_as_json(settings.log_level)
    async with running(settings, app) as runtime:
        yield {"runtime": runtime}


def endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response | TableResponse]]:
    """A handler as an endpoint of Starlette."""

    async def respond(request: Request) -> Response | TableResponse:
        found = await answer(handler, request.state.runtime, request.query_params)
        if isinstance(found, Table):
            return TableResponse(found.source, **found.options)
        return _response(found)

    return respond


async def explain_away(request: Request, error: Exception) -> Response:
    """Answer a request that lost its database."""
    del request
    return _response(database_is_away(error))


def _response(found: Answer) -> Response:
    return Response(found.body, found.status, dict(found.headers), found.content_type)


application = Starlette(
    exception_handlers=dict.fromkeys(AWAY, explain_away),
    routes=[Route(path, endpoint(handler)) for path, handler in ROUTES.items()],
    lifespan=lifespan,
)
app = Shell(application)
