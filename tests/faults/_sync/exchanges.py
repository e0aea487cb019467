# Generated from tests/faults/_async/exchanges.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Every exchange of a connection, with little data.

Each has its preparation, the work under faults, and its result.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = "SELECT n, 'row ' || n AS t FROM generate_series(1, $1::int4) AS n"
RECORDS = [(1, "one"), (2, None), (3, "three")]
LARGE_ROWS = 20_000
# More than the socket buffers on the way can hold.
LARGE_BYTES = 16 << 20


@dataclass(frozen=True)
class Exchange:
    """The work on a connection while a fault strikes."""

    name: str
    run: Callable[[colonnade.sync.Connection], object]
    setup: str = ""
    """Statements that run before."""
    warms: bool = False
    """Whether it runs once before, so that its statements are known."""
    is_large: bool = False
    """Whether its messages are too many for each to have its turn."""


def fetch(connection: colonnade.sync.Connection) -> object:
    return [tuple(row) for row in connection.fetch(NUMBERS, 4)]


def fetchrow(connection: colonnade.sync.Connection) -> object:
    return connection.fetchval("SELECT $1::text || 'x'", "v")


def fetch_columns(connection: colonnade.sync.Connection) -> object:
    return (connection.fetch_columns(NUMBERS, 4)).to_pydict()


def fetch_result(connection: colonnade.sync.Connection) -> object:
    result = connection.fetch_result(NUMBERS, 3)
    return result.status, [tuple(row) for row in result.rows]


def fetch_plain(connection: colonnade.sync.Connection) -> object:
    return connection.fetch_plain(NUMBERS, 3)


def fetch_plain_columns(connection: colonnade.sync.Connection) -> object:
    return (connection.fetch_plain_columns(NUMBERS, 4)).to_pydict()


def iter_columns(connection: colonnade.sync.Connection) -> object:
    rows = []
    for batch in connection.iter_columns(NUMBERS, 5, batch_rows=2):
        rows += batch.to_pylist()
    return rows


def cursor(connection: colonnade.sync.Connection) -> object:
    with connection.transaction():
        return [tuple(row) for row in connection.cursor(NUMBERS, 5, prefetch=2)]


def cursor_by_hand(connection: colonnade.sync.Connection) -> object:
    with connection.transaction():
        opened = connection.cursor(NUMBERS, 6).open()
        first = opened.fetch(2)
        opened.forward(1)
        rest = opened.fetch_columns(10)
    return [tuple(row) for row in first], rest.to_pydict()


def execute_script(connection: colonnade.sync.Connection) -> object:
    return connection.execute("SELECT 1; CREATE TEMP TABLE made (a int4); SELECT 2, 3")


def execute(connection: colonnade.sync.Connection) -> object:
    return connection.execute("INSERT INTO kept SELECT $1::int4, 'x'", 7)


def executemany(connection: colonnade.sync.Connection) -> object:
    connection.executemany("INSERT INTO kept VALUES ($1, $2)", RECORDS)
    return connection.fetchval("SELECT count(*) FROM kept")


def fetchmany(connection: colonnade.sync.Connection) -> object:
    rows = connection.fetchmany("SELECT $1::int4 + 1, $2::text", RECORDS)
    return [tuple(row) for row in rows]


def pipeline(connection: colonnade.sync.Connection) -> object:
    with connection.pipeline() as pipeline:
        rows = pipeline.fetch(NUMBERS, 3)
        value = pipeline.fetchval("SELECT $1::int4", 5)
        status = pipeline.execute("CREATE TEMP TABLE piped (a int4); SELECT 4")
        columns = pipeline.fetch_columns(NUMBERS, 2)
        pipeline.executemany("INSERT INTO kept VALUES ($1, $2)", RECORDS)
    found = [tuple(row) for row in rows.result()]
    return found, value.result(), status.result(), columns.result().to_pydict()


def prepared(connection: colonnade.sync.Connection) -> object:
    statement = connection.prepare(NUMBERS)
    first = statement.fetch(2)
    second = statement.fetch(3)
    return [tuple(row) for row in first], [tuple(row) for row in second]


