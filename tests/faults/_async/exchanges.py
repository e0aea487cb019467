"""Every exchange of a connection, with little data.

Each has its preparation, the work under faults, and its result.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NUMBERS = "SELECT n, 'row ' || n AS t FROM generate_series(1, $1::int4) AS n"
RECORDS = [(1, "one"), (2, None), (3, "three")]
LARGE_ROWS = 20_000
# More than the socket buffers on the way can hold.
LARGE_BYTES = 16 << 20


@dataclass(frozen=True)
class Exchange:
    """The work on a connection while a fault strikes."""

    name: str
    run: Callable[[colonnade.Connection], Awaitable[object]]
    setup: str = ""
    """Statements that run before."""
    warms: bool = False
    """Whether it runs once before, so that its statements are known."""
    is_large: bool = False
    """Whether its messages are too many for each to have its turn."""


async def fetch(connection: colonnade.Connection) -> object:
    return [tuple(row) for row in await connection.fetch(NUMBERS, 4)]


async def fetchrow(connection: colonnade.Connection) -> object:
    return await connection.fetchval("SELECT $1::text || 'x'", "v")


async def fetch_columns(connection: colonnade.Connection) -> object:
    return (await connection.fetch_columns(NUMBERS, 4)).to_pydict()


async def fetch_result(connection: colonnade.Connection) -> object:
    result = await connection.fetch_result(NUMBERS, 3)
    return result.status, [tuple(row) for row in result.rows]


async def fetch_plain(connection: colonnade.Connection) -> object:
    return await connection.fetch_plain(NUMBERS, 3)


async def fetch_plain_columns(connection: colonnade.Connection) -> object:
    return (await connection.fetch_plain_columns(NUMBERS, 4)).to_pydict()


async def iter_columns(connection: colonnade.Connection) -> object:
    rows = []
    async for batch in connection.iter_columns(NUMBERS, 5, batch_rows=2):
        rows += batch.to_pylist()
    return rows


async def cursor(connection: colonnade.Connection) -> object:
    async with connection.transaction():
        return [tuple(row) async for row in connection.cursor(NUMBERS, 5, prefetch=2)]


async def cursor_by_hand(connection: colonnade.Connection) -> object:
    async with connection.transaction():
        opened = await connection.cursor(NUMBERS, 6).open()
        first = await opened.fetch(2)
        await opened.forward(1)
        rest = await opened.fetch_columns(10)
    return [tuple(row) for row in first], rest.to_pydict()


async def execute_script(connection: colonnade.Connection) -> object:
    return await connection.execute("SELECT 1; CREATE TEMP TABLE made (a int4); SELECT 2, 3")


async def execute(connection: colonnade.Connection) -> object:
    return await connection.execute("INSERT INTO kept SELECT $1::int4, 'x'", 7)


async def executemany(connection: colonnade.Connection) -> object:
    await connection.executemany("INSERT INTO kept VALUES ($1, $2)", RECORDS)
    return await connection.fetchval("SELECT count(*) FROM kept")


async def fetchmany(connection: colonnade.Connection) -> object:
    rows = await connection.fetchmany("SELECT $1::int4 + 1, $2::text", RECORDS)
    return [tuple(row) for row in rows]


async def pipeline(connection: colonnade.Connection) -> object:
    async with connection.pipeline() as pipeline:
        rows = pipeline.fetch(NUMBERS, 3)
        value = pipeline.fetchval("SELECT $1::int4", 5)
        status = pipeline.execute("CREATE TEMP TABLE piped (a int4); SELECT 4")
        columns = pipeline.fetch_columns(NUMBERS, 2)
        pipeline.executemany("INSERT INTO kept VALUES ($1, $2)", RECORDS)
    found = [tuple(row) for row in rows.result()]
    return found, value.result(), status.result(), columns.result().to_pydict()


async def prepared(connection: colonnade.Connection) -> object:
    statement = await connection.prepare(NUMBERS)
    first = await statement.fetch(2)
    second = await statement.fetch(3)
    return [tuple(row) for row in first], [tuple(row) for row in second]


async def introspect(connection: colonnade.Connection) -> object:
    row = await connection.fetchrow(
        "SELECT 'sad'::faulted_mood AS m, ROW(1, 'happy')::faulted_pair AS p, "
        "ARRAY[ROW(2, 'sad')::faulted_pair] AS l"
    )
    return repr(row)


async def transaction(connection: colonnade.Connection) -> object:
    async with connection.transaction():
        await connection.execute("INSERT INTO kept VALUES (1, 'a')")
        try:
            async with connection.transaction():
                await connection.execute("INSERT INTO kept VALUES (2, 'b')")
                await connection.fetchval("SELECT 1 / $1::int4", 0)
        except colonnade.DivisionByZeroError:
            pass
        await connection.execute("INSERT INTO kept VALUES (3, 'c')")
    return [row["a"] for row in await connection.fetch("SELECT a FROM kept ORDER BY a")]


async def failing(connection: colonnade.Connection) -> object:
    told = []
    for query in ("SELECT no_such_column", "SELECT 1 / (n - 3) FROM generate_series(1, 5) AS n"):
        try:
            await connection.fetch_columns(query)
        except (colonnade.UndefinedColumnError, colonnade.DivisionByZeroError) as error:
            told.append(error.sqlstate)
    return told


async def copy_columns_to_table(connection: colonnade.Connection) -> object:
    source = {"a": [1, 2, 3], "t": ["x", None, "z"]}
    await connection.copy_columns_to_table("kept", source)
    return [tuple(row) for row in await connection.fetch("SELECT a, t FROM kept ORDER BY a")]


async def copy_from_query(connection: colonnade.Connection) -> object:
    output = io.BytesIO()
    status = await connection.copy_from_query(NUMBERS, 4, output=output, format="csv")
    return status, output.getvalue()


async def copy_to_table(connection: colonnade.Connection) -> object:
    source = io.BytesIO(b"1,x\n2,y\n")
    await connection.copy_to_table("kept", source=source, format="csv")
    return [tuple(row) for row in await connection.fetch("SELECT a, t FROM kept ORDER BY a")]


async def copy_records_to_table(connection: colonnade.Connection) -> object:
    await connection.copy_records_to_table("kept", records=RECORDS)
    return [tuple(row) for row in await connection.fetch("SELECT a, t FROM kept ORDER BY a")]


async def reset(connection: colonnade.Connection) -> object:
    await connection.execute("SET application_name TO 'faulted'")
    await connection.reset()
    return await connection.fetchval("SHOW application_name")


async def listen(connection: colonnade.Connection) -> object:
    heard: list[object] = []

    def hear(_connection: object, _pid: int, channel: str, payload: object) -> None:
        heard.append((channel == f"faulted_{connection.get_server_pid()}", payload))

    channel = f"faulted_{connection.get_server_pid()}"
    await connection.add_listener(channel, hear)
    await connection.execute(f"NOTIFY {channel}, 'word'")
    await connection.remove_listener(channel, hear)
    value = await connection.fetchval("SELECT 1")
    return heard, value


async def notices(connection: colonnade.Connection) -> object:
    told: list[Any] = []

    def hear(_connection: object, message: Any) -> None:
        told.append(message.message)

    connection.add_log_listener(hear)
    await connection.execute("DO $$ BEGIN RAISE NOTICE 'first'; RAISE WARNING 'second'; END $$")
    connection.remove_log_listener(hear)
    return len(told)


async def timed_out(connection: colonnade.Connection) -> object:
    try:
        await connection.fetchval("SELECT pg_sleep(2)", timeout=0.1)
    except TimeoutError:
        return await connection.fetchval("SELECT 5")
    return None


async def close(connection: colonnade.Connection) -> object:
    await connection.close()
    return connection.is_closed()


async def large_fetch(connection: colonnade.Connection) -> object:
    query = "SELECT n, repeat('x', 400) FROM generate_series(1, $1::int4) AS n"
    columns = await connection.fetch_columns(query, LARGE_ROWS)
    return len(columns)


async def large_copy(connection: colonnade.Connection) -> object:
    source = io.BytesIO(b"x" * 1023 + b"\n")
    whole = io.BytesIO(source.getvalue() * (LARGE_BYTES // 1024))
    return await connection.copy_to_table("kept", source=whole, columns=["t"])


KEPT = "CREATE TEMP TABLE kept (a int4, t text)"
EXCHANGES = [
    Exchange("fetch", fetch),
    Exchange("fetch of a known statement", fetch, warms=True),
    Exchange("fetchval", fetchrow),
    Exchange("fetch_columns", fetch_columns),
    Exchange("fetch_columns of a known statement", fetch_columns, warms=True),
    Exchange("fetch_result", fetch_result),
    Exchange("fetch_plain", fetch_plain),
    Exchange("fetch_plain of a known statement", fetch_plain, warms=True),
    Exchange("fetch_plain_columns", fetch_plain_columns),
    Exchange("fetch_plain_columns of a known statement", fetch_plain_columns, warms=True),
    Exchange("iter_columns", iter_columns),
    Exchange("cursor", cursor),
    Exchange("cursor by hand", cursor_by_hand),
    Exchange("script", execute_script),
    Exchange("execute", execute, KEPT),
    Exchange("executemany", executemany, KEPT),
    Exchange("fetchmany", fetchmany),
    Exchange("pipeline", pipeline, KEPT),
    Exchange("prepared statement", prepared),
    Exchange("unknown types", introspect),
    Exchange("transaction", transaction, KEPT),
    Exchange("failing queries", failing),
    Exchange("copy_columns_to_table", copy_columns_to_table, KEPT),
    Exchange("copy_from_query", copy_from_query),
    Exchange("copy_to_table", copy_to_table, KEPT),
    Exchange("copy_records_to_table", copy_records_to_table, KEPT),
    Exchange("reset", reset),
    Exchange("listen and notify", listen),
    Exchange("notices", notices),
    Exchange("timeout", timed_out),
    Exchange("close", close),
    Exchange("large fetch", large_fetch, is_large=True),
    Exchange("large copy", large_copy, KEPT, is_large=True),
]
