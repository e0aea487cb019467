"""Scenarios that use every public coroutine once; a strike hits each of their suspensions.

A scenario checks its results. `uses` names the coroutines that it covers; a test checks that no
public one is missing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade import parallel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    Work = Callable[["Ground"], Coroutine[Any, Any, None]]

SERIES = "SELECT $1::int AS token, i FROM generate_series(1, $2::int) AS i"
LONG = 3_000


@dataclass
class Ground:
    """The objects that scenarios use."""

    dsn: str
    connection: colonnade.Connection
    pool: colonnade.Pool
    token: int = 0
    """Different in each run."""


@dataclass
class Scenario:
    """One scenario."""

    work: Work
    uses: frozenset[str]
    rows: int
    """The number of rows it writes to `sink`: all of them, or none."""


SCENARIOS: dict[str, Scenario] = {}


def scenario(*uses: str, rows: int = 0) -> Callable[[Work], Work]:
    def add(work: Work) -> Work:
        SCENARIOS[work.__name__] = Scenario(work, frozenset(uses), rows)
        return work

    return add


def check(ground: Ground, rows: list[Any], count: int) -> None:
    assert [tuple(row) for row in rows] == [(ground.token, n + 1) for n in range(count)]


def check_columns(ground: Ground, columns: Any, first: int, last: int) -> None:
    assert columns["i"].tolist() == list(range(first, last + 1))
    assert set(columns["token"].tolist()) <= {ground.token}


def new_text(ground: Ground, query: str) -> str:
    """Return a query that the connection has not prepared yet."""
    return f"{query} -- {ground.token}"


# Queries


@scenario("Connection.fetch")
async def fetch(ground: Ground) -> None:
    check(ground, await ground.connection.fetch(SERIES, ground.token, LONG), LONG)


@scenario("Connection.fetch", "Connection.fetchrow", "Connection.fetchval")
async def fetch_what_is_not_prepared(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    check(ground, await connection.fetch(new_text(ground, SERIES), token, 3), 3)
    row = await connection.fetchrow(new_text(ground, "SELECT $1::int + 1"), token)
    assert row == (token + 1,)
    assert await connection.fetchval(new_text(ground, "SELECT $1::int + 2"), token) == token + 2


@scenario("Connection.fetchrow", "Connection.fetchval", "Connection.execute")
async def fetch_what_is_prepared(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    assert await connection.fetchrow("SELECT $1::int", token) == (token,)
    assert await connection.fetchval("SELECT $1::int", token) == token
    assert await connection.execute("SELECT $1::int", token) == "SELECT 1"
    assert await connection.execute("SELECT 1; SELECT generate_series(1, 2)") == "SELECT 2"


@scenario("Connection.fetch", "Connection.reload_schema_state")
async def fetch_of_types_that_are_looked_up(ground: Ground) -> None:
    await ground.connection.reload_schema_state()
    query = new_text(ground, "SELECT $1::int AS one, '{}'::pg_catalog.pg_ts_config[] AS many")
    (row,) = await ground.connection.fetch(query, ground.token)
    assert tuple(row) == (ground.token, [])


@scenario("Connection.fetch_columns", "Connection.fetch_plain_columns")
async def fetch_columns(ground: Ground) -> None:
    columns = await ground.connection.fetch_columns(SERIES, ground.token, LONG)
    check_columns(ground, columns, 1, LONG)
    columns = await ground.connection.fetch_plain_columns(SERIES, ground.token, LONG)
    check_columns(ground, columns, 1, LONG)


@scenario(
    *("Connection.fetch_result", "Connection.fetchmany_result", "Connection.hold_result"),
    "Connection.fetch_plain",
)
async def results(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    check(ground, await connection.fetch_plain(SERIES, token, 3), 3)
    check(ground, (await connection.fetch_result(SERIES, token, 5)).rows, 5)
    many = await connection.fetchmany_result("SELECT $1::int, 1", [(token,), (token,)])
    assert [tuple(row) for row in many.rows] == [(token, 1)] * 2
    check(ground, await (await connection.hold_result(SERIES, token, 9)).fetch(), 9)


@scenario("HeldResult.fetch", "HeldResult.fetch_columns")
async def held_results(ground: Ground) -> None:
    held = await ground.connection.hold_result(SERIES, ground.token, 20_000)
    check(ground, await held.fetch(9_000), 9_000)
    held = await ground.connection.hold_result(SERIES, ground.token, 50, expect="columns")
    check_columns(ground, await held.fetch_columns(), 1, 50)


@scenario("Connection.executemany", rows=2_000)
async def executemany(ground: Ground) -> None:
    command = new_text(ground, "INSERT INTO sink VALUES ($1, $2)")
    await ground.connection.executemany(command, [(ground.token, n) for n in range(2_000)])


@scenario("Connection.executemany", "Connection.fetchmany", rows=70)
async def executemany_of_an_asynchronous_source(ground: Ground) -> None:
    async def sets() -> AsyncIterator[tuple[int, int]]:
        for n in range(70):
            if n % 30 == 0:
                await asyncio.sleep(0)
            yield ground.token, n

    # The writes come last, because nothing would undo them if a later call were struck.
    rows = await ground.connection.fetchmany("SELECT $1::int, $2::int + 1", sets())
    check(ground, rows, 70)
    await ground.connection.executemany("INSERT INTO sink VALUES ($1, $2)", sets())


@scenario("Connection.parameter_types")
async def parameter_types(ground: Ground) -> None:
    types = await ground.connection.parameter_types(new_text(ground, "SELECT $1::int, $2::text"))
    assert [each.name for each in types] == ["int4", "text"]


@scenario(
    "Connection.prepare",
    "PreparedStatement.fetch",
    "PreparedStatement.fetchrow",
    "PreparedStatement.fetchval",
    "PreparedStatement.fetchmany",
    "PreparedStatement.fetch_columns",
    "PreparedStatement.explain",
)
async def prepared(ground: Ground) -> None:
    token = ground.token
    statement = await ground.connection.prepare(new_text(ground, SERIES))
    check(ground, await statement.fetch(token, 3), 3)
    assert await statement.fetchrow(token, 3) == (token, 1)
    assert await statement.fetchval(token, 3) == token
    check(ground, await statement.fetchmany([(token, 1)]), 1)
    check_columns(ground, await statement.fetch_columns(token, 4), 1, 4)
    assert (await statement.explain(token, 3))[0]["Plan"]


@scenario("PreparedStatement.executemany", rows=5)
async def prepared_executemany(ground: Ground) -> None:
    statement = await ground.connection.prepare("INSERT INTO sink VALUES ($1, $2)")
    await statement.executemany([(ground.token, n) for n in range(5)])


# Streams


@scenario("ColumnStream.__anext__")
async def stream(ground: Ground) -> None:
    seen = 0
    async for batch in ground.connection.iter_columns(SERIES, ground.token, LONG, batch_rows=1_000):
        check_columns(ground, batch, seen + 1, seen + 1_000)
        seen += 1_000
    assert seen == LONG


@scenario("ColumnStream.__aenter__", "ColumnStream.__aexit__", "ColumnStream.aclose")
async def stream_left_half_way(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    async with connection.iter_columns(SERIES, token, 60_000, batch_rows=500) as stream:
        check_columns(ground, await anext(stream), 1, 500)
    assert await connection.fetchval("SELECT $1::int", token) == token
    statement = await connection.prepare(SERIES)
    stream = statement.iter_columns(token, 60_000, batch_rows=500)
    check_columns(ground, await anext(stream), 1, 500)
    await stream.aclose()
    assert await connection.fetchval("SELECT $1::int", token) == token


@scenario(
    "CursorFactory.open",
    "Cursor.fetch",
    "Cursor.fetchrow",
    "Cursor.forward",
    "Cursor.fetch_columns",
    "CursorIterator.__anext__",
)
async def cursors(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    async with connection.transaction():
        cursor = await connection.cursor(SERIES, token, 100).open()
        check(ground, await cursor.fetch(4), 4)
        assert await cursor.fetchrow() == (token, 5)
        assert await cursor.forward(5) == 5
        check_columns(ground, await cursor.fetch_columns(10), 11, 20)
        rows = [row async for row in connection.cursor(SERIES, token, 30, prefetch=12)]
        check(ground, rows, 30)


# COPY


@scenario("Connection.copy_to_table", rows=40)
async def copy_in(ground: Ground) -> None:
    async def lines() -> AsyncIterator[bytes]:
        for n in range(4):
            await asyncio.sleep(0)
            yield "".join(f"{ground.token}\t{10 * n + i}\n" for i in range(10)).encode()

    assert await ground.connection.copy_to_table("sink", source=lines()) == "COPY 40"


@scenario("Connection.copy_records_to_table", rows=LONG)
async def copy_records_in(ground: Ground) -> None:
    records = [(ground.token, n) for n in range(LONG)]
    await ground.connection.copy_records_to_table("sink", records=records)


@scenario("Connection.copy_columns_to_table", rows=LONG)
async def copy_columns_in(ground: Ground) -> None:
    data = {"token": [ground.token] * LONG, "i": list(range(LONG))}
    await ground.connection.copy_columns_to_table("sink", data)


@scenario("Connection.copy_columns_to_table", rows=10)
async def copy_columns_in_over_conflicts(ground: Ground) -> None:
    data = {"token": [ground.token] * 10, "i": list(range(10))}
    await ground.connection.copy_columns_to_table("sink", data, on_conflict="nothing")


@scenario("Connection.write_table", rows=LONG)
async def frame_written(ground: Ground) -> None:
    data = {"token": [ground.token] * LONG, "i": list(range(LONG))}
    assert await ground.connection.write_table(data, "sink", if_exists="append") == LONG


@scenario("Connection.copy_from_query", "Connection.copy_from_table")
async def copy_out(ground: Ground) -> None:
    chunks: list[bytes] = []

    async def take(chunk: bytes) -> None:
        if not chunks:
            await asyncio.sleep(0)
        chunks.append(bytes(chunk))

    connection, token = ground.connection, ground.token
    assert await connection.copy_from_query(SERIES, token, 200, output=take) == "COPY 200"
    expected = [f"{token}\t{n + 1}" for n in range(200)]
    assert b"".join(chunks).decode().splitlines() == expected
    assert await connection.copy_from_table("sink", output=take) == "COPY 0"


# Transactions and pipelines


@scenario("Transaction.__aenter__", "Transaction.__aexit__", rows=2)
async def transaction(ground: Ground) -> None:
    insert, connection = "INSERT INTO sink VALUES ($1, $2)", ground.connection
    async with connection.transaction():
        await connection.execute(insert, ground.token, 1)
        try:
            async with connection.transaction():
                await connection.execute(insert, ground.token, 2)
                raise LookupError  # noqa: TRY301 - the exception leaves the block
        except LookupError:
            pass
        async with connection.transaction():
            await connection.execute(insert, ground.token, 3)


@scenario("Transaction.start", "Transaction.commit", "Transaction.rollback", rows=1)
async def transaction_by_hand(ground: Ground) -> None:
    insert, connection = "INSERT INTO sink VALUES ($1, $2)", ground.connection
    transaction = connection.transaction(isolation="serializable")
    await transaction.start()
    try:
        await connection.execute(insert, ground.token, 1)
        savepoint = connection.transaction()
        await savepoint.start()
        await connection.execute(insert, ground.token, 2)
        await savepoint.rollback()
    except BaseException:
        if not connection.is_closed():
            await transaction.rollback()
        raise
    await transaction.commit()


@scenario("Connection.begin_ahead", rows=1)
async def transaction_ahead(ground: Ground) -> None:
    connection = ground.connection
    try:
        await connection.begin_ahead()
        await connection.execute("INSERT INTO sink VALUES ($1, 1)", ground.token)
        await connection.execute("COMMIT")
    except BaseException:
        # A transaction begun by hand must be ended by hand, in any case.
        connection.terminate()
        raise


@scenario("Pipeline.__aenter__", "Pipeline.__aexit__", "PipelineResult.wait", rows=0)
async def pipeline(ground: Ground) -> None:
    connection, token = ground.connection, ground.token
    async with connection.pipeline() as sent:
        values = [sent.fetchval("SELECT $1::int + $2::int", token, n) for n in range(4)]
        assert await values[1].wait() == token + 1
        rows = sent.fetch(new_text(ground, SERIES), token, 500)
        columns = sent.fetch_columns(SERIES, token, 500)
        sent.executemany("SELECT $1::int", [(n,) for n in range(50)])
    assert [value.result() for value in values] == [token + n for n in range(4)]
    check(ground, rows.result(), 500)
    check_columns(ground, columns.result(), 1, 500)


# The session


@scenario("Connection.reset")
async def reset(ground: Ground) -> None:
    await ground.connection.execute(f"SET colonnade.token = '{ground.token}'")
    await ground.connection.reset()
    assert not await ground.connection.fetchval("SELECT current_setting('colonnade.token', true)")


@scenario(
    "Connection.set_type_codec",
    "Connection.reset_type_codec",
    "Connection.set_builtin_type_codec",
)
async def codecs(ground: Ground) -> None:
    connection = ground.connection
    asked = new_text(ground, "SELECT 'null'::jsonb")
    await connection.set_type_codec("jsonb", schema="pg_catalog", encoder=str, decoder=len)
    assert await connection.fetchval(asked) == len("null")
    await connection.reset_type_codec("jsonb", schema="pg_catalog")
    await connection.set_builtin_type_codec("pg_lsn", schema="pg_catalog", codec_name="int8")


@scenario("Connection.add_listener", "Connection.remove_listener")
async def listeners(ground: Ground) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    def hear(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        heard.put_nowait(payload)

    connection = ground.connection
    channel = f"channel_{ground.token}"
    await connection.add_listener(channel, hear)
    await connection.execute(f"NOTIFY {channel}, '{ground.token}'")
    assert await heard.get() == str(ground.token)
    await connection.remove_listener(channel, hear)


@scenario(
    "ConnectionNotifications.__aenter__",
    "ConnectionNotifications.__aexit__",
    "ConnectionNotifications.__anext__",
)
async def notifications(ground: Ground) -> None:
    channel = f"channel_{ground.token}"
    async with ground.connection.notifications(channel) as notes:
        await ground.connection.execute(f"NOTIFY {channel}, '{ground.token}'")
        assert (await anext(notes)).payload == str(ground.token)


@scenario("Connection.cancel")
async def cancel(ground: Ground) -> None:
    """Cancel a query that runs in another task."""
    sleeping = asyncio.ensure_future(ground.connection.execute("SELECT pg_sleep(30)"))
    try:
        await asyncio.sleep(0)
        await ground.connection.cancel()
    finally:
        sleeping.cancel()
        await asyncio.wait([sleeping])


# Calls that open their own connections


@scenario("connect", "Connection.close", "Connection.__aenter__", "Connection.__aexit__")
async def connect(ground: Ground) -> None:
    connection = await colonnade.connect(ground.dsn)
    async with connection:
        assert await connection.fetchval("SELECT $1::int", ground.token) == ground.token
    other = await colonnade.connect(ground.dsn, target_session_attrs="read-write")
    try:
        assert await other.fetchval("SELECT $1::int", ground.token) == ground.token
    finally:
        await other.close(timeout=10)


@scenario("Listening.__aenter__", "Listening.__aexit__", "Listening.__anext__", "Listening.aclose")
async def listen(ground: Ground) -> None:
    channel = f"channel_{ground.token}"
    async with colonnade.listen(ground.dsn, channel) as notes:
        await ground.pool.execute(f"NOTIFY {channel}, '{ground.token}'")
        assert (await anext(notes)).payload == str(ground.token)


@scenario("parallel.read")
async def parallel_read(ground: Ground) -> None:
    query = f"SELECT {ground.token}::int AS token, i FROM generate_series(1, 20) AS i"
    columns = await parallel.read(query, ground.dsn, partition_by="i", connections=2)
    check_columns(ground, columns, 1, 20)


# The pool


@scenario("create_pool", "Pool.__aenter__", "Pool.__aexit__", "Pool.close")
async def create_pool(ground: Ground) -> None:
    async with colonnade.create_pool(ground.dsn, min_size=2, max_size=2) as pool:
        assert await pool.fetchval("SELECT $1::int", ground.token) == ground.token
    pool = await colonnade.create_pool(ground.dsn, min_size=1, max_size=1)
    try:
        assert await pool.fetchval("SELECT $1::int", ground.token) == ground.token
    except BaseException:
        pool.terminate()
        raise
    await pool.close()


@scenario(
    "PoolAcquireContext.__aenter__",
    "PoolAcquireContext.__aexit__",
    "PoolConnectionProxy.__aenter__",
    "PoolConnectionProxy.__aexit__",
    "Pool.expire_connections",
    "Pool.release",
)
async def acquire(ground: Ground) -> None:
    async with ground.pool.acquire() as connection:
        await connection.execute("SET work_mem = '1MB'")
        async with connection.transaction():
            assert await connection.fetchval("SELECT $1::int", ground.token) == ground.token
    connection = await ground.pool.acquire(timeout=20)
    try:
        await connection.execute("BEGIN")
        await ground.pool.expire_connections()
    finally:
        await ground.pool.release(connection)
    async with await ground.pool.acquire() as connection:
        assert await connection.fetchval("SELECT $1::int", ground.token) == ground.token


@scenario("PoolAcquireContext.__aenter__")
async def acquire_what_has_to_be_waited_for(ground: Ground) -> None:
    async with ground.pool.acquire(), ground.pool.acquire():
        waiting = asyncio.ensure_future(ground.pool.fetchval("SELECT $1::int", ground.token))
        try:
            await asyncio.sleep(0)
        except BaseException:
            waiting.cancel()
            raise
    try:
        assert await waiting == ground.token
    finally:
        waiting.cancel()
        await asyncio.wait([waiting])


_OF_ONE_CALL = [
    *("fetch", "fetchrow", "fetchval", "fetch_columns", "fetchmany", "execute", "executemany"),
    *("fetch_plain", "fetch_plain_columns", "fetch_result", "fetchmany_result", "hold_result"),
    *("copy_to_table", "copy_records_to_table", "copy_columns_to_table"),
    *("copy_from_query", "copy_from_table", "write_table"),
]


@scenario(*(f"Pool.{name}" for name in _OF_ONE_CALL))
async def pool_queries(ground: Ground) -> None:
    """These methods all wrap the connection's, which have their own scenarios."""
    pool, token = ground.pool, ground.token
    check(ground, await pool.fetch(SERIES, token, 20), 20)
    check(ground, await pool.fetch_plain(SERIES, token, 20), 20)
    check_columns(ground, await pool.fetch_columns(SERIES, token, LONG), 1, LONG)
    check_columns(ground, await pool.fetch_plain_columns(SERIES, token, LONG), 1, LONG)
    await pool.executemany("SELECT $1::int", [(n,) for n in range(10)])


