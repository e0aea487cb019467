"""The operations of tasks on a pool. Each operation queries with its own token.

An operation returns if all its results were its own, raises WrongResultError if not, and otherwise
raises the driver's exception.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade import parallel
from colonnade.errors import DivisionByZeroError, LockNotAvailableError, QueryCanceledError
from tests.soak.books import WrongResultError, expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from random import Random

    from tests.soak.books import Books, Tally

    Operation = Callable[["Job"], Awaitable[None]]

SERIES = "SELECT $1::bigint AS token, i FROM generate_series(1, $2::int) AS i"


@dataclass(slots=True)
class Job:
    """The objects that an operation uses."""

    pool: colonnade.Pool
    dsn: str
    token: int
    random: Random
    books: Books
    tally: Tally
    limit: float | None = None
    """The call's own `timeout`, in seconds."""

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection of the pool; check that it was reset, and leave a mark on it."""
        async with self.pool.acquire() as connection:
            expect(connection.is_in_transaction(), False, "a connection in a transaction")
            left = await connection.fetchval("SELECT current_setting('soak.token', true)")
            if left:
                msg = f"a connection that was not reset: it has the mark of {left}"
                raise WrongResultError(msg)
            await connection.fetchval(
                "SELECT set_config('soak.token', $1, false)", str(self.token), timeout=self.limit
            )
            yield connection


def check_columns(columns: Any, token: int, first: int, last: int) -> None:
    """Check that the columns have the numbers from `first` to `last`, all with this token."""
    expect(columns["i"].tolist(), list(range(first, last + 1)), "numbers of columns")
    expect(set(columns["token"].tolist()) - {token}, set(), "tokens of columns")


async def fetch(job: Job) -> None:
    count = job.random.choice((0, 1, 3, 200))
    rows = await job.pool.fetch(SERIES, job.token, count, timeout=job.limit)
    expect([tuple(row) for row in rows], [(job.token, n + 1) for n in range(count)], "fetch")


async def fetchval(job: Job) -> None:
    value = await job.pool.fetchval("SELECT $1::bigint", job.token, timeout=job.limit)
    expect(value, job.token, "fetchval")


async def fetchrow_of_a_new_text(job: Job) -> None:
    """A new query text, which fills the statement cache."""
    row = await job.pool.fetchrow(
        f"SELECT {job.token} AS token, $1::text AS note", f"n{job.token}", timeout=job.limit
    )
    expect(row, (job.token, f"n{job.token}"), "fetchrow")


async def fetchval_slowly(job: Job) -> None:
    """A query that runs long enough to be disturbed."""
    query = "SELECT $1::bigint FROM pg_sleep($2::float8)"
    seconds = job.random.uniform(0.0, 0.02)
    value = await job.pool.fetchval(query, job.token, seconds, timeout=job.limit)
    expect(value, job.token, "a slow fetchval")


async def fetch_columns(job: Job) -> None:
    count = job.random.choice((0, 1, 100, 5_000))
    columns = await job.pool.fetch_columns(SERIES, job.token, count, timeout=job.limit)
    check_columns(columns, job.token, 1, count)


async def iter_columns_half_way(job: Job) -> None:
    async with job.connection() as connection:
        wanted, seen = job.random.randint(0, 6), 0
        stream = connection.iter_columns(SERIES, job.token, 3_000, batch_rows=500)
        async for batch in stream:
            check_columns(batch, job.token, 500 * seen + 1, 500 * seen + 500)
            seen += 1
            if seen >= wanted:
                break
        if job.random.random() < 0.5:
            await stream.aclose()
        del stream
        expect(await connection.fetchval("SELECT $1::bigint", job.token), job.token, "after it")


async def iter_columns_of_the_pool(job: Job) -> None:
    wanted, seen = job.random.randint(0, 3), 0
    async with job.pool.iter_columns(SERIES, job.token, 40_000, batch_rows=16_384) as stream:
        async for batch in stream:
            first = 16_384 * seen + 1
            check_columns(batch, job.token, first, min(first + 16_383, 40_000))
            seen += 1
            if seen >= wanted:
                break


async def executemany(job: Job) -> None:
    """Either all sets are written or none."""
    count = job.random.choice((1, 7, 2_000))
    job.books.may_write(job.token, count)
    command = "INSERT INTO soak_rows (token, part) VALUES ($1, $2)"
    sets = [(job.token, part) for part in range(count)]
    await job.pool.executemany(command, sets, timeout=job.limit)
    job.books.has_written(job.token, count)


async def fetchmany(job: Job) -> None:
    query = "SELECT $1::bigint + $2::int"
    rows = await job.pool.fetchmany(query, [(job.token, n) for n in range(5)], timeout=job.limit)
    expect([row[0] for row in rows], [job.token + n for n in range(5)], "fetchmany")


async def copy_in(job: Job) -> None:
    """Bytes, from an asynchronous source of chunks."""

    async def lines() -> AsyncIterator[bytes]:
        for part in range(20):
            await asyncio.sleep(0)
            yield f"{job.token}\t{part}\n".encode()

    job.books.may_write(job.token, 20)
    columns = ("token", "part")
    status = await job.pool.copy_to_table(
        "soak_rows", source=lines(), columns=columns, timeout=job.limit
    )
    expect(status, "COPY 20", "copy_to_table")
    job.books.has_written(job.token, 20)


async def copy_records_in(job: Job) -> None:
    count = job.random.choice((3, 3_000))
    job.books.may_write(job.token, count)
    records = [(job.token, part, "note") for part in range(count)]
    status = await job.pool.copy_records_to_table("soak_rows", records=records, timeout=job.limit)
    expect(status, f"COPY {count}", "copy_records_to_table")
    job.books.has_written(job.token, count)


async def copy_columns_in(job: Job) -> None:
    count = job.random.choice((3, 3_000))
    job.books.may_write(job.token, count)
    data = {"token": [job.token] * count, "part": list(range(count))}
    await job.pool.copy_columns_to_table("soak_rows", data, timeout=job.limit)
    job.books.has_written(job.token, count)


async def copy_out(job: Job) -> None:
    chunks: list[bytes] = []

    async def take(chunk: bytes) -> None:
        await asyncio.sleep(0)
        chunks.append(bytes(chunk))

    count = job.random.choice((1, 2_000))
    status = await job.pool.copy_from_query(
        SERIES, job.token, count, output=take, timeout=job.limit
    )
    expect(status, f"COPY {count}", "copy_from_query")
    lines = [f"{job.token}\t{n + 1}" for n in range(count)]
    expect(b"".join(chunks).decode().splitlines(), lines, "copy_from_query")


async def pipeline(job: Job) -> None:
    async with job.pool.pipeline(timeout=job.limit) as sent:
        values = [sent.fetchval("SELECT $1::bigint + $2::int", job.token, n) for n in range(4)]
        failing = sent.fetchval("SELECT $1::bigint / 0", job.token)
        rows = sent.fetch(SERIES, job.token, 3)
        if job.random.random() < 0.3:
            expect(await values[0].wait(), job.token, "the first of a pipeline")
        columns = sent.fetch_columns(SERIES, job.token, 10)
        with contextlib.suppress(DivisionByZeroError):
            await failing.wait()
    expect([value.result() for value in values], [job.token + n for n in range(4)], "a pipeline")
    expect([tuple(row) for row in rows.result()], [(job.token, n) for n in (1, 2, 3)], "its rows")
    check_columns(columns.result(), job.token, 1, 10)


class _UndoError(Exception):
    """Leaves a transaction."""


async def transaction(job: Job) -> None:
    """Of three parts, either the one in a savepoint is rolled back, or all are."""
    is_undone = job.random.random() < 0.3
    insert = "INSERT INTO soak_rows (token, part) VALUES ($1, $2)"
    job.books.may_write(job.token, 0 if is_undone else 2)
    async with job.connection() as connection:
        with contextlib.suppress(_UndoError):
            async with connection.transaction():
                await connection.execute(insert, job.token, 1, timeout=job.limit)
                with contextlib.suppress(_UndoError):
                    async with connection.transaction():
                        await connection.execute(insert, job.token, 2)
                        raise _UndoError
                async with connection.transaction():
                    await connection.execute(insert, job.token, 3)
                if is_undone:
                    raise _UndoError
        if not connection.is_closed():
            expect(connection.is_in_transaction(), False, "a transaction that has ended")
        if not is_undone:
            job.books.has_written(job.token, 2)


async def cursors(job: Job) -> None:
    async with job.connection() as connection, connection.transaction(readonly=True):
        seen = []
        async for row in connection.cursor(SERIES, job.token, 100, prefetch=20):
            seen.append(tuple(row))
            if len(seen) == 45:
                break
        expect(seen, [(job.token, n) for n in range(1, 46)], "a cursor's loop")
        cursor = await connection.cursor(SERIES, job.token, 50)
        expect(await cursor.forward(10), 10, "rows that a cursor passes over")
        rows = await cursor.fetch(5, timeout=job.limit)
        expect([tuple(row) for row in rows], [(job.token, n) for n in range(11, 16)], "a cursor")


async def prepared(job: Job) -> None:
    async with job.connection() as connection:
        statement = await connection.prepare(f"SELECT $1::bigint + $2::int AS sum -- {job.token}")
        for n in range(3):
            value = await statement.fetchval(job.token, n, timeout=job.limit)
            expect(value, job.token + n, "a prepared statement")
        columns = await statement.fetch_columns(job.token, 7)
        expect(columns["sum"].tolist(), [job.token + 7], "a prepared statement's columns")


async def notifications(job: Job) -> None:
    """A channel named after the token gives the token's notification, or the connection ends."""
    channel = f"soak_{job.token}"
    heard: asyncio.Queue[str | None] = asyncio.Queue()

    def hear(_connection: Any, _pid: int, name: str, payload: str) -> None:
        heard.put_nowait(payload if name == channel else f"{name}: {payload}")

    def ended(_connection: Any) -> None:
        heard.put_nowait(None)

    async with job.connection() as connection:
        connection.add_termination_listener(ended)
        try:
            await connection.add_listener(channel, hear)
            await job.pool.execute(f"NOTIFY {channel}, '{job.token}'", timeout=job.limit)
            payload = await heard.get()
            if payload is None:
                raise ConnectionResetError("the connection that listens has ended")
            expect(payload, str(job.token), "a notification")
            await connection.remove_listener(channel, hear)
        finally:
            connection.remove_termination_listener(ended)


