# Generated from tests/async/test_error_notes.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Notes of errors: the position in the query, the placeholder, the limit, the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import (
    InterfaceError,
    InvalidCatalogNameError,
    InvalidPasswordError,
    MissingPasswordError,
    PostgresError,
    PostgresSyntaxError,
    UndefinedColumnError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.servers import ServerUnderTest

LIMIT_S = 0.05
SLOW = "SELECT 1 FROM pg_sleep(60)"


def notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", []))


RUNS: list[Callable[[Any, str], Any]] = [
    lambda c, query: c.fetchval(query),
    lambda c, query: c.fetch_columns(query),
    lambda c, query: c.execute(query),
    lambda c, query: c.prepare(query),
    lambda c, query: c.executemany(query, [()]),
    lambda c, query: c.fetch_result(query),
]


@pytest.mark.parametrize("run", RUNS)
def test_the_place_in_the_query(
    connection: colonnade.sync.Connection, run: Callable[[Any, str], Any]
) -> None:
    query = "SELECT 1,\n\tno_such_thing\nFROM pg_class"
    for _ in range(2):
        with pytest.raises(UndefinedColumnError) as caught:
            run(connection, query)
        assert notes(caught.value) == ["LINE 2:  no_such_thing\n         ^"]
        assert str(caught.value) == 'column "no_such_thing" does not exist'


def test_the_place_in_a_stream_a_cursor_and_a_pipeline(
    connection: colonnade.sync.Connection,
) -> None:
    query = "SELECT no_such_thing"
    expected = ["LINE 1: SELECT no_such_thing\n               ^"]
    with pytest.raises(UndefinedColumnError) as caught:
        for _ in connection.iter_columns(query):
            pass
    assert notes(caught.value) == expected
    with pytest.raises(UndefinedColumnError) as caught:
        with connection.pipeline() as pipeline:
            pipeline.fetchval(query)
    assert notes(caught.value) == expected
    with pytest.raises(UndefinedColumnError) as caught:
        with connection.transaction():
            connection.cursor(query).open()
    assert notes(caught.value) == expected


def test_the_place_in_a_function(connection: colonnade.sync.Connection) -> None:
    with pytest.raises(PostgresError) as caught:
        connection.execute("DO $$ BEGIN PERFORM no_such_thing; END $$")
    assert notes(caught.value) == ["LINE 1: SELECT no_such_thing\n               ^"]


def test_no_place_in_text_that_the_caller_has_not_written(
    connection: colonnade.sync.Connection,
) -> None:
    with pytest.raises(PostgresError) as caught:
        connection.copy_columns_to_table("no_such_table", {"a": [1]})
    assert notes(caught.value) == []


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("SELECT * FROM pg_class WHERE relname = %s", "%s"),
        ("SELECT * FROM pg_class WHERE relname = %(name)s", "%(name)s"),
        ("SELECT * FROM pg_class WHERE relname = :name", ":name"),
        ("SELECT * FROM pg_class WHERE relname = ?", "?"),
        ("SELECT * FROM pg_class WHERE relname = ? AND relkind = 'r'", "?"),
        ("INSERT INTO t VALUES (%s, %s)", "%s"),
        ("INSERT INTO t VALUES (?, ?)", "?"),
    ],
)
def test_the_placeholder_of_another_interface(
    connection: colonnade.sync.Connection, query: str, written: str
) -> None:
    with pytest.raises(PostgresSyntaxError) as caught:
        connection.fetch(query)
    place, hint = notes(caught.value)
    assert place.startswith("LINE 1: ")
    assert hint.startswith(f"HINT: {written} is not a placeholder here: parameters are $1, $2")


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("SELECT * FROM pg_class WHERE oid=%s", "%s"),
        ("SELECT * FROM pg_class WHERE oid >%s AND relpages = 1", "%s"),
        ("SELECT * FROM pg_class WHERE oid =%(oid)s", "%(name)s"),
        ("SELECT * FROM pg_class WHERE oid=%(id)s", "%(name)s"),
        ("SELECT 1=%s FROM (SELECT 1 AS s) AS t", "%s"),
    ],
)
def test_a_placeholder_that_is_read_as_an_operator(
    connection: colonnade.sync.Connection, query: str, written: str
) -> None:
    with pytest.raises(PostgresError) as caught:
        connection.fetch(query)
    _place, hint = notes(caught.value)
    assert hint.startswith(f"HINT: {written} is not a placeholder here: ")


@pytest.mark.parametrize("query", ["SELECT 1 WHERE 1 IN $1", "SELECT 1 WHERE 1 not in\n$1"])
def test_a_list_for_in(connection: colonnade.sync.Connection, query: str) -> None:
    with pytest.raises(PostgresSyntaxError) as caught:
        connection.fetch(query, [1, 2])
    _place, hint = notes(caught.value)
    assert "write = ANY ($1) for IN, <> ALL ($1) for NOT IN" in hint
    for right in ("1 = ANY ($1)", "NOT 3 = ANY ($1)", "3 <> ALL ($1)"):
        assert connection.fetchval(f"SELECT {right}", [1, 2]) is True


def test_other_names_have_no_hint(connection: colonnade.sync.Connection) -> None:
    for query in ("SELECT s", "SELECT 1 % nosuch", "SELECT nosuch, '%s'", "SELECT 1 =% 'a'"):
        with pytest.raises(PostgresError) as caught:
            connection.fetch(query)
        assert len(notes(caught.value)) == 1