@scenario(
    "PoolColumnStream.__aenter__",
    "PoolColumnStream.__aexit__",
    "PoolColumnStream.__anext__",
    "PoolColumnStream.aclose",
)
async def pool_stream(ground: Ground) -> None:
    token = ground.token
    async with ground.pool.iter_columns(SERIES, token, LONG, batch_rows=1_000) as stream:
        seen = 0
        async for batch in stream:
            check_columns(ground, batch, seen + 1, seen + 1_000)
            seen += 1_000
    stream = ground.pool.iter_columns(SERIES, token, 60_000, batch_rows=100)
    check_columns(ground, await anext(stream), 1, 100)
    await stream.aclose()


@scenario("PoolPipelineContext.__aenter__", "PoolPipelineContext.__aexit__")
async def pool_pipeline(ground: Ground) -> None:
    async with ground.pool.pipeline() as sent:
        value = sent.fetchval("SELECT $1::int", ground.token)
        rows = sent.fetch(new_text(ground, SERIES), ground.token, 10)
    assert value.result() == ground.token
    check(ground, rows.result(), 10)


@scenario("Pool.gather")
async def gather(ground: Ground) -> None:
    token = ground.token
    found = await ground.pool.gather(
        {
            "columns": colonnade.Query.columns(SERIES, token, 500),
            "rows": colonnade.Query.rows(new_text(ground, SERIES), token, 20),
            "value": colonnade.Query.value("SELECT $1::int", token),
        },
        deadline=20,
    )
    check_columns(ground, found["columns"], 1, 500)
    check(ground, found["rows"], 20)
    assert found["value"] == token