async def listen(job: Job) -> None:
    channel = f"soak_{job.token}"
    async with colonnade.listen(job.dsn, channel, give_up_after=5.0) as notes:
        await job.pool.execute(f"NOTIFY {channel}, '{job.token}'", timeout=job.limit)
        async with asyncio.timeout(10):
            note = await anext(notes)
        expect(note.payload, str(job.token), "a notification of listen()")


async def settings(job: Job) -> None:
    """State that the next user must not find: settings, a cursor, a lock, a transaction."""
    async with job.connection() as connection:
        await connection.execute("SET search_path = pg_catalog; SET work_mem = '1MB'")
        await connection.execute("DECLARE left_over CURSOR WITH HOLD FOR SELECT 1")
        await connection.fetchval("SELECT pg_advisory_lock($1::bigint)", job.token)
        await connection.execute("BEGIN")
        value = await connection.fetchval("SELECT $1::bigint", job.token, timeout=job.limit)
        expect(value, job.token, "a value in a transaction")


async def statement_timeout(job: Job) -> None:
    async with job.connection() as connection:
        await connection.execute("SET statement_timeout = '3ms'")
        try:
            await connection.fetch("SELECT pg_sleep(5)", timeout=job.limit)
        except QueryCanceledError:
            await connection.execute("SET statement_timeout = 0")
            value = await connection.fetchval("SELECT $1::bigint", job.token)
            expect(value, job.token, "a value after statement_timeout")
            job.tally.faults["statement_timeout"] += 1
        else:
            raise WrongResultError("statement_timeout has not stopped a query")


