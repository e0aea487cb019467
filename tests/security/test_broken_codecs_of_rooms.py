"""The rooms of the toolkit work in pools whose connections have broken codecs for every type.

Only `date`, which stands for the user's own values, has none.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import colonnade
from colonnade import Query, datasets, incremental, jobs, observe, sync
from colonnade.jobs import sync as blocking_jobs
from tests.support.until import until
from tests.sync.test_own_queries import BROKEN, break_codecs, broken, broken_factory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from colonnade.jobs.definition import LayoutName

FORMATS = ("text", "binary")
DAY = dt.date(2024, 1, 2)
DAYS = [dt.date(2024, 1, day) for day in (1, 2, 3, 4)]
OPTIONS: dict[str, Any] = {"record_class": tuple, "row_factory": broken_factory}
BOTH = pytest.mark.parametrize("codec_format", FORMATS)
LAYOUTS = pytest.mark.parametrize("layout", ["rows", "segments"])


@pytest.fixture(autouse=True)
def of_days(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as link:
        link.execute(
            "DROP SCHEMA IF EXISTS jobs CASCADE; DROP TABLE IF EXISTS of_days;"
            "CREATE TABLE of_days (day date PRIMARY KEY)"
        )
        link.execute(incremental.tracking_sql("public.of_days"))
        link.execute(
            "INSERT INTO of_days SELECT date '2024-01-01' + i FROM generate_series(1, 9) AS i"
        )
        yield link
        link.execute(
            "DROP SCHEMA IF EXISTS jobs CASCADE; DROP TABLE of_days;"
            "DROP FUNCTION public.of_days_set_changed_in()"
        )


def broken_pool(dsn: str, codec_format: str) -> colonnade.Pool:
    async def init(link: Any) -> None:
        for name in BROKEN:
            await link.set_type_codec(
                name, schema="pg_catalog", encoder=broken, decoder=broken, format=codec_format
            )

    return colonnade.create_pool(dsn, min_size=1, max_size=3, init=init, **OPTIONS)


def broken_blocking_pool(dsn: str, codec_format: str) -> sync.Pool:
    return sync.create_pool(
        dsn, min_size=1, max_size=3, init=lambda link: break_codecs(link, codec_format), **OPTIONS
    )


@BOTH
@LAYOUTS
async def test_jobs(dsn: str, layout: LayoutName, codec_format: str) -> None:
    async with broken_pool(dsn, codec_format) as pool:
        payload = {"day": "date"}
        for _ in range(2):
            queue = await jobs.create_queue(
                *(pool, "work", payload), ttl=600, max_length=100, layout=layout
            )
        assert [info.name for info in await jobs.list_queues(pool)] == ["work"]
        assert await jobs.migrate_queues(pool) == []
        assert await jobs.migration_ddl(pool) == ""
        await _adds(queue)
        await _settles(queue)
        await _administers(pool, queue)
        await jobs.drop_queue(pool, "work")


async def _adds(queue: jobs.Queue) -> None:
    assert await queue.add({"day": DAYS}) == 4
    assert await queue.add([(day,) for day in DAYS], trace="t") == 4
    assert await queue.add({"day": [DAY]}, priority=1, delay=0, ttl=60.5) == 1
    lists: dict[str, Any] = {"priority": [1] * 4, "delay": [0.0] * 4, "ttl": [60] * 4}
    assert await queue.add({"day": DAYS}, **lists) == 4
    arrays: dict[str, Any] = {
        "priority": np.full(4, 2),
        "delay": np.zeros(4),
        "ttl": pa.array([5.0, 5, 5, 5]),
    }
    assert await queue.add(pa.table({"day": DAYS}), **arrays) == 4
    if queue.definition.layout == "rows":
        for keys in (["a", "b"], [7, 8], np.array([1.5, 2.5]), pa.array(["c", "d"]), "day"):
            for on_conflict in ("ignore", "replace"):
                await queue.add({"day": DAYS[:2]}, key=keys, on_conflict=on_conflict)
        assert await queue.length() == 27
    await queue.purge()
    await queue.add({"day": DAYS * 3})


async def _settles(queue: jobs.Queue) -> None:
    batch = await queue.get(10)
    assert batch.columns["day"].tolist() == (DAYS * 3)[:10]
    assert len(batch.ids) == len(batch.attempts) == 10
    await batch.extend(60)
    await batch.nack(batch.ids[:2], delay=0, reason=["no", "never"])
    await batch.release(batch.ids[2:4])
    await batch.ack(batch.ids[4:6])
    async with queue.pool.acquire() as connection, connection.transaction():
        await queue.add({"day": [DAY]}, connection=connection)
        await batch.commit(connection, batch.ids[6:8])
    await batch.ack()
    taken = await queue.get(2, lease=None, timeout=1)
    assert len(taken) == 2
    seen: list[dt.date] = []

    async def handler(batch: jobs.Batch) -> None:
        seen.extend(batch.columns["day"].tolist())

    await queue.consume(handler).drain()
    assert len(seen) == 5
    assert await queue.length() == 0


async def _administers(pool: colonnade.Pool, queue: jobs.Queue) -> None:
    await queue.add({"day": DAYS}, ttl=0.001)
    async with observe.JobsMonitor([queue], every=60) as monitor:
        await until(lambda: monitor.figures()[0].stats is not None)
    while not len(await queue.dead()):
        queue._next_sweep = 0.0
        await queue.sweep()
    dead = await queue.dead(10)
    assert dead["day"].tolist() == DAYS
    assert dead["job_reason"].tolist() == ["expired"] * 4
    assert await queue.requeue(dead["job_id"][:1]) == 1
    assert await queue.requeue() == 3
    peeked = await queue.peek()
    assert peeked["job_is_leased"].tolist() == [False] * 4
    assert (await queue.stats()).total == await queue.length() == 4
    await jobs.open_queue(pool, "work")
    assert await queue.purge() == 4
    assert await queue.purge_dead() == 0


@BOTH
@LAYOUTS
def test_jobs_in_threads(dsn: str, layout: LayoutName, codec_format: str) -> None:
    with broken_blocking_pool(dsn, codec_format) as pool:
        queue = blocking_jobs.create_queue(pool, "work", {"day": "date"}, layout=layout)
        queue.add({"day": DAYS}, priority=[1, 2, 3, 4], delay=0)
        batch = queue.get(2)
        assert batch.columns["day"].tolist() == DAYS[:2]
        batch.nack(batch.ids[:1], delay=0, reason="no")
        batch.ack()
        seen: list[dt.date] = []
        queue.consume(lambda batch: seen.extend(batch.columns["day"].tolist())).drain()
        assert sorted(seen) == [DAYS[0], *DAYS[2:]]


@BOTH
def test_new_rows(dsn: str, codec_format: str) -> None:
    with sync.connect(dsn, **OPTIONS) as link:
        break_codecs(link, codec_format)
        state = None
        for count in (9, 0):
            rows, state = incremental.sync.read_new(
                "of_days", link, by="changed_in", state=state, columns=["day"]
            )
            assert len(rows["day"]) == count
        batches = incremental.sync.iter_new("of_days", link, by="changed_in", columns=["day"])
        assert sum(len(batch["day"]) for batch in batches) == 9
        assert batches.state == state


@BOTH
async def test_new_rows_with_asyncio(dsn: str, codec_format: str) -> None:
    async with broken_pool(dsn, codec_format) as pool:
        state = None
        for count in (9, 0):
            rows, state = await incremental.read_new(
                "of_days", pool, by="changed_in", state=state, columns=["day"]
            )
            assert len(rows["day"]) == count
        batches = incremental.iter_new("of_days", pool, by="changed_in", columns=["day"])
        assert sum([len(batch["day"]) async for batch in batches]) == 9


@BOTH
async def test_gather_and_groups(dsn: str, codec_format: str) -> None:
    async with broken_pool(dsn, codec_format) as pool:
        query = "SELECT day FROM of_days ORDER BY day"
        late = Query.columns("SELECT day FROM of_days, pg_catalog.pg_sleep(60)")
        found = await pool.gather(
            {"columns": Query.columns(query), "value": Query.value(query), "late": late},
            deadline=1.0,
            on_error="return",
        )
        assert found["value"] == DAY
        assert list(found.errors) == ["late"]
        assert len(found["columns"].group_by("day").count()) == 9


@BOTH
def test_datasets(dsn: str, codec_format: str, tmp_path: Path) -> None:
    with sync.connect(dsn, **OPTIONS) as link:
        break_codecs(link, codec_format)
        query = "SELECT day, day AS again FROM of_days"
        assert datasets.write(query, link, tmp_path / "a", partition_by="day").rows == 9
        assert datasets.write(query, link, tmp_path / "b", order_by="day").rows == 9


@BOTH
def test_columns_into_tables(dsn: str, codec_format: str) -> None:
    with sync.connect(dsn, **OPTIONS) as link:
        break_codecs(link, codec_format)
        link.execute("CREATE TEMP TABLE of_more (day date, n int4 DEFAULT 7)")
        table: Any = "of_more"
        link.copy_columns_to_table(table, {"day": DAYS})
        columns = link.fetch_columns("SELECT day FROM of_more")
        link.copy_columns_to_table(table, columns)
        assert len(link.fetch_columns("SELECT day FROM of_more")) == 8
