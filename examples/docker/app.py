"""The application of the image: a table over HTTP, a health route, and a beat for the container.

Under uvicorn: ``uvicorn app:app``. The settings are environment variables; README.md lists them.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import colonnade
from colonnade import observe, serve

if TYPE_CHECKING:
    from starlette.requests import Request

QUERY = """
SELECT day, country, sum(amount)::numeric(18, 2) AS amount
FROM orders GROUP BY day, country ORDER BY day, country
"""


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    """Open the pool, and beat while the event loop is alive."""
    pool = colonnade.create_pool(
        os.environ["DATABASE_URL"],
        # The image starts although the database does not answer yet; /ready says so.
        min_size=0,
        max_size=int(os.environ.get("POOL_SIZE", "5")),
        command_timeout=float(os.environ.get("QUERY_SECONDS", "10")),
        statement_cache_size=int(os.environ.get("KEPT_STATEMENTS", "100")),
    )
    async with pool, observe.Beat(f"{os.environ['BEAT_FOLDER']}/{{pid}}.beat"):
        app.state.pool = pool
        yield


async def orders(request: Request) -> serve.TableResponse:
    """The sums of the orders, as Arrow, Parquet, CSV or JSON, as the client accepts."""
    rows = request.app.state.pool.iter_columns(QUERY)
    return serve.TableResponse(rows)


async def ready(request: Request) -> JSONResponse:
    """Whether the database answers; 503 takes the container out of the load balancer."""
    try:
        async with request.app.state.pool.acquire(timeout=1) as connection:
            await connection.fetchval("SELECT 1", timeout=1)
    except (OSError, colonnade.InterfaceError, colonnade.PostgresError) as error:
        return JSONResponse({"ready": False, "cause": type(error).__name__}, 503)
    return JSONResponse({"ready": True})


app = Starlette(routes=[Route("/orders", orders), Route("/ready", ready)], lifespan=lifespan)
