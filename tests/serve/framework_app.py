"""Tables in four web frameworks and as plain ASGI, side by side in one application.

``/starlette/midway`` is the case `midway` as a response of Starlette. The environment names the
database in `POOL_DSN`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import fastapi
import litestar
import quart
import starlette.applications
import starlette.routing
from litestar.config.compression import CompressionConfig
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware

from colonnade.serve import TableResponse, starlette as for_starlette
from colonnade.serve.quart import table_response
from tests.serve.cases import CASES, pools

if TYPE_CHECKING:
    from starlette.requests import Request

    from tests.serve.cases import Pools


class Served:
    """The application: it opens the pools, and passes requests to the framework they name."""

    def __init__(self) -> None:
        self._pools: Pools | None = None
        self._frameworks = {
            "plain": self._plain,
            "starlette": self._starlette(),
            "fastapi": self._fastapi(),
            "litestar": self._litestar(),
            "quart": self._quart(),
            "behind-base": BaseHTTPMiddleware(self._fastapi(), dispatch=_passed_on),
            "behind-gzip": GZipMiddleware(self._starlette()),
            "litestar-gzip": self._litestar(compression_config=CompressionConfig(backend="gzip")),
        }

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        _, first, rest = scope["path"].split("/", 2)
        path = f"/{rest}"
        inner = {**scope, "path": path, "raw_path": path.encode()}
        await self._frameworks[first](inner, receive, send)

    def _case(self, name: str) -> tuple[Any, dict[str, Any]]:
        assert self._pools is not None
        return CASES[name](self._pools)

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        async with pools(os.environ["POOL_DSN"]) as self._pools:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _plain(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/pools":
            await self._figures(send)
            return
        source, options = self._case(scope["path"][1:])
        await TableResponse(source, **options)(scope, receive, send)

    async def _figures(self, send: Any) -> None:
        """Tell whether all connections of all pools are free."""
        assert self._pools is not None
        free = all(pool.get_idle_size() == pool.get_size() for pool in self._pools)
        body = json.dumps(free).encode()
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _starlette(self) -> Any:
        async def table(request: Request) -> Any:
            source, options = self._case(request.path_params["name"])
            return TableResponse(source, **options)

        return starlette.applications.Starlette(routes=[starlette.routing.Route("/{name}", table)])

    def _fastapi(self) -> Any:
        app = fastapi.FastAPI()

        @app.api_route("/{name}", methods=["GET", "HEAD"])
        async def table(name: str) -> for_starlette.TableResponse:
            source, options = self._case(name)
            return for_starlette.TableResponse(source, **options)

        return app

    def _litestar(self, **options: Any) -> Any:
        @litestar.route("/{name:str}", http_method=["GET", "HEAD"])
        async def table(name: str) -> TableResponse:
            source, options = self._case(name)
            return TableResponse(source, **options)

        return litestar.Litestar([table], **options)

    def _quart(self) -> Any:
        app = quart.Quart(__name__)

        @app.route("/<name>")
        async def table(name: str) -> quart.Response:
            source, options = self._case(name)
            return await table_response(source, **options)

        return app


async def _passed_on(request: Request, call_next: Any) -> Any:
    response = await call_next(request)
    response.headers["passed-on"] = "yes"
    return response


app = Served()