def introspect(connection: colonnade.sync.Connection) -> object:
    row = connection.fetchrow(
        "SELECT 'sad'::faulted_mood AS m, ROW(1, 'happy')::faulted_pair AS p, "
        "ARRAY[ROW(2, 'sad')::faulted_pair] AS l"
    )
    return repr(row)


def transaction(connection: colonnade.sync.Connection) -> object:
    with connection.transaction():
        connection.execute("INSERT INTO kept VALUES (1, 'a')")
        try:
            with connection.transaction():
                connection.execute("INSERT INTO kept VALUES (2, 'b')")
                connection.fetchval("SELECT 1 / $1::int4", 0)
        except colonnade.DivisionByZeroError:
            pass
        connection.execute("INSERT INTO kept VALUES (3, 'c')")
    return [row["a"] for row in connection.fetch("SELECT a FROM kept ORDER BY a")]


def failing(connection: colonnade.sync.Connection) -> object:
    told = []
    for query in ("SELECT no_such_column", "SELECT 1 / (n - 3) FROM generate_series(1, 5) AS n"):
        try:
            connection.fetch_columns(query)
        except (colonnade.UndefinedColumnError, colonnade.DivisionByZeroError) as error:
            told.append(error.sqlstate)
    return told


def copy_columns_to_table(connection: colonnade.sync.Connection) -> object:
    source = {"a": [1, 2, 3], "t": ["x", None, "z"]}
    connection.copy_columns_to_table("kept", source)
    return [tuple(row) for row in connection.fetch("SELECT a, t FROM kept ORDER BY a")]


def copy_from_query(connection: colonnade.sync.Connection) -> object:
    output = io.BytesIO()
    status = connection.copy_from_query(NUMBERS, 4, output=output, format="csv")
    return status, output.getvalue()


def copy_to_table(connection: colonnade.sync.Connection) -> object:
    source = io.BytesIO(b"1,x\n2,y\n")
    connection.copy_to_table("kept", source=source, format="csv")
    return [tuple(row) for row in connection.fetch("SELECT a, t FROM kept ORDER BY a")]


def copy_records_to_table(connection: colonnade.sync.Connection) -> object:
    connection.copy_records_to_table("kept", records=RECORDS)
    return [tuple(row) for row in connection.fetch("SELECT a, t FROM kept ORDER BY a")]


def reset(connection: colonnade.sync.Connection) -> object:
    connection.execute("SET application_name TO 'faulted'")
    connection.reset()
    return connection.fetchval("SHOW application_name")


def listen(connection: colonnade.sync.Connection) -> object:
    heard: list[object] = []

    def hear(_connection: object, _pid: int, channel: str, payload: object) -> None:
        heard.append((channel == f"faulted_{connection.get_server_pid()}", payload))

    channel = f"faulted_{connection.get_server_pid()}"
    connection.add_listener(channel, hear)
    connection.execute(f"NOTIFY {channel}, 'word'")
    connection.remove_listener(channel, hear)
    value = connection.fetchval("SELECT 1")
    return heard, value


def notices(connection: colonnade.sync.Connection) -> object:
    told: list[Any] = []

    def hear(_connection: object, message: Any) -> None:
        told.append(message.message)

    connection.add_log_listener(hear)
    connection.execute("DO $$ BEGIN RAISE NOTICE 'first'; RAISE WARNING 'second'; END $$")
    connection.remove_log_listener(hear)
    return len(told)


def timed_out(connection: colonnade.sync.Connection) -> object:
    try:
        connection.fetchval("SELECT pg_sleep(2)", timeout=0.1)
    except TimeoutError:
        return connection.fetchval("SELECT 5")
    return None


def close(connection: colonnade.sync.Connection) -> object:
    connection.close()
    return connection.is_closed()


def large_fetch(connection: colonnade.sync.Connection) -> object:
    query = "SELECT n, repeat('x', 400) FROM generate_series(1, $1::int4) AS n"
    columns = connection.fetch_columns(query, LARGE_ROWS)
    return len(columns)


def large_copy(connection: colonnade.sync.Connection) -> object:
    source = io.BytesIO(b"x" * 1023 + b"\n")
    whole = io.BytesIO(source.getvalue() * (LARGE_BYTES // 1024))
    return connection.copy_to_table("kept", source=whole, columns=["t"])


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
