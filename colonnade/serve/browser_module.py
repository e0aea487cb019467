"""The JavaScript module that reads tables in a browser, as a file and as an ASGI application."""

from __future__ import annotations

import functools
import hashlib
from http import HTTPStatus
from importlib import resources
from typing import TYPE_CHECKING

from colonnade._words.shown import shown
from colonnade.errors import InterfaceError
from colonnade.serve.answer import Answer
from colonnade.serve.request import Request

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from colonnade.serve.table_response import Receive, Scope, Send

#: An ES module, which imports `@uwdata/flechette`.
READER_JS: Traversable = resources.files("colonnade.serve") / "colonnade-reader.js"


class ReaderModule:
    """An ASGI application that answers with `READER_JS`, at any path.

    It is an object, not a function, so that a route of Starlette and FastAPI takes it for an
    application.
    """

    def __repr__(self) -> str:
        """The name to import it by."""
        return "colonnade.serve.reader_module"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        del receive
        if scope["type"] != "http":
            raise InterfaceError(f"a module answers HTTP requests, not {shown(scope['type'])}")
        text, tag = _module()
        headers = [(b"etag", tag), (b"cache-control", b"no-cache")]
        request = Request.of(scope)
        if request.knows(tag):
            answer = Answer(HTTPStatus.NOT_MODIFIED, headers)
        else:
            headers.append((b"content-type", b"text/javascript; charset=utf-8"))
            answer = Answer(HTTPStatus.OK, headers, None if request.is_head else text)
        await answer.send(send)


reader_module = ReaderModule()


@functools.cache
def _module() -> tuple[bytes, bytes]:
    """The text and its tag."""
    text = READER_JS.read_bytes()
    return text, b'W/"%s"' % hashlib.blake2b(text, digest_size=16).hexdigest().encode()
