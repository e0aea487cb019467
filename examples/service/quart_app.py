"""The service in Quart: ``uvicorn examples.service.quart_app:app``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quart import Quart, Response, request

from colonnade.serve.quart import table_response
from examples.service.answers import Answer, Table
from examples.service.away import AWAY, database_is_away
from examples.service.handlers.routes import ROUTES, Handler, answer
from examples.service.logs import log_as_json
from examples.service.runtime import running
from examples.service.settings import Settings
from examples.service.shell import Shell

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

application = Quart(__name__)


@application.while_serving
async def lifespan() -> AsyncGenerator[None]:
    """Open the resources of the process, and close them."""
    settings = Settings.from_environment()
    log_as_json(settings.log_level)
    async with running(settings, app) as runtime:
        application.extensions["runtime"] = runtime
        yield


def view(handler: Handler) -> Callable[[], Awaitable[Response]]:
    """A handler as a view of Quart."""

    async def respond() -> Response:
        found = await answer(handler, application.extensions["runtime"], request.args)
        if isinstance(found, Table):
            return await table_response(found.source, **found.options)
        return _response(found)

    return respond


def explain_away(error: Exception) -> Response:
    """Answer a request that lost its database."""
    return _response(database_is_away(error))


def _response(found: Answer) -> Response:
    headers: dict[str, Any] = {"content-type": found.content_type, **found.headers}
    return Response(found.body, found.status, headers)


for kind in AWAY:
    application.register_error_handler(kind, explain_away)
for path, handler in ROUTES.items():
    application.add_url_rule(path, path.strip("/"), view(handler))
application_as_asgi: Any = application
app = Shell(application_as_asgi)
