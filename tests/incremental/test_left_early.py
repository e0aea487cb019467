"""`iter_new` gives its connection back when the loop is left, as `iter_columns` does."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import incremental, sync
from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BATCH: dict[str, Any] = {"by": "changed_in", "batch_rows": 10}


@pytest.fixture(autouse=True)
def _no_collector(dsn: str) -> Iterator[None]:
    """The table, and no cyclic garbage collector: what it would free must be free without it."""
    with sync.connect(dsn) as conn:
        conn.execute("DROP TABLE IF EXISTS left_early; CREATE TABLE left_early (id int)")
        conn.execute(incremental.tracking_sql("left_early"))
        conn.execute("INSERT INTO left_early SELECT generate_series(1, 100000)")
        gc.disable()
        try:
            yield
        finally:
            gc.enable()
            conn.execute("DROP TABLE left_early CASCADE; DROP FUNCTION left_early_set_changed_in")


def test_a_loop_that_is_left(dsn: str) -> None:
    with sync.connect(dsn) as conn:
        for _ in incremental.sync.iter_new("left_early", conn, **_BATCH):
            break
        assert conn.fetchval("SELECT 1") == 1
    with sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        for _ in incremental.sync.iter_new("left_early", pool, **_BATCH):
            break
        assert pool.fetchval("SELECT 1") == 1
        assert pool.get_stats().closed == {}


def test_a_loop_over_a_name_that_is_left(dsn: str) -> None:
    with sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        with incremental.sync.iter_new("left_early", pool, **_BATCH) as new:
            for _ in new:
                break
        # The name is still there.
        assert pool.fetchval("SELECT 1") == 1
        with pytest.raises(InterfaceError, match="after the last batch"):
            _ = new.state
        with incremental.sync.iter_new(
            "left_early", pool, by="changed_in", batch_rows=60_000
        ) as new:
            assert [len(batch) for batch in new] == [60_000, 40_000]
        assert (
            incremental.sync.read_new("left_early", pool, by="changed_in", state=new.state)
            .rows["id"]
            .tolist()
            == []
        )


def test_an_error_in_the_loop(dsn: str) -> None:
    def fail() -> None:
        with sync.create_pool(dsn, min_size=1, max_size=1) as pool:
            for _ in incremental.sync.iter_new("left_early", pool, **_BATCH):
                raise LookupError

    with pytest.raises(LookupError):
        fail()


def test_closed_before_its_end(dsn: str) -> None:
    with sync.connect(dsn) as conn:
        with incremental.sync.iter_new("left_early", conn, **_BATCH) as batches:
            next(batches)
            batches.close()
            assert next(batches, None) is None
        assert conn.fetchval("SELECT 1") == 1
        with pytest.raises(InterfaceError, match="after the last batch"):
            _ = batches.state


async def test_an_asynchronous_loop_that_is_left(dsn: str) -> None:
    async with await colonnade.connect(dsn) as conn:
        async for _ in incremental.iter_new("left_early", conn, **_BATCH):
            break
        assert await conn.fetchval("SELECT 1") == 1
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        for _ in range(3):
            async for _ in incremental.iter_new("left_early", pool, **_BATCH):
                break
            assert await pool.fetchval("SELECT 1") == 1
        assert pool.get_stats().closed == {}
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_asynchronous_loop_over_a_name_that_is_left(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        async with incremental.iter_new("left_early", pool, **_BATCH) as new:
            async for _ in new:
                break
        assert pool.get_idle_size() == 1
        assert await pool.fetchval("SELECT 1") == 1


async def test_an_error_in_an_asynchronous_loop(dsn: str) -> None:
    async def fail() -> None:
        async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
            async for _ in incremental.iter_new("left_early", pool, **_BATCH):
                raise LookupError

    async with asyncio.timeout(60):
        with pytest.raises(LookupError):
            await fail()


async def test_an_asynchronous_one_that_is_closed_or_fails(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        async with incremental.iter_new("left_early", pool, **_BATCH) as batches:
            await anext(batches)
            await batches.aclose()
            assert await anext(batches, None) is None
            assert pool.get_idle_size() == 1
        with pytest.raises(InterfaceError, match="after the last batch"):
            _ = batches.state
        wrong = incremental.iter_new("left_early", pool, by="id")
        with pytest.raises(InterfaceError, match="xid8"):
            await anext(wrong)
        assert await pool.fetchval("SELECT 1") == 1
        late = incremental.iter_new("left_early", pool, by="changed_in", timeout=1e-9)
        with pytest.raises(TimeoutError):
            await anext(late)
        assert await pool.fetchval("SELECT 1") == 1


async def test_two_tasks_do_not_share_one(dsn: str) -> None:
    async with colonnade.create_pool(dsn, min_size=2, max_size=2) as pool:
        batches = incremental.iter_new("left_early", pool, **_BATCH)
        first = asyncio.ensure_future(anext(batches))
        await asyncio.sleep(0)
        with pytest.raises(InterfaceError, match="another operation is in progress"):
            await anext(batches)
        assert len(await first) == 10
        await batches.aclose()
        assert pool.get_idle_size() == 2