async def lock_timeout(job: Job) -> None:
    """Two connections want the same lock; one of them must give up."""
    async with job.connection() as connection, connection.transaction():
        await connection.fetchval("SELECT pg_advisory_xact_lock($1::bigint)", job.token)
        async with await colonnade.connect(job.dsn) as other:
            await other.execute("SET lock_timeout = '3ms'")
            try:
                await other.fetchval("SELECT pg_advisory_lock($1::bigint)", job.token)
            except LockNotAvailableError:
                value = await other.fetchval("SELECT $1::bigint", job.token)
                expect(value, job.token, "a value after lock_timeout")
                job.tally.faults["lock_timeout"] += 1
            else:
                # Unless the first connection has been lost, which this call shows.
                await connection.execute("SELECT 1")
                raise WrongResultError("two connections have the same lock")


async def division_by_zero(job: Job) -> None:
    async with job.connection() as connection:
        for n in range(3):
            with contextlib.suppress(DivisionByZeroError):
                await connection.fetch(
                    "SELECT $1::bigint / (i - 3) FROM generate_series(1, 9) i", n
                )
                raise WrongResultError("a division by zero has a result")
            value = await connection.fetchval("SELECT $1::bigint + $2::int", job.token, n)
            expect(value, job.token + n, "a value after an error")


