"""The routes of the service: which handler answers which path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from examples.service.admission.refusals import body_of, headers_of
from examples.service.answers import PROBLEM, Answer, BadRequestError, Table, of_problem
from examples.service.beside import TooLateError
from examples.service.handlers.analytics import analytics
from examples.service.handlers.export import export
from examples.service.handlers.health import livez, metrics, readyz
from examples.service.handlers.search import search
from examples.service.page.routes import PAGE_ROUTES
from examples.service.runtime import Runtime

Handler: TypeAlias = Callable[[Runtime, Mapping[str, str]], Awaitable[Answer | Table]]

ROUTES: Mapping[str, Handler] = {
    "/search": search,
    "/analytics": analytics,
    "/export": export,
    "/livez": livez,
    "/readyz": readyz,
    "/metrics": metrics,
    **PAGE_ROUTES,
}


async def answer(
    handler: Handler, runtime: Runtime, parameters: Mapping[str, str]
) -> Answer | Table:
    """Call a handler; a wrong parameter, or work that is too late, becomes a problem document."""
    try:
        return await handler(runtime, parameters)
    except BadRequestError as error:
        return of_problem(400, "Bad request", str(error))
    except TooLateError as error:
        refusal = error.request.give_up()
        return Answer(503, body_of(refusal), PROBLEM, headers_of(refusal))