def test_other_syntax_errors_have_no_hint(connection: colonnade.sync.Connection) -> None:
    for query in ("SELEC 1", "SELECT FROM WHERE", "SELECT '%s' FROM FROM x", "SELECT 1 +"):
        with pytest.raises(PostgresSyntaxError) as caught:
            connection.fetch(query)
        assert len(notes(caught.value)) == 1
    with pytest.raises(PostgresSyntaxError) as caught:
        connection.fetch("\\d pg_class")
    assert "psql's, not SQL" in notes(caught.value)[1]


def test_a_list_for_several_parameters(connection: colonnade.sync.Connection) -> None:
    for given, kind in (([1, 2], "list"), ((1, 2), "tuple")):
        with pytest.raises(InterfaceError, match=rf"a {kind} of 2: pass its items as separate"):
            connection.fetchval("SELECT $1::int + $2::int", given)
    with pytest.raises(InterfaceError) as caught:
        connection.fetchval("SELECT $1::int + $2::int", [1])
    assert "separate arguments" not in str(caught.value)


def test_a_cursor_without_a_query(connection: colonnade.sync.Connection) -> None:
    make: Any = connection.cursor
    with pytest.raises(TypeError, match=r"colonnade\.dbapi\.connect.*colonnade\.read_sql"):
        make()


def test_an_unknown_key_of_a_record(connection: colonnade.sync.Connection) -> None:
    record: Any = connection.fetchrow("SELECT 1 AS a, 2 AS b")
    with pytest.raises(KeyError) as caught:
        record["c"]
    assert caught.value.args == ("c",)
    assert notes(caught.value) == ["the record has: a, b"]
    assert record.get("c") is None
    with pytest.raises(KeyError) as caught:
        record[(1, 2)]
    assert caught.value.args == ((1, 2),)


# Time limits


LATE: list[tuple[str, Callable[[Any], Any]]] = [
    ("the query did not end", lambda c: c.fetchval(SLOW, timeout=LIMIT_S)),
    ("the query did not end", lambda c: c.execute(SLOW, timeout=LIMIT_S)),
    ("the query did not end", lambda c: c.fetch_columns(SLOW, timeout=LIMIT_S)),
    ("the query did not end", lambda c: c.executemany(SLOW, [()], timeout=LIMIT_S)),
    ("the COPY did not end", lambda c: c.copy_from_query(SLOW, output=_take, timeout=LIMIT_S)),
]


def _take(chunk: bytes) -> None:
    del chunk


@pytest.mark.parametrize(("what", "call"), LATE)
def test_a_limit_says_what_was_waited_for(
    connection: colonnade.sync.Connection, what: str, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(TimeoutError) as caught:
        call(connection)
    assert str(caught.value) == f"{what} within 0.05 s"
    assert connection.fetchval("SELECT 1") == 1


def test_a_limit_of_a_stream_a_pipeline_and_a_cursor(
    connection: colonnade.sync.Connection,
) -> None:
    with pytest.raises(TimeoutError, match=r"^no batch of columns came within 0.05 s$"):
        for _ in connection.iter_columns(SLOW, timeout=LIMIT_S):
            pass
    message = r"^the answers to a pipeline did not come within 0.05 s$"
    with pytest.raises(TimeoutError, match=message):
        with connection.pipeline(timeout=LIMIT_S) as pipeline:
            pipeline.fetchval(SLOW)
    with connection.transaction():
        cursor = connection.cursor(SLOW).open()
        with pytest.raises(TimeoutError, match=r"^the query did not end within 0.05 s$"):
            cursor.fetch(1, timeout=LIMIT_S)


def test_the_limit_of_the_connection(dsn: str) -> None:
    with colonnade.sync.connect(dsn, command_timeout=LIMIT_S) as connection:
        for call in (connection.fetchval, connection.fetch_columns):
            with pytest.raises(TimeoutError) as caught:
                call(SLOW)
            message = "the query did not end within 0.05 s (command_timeout)"
            assert str(caught.value) == message


def test_the_limit_of_an_acquire(dsn: str) -> None:
    with colonnade.sync.create_pool(dsn, min_size=1, max_size=2) as pool:
        lent = [pool.acquire() for _ in range(2)]
        with pytest.raises(TimeoutError) as caught:
            pool.acquire(timeout=LIMIT_S)
        message = "no connection was free within 0.05 s: size 2, busy 2, waiting 0"
        assert str(caught.value) == message
        for one in lent:
            pool.release(one)


# Refused logins


def test_a_refused_login_says_where_and_who(server: ServerUnderTest) -> None:
    wrong: dict[type[BaseException], dict[str, Any]] = {
        InvalidCatalogNameError: {"database": "nowhere"},
        PostgresError: {"user": "no such role"},
    }
    for kind, options in wrong.items():
        with pytest.raises(kind) as caught:
            colonnade.sync.connect(server.dsn, **options)
        (note,) = notes(caught.value)
        assert note.startswith("while connecting to 127.0.0.1:")
        user = "(not shown: it may hold a secret)" if "user" in options else "'postgres'"
        assert note.endswith(f"as user {user}, database '{options.get('database', 'postgres')}'")


def test_a_wrong_password_is_not_told(password_server: embedded.Server) -> None:
    for kind, password in ((InvalidPasswordError, "a secret"), (MissingPasswordError, None)):
        with pytest.raises(kind) as caught:
            colonnade.sync.connect(password_server.dsn_for("scram_plain"), password=password)
        (note,) = notes(caught.value)
        assert "as user 'scram_plain', database " in note
        assert "secret" not in note + str(caught.value)
