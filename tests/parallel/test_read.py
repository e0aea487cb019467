"""Reading a table or query over several connections gives the same as over one."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from colonnade import Columns, parallel, sync
from colonnade.errors import (
    DivisionByZeroError,
    InterfaceError,
    UndefinedColumnError,
    UndefinedTableError,
)
from tests.support.pooler import Pooler, program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.leftovers import BackendWatch

ROWS = 30_000


def single(dsn: str, query: str, *args: object) -> pa.Table:
    with sync.connect(dsn) as connection:
        return whole(connection.fetch_columns(query, *args))


def whole(columns: Columns) -> pa.Table:
    """An Arrow table with floats replaced by their bits, because NaN is not equal to itself."""
    table = pa.table(columns)
    for index, field in enumerate(table.schema):
        if field.type == pa.float64():
            bits = table.column(index).to_numpy().view("i8")
            table = table.set_column(index, field.name, pa.array(bits))
    return table


@pytest.mark.parametrize("parts", [1, 2, 5, 64])
def test_a_table_in_order(dsn: str, table: str, parts: int) -> None:
    read = whole(parallel.sync.read(table, dsn, connections=2, parts=parts))
    expected = single(dsn, f"SELECT * FROM {table}")
    assert read.schema == expected.schema
    assert read.equals(expected)


@pytest.mark.parametrize("cuts", ["quantile", "range"])
@pytest.mark.parametrize("key", ["id", "key", "ratio", "amount", "seen", "day"])
def test_a_table_by_a_key(dsn: str, table: str, key: str, cuts: Any) -> None:
    read = whole(parallel.sync.read(table, dsn, partition_by=key, cuts=cuts, parts=7))
    expected = single(dsn, f"SELECT * FROM {table} ORDER BY id")
    assert read.sort_by("id").equals(expected)
    ordered = single(dsn, f"SELECT {key} FROM {table} ORDER BY {key}")
    assert read.select([key]).equals(ordered)


def test_text_is_cut_by_its_own_order(dsn: str, table: str) -> None:
    read = parallel.sync.read(table, dsn, partition_by="name", parts=9)
    ordered = single(dsn, f"SELECT name FROM {table} ORDER BY name")
    assert whole(read).select(["name"]).equals(ordered)
    with pytest.raises(InterfaceError, match="is text") as caught:
        parallel.sync.read(table, dsn, partition_by="name", cuts="range")
    assert "quantile" in str(caught.value.hint)


@pytest.mark.parametrize("kind", ["char(8)", "varchar(8)", "bit(12)"])
def test_keys_of_a_declared_length_are_cut_by_all_of_it(
    dsn: str, watch: BackendWatch, kind: str
) -> None:
    value = "g::bit(12)" if kind == "bit(12)" else f"('a' || 1000 + g)::{kind}"
    watch.execute(f"CREATE TABLE declared AS SELECT {value} AS key FROM generate_series(0, 999) g")
    try:
        with parallel.sync.plan("declared", dsn, parts=4, partition_by="key") as plan:
            sizes = [len(partition.read()) for partition in plan]
    finally:
        watch.execute("DROP TABLE declared")
    assert sum(sizes) == 1000
    assert min(sizes) > 200


def test_a_query_with_arguments(dsn: str, table: str) -> None:
    query = f"SELECT id, price, name FROM {table} WHERE id <= $1 AND name <> $2 -- a comment"
    read = parallel.sync.read(query, dsn, args=(9000, "n3"), partition_by="id", parts=4)
    expected = single(dsn, f"{query}\n ORDER BY id", 9000, "n3")
    assert whole(read).equals(expected)


def test_in_any_order(dsn: str, table: str) -> None:
    read = whole(parallel.sync.read(table, dsn, connections=3, ordered=False))
    assert read.sort_by("id").equals(single(dsn, f"SELECT * FROM {table} ORDER BY id"))


def test_columns_as_they_are_asked_for(dsn: str, table: str) -> None:
    schema = {"amount": "float64", "name": "dictionary"}
    read = parallel.sync.read(table, dsn, parts=5, schema=schema)
    with sync.connect(dsn) as connection:
        expected = connection.fetch_columns(f"SELECT * FROM {table}", schema=schema)
    assert [field.arrow_type for field in read.fields] == [
        field.arrow_type for field in expected.fields
    ]
    assert repr(read.to_pylist()[:100]) == repr(expected.to_pylist()[:100])
    frame = read.to_pandas()
    assert list(frame["name"]) == list(expected.to_pandas()["name"])


def test_numerics_that_need_more_digits_together(dsn: str, watch: BackendWatch) -> None:
    watch.execute("CREATE TABLE digits AS SELECT 1 AS id, 10::numeric ^ 30 AS n")
    watch.execute("INSERT INTO digits VALUES (2, 0.000000000001), (3, NULL)")
    try:
        read = parallel.sync.read("digits", dsn, partition_by="id", parts=3)
        assert whole(read).equals(single(dsn, "SELECT * FROM digits ORDER BY id"))
        assert "decimal256" in read.fields[1].arrow_type
    finally:
        watch.execute("DROP TABLE digits")


def test_tables_of_every_shape(dsn: str, watch: BackendWatch) -> None:
    watch.execute('CREATE SCHEMA "Odd"; CREATE TABLE "Odd"."the ""table" (n int, "Key" text)')
    watch.execute("CREATE TABLE pieces (n int) PARTITION BY RANGE (n)")
    for low in (0, 100):
        bounds = f"FROM ({low}) TO ({low + 100})"
        watch.execute(f"CREATE TABLE pieces_{low} PARTITION OF pieces FOR VALUES {bounds}")
    watch.execute("INSERT INTO pieces SELECT mod(g, 200) FROM generate_series(1, 50000) g")
    watch.execute("CREATE VIEW seen AS SELECT * FROM pieces")
    try:
        empty = parallel.sync.read('"Odd"."the ""table"', dsn, connections=4)
        assert empty.shape == (0, 2)
        assert parallel.sync.read('"Odd" . "the ""table"', dsn, partition_by="Key").shape == (0, 2)
        pieces = parallel.sync.read("pieces", dsn, connections=2, parts=6)
        assert sum(pieces["n"].tolist()) == sum(n % 200 for n in range(1, 50001))
        with pytest.raises(InterfaceError, match="name a column in partition_by"):
            parallel.sync.read("seen", dsn)
        assert len(parallel.sync.read("seen", dsn, partition_by="n")) == 50_000
    finally:
        watch.execute('DROP VIEW seen; DROP TABLE pieces; DROP SCHEMA "Odd" CASCADE')


def test_what_cannot_be_read(dsn: str, table: str) -> None:
    with pytest.raises(InterfaceError, match="a query has no physical rows"):
        parallel.sync.read("SELECT 1", dsn)
    with pytest.raises(UndefinedTableError):
        parallel.sync.read("nowhere", dsn)
    with pytest.raises(UndefinedColumnError):
        parallel.sync.read(table, dsn, partition_by="nothing")
    with pytest.raises(ValueError, match="connections must be 1"):
        parallel.sync.read(table, dsn, connections=0)
    with pytest.raises(ValueError, match="parts must be 1"):
        parallel.sync.read(table, dsn, parts=0)
    with pytest.raises(ValueError, match="cuts must be"):
        parallel.sync.read(table, dsn, partition_by="id", cuts="other")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dsn is the address"), sync.connect(dsn) as connection:
        parallel.sync.read(table, connection)  # type: ignore[arg-type]
    with (
        pytest.raises(TypeError, match="table_or_query must be a str, not Connection"),
        sync.connect(dsn) as connection,
    ):
        parallel.sync.read(connection, "SELECT 1")  # type: ignore[arg-type]


# The snapshot


def test_all_see_one_moment(dsn: str, watch: BackendWatch) -> None:
    watch.execute("CREATE TABLE moving AS SELECT g AS id, 1 AS n FROM generate_series(1, 5000) g")
    is_over = threading.Event()

    def writer() -> None:
        with sync.connect(dsn) as connection:
            while not is_over.is_set():
                # The number of rows and their sum never change, but rows move.
                connection.execute(
                    "BEGIN; DELETE FROM moving WHERE id <= 2500; "
                    "INSERT INTO moving SELECT g, 1 FROM generate_series(1, 2500) g; COMMIT"
                )

    thread = threading.Thread(target=writer)
    thread.start()
    try:
        for key in (None, "id", None, "id"):
            read = parallel.sync.read("moving", dsn, connections=2, parts=8, partition_by=key)
            assert sorted(read["id"].tolist()) == list(range(1, 5001))
    finally:
        is_over.set()
        thread.join()
        watch.execute("DROP TABLE moving")


def test_without_a_snapshot_each_part_sees_its_own_moment(dsn: str, watch: BackendWatch) -> None:
    watch.execute("CREATE TABLE moving AS SELECT g AS id FROM generate_series(1, 100) g")
    try:
        with parallel.sync.plan("moving", dsn, parts=2, partition_by="id", snapshot=None) as plan:
            assert plan.snapshot is None
            assert plan.coordinator is None
            watch.execute("DELETE FROM moving")
            assert [len(partition.read()) for partition in plan] == [0, 0]
        assert parallel.sync.read("moving", dsn, snapshot=None).shape == (0, 1)
    finally:
        watch.execute("DROP TABLE moving")


def test_a_snapshot_of_one_s_own(dsn: str, watch: BackendWatch) -> None:
    watch.execute("CREATE TABLE moving AS SELECT g AS id FROM generate_series(1, 100) g")
    try:
        with (
            sync.connect(dsn) as connection,
            connection.transaction(isolation="repeatable_read"),
        ):
            name = connection.fetchval("SELECT pg_export_snapshot()")
            watch.execute("DELETE FROM moving")
            assert len(parallel.sync.read("moving", dsn, snapshot=name)) == 100
    finally:
        watch.execute("DROP TABLE moving")


# The end


def test_an_error_in_one_part_ends_the_others(dsn: str, table: str) -> None:
    query = f"SELECT id, CASE WHEN id = 29000 THEN 1 / (id - 29000) ELSE id END AS n FROM {table}"
    with pytest.raises(DivisionByZeroError):
        parallel.sync.read(query, dsn, partition_by="id", parts=6, cuts="range", connections=3)


# Planning evaluates the rows as well. Among the workers, the first sleeps, and the others sleep or
# fail.
_ACTING = """
CREATE FUNCTION acts(id int, may_fail bool) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'acting') > 1 THEN
        IF may_fail AND NOT pg_try_advisory_xact_lock(815) THEN RAISE division_by_zero; END IF;
        PERFORM pg_sleep(60);
    END IF;
    RETURN id;
