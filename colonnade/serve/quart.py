"""A table as a response of Quart, which sends a response's parts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from quart import Response, request
from quart.wrappers.response import ResponseBody

from colonnade.errors import InterfaceError
from colonnade.serve.body import Body
from colonnade.serve.table_response import TableResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from colonnade.serve.options import Options
    from colonnade.serve.sources import Source


async def table_response(source: Source, **options: Unpack[Options]) -> Response:
    """Begin the answer to Quart's current request: `colonnade.serve.TableResponse` as a response.

    The arguments are the same. Quart's ``RESPONSE_TIMEOUT`` does not limit the answer, which takes
    as long as its client reads.
    """
    answer = await TableResponse(source, **options).answer(dict(request.scope))
    body = answer.body
    response = Response(_Pieces(body) if isinstance(body, Body) else None, int(answer.status))
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    if isinstance(body, bytes):
        response.set_data(body)
    response.timeout = None
    return response


class _Pieces(ResponseBody):
    """The body of a response, which Quart closes whatever happens."""

    def __init__(self, body: Body) -> None:
        self._body = body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._body.aclose()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._body:
                yield piece
        except TimeoutError as error:
            # Quart takes a TimeoutError for its own, and returns to the server without an error.
            raise InterfaceError("the database did not send the rest of a table in time") from error
