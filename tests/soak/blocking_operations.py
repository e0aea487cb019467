"""Operations on a blocking connection, for threads and for a program that Ctrl-C interrupts.

As in `operations` for tasks, an operation returns if all its results were its own.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from colonnade.errors import DivisionByZeroError, QueryCanceledError
from tests.soak.books import WrongResultError, expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from tests.soak.books import Books

    Operation = Callable[["Job"], None]

SERIES = "SELECT $1::bigint AS token, i FROM generate_series(1, $2::int) AS i"
INSERT = "INSERT INTO soak_rows (token, part) VALUES ($1, $2)"


@dataclass(slots=True)
class Job:
    """The objects that an operation uses."""

    connection: Any
    """A `colonnade.sync.Connection`, or a pool's proxy for one."""
    token: int
    random: Random
    books: Books
    limit: float | None = None
    """The call's own `timeout`, in seconds."""


def check_columns(columns: Any, token: int, first: int, last: int) -> None:
    expect(columns["i"].tolist(), list(range(first, last + 1)), "numbers of columns")
    expect(set(columns["token"].tolist()) - {token}, set(), "tokens of columns")


def fetch(job: Job) -> None:
    count = job.random.choice((0, 1, 3, 200))
    rows = job.connection.fetch(SERIES, job.token, count, timeout=job.limit)
    expect([tuple(row) for row in rows], [(job.token, n + 1) for n in range(count)], "fetch")


def fetchval(job: Job) -> None:
    value = job.connection.fetchval("SELECT $1::bigint", job.token, timeout=job.limit)
    expect(value, job.token, "fetchval")


def fetchrow_of_a_new_text(job: Job) -> None:
    query = f"SELECT {job.token} AS token, $1::text AS note"
    row = job.connection.fetchrow(query, f"n{job.token}", timeout=job.limit)
    expect(tuple(row), (job.token, f"n{job.token}"), "fetchrow")


def fetchval_slowly(job: Job) -> None:
    query, seconds = "SELECT $1::bigint FROM pg_sleep($2::float8)", job.random.uniform(0.0, 0.02)
    value = job.connection.fetchval(query, job.token, seconds, timeout=job.limit)
    expect(value, job.token, "a slow fetchval")


def fetch_columns(job: Job) -> None:
    count = job.random.choice((0, 1, 100, 5_000))
    columns = job.connection.fetch_columns(SERIES, job.token, count, timeout=job.limit)
    check_columns(columns, job.token, 1, count)


def iter_columns_half_way(job: Job) -> None:
    wanted = job.random.randint(1, 6)
    stream = job.connection.iter_columns(SERIES, job.token, 3_000, batch_rows=500)
    for number, batch in enumerate(stream, 1):
        check_columns(batch, job.token, 500 * number - 499, 500 * number)
        if number == wanted:
            break
    stream.close()
    value = job.connection.fetchval("SELECT $1::bigint", job.token)
    expect(value, job.token, "a value after a stream")


def executemany(job: Job) -> None:
    count = job.random.choice((1, 7, 2_000))
    job.books.may_write(job.token, count)
    sets = [(job.token, part) for part in range(count)]
    job.connection.executemany(INSERT, sets, timeout=job.limit)
    job.books.has_written(job.token, count)


def fetchmany(job: Job) -> None:
    query, sets = "SELECT $1::bigint + $2::int", [(job.token, n) for n in range(5)]
    rows = job.connection.fetchmany(query, sets, timeout=job.limit)
    expect([row[0] for row in rows], [job.token + n for n in range(5)], "fetchmany")


def copy_in(job: Job) -> None:
    def lines() -> Iterator[bytes]:
        for part in range(20):
            yield f"{job.token}\t{part}\n".encode()

    job.books.may_write(job.token, 20)
    columns = ("token", "part")
    status = job.connection.copy_to_table(
        "soak_rows", source=lines(), columns=columns, timeout=job.limit
    )
    expect(status, "COPY 20", "copy_to_table")
    job.books.has_written(job.token, 20)


def copy_records_in(job: Job) -> None:
    count = job.random.choice((3, 3_000))
    job.books.may_write(job.token, count)
    records = [(job.token, part, "note") for part in range(count)]
    status = job.connection.copy_records_to_table("soak_rows", records=records, timeout=job.limit)
    expect(status, f"COPY {count}", "copy_records_to_table")
    job.books.has_written(job.token, count)


def copy_columns_in(job: Job) -> None:
    count = job.random.choice((3, 3_000))
    job.books.may_write(job.token, count)
    data = {"token": [job.token] * count, "part": list(range(count))}
    job.connection.copy_columns_to_table("soak_rows", data, timeout=job.limit)
    job.books.has_written(job.token, count)