END $$
"""
_ACTORS = {"server_settings": {"application_name": "acting"}}
_SLEEPING = "SELECT id, acts(id, false) FROM unnest(ARRAY[1, 3]) AS id"


@pytest.fixture
def acting(watch: BackendWatch) -> Iterator[None]:
    watch.execute(_ACTING)
    yield
    watch.execute("DROP FUNCTION acts")


def wait_for_sleepers(watch: BackendWatch, count: int) -> None:
    give_up = time.monotonic() + 60
    while sum("acts" in text and "active" in text for text in watch.backends().values()) < count:
        time.sleep(0.01)
        assert time.monotonic() < give_up


@pytest.mark.usefixtures("acting")
def test_what_still_runs_is_cancelled(dsn: str) -> None:
    query = "SELECT id, acts(id, true) FROM unnest(ARRAY[1, 2, 3]) AS id"
    started = time.monotonic()
    with pytest.raises(DivisionByZeroError):
        parallel.sync.read(
            query, dsn, partition_by="id", parts=3, connections=3, connect_options=_ACTORS
        )
    assert time.monotonic() - started < 30


async def test_beside_an_event_loop(dsn: str, table: str) -> None:
    read = await parallel.read(table, dsn, parts=3)
    assert len(read) == ROWS
    async with await parallel.plan(table, dsn, parts=3) as plan:
        parts = [await asyncio.to_thread(part.read) for part in plan]
        assert sum(map(len, parts)) == ROWS
    with pytest.raises(InterfaceError, match="no longer exists"):
        await asyncio.to_thread(plan[0].read)


@pytest.mark.usefixtures("acting")
async def test_a_task_that_is_cancelled(dsn: str, watch: BackendWatch) -> None:
    task = asyncio.create_task(
        parallel.read(
            _SLEEPING, dsn, partition_by="id", parts=2, cuts="range", connect_options=_ACTORS
        )
    )
    await asyncio.to_thread(wait_for_sleepers, watch, 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.usefixtures("acting")
async def test_a_task_is_cancelled_where_the_server_takes_no_more_connections(
    dsn: str, watch: BackendWatch
) -> None:
    # The plan's connection, and two readers.
    watch.execute("CREATE ROLE few LOGIN CONNECTION LIMIT 3")
    options = {**_ACTORS, "user": "few"}
    try:
        task = asyncio.create_task(
            parallel.read(
                _SLEEPING, dsn, partition_by="id", parts=2, cuts="range", connect_options=options
            )
        )
        await asyncio.to_thread(wait_for_sleepers, watch, 2)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 30
    finally:
        watch.execute("DROP ROLE few")


async def test_a_task_that_is_cancelled_while_it_plans(dsn: str, watch: BackendWatch) -> None:
    query = "SELECT id, pg_sleep(60)::text AS acts FROM generate_series(1, 2) AS id"
    for call in (parallel.read, parallel.plan):
        task = asyncio.create_task(call(query, dsn, partition_by="id", parts=2))
        await asyncio.to_thread(wait_for_sleepers, watch, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_task_that_is_cancelled_twice_while_it_plans(dsn: str, watch: BackendWatch) -> None:
    query = "SELECT id, pg_sleep(60)::text AS acts FROM generate_series(1, 2) AS id"
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    task = asyncio.create_task(parallel.read(query, dsn, partition_by="id", parts=2))
    await asyncio.to_thread(wait_for_sleepers, watch, 1)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    give_up = time.monotonic() + 30
    while any("acts" in text for text in watch.backends().values()):
        await asyncio.sleep(0.05)
        assert time.monotonic() < give_up
    await asyncio.sleep(0.2)
    gc.collect()
    assert unheard == []


async def test_a_reading_needs_no_thread_of_the_loop_s_executor(
    dsn: str, watch: BackendWatch
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    query = "SELECT id, pg_sleep(60)::text AS acts FROM generate_series(1, 2) AS id"
    task = asyncio.create_task(parallel.read(query, dsn, partition_by="id", parts=2))
    await asyncio.to_thread(wait_for_sleepers, watch, 1)
    taken = threading.Event()
    kept = asyncio.create_task(asyncio.to_thread(taken.wait, 40))
    try:
        async with asyncio.timeout(30):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    finally:
        taken.set()
        await kept


_INTERRUPTED = """
import sys
from colonnade import parallel

