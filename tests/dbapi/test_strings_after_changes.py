"""Strings as parameters, after the tables beside them have changed: never of the earlier type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from colonnade import dbapi
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = "dbapi_strings"
# A type, the type that follows it, a string, and the value that is stored in the end.
CHANGES = [
    ("int", "text", "007"),
    ("int", "varchar(5)", "007"),
    ("float8", "numeric", "0.12345678901234567890"),
    ("real", "float8", "0.1"),
    ("timestamp", "timestamptz", "2024-01-05 00:00+05"),
    ("jsonb", "text", '{"b":1,  "a":2}'),
    ("interval", "text", "1 day 24:00"),
    ("bool", "text", "yes"),
    ("text", "bpchar(4)", "ab "),
    ("varchar", "uuid", "6a2f41a3-c54c-fce8-32d2-0324e1c32e22"),
    ("text", "int", "7"),
]


@pytest.fixture
def fresh(dsn: str) -> Iterator[None]:
    """No table before, and none after."""
    elsewhere(dsn, f"DROP TABLE IF EXISTS {TABLE}")
    yield
    elsewhere(dsn, f"DROP TABLE IF EXISTS {TABLE}")


@pytest.fixture(params=["kept", "not kept"])
def conn(dsn: str, request: pytest.FixtureRequest) -> Iterator[dbapi.Connection]:
    """A connection that keeps statements, and one that does not."""
    options: dict[str, Any] = {} if request.param == "kept" else {"statement_cache_size": 0}
    with dbapi.connect(dsn, **options) as made:
        yield made


def stored(conn: Any, change: tuple[str, str, str], *, is_kept: bool) -> list[Any]:
    """The values in two temporary tables of one name, one after the other."""
    before, after, value = change
    for number, kind in enumerate((before, after)):
        options = "ON COMMIT DROP" if is_kept else ""
        conn.execute(f"CREATE TEMP TABLE {TABLE} (x {kind}) {options}")
        conn.execute(f"INSERT INTO {TABLE} VALUES (%s)", [value])
        if number == 0:
            (conn.commit if is_kept else conn.rollback)()
    found = conn.execute(f"SELECT x FROM {TABLE} WHERE x = %s", [value]).fetchall()
    conn.rollback()
    return list(found)


@pytest.mark.parametrize("is_kept", [True, False], ids=["ON COMMIT DROP", "ROLLBACK"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_ends_with_its_transaction(
    conn: dbapi.Connection, dsn: str, change: tuple[str, str, str], is_kept: bool
) -> None:
    with psycopg.connect(dsn) as peer:
        expected = stored(peer, change, is_kept=is_kept)
    assert len(expected) == 1
    assert stored(conn, change, is_kept=is_kept) == expected


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("many", [False, True], ids=["execute", "executemany"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_another_connection_alters(
    conn: dbapi.Connection, dsn: str, change: tuple[str, str, str], many: bool
) -> None:
    before, after, value = change

    def write(text: str) -> None:
        if many:
            conn.cursor().executemany(text, [[value], [value]])
        else:
            conn.execute(text, [value])
        conn.commit()

    elsewhere(dsn, f"CREATE TABLE {TABLE} (x {before})")
    insert, update = f"INSERT INTO {TABLE} VALUES (%s)", f"UPDATE {TABLE} SET x = %s"
    select = f"SELECT x FROM {TABLE} WHERE x = %s"
    # psycopg prepares a text when it has seen it five times, and from then on it is wrong as well.
    for _ in range(6):
        write(insert)
        write(update)
        conn.execute(select, [value])
        conn.commit()
    using = "USING NULL" if after in {"uuid", "int"} else ""
    elsewhere(dsn, f"DELETE FROM {TABLE}; ALTER TABLE {TABLE} ALTER x TYPE {after} {using}")
    write(insert)
    with psycopg.connect(dsn) as peer:
        ((expected,),) = peer.execute("SELECT (%s)::" + after, [value]).fetchall()
    found = conn.execute(select, [value]).fetchall()
    conn.commit()
    write(update)
    again = conn.execute(f"SELECT x FROM {TABLE}").fetchall()
    conn.rollback()
    assert found == again == [(expected,)] * (2 if many else 1)


def test_tenants_by_search_path(conn: dbapi.Connection, dsn: str) -> None:
    for name, shape in (("one", "m {}.e, n int"), ("two", "m {}.e, n text, z int")):
        schema, label = f"dbapi_tenant_{name}", "x" if name == "one" else "y"
        elsewhere(
            dsn,
            f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema};"
            f"CREATE TYPE {schema}.e AS ENUM ('{label}');"
            f"CREATE TABLE {schema}.t ({shape.format(schema)})",
        )
    for number in range(6):
        name, label, width = [("one", "x", 2), ("two", "y", 3)][number % 2]
        conn.execute(f"SET LOCAL search_path = dbapi_tenant_{name}")
        conn.execute("INSERT INTO t (m, n) VALUES (%s::e, %s)", [label, "5"])
        rows = conn.execute("SELECT * FROM t WHERE n = %s", ["5"]).fetchall()
        assert {len(row) for row in rows} == {width}
        conn.commit()
    elsewhere(dsn, "DROP SCHEMA dbapi_tenant_one, dbapi_tenant_two CASCADE")


@pytest.mark.usefixtures("fresh")
def test_mixed_values_of_a_series(conn: dbapi.Connection, dsn: str) -> None:
    elsewhere(dsn, f"CREATE TABLE {TABLE} (x numeric, y text)")
    sets: list[list[Any]] = [[1, "a"], ["2.50", None], [3.25, "c"], [None, "d"]]
    conn.cursor().executemany(f"INSERT INTO {TABLE} VALUES (%s, %s)", sets)
    rows = conn.execute(f"SELECT x::text, y FROM {TABLE} ORDER BY x").fetchall()
    conn.rollback()
    assert rows == [("1", "a"), ("2.50", None), ("3.25", "c"), (None, "d")]


def test_which_statements_the_server_keeps(dsn: str) -> None:
    """A cast settles the type of a string, and a number has one."""
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%dbapi_kept%%'"
    with dbapi.connect(dsn) as conn:
        for text, value, count in (
            ("SELECT 1 /* dbapi_kept */ WHERE 'a' = %s", "a", 0),
            ("SELECT 1 /* dbapi_kept */ WHERE 'a' = %s::text", "a", 1),
            ("SELECT 1 /* dbapi_kept */ WHERE 'a' = CAST(%s AS text)", "a", 2),
            ("SELECT 1 /* dbapi_kept */ WHERE 1 = %s", 1, 3),
        ):
            for _ in range(2):
                assert conn.execute(text, [value]).fetchall() == [(1,)]
            # The question itself names them, and has no parameter.
            ((found,),) = conn.execute(kept.replace("%%", "%")).fetchall()
            assert found - 1 == count
