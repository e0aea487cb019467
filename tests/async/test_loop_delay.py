# async-only: file
"""The time between the arrival of an answer and its caller's turn, on a busy loop."""

from __future__ import annotations

import asyncio
import time

import pytest

import colonnade

pytestmark = pytest.mark.every_loop

BLOCK_S = 0.02


async def busy() -> None:
    """Hold every turn of the loop for a while."""
    while True:
        hold()
        await asyncio.sleep(0)


def hold() -> None:
    """Hold the loop."""
    time.sleep(BLOCK_S)


@pytest.mark.parametrize("road", ["rows", "columns", "stream", "script", "pipeline", "failure"])
async def test_a_busy_loop_is_no_slow_server(connection: colonnade.Connection, road: str) -> None:
    await connection.fetch("SELECT 1")
    task = asyncio.create_task(busy())
    try:
        start = time.perf_counter()
        match road:
            case "rows":
                await connection.fetch("SELECT 1")
            case "columns":
                columns = await connection.fetch_columns("SELECT 1")
                assert columns.timing is not None
                assert columns.timing.loop_delay >= BLOCK_S
            case "stream":
                async with connection.iter_columns("SELECT 1") as batches:
                    assert [len(batch) async for batch in batches] == [1]
            case "script":
                await connection.execute("SELECT 1; SELECT 2")
            case "pipeline":
                async with connection.pipeline() as pipeline:
                    assert len(await pipeline.fetch("SELECT 1")) == 1
            case "failure":
                with pytest.raises(colonnade.UndefinedTableError):
                    await connection.fetch("SELECT * FROM nowhere")
        wall = time.perf_counter() - start
    finally:
        task.cancel()
    timing = connection.last_timing
    assert timing is not None
    assert timing.loop_delay >= BLOCK_S
    assert timing.total <= wall


async def test_a_pipeline_leaves_out_its_callers_time(connection: colonnade.Connection) -> None:
    start = time.perf_counter()
    async with connection.pipeline() as pipeline:
        first, second = pipeline.fetch("SELECT pg_sleep(0.02)"), pipeline.fetch("SELECT 1")
        assert len(await first) == 1
        before = time.perf_counter()
        hold()
        worked = time.perf_counter() - before
        assert len(await second) == 1
    timing = connection.last_timing
    assert timing is not None
    assert 0.02 <= timing.total <= time.perf_counter() - start - worked


async def test_an_idle_loop_has_no_delay_to_speak_of(connection: colonnade.Connection) -> None:
    delays = []
    for _ in range(50):
        await connection.fetch("SELECT pg_sleep(0.001)")
        assert connection.last_timing is not None
        delays.append(connection.last_timing.loop_delay)
    # The minimum, because the machine may be busy.
    assert 0 < min(delays) < BLOCK_S / 4
