"""Failures leave nothing behind, however many: no object, no byte of the core."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import operator
import socket
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import pytest

import colonnade
import colonnade.dbapi
import colonnade.sync
from colonnade import tracing
from tests.leaks.conftest import FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    LeavesNothing = Callable[..., None]

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore::ResourceWarning")]

ROWS = 600
# More than a connection caches.
STATEMENTS_KEPT = 120
PLACES = (1, ROWS // 2, ROWS)


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[colonnade.sync.Connection]:
    """One connection for all failures; the first ones fill its caches."""
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMP TABLE kept (id int PRIMARY KEY, name text NOT NULL)")
        connection.execute("INSERT INTO kept VALUES (1, 'first')")
        yield connection


def failing(
    error: type[BaseException], work: Callable[..., object], *arguments: object, **options: Any
) -> Callable[[], None]:
    """A function that must fail with this error for these arguments."""

    def turn() -> None:
        try:
            work(*arguments, **options)
        except error:
            return
        raise AssertionError("it has not failed")

    return turn


def refuse(*_: object) -> NoReturn:
    """A user's function that raises."""
    raise ZeroDivisionError("a callback's own")


# Statements


def test_syntax_errors(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    leaves_nothing(failing(colonnade.PostgresSyntaxError, lambda: connection.fetch("SELEC 1")))


def test_new_texts_that_fail(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    numbers = iter(range(10**9))
    query = "SELECT 1 / ($1::int - $1) AS column_{}"
    leaves_nothing(
        failing(
            colonnade.DivisionByZeroError,
            lambda: connection.fetch_columns(query.format(next(numbers) % 300), 7),
        ),
        filling=STATEMENTS_KEPT,
    )


def test_parameters(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    def turn() -> None:
        for arguments in (("x",), (2**40,), (object(),)):
            failing(colonnade.EncodeError, connection.fetch, "SELECT $1::int", *arguments)()
        for wrong in ((1, 2), ()):
            failing(colonnade.InterfaceError, connection.fetch, "SELECT $1::int", *wrong)()
        nested = [1, 2, [3], "x"]
        failing(colonnade.EncodeError, connection.fetch, "SELECT $1::int[]", nested)()

    leaves_nothing(turn)


def test_executemany(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    rows = [(2, "second"), (3, "third"), (1, "again")]
    insert = "INSERT INTO kept VALUES ($1, $2)"

    def turn() -> None:
        failing(colonnade.UniqueViolationError, lambda: connection.executemany(insert, rows))()
        failing(
            colonnade.EncodeError,
            lambda: connection.executemany(insert, [*rows[:2], (4, object())]),
        )()

    leaves_nothing(turn)


# Values


@pytest.mark.parametrize("place", PLACES)
def test_columns_that_cannot_be(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing, place: int
) -> None:
    query = (
        "SELECT n, n::text, CASE WHEN n = $1 THEN 'infinity' ELSE date '2020-01-01' END, ARRAY[n] "
        f"FROM generate_series(1, {ROWS}) AS n"
    )
    leaves_nothing(failing(colonnade.DecodeError, lambda: connection.fetch_columns(query, place)))


@pytest.mark.parametrize("place", PLACES)
def test_rows_that_cannot_be(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing, place: int
) -> None:
    query = (
        "SELECT n, n::text, CASE WHEN n = $1 THEN timestamp '10000-01-01' "
        "ELSE timestamp '2020-01-01' END, ARRAY[n], n::numeric "
        f"FROM generate_series(1, {ROWS}) AS n"
    )
    leaves_nothing(failing(colonnade.DecodeError, lambda: connection.fetch(query, place)))


# Streams, COPY


def test_streams_that_nobody_reads_on(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    def turn() -> None:
        query = "SELECT n, n::text FROM generate_series(1, 2000) AS n"
        for read in (0, 1, 3):
            stream = connection.iter_columns(query, batch_rows=100)
            for _ in range(read):
                next(stream)
            if read == 1:
                stream.close()
            del stream

    leaves_nothing(turn)


def test_copy_in(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    nameless = {"id": np.arange(5, 1005), "name": np.array([None] * 1000, object)}

    def failing_source() -> Iterator[tuple[int, str]]:
        yield 7, "seventh"
        raise ZeroDivisionError

    def turn() -> None:
        copy = connection.copy_records_to_table
        for rows in ([(5, "fifth"), (6, None)], [(5, "fifth"), (1, "again")]):
            failing(colonnade.IntegrityConstraintViolationError, copy, "kept", records=rows)()
        failing(colonnade.EncodeError, lambda: copy("kept", records=[(5, "x"), ("y", 6)]))()
        failing(ZeroDivisionError, lambda: copy("kept", records=failing_source()))()
        failing(
            colonnade.NotNullViolationError,
            lambda: connection.copy_columns_to_table("kept", nameless),
        )()
        failing(
            colonnade.PostgresError,
            lambda: connection.copy_to_table("kept", source=io.BytesIO(b"1\tx\n\\.\nx")),
        )()

    leaves_nothing(turn)


def test_copy_out(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    query = "SELECT n, 1 / (n - 900) FROM generate_series(1, 1000) AS n"

    def turn() -> None:
        failing(
            colonnade.DivisionByZeroError,
            lambda: connection.copy_from_query(query, output=io.BytesIO()),
        )()
        failing(ZeroDivisionError, lambda: connection.copy_from_query("SELECT 1", output=refuse))()

    leaves_nothing(turn)


# Timeouts and connections


def test_timeouts(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    leaves_nothing(
        failing(TimeoutError, lambda: connection.fetch("SELECT pg_sleep(9)", timeout=0.001)),
        failures=max(20, FAILURES // 8),
    )


def test_connections_that_are_refused(dsn: str, leaves_nothing: LeavesNothing) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        nowhere = f"postgresql://somebody@127.0.0.1:{port}/postgres?sslmode=disable"
        nobody = dsn.rpartition("/")[0] + "/no_such_database"

        def turn() -> None:
            failing(OSError, lambda: colonnade.sync.connect(nowhere))()

        leaves_nothing(turn)
        leaves_nothing(
            failing(colonnade.InvalidCatalogNameError, lambda: colonnade.sync.connect(nobody)),
            failures=max(20, FAILURES // 8),
        )


def test_pools_with_nothing_to_give(dsn: str, leaves_nothing: LeavesNothing) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=1) as pool, pool.acquire():
        leaves_nothing(failing(TimeoutError, lambda: pool.acquire(timeout=0.0005)))


# Callbacks


def test_codecs(connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing) -> None:
    options: dict[str, Any] = {"encoder": refuse, "decoder": refuse, "schema": "pg_catalog"}
    connection.set_type_codec("macaddr", **options)
    query = "SELECT n, NULLIF(n, 300) * 0, CASE WHEN n > 300 THEN macaddr '08:00:2b:01:02:03' END"
    query += " FROM generate_series(1, 600) AS n"

    def turn() -> None:
        failing(ZeroDivisionError, lambda: connection.fetch(query))()
        failing(ZeroDivisionError, lambda: connection.fetch_columns(query).to_pylist())()
        failing(colonnade.EncodeError, lambda: connection.fetch("SELECT $1::macaddr", "x"))()

    leaves_nothing(turn)
    connection.reset_type_codec("macaddr", schema="pg_catalog")


def test_row_factories(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    query = "SELECT n, ARRAY[n] FROM generate_series(1, 50) AS n"
    leaves_nothing(failing(ZeroDivisionError, lambda: connection.fetch(query, row_factory=refuse)))


def test_loggers_and_tracers(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    def turn() -> None:
        with connection.query_logger(refuse), contextlib.suppress(ZeroDivisionError):
            connection.fetch("SELECT 1")
        with connection.query_logger(refuse):
            failing(colonnade.PostgresSyntaxError, lambda: connection.fetch("SELEC"))()

    assert tracing.active is None
    # The test runner would keep logged records.
    logging.disable()
    try:
        leaves_nothing(turn)
    finally:
        logging.disable(logging.NOTSET)


def test_record_classes(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    class Own(colonnade.Record):
        pass

    class Refusing(colonnade.Record):
        def __new__(cls) -> Self:
            raise NotImplementedError

    def turn() -> None:
        row: Any = connection.fetchrow("SELECT 1, 'x', ARRAY[1, 2]", record_class=Own)
        # A cycle, which only the garbage collector frees.
        row.itself = row
        atomic: Any = connection.fetchrow("SELECT 1", record_class=Own)
        atomic.itself = atomic
        failing(
            colonnade.InterfaceError, lambda: connection.fetch("SELECT 1", record_class=Refusing)
        )()

    leaves_nothing(turn)


def test_records_that_are_asked_for_what_they_have_not(
    connection: colonnade.sync.Connection, leaves_nothing: LeavesNothing
) -> None:
    """There is no call of the driver in between that could clean up."""
    row: Any = connection.fetchrow("SELECT 1 AS known, 'x'")

    def turn() -> None:
        for key in ("unknown", ("known",), 1.5, None):
            failing(KeyError, row.__getitem__, key)()
        for index in (2, -3, 2**70):
            failing(IndexError, row.__getitem__, index)()
        failing(TypeError, row.__getitem__, slice("a", None))()
        failing(TypeError, row.get)()
        failing(TypeError, operator.lt, row, 1)()
        failing(TypeError, colonnade.Record)()

    leaves_nothing(turn)


# Exceptions


def test_an_error_keeps_no_connection_alive_that_is_dropped(dsn: str) -> None:
    connection = colonnade.sync.connect(dsn)
    seen = weakref.ref(connection)
    errors = []
    for query in ("SELEC", "SELECT 1 / 0", "SELECT 'infinity'::date"):
        try:
            connection.fetch_columns(query)
        except colonnade.PostgresError as error:
            errors.append(error.with_traceback(None))
    assert len(errors) == 3
    connection.close()
    del connection
    gc.collect()
    assert seen() is None


def test_dbapi(dsn: str, leaves_nothing: LeavesNothing) -> None:
    with colonnade.dbapi.connect(dsn) as connection:

        def turn() -> None:
            with contextlib.suppress(colonnade.dbapi.ProgrammingError):
                connection.cursor().execute("SELEC %s", [1])
            connection.rollback()
            with contextlib.suppress(colonnade.dbapi.ProgrammingError):
                connection.cursor("named").execute("SELEC")
            connection.rollback()
            with contextlib.suppress(colonnade.dbapi.DataError):
                connection.execute("SELECT 1 / %s", [0])
            connection.rollback()

        leaves_nothing(turn, filling=STATEMENTS_KEPT)
