"""A table as a response of Quart, which sends a response's parts itself."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from math import inf
from typing import TYPE_CHECKING, Self, Unpack

from quart import Response, request
from quart.wrappers.response import ResponseBody

from colonnade.errors import InterfaceError
from colonnade.serve.body import Body
from colonnade.serve.stall_limit import StallLimit
from colonnade.serve.table_response import TableResponse

if TYPE_CHECKING:
    from types import TracebackType

    from colonnade.serve.batches import BatchSource
    from colonnade.serve.options import Options

__all__ = ["table_response"]


async def table_response(source: BatchSource, **options: Unpack[Options]) -> Response:
    """Begin the answer to Quart's current request: `colonnade.serve.TableResponse` as a response.

    The arguments are the same. Quart's ``RESPONSE_TIMEOUT`` does not limit the answer, which takes
    as long as its client reads.
    """
    answer = await TableResponse(source, **options).answer(dict(request.scope))
    response = Response(None, int(answer.status))
    response.headers.clear()
    for name, value in answer.headers:
        response.headers.add(name.decode("latin-1"), value.decode("latin-1"))
    if isinstance(answer.body, Body):
        response.response = _Pieces(answer.body, answer.stall_timeout)
        response.timeout = None
    elif answer.body is not None:
        response.set_data(answer.body)
    return response


class _Pieces(ResponseBody):
    """The body of a response, which Quart closes in any case."""

    def __init__(self, body: Body, stall_timeout: float | None) -> None:
        self._body = body
        self._stall_limit = StallLimit(stall_timeout)
        self._block = AsyncExitStack()
        # Quart sends the status by itself, and the reader may be behind with an earlier answer.
        loop = asyncio.get_running_loop()
        self._until_begun = loop.call_later(stall_timeout or inf, body.give_up)

    def __del__(self) -> None:
        # Else a body that nobody wants would live as long as the timer.
        self._until_begun.cancel()

    async def __aenter__(self) -> Self:
        self._until_begun.cancel()
        await self._block.enter_async_context(self._stall_limit)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._body.aclose()
        finally:
            await self._block.__aexit__(kind, error, traceback)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """The next piece: the reader has taken the last one."""
        self._stall_limit.end()
        try:
            piece = await anext(self._body)
        except TimeoutError as error:
            # Quart takes a TimeoutError for its own, and returns to the server without an error.
            raise InterfaceError("the database did not send the rest of a table in time") from error
        self._stall_limit.begin()
        return piece
