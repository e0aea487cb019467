"""The classes of errors, and their attributes."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import psycopg
import pytest

import colonnade
from colonnade import dbapi, errors
from colonnade._pep249.errors import translated

_CLASSES = (
    "DataError",
    "DatabaseError",
    "IntegrityError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
)


def _states() -> list[tuple[str, type[errors.PostgresError]]]:
    found = [getattr(errors, name) for name in errors.__all__]
    kinds = [kind for kind in found if isinstance(kind, type)]
    mine = [kind for kind in kinds if issubclass(kind, errors.PostgresError) and kind.sqlstate]
    # These are raised by the driver, with SQLSTATEs of the server.
    mine = [kind for kind in mine if not issubclass(kind, errors.DecodeError | errors.EncodeError)]
    return [(str(kind.sqlstate), kind) for kind in mine]


def test_the_classes_are_psycopgs() -> None:
    compared = 0
    for state, kind in _states():
        try:
            theirs = psycopg.errors.lookup(state)
        except KeyError:
            continue
        error = kind("text")
        error.sqlstate = state
        made = translated(error)
        base = next(each.__name__ for each in theirs.__mro__ if each.__name__ in _CLASSES)
        assert type(made).__name__ == base, state
        compared += 1
    assert compared > 200


def test_every_error_is_an_error_of_the_module_and_of_the_connection() -> None:
    for name in (*_CLASSES, "Error", "InterfaceError"):
        kind = getattr(dbapi, name)
        assert issubclass(kind, dbapi.Error)
        assert getattr(dbapi.Connection, name) is kind
    assert not issubclass(dbapi.InterfaceError, dbapi.DatabaseError)


def test_what_the_server_says(conn: dbapi.Connection) -> None:
    conn.execute("CREATE TEMP TABLE t (n int CONSTRAINT positive CHECK (n > 0))")
    with pytest.raises(dbapi.IntegrityError) as caught:
        conn.execute("INSERT INTO t VALUES (-1)")
    error = caught.value
    assert error.sqlstate == "23514"
    assert isinstance(error.__cause__, colonnade.CheckViolationError)
    with psycopg.connect(f"{_dsn(conn)}") as peer:
        peer.execute("CREATE TEMP TABLE t (n int CONSTRAINT positive CHECK (n > 0))")
        with pytest.raises(psycopg.IntegrityError) as other:
            peer.execute("INSERT INTO t VALUES (-1)")
    diag = other.value.diag
    names = [name for name in dir(diag) if not name.startswith("_")]
    assert {name: getattr(error.diag, name) for name in names} | {"schema_name": None} == {
        name: getattr(diag, name) for name in names
    } | {"schema_name": None}


def _dsn(conn: dbapi.Connection) -> str:
    info = conn.info
    return f"host={info.host} port={info.port} dbname={info.dbname} user={info.user}"


def test_errors_of_the_driver(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.DataError) as caught:
        conn.execute("SELECT %s::int", ({"a": 1},))
    assert isinstance(caught.value.__cause__, errors.EncodeError)
    assert caught.value.sqlstate is None
    assert caught.value.diag.message_primary is None
    with pytest.raises(dbapi.DataError, match="timedelta"):
        conn.execute("SELECT '178000000 years'::interval").fetchone()


def test_connecting_to_nothing() -> None:
    with pytest.raises(dbapi.OperationalError) as caught:
        dbapi.connect("host=127.0.0.1 port=1")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(dbapi.ProgrammingError):
        dbapi.connect("host=127.0.0.1 port=none")
    with pytest.raises(dbapi.ProgrammingError, match="sslmode must be a str, not list"):
        dbapi.connect("host=127.0.0.1 port=1", sslmode=[])


def test_errors_are_pickled(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        conn.execute("SELECT nothing")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - our own
    assert (type(again), str(again), again.sqlstate) == (
        dbapi.ProgrammingError,
        str(caught.value),
        "42703",
    )
    assert again.diag.message_primary == caught.value.diag.message_primary


def test_errors_name_the_public_module_before_it_is_imported() -> None:
    """SQLAlchemy's messages begin with the module of the error's class."""
    program = (
        "import sys\n"
        "from colonnade.sqlalchemy.dialect import ColonnadeDialect\n"
        "error = ColonnadeDialect.import_dbapi().IntegrityError\n"
        "assert 'colonnade.dbapi' not in sys.modules\n"
        "from colonnade import dbapi\n"
        "assert error is dbapi.IntegrityError\n"
        "print(error.__module__)"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert told.stdout == b"colonnade.dbapi\n"


def test_use_after_close(dsn: str) -> None:
    conn = dbapi.connect(dsn)
    cur = conn.execute("SELECT 1")
    conn.close()
    conn.close()
    for use in (
        conn.commit,
        conn.rollback,
        conn.cursor,
        cur.fetchone,
        lambda: cur.execute("SELECT 1"),
    ):
        with pytest.raises(dbapi.Error, match="closed"):
            use()


def test_notices(conn: dbapi.Connection) -> None:
    told: list[dbapi.Diagnostic] = []
    conn.add_notice_handler(told.append)
    conn.execute("DO $$ BEGIN RAISE NOTICE 'one %', 1; RAISE WARNING 'two'; END $$")
    conn.remove_notice_handler(told.append)
    conn.execute("DO $$ BEGIN RAISE NOTICE 'three'; END $$")
    said = [(each.severity_nonlocalized, each.message_primary) for each in told]
    assert said == [("NOTICE", "one 1"), ("WARNING", "two")]


def test_a_connection_nobody_closes_warns(dsn: str) -> None:
    conn = dbapi.connect(dsn)
    driver = conn.driver_connection
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del conn
    assert caught == []
    driver.close()


def test_cancelling_from_another_thread(conn: dbapi.Connection) -> None:
    caught: list[dbapi.Error] = []

    def run() -> None:
        try:
            conn.execute("SELECT pg_sleep(60)")
        except dbapi.Error as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        conn.cancel()
        thread.join(0.02)
    assert [error.sqlstate for error in caught] == ["57014"]
    assert isinstance(caught[0], dbapi.OperationalError)
    conn.rollback()
    assert conn.execute("SELECT 1").fetchone() == (1,)


def test_the_notes_of_an_error_come_along(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        conn.execute("SELECT 1,\n  nosuch")
    assert caught.value.__notes__ == ["LINE 2:   nosuch\n          ^"]


def test_the_notes_of_a_refused_login_come_along(dsn: str) -> None:
    with pytest.raises(dbapi.OperationalError) as caught:
        dbapi.connect(dsn, user="nobody_of_that_name")
    assert any("while connecting to" in note for note in caught.value.__notes__)


def test_a_server_that_is_not_reached_is_named_in_the_text() -> None:
    with pytest.raises(dbapi.OperationalError, match=r"refused: .127\.0\.0\.1:1.$"):
        dbapi.connect("postgresql://127.0.0.1:1/none")


def test_an_error_without_notes_gets_none() -> None:
    made = translated(errors.InterfaceError("x"))
    assert not hasattr(made, "__notes__")


def test_keywords_of_connect_are_texts_numbers_or_paths(dsn: str) -> None:
    with pytest.raises(dbapi.Error, match="application_name must be a str, not object"):
        dbapi.connect(dsn, application_name=object())
    with dbapi.connect(dsn, application_name=Path("a name"), options=None) as conn:
        assert conn.execute("SHOW application_name").fetchone() == ("a name",)


def test_what_the_catalog_methods_refuse(conn: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="leave catalog_filter out"):
        conn.adbc_get_table_schema("pg_class", catalog_filter="another")
    with pytest.raises(dbapi.ProgrammingError, match="depth must be one of"):
        conn.adbc_get_objects(depth="rows")  # type: ignore[arg-type]