def copy_out(job: Job) -> None:
    chunks: list[bytes] = []

    def take(chunk: bytes) -> None:
        chunks.append(bytes(chunk))

    count = job.random.choice((1, 2_000))
    status = job.connection.copy_from_query(
        SERIES, job.token, count, output=take, timeout=job.limit
    )
    expect(status, f"COPY {count}", "copy_from_query")
    lines = [f"{job.token}\t{n + 1}" for n in range(count)]
    expect(b"".join(chunks).decode().splitlines(), lines, "copy_from_query")


def pipeline(job: Job) -> None:
    with job.connection.pipeline(timeout=job.limit) as sent:
        values = [sent.fetchval("SELECT $1::bigint + $2::int", job.token, n) for n in range(4)]
        rows = sent.fetch(SERIES, job.token, 3)
        if job.random.random() < 0.3:
            expect(values[0].wait(), job.token, "the first of a pipeline")
        columns = sent.fetch_columns(SERIES, job.token, 10)
    expect([value.result() for value in values], [job.token + n for n in range(4)], "a pipeline")
    expect([tuple(row) for row in rows.result()], [(job.token, n) for n in (1, 2, 3)], "its rows")
    check_columns(columns.result(), job.token, 1, 10)


class _UndoError(Exception):
    """Leaves a transaction."""


def transaction(job: Job) -> None:
    is_undone = job.random.random() < 0.3
    job.books.may_write(job.token, 0 if is_undone else 2)
    connection = job.connection
    with contextlib.suppress(_UndoError), connection.transaction():
        connection.execute(INSERT, job.token, 1, timeout=job.limit)
        with contextlib.suppress(_UndoError), connection.transaction():
            connection.execute(INSERT, job.token, 2)
            raise _UndoError
        with connection.transaction():
            connection.execute(INSERT, job.token, 3)
        if is_undone:
            raise _UndoError
    if not connection.is_closed():
        expect(connection.is_in_transaction(), False, "a transaction that has ended")
    if not is_undone:
        job.books.has_written(job.token, 2)


def cursors(job: Job) -> None:
    with job.connection.transaction(readonly=True):
        seen = []
        for row in job.connection.cursor(SERIES, job.token, 100, prefetch=20):
            seen.append(tuple(row))
            if len(seen) == 45:
                break
        expect(seen, [(job.token, n) for n in range(1, 46)], "a cursor's loop")
        cursor = job.connection.cursor(SERIES, job.token, 50).open()
        expect(cursor.forward(10), 10, "rows that a cursor passes over")
        rows = cursor.fetch(5, timeout=job.limit)
        expect([tuple(row) for row in rows], [(job.token, n) for n in range(11, 16)], "a cursor")


def prepared(job: Job) -> None:
    statement = job.connection.prepare(f"SELECT $1::bigint + $2::int AS sum -- {job.token}")
    for n in range(3):
        value = statement.fetchval(job.token, n, timeout=job.limit)
        expect(value, job.token + n, "a prepared statement")
    columns = statement.fetch_columns(job.token, 7)
    expect(columns["sum"].tolist(), [job.token + 7], "a prepared statement's columns")


def notifications(job: Job) -> None:
    channel = f"soak_{job.token}"
    with job.connection.notifications(channel, timeout=10, stop_after=1) as notes:
        job.connection.execute(f"NOTIFY {channel}, '{job.token}'")
        payloads = [note.payload for note in notes]
    expect(payloads, [str(job.token)], "notifications")


def statement_timeout(job: Job) -> None:
    connection = job.connection
    connection.execute("SET statement_timeout = '3ms'")
    try:
        connection.fetch("SELECT pg_sleep(5)", timeout=job.limit)
    except QueryCanceledError:
        pass
    else:
        raise WrongResultError("statement_timeout has not stopped a query")
    finally:
        if not connection.is_closed():
            connection.execute("SET statement_timeout = 0")
    value = connection.fetchval("SELECT $1::bigint", job.token)
    expect(value, job.token, "a value after statement_timeout")


def division_by_zero(job: Job) -> None:
    for n in range(3):
        with contextlib.suppress(DivisionByZeroError):
            job.connection.fetch("SELECT $1::bigint / (i - 3) FROM generate_series(1, 9) i", n)
            raise WrongResultError("a division by zero has a result")
        value = job.connection.fetchval("SELECT $1::bigint + $2::int", job.token, n)
        expect(value, job.token + n, "a value after an error")


OPERATIONS: dict[str, tuple[int, Operation]] = {
    "fetch": (120, fetch),
    "fetchval": (160, fetchval),
    "fetchrow": (60, fetchrow_of_a_new_text),
    "slow fetchval": (60, fetchval_slowly),
    "fetch_columns": (80, fetch_columns),
    "iter_columns half-way": (50, iter_columns_half_way),
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
    "notifications": (20, notifications),
    "statement_timeout": (12, statement_timeout),
    "division by zero": (20, division_by_zero),
}
"""The kinds of operations with their weights."""


def chosen(random: Random) -> str:
    """Choose the kind of the next operation."""
    weights = [weight for weight, _ in OPERATIONS.values()]
    return random.choices(list(OPERATIONS), weights)[0]