options = {"server_settings": {"application_name": "acting"}}
try:
    parallel.sync.read(
        *sys.argv[1:], partition_by="id", parts=2, cuts="range", connect_options=options
    )
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.usefixtures("acting")
@pytest.mark.parametrize(
    ("query", "sleepers"),
    [(_SLEEPING, 2), ("SELECT id, pg_sleep(60)::text AS acts FROM unnest(ARRAY[1]) AS id", 1)],
    ids=["reading", "planning"],
)
def test_ctrl_c_leaves_no_backend(dsn: str, watch: BackendWatch, query: str, sleepers: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _INTERRUPTED, query, dsn], stdout=subprocess.PIPE, text=True
    ) as program:
        wait_for_sleepers(watch, sleepers)
        program.send_signal(signal.SIGINT)
        printed, _ = program.communicate(timeout=60)
    assert printed == "interrupted\n"


@pytest.mark.skipif(program() is None, reason="PgBouncer is not installed")
def test_behind_a_pooler(dsn: str, table: str) -> None:
    with Pooler(dsn, "transaction", servers=4) as pooler:
        assert len(parallel.sync.read(table, pooler.dsn, connections=2)) == ROWS
    with Pooler(dsn, "statement", servers=4) as pooler:
        with pytest.raises(Exception, match=r"(?i)transaction"):
            parallel.sync.read(table, pooler.dsn)
        assert len(parallel.sync.read(table, pooler.dsn, snapshot=None)) == ROWS
