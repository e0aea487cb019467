"""`TableResponse` as a response of Starlette, which FastAPI requires.

Starlette itself also takes `colonnade.serve.TableResponse`, as any ASGI application.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Unpack

from starlette.responses import Response

from colonnade.formats.streams import STREAMS
from colonnade.serve import table_response
from colonnade.serve.problems import MEDIA_TYPE as PROBLEM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.background import BackgroundTask
    from starlette.types import Message, Receive, Scope, Send

    from colonnade.serve.batches import BatchSource
    from colonnade.serve.options import Options

__all__ = ["TableResponse", "documented"]


class TableResponse(Response):
    """A table as a response: `colonnade.serve.TableResponse` with the same arguments.

    `status_code` is the status of an answer with a table; others, such as 304 and 406, keep theirs.
    `background` runs when the answer has been sent, as in other responses; not if it broke off.
    Headers and cookies that are set on the response are sent with every answer.
    """

    media_type = STREAMS[0].media_type

    def __init__(
        self,
        source: BatchSource,
        *,
        status_code: int = 200,
        background: BackgroundTask | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.status_code = status_code
        self.background = background
        # Those of the table are made for each request.
        self.raw_headers = []
        self._table = table_response.TableResponse(source, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, then run the background task."""

        async def send_changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_table = message["status"] == HTTPStatus.OK
                status = self.status_code if is_table else message["status"]
                headers = [*message["headers"], *self.raw_headers]
                message = {**message, "status": status, "headers": headers}
            await send(message)

        await self._table(scope, receive, send_changed)
        if self.background is not None:
            await self.background()


def documented(formats: Sequence[str] | None = None) -> dict[int | str, dict[str, Any]]:
    """The answers of a table, for the argument `responses` of FastAPI's routes.

    `formats` are those of the response; None means all.
    """
    offered = [form for form in STREAMS if formats is None or form.name in formats]
    tables = {
        form.media_type: {"schema": {"type": "string", "format": "binary"}} for form in offered
    }
    refusals = {
        400: "An argument is not valid",
        406: "None of the accepted media types is offered",
        503: "The database cannot answer now",
        504: "The database did not answer in time",
    }
    problem = {"schema": {"type": "object"}}
    return {
        200: {"description": "The table", "content": tables},
        304: {"description": "The client has the table"},
        **{
            status: {"description": text, "content": {PROBLEM: problem}}
            for status, text in refusals.items()
        },
    }
