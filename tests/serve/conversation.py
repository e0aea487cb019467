"""One framework under one web server, as its clients see it."""

from __future__ import annotations

import contextlib
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from colonnade import serve
from tests.cli.program import until
from tests.support.unused_tls import UNUSED_TLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import colonnade.sync
    from tests.serve.web_servers import WebServer

FRAMEWORKS = ("plain", "starlette", "fastapi", "litestar", "quart")


class Received(NamedTuple):
    """A response as far as it came."""

    response: httpx2.Response
    body: bytes
    is_broken: bool
    """Whether the server broke off, instead of ending the response."""


class Conversation:
    """Requests to one framework under one web server."""

    def __init__(
        self,
        server: WebServer,
        framework: str,
        database: colonnade.sync.Connection,
    ) -> None:
        self._server = server
        self._framework = framework
        self._database = database

    @contextlib.contextmanager
    def client(self, timeout: float = 30) -> Iterator[httpx2.Client]:
        """A client that speaks the server's version of HTTP, without TLS."""
        is_http2 = self._server.is_http2
        with httpx2.Client(
            http1=not is_http2, http2=is_http2, timeout=timeout, verify=UNUSED_TLS
        ) as client:
            yield client

    def url(self, case: str) -> str:
        """The address of a case."""
        return self._server.url(f"{self._framework}/{case}")

    def read(self, case: str) -> colonnade.Columns:
        """Read a table."""
        with self.client() as client:
            return serve.sync.read(self.url(case), client=client)

    def request(self, case: str, method: str = "GET", **headers: str) -> Received:
        """Send a request, and take all that comes."""
        body = b""
        with (
            self.client() as client,
            client.stream(method, self.url(case), headers=headers) as response,
        ):
            try:
                for data in response.iter_raw():
                    body += data
            except httpx2.RemoteProtocolError:
                return Received(response, body, is_broken=True)
            return Received(response, body, is_broken=False)

    def leave_amid(self, case: str) -> float:
        """Read some of a table and go away; return how long its query ran on."""
        with self.client() as client:
            # The response is not closed, but the client with all its connections.
            response = client.send(client.build_request("GET", self.url(case)), stream=True)
            # A generator that nobody holds ends, and closes the response.
            pieces = response.iter_raw()
            first = next(pieces)
            assert response.status_code == HTTPStatus.OK, first
            until(lambda: self._running() > 0)
        return self._until_quiet()

    def leave_before(self, case: str) -> float:
        """Go away before the query has answered; return how long it ran on."""
        with (
            self.client(timeout=0.3) as client,
            contextlib.suppress(httpx2.ReadTimeout),
        ):
            client.get(self.url(case))
        return self._until_quiet()

    def stall_amid(self, case: str) -> Received:
        """Read some of a table, then nothing until its query has ended, then what there is."""
        with self.client() as client:
            response = client.send(client.build_request("GET", self.url(case)), stream=True)
            pieces = response.iter_raw()
            body = next(pieces)
            until(lambda: self._running() > 0)
            self._until_quiet()
            try:
                for piece in pieces:
                    body += piece
            except httpx2.RemoteProtocolError:
                return Received(response, body, is_broken=True)
            return Received(response, body, is_broken=False)

    def _until_quiet(self) -> float:
        since = time.monotonic()
        until(lambda: self._running() == 0)
        passed = time.monotonic() - since
        with self.client() as client:
            figures = self._server.url("plain/pools")
            is_free: Callable[[], bool] = lambda: client.get(figures).json()  # noqa: E731
            until(is_free)
        return passed

    def _running(self) -> int:
        """The number of queries that the application has running."""
        count: int = self._database.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE state = 'active' AND application_name = $1",
            self._server.application_name,
        )
        return count
