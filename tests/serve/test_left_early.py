"""An answer that nobody sends gives its connection back, without Python's cyclic collector."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest
import quart

import colonnade
from colonnade import serve
from colonnade.serve.body import Body
from colonnade.serve.quart import table_response
from tests.serve.serving import client_of
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.every_loop

SQL = "SELECT i FROM generate_series(1, 1000000) AS i"
SCOPE: dict[str, Any] = {"type": "http", "method": "GET", "headers": [], "query_string": b""}


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[colonnade.Pool]:
    pool = await colonnade.create_pool(dsn, min_size=1, max_size=1)
    yield pool
    # Closing would wait for a connection that was not given back.
    pool.terminate()


async def is_free(pool: colonnade.Pool) -> None:
    await until(lambda: pool.get_idle_size() == 1)
    assert await pool.fetchval("SELECT 1") == 1
    assert pool.get_stats().closed == {}


@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_an_answer_that_is_dropped(pool: colonnade.Pool, pieces: int) -> None:
    response = serve.TableResponse(lambda: pool.iter_columns(SQL, batch_rows=10_000))
    answer = await response.answer(SCOPE)
    assert pool.get_idle_size() == 0
    assert isinstance(answer.body, Body)
    for _ in range(pieces):
        await anext(answer.body)
    del answer
    await is_free(pool)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_response_of_quart_that_is_replaced(pool: colonnade.Pool) -> None:
    app = quart.Quart(__name__)

    @app.get("/")
    async def table() -> quart.Response:
        return await table_response(lambda: pool.iter_columns(SQL))

    @app.after_request
    async def replaced(response: quart.Response) -> quart.Response:
        del response
        return quart.Response("gone")

    async with client_of(app) as client:
        assert (await client.get("/")).text == "gone"
        await is_free(pool)


async def test_a_closed_body_is_no_complete_table(pool: colonnade.Pool) -> None:
    answer = await serve.TableResponse(lambda: pool.iter_columns(SQL)).answer(SCOPE)
    assert isinstance(answer.body, Body)
    await anext(answer.body)
    await answer.aclose()
    with pytest.raises(colonnade.InterfaceError, match="closed before its end"):
        await anext(answer.body)
    await is_free(pool)
