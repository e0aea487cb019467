"""The routes of the service on asyncpg, `asyncio.gather` and rows, in Starlette.

It answers what our own service answers, from the same suppliers and tables, and has nothing around
its handlers: no gate, drain, account of requests or times of the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import aiohttp
import asyncpg
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as Path

from benches.service.rivals import arrow_rows, frame
from benches.service.rivals.offers import consolidated
from examples.service import parameters as read
from examples.service.answers import Answer, of_json
from examples.service.cache import Cache
from examples.service.handlers.asking import Route, asked, route_of
from examples.service.handlers.export import FLIGHTS
from examples.service.handlers.search import DELAYS, DESTINATION, SCHEDULE
from examples.service.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import pandas as pd
    from starlette.requests import Request


@dataclass
class Held:
    """The resources of the process."""

    settings: Settings
    pool: asyncpg.Pool
    client: aiohttp.ClientSession
    worker: ThreadPoolExecutor
    frame: pd.DataFrame
    airlines: dict[str, str]
    cache: Cache[Answer]
    searching: dict[Route, asyncio.Task[Answer]]


class State(TypedDict):
    """The state that every request sees."""

    held: Held


@contextlib.asynccontextmanager
async def lifespan(starlette: Starlette) -> AsyncGenerator[State]:
    """Open the resources of the process, and close them."""
    del starlette
    settings = Settings.from_environment()
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=32, keepalive_timeout=60)
    pool = asyncpg.create_pool(
        settings.dsn,
        min_size=1,
        max_size=settings.pool_size,
        # With a plan for any arguments, the query of ten properties takes minutes.
        server_settings={"plan_cache_mode": "force_custom_plan"},
    )
    jar = aiohttp.DummyCookieJar()
    async with pool, aiohttp.ClientSession(connector=connector, cookie_jar=jar) as client:
        with ThreadPoolExecutor(1, "pandas") as worker:
            merged = await _merged(pool)
            airlines = dict(await pool.fetch("SELECT carrier, name FROM airlines"))
            cache: Cache[Answer] = Cache(settings.cache_entries)
            yield {"held": Held(settings, pool, client, worker, merged, airlines, cache, {})}


async def _merged(pool: asyncpg.Pool) -> pd.DataFrame:
    fetched = {query: await pool.fetch(query) for query in frame.QUERIES.values()}
    return frame.merged(lambda query: (list(fetched[query][0].keys()), fetched[query]))


async def search(request: Request) -> Response:
    """Ask the suppliers and the database at once; equal searches share an answer."""
    held: Held = request.state.held
    route = route_of(request.query_params)
    kept = held.cache.get(route)
    if kept is not None:
        return _response(kept)
    task = held.searching.get(route)
    if task is None:
        task = asyncio.create_task(_searched(held, route))
        held.searching[route] = task
        task.add_done_callback(lambda _: held.searching.pop(route))
    return _response(await asyncio.shield(task))


async def _searched(held: Held, route: Route) -> Answer:
    began, deadline = time.perf_counter(), held.settings.deadline
    place = (route.origin, route.dest, route.month)
    pool = held.pool
    results: tuple[Any, ...] = await asyncio.gather(
        asked(held.client, held.settings.suppliers, route, deadline),
        asyncio.wait_for(pool.fetch(SCHEDULE, *place, route.day), deadline),
        asyncio.wait_for(pool.fetch(DELAYS, *place), deadline),
        asyncio.wait_for(pool.fetchval(DESTINATION, route.dest), deadline),
        return_exceptions=True,
    )
    answers, *known = results
    if isinstance(answers, BaseException):
        raise answers
    facts: dict[str, Any] = dict(zip(("schedule", "delays", "destination"), known, strict=True))
    seconds = time.perf_counter() - began
    answer, complete = consolidated(route, answers, held.airlines, facts, seconds)
    if answer.status == 200:
        kept = held.settings.cache_seconds
        held.cache.put(route, answer, kept if complete else kept / 10)
    return answer


async def analytics(request: Request) -> Response:
    """The usual question, from the frame in memory, in a thread beside the loop."""
    held: Held = request.state.held
    loop = asyncio.get_running_loop()
    return _response(await loop.run_in_executor(held.worker, frame.answer, held.frame))


async def analytics_by_sql(request: Request) -> Response:
    """The same question, answered by the database."""
    held: Held = request.state.held
    rows: list[Any] = await held.pool.fetch(frame.BY_SQL, *frame.arguments())
    return _response(frame.of_rows(rows))


async def export(request: Request) -> StreamingResponse:
    """Stream the flights, a batch of a cursor at a time."""
    held: Held = request.state.held
    first, last = read.span(request.query_params, "months", (1, 12))

    async def body() -> AsyncGenerator[bytes]:
        writer = arrow_rows.Writer()
        async with held.pool.acquire() as connection, connection.transaction():
            cursor = await connection.cursor(FLIGHTS, first, last)
            while rows := await cursor.fetch(arrow_rows.BATCH):
                yield writer.batch(rows)
        yield writer.end()

    return StreamingResponse(body(), media_type=arrow_rows.MEDIA_TYPE)


async def health(request: Request) -> Response:
    """Alive, and ready."""
    del request
    return _response(of_json({"alive": True}))


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, dict(answer.headers), answer.content_type)


app = Starlette(
    routes=[
        Path("/search", search),
        Path("/analytics", analytics),
        Path("/analytics-sql", analytics_by_sql),
        Path("/export", export),
        Path("/livez", health),
        Path("/readyz", health),
    ],
    lifespan=lifespan,
)