async def cancelled_within(job: Job) -> None:
    """A query is cancelled; the connection's next query gets its own answer."""
    async with job.connection() as connection:
        for n in range(3):
            call = job.random.choice((connection.fetch, connection.fetch_columns))
            seconds = job.random.choice((0.0, 0.0, 0.01, 5.0))
            query = f"{SERIES}, pg_sleep($3::float8)"
            asked = asyncio.ensure_future(call(query, job.token, 2_000, seconds))
            try:
                await asyncio.sleep(job.random.choice((0.0, 0.001, 0.004)))
            finally:
                asked.cancel()
            job.tally.faults["query cancelled on a connection"] += 1
            await asyncio.wait([asked])
            if not asked.cancelled():
                rows = asked.result()
                expect(len(rows), 2_000, "rows of a query that was cancelled too late")
            value = await connection.fetchval("SELECT $1::bigint + $2::int", job.token, n)
            expect(value, job.token + n, "a value after a cancelled query")


async def connect(job: Job) -> None:
    async with await colonnade.connect(job.dsn) as connection:
        value = await connection.fetchval("SELECT $1::bigint", job.token, timeout=job.limit)
        expect(value, job.token, "a value of a connection of its own")


async def parallel_read(job: Job) -> None:
    query = f"SELECT {job.token}::bigint AS token, i FROM generate_series(1, 400) AS i"
    columns = await parallel.read(query, job.dsn, partition_by="i", connections=2)
    check_columns(columns, job.token, 1, 400)


OPERATIONS: dict[str, tuple[int, Operation]] = {
    "fetch": (120, fetch),
    "fetchval": (160, fetchval),
    "fetchrow": (60, fetchrow_of_a_new_text),
    "slow fetchval": (60, fetchval_slowly),
    "fetch_columns": (80, fetch_columns),
    "iter_columns half-way": (40, iter_columns_half_way),
    "Pool.iter_columns": (20, iter_columns_of_the_pool),
    "executemany": (40, executemany),
    "fetchmany": (30, fetchmany),
    "copy_to_table": (40, copy_in),
    "copy_records_to_table": (25, copy_records_in),
    "copy_columns_to_table": (25, copy_columns_in),
    "copy_from_query": (40, copy_out),
    "pipeline": (50, pipeline),
    "transaction": (50, transaction),
    "cursor": (30, cursors),
    "prepare": (30, prepared),
    "add_listener": (20, notifications),
    "listen": (4, listen),
    "settings": (20, settings),
    "statement_timeout": (12, statement_timeout),
    "lock_timeout": (8, lock_timeout),
    "division by zero": (20, division_by_zero),
    "cancelled within": (30, cancelled_within),
    "connect": (12, connect),
    "parallel.read": (3, parallel_read),
}
"""The kinds of operations with their weights."""
