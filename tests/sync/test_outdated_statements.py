# Generated from tests/async/test_outdated_statements.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Statements and types that are known from before a change, in every verb of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade.errors import EncodeError, PostgresError
from tests.support.elsewhere import elsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = "outdated_statements"
IN_SCHEMA = f"SET search_path TO {SCHEMA}; "


@pytest.fixture
def link(dsn: str) -> Iterator[colonnade.sync.Connection]:
    """A connection in a schema of its own."""
    elsewhere(dsn, f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}")
    settings = {"search_path": SCHEMA}
    with colonnade.sync.connect(dsn, server_settings=settings) as made:
        yield made
    elsewhere(dsn, f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture(params=["own", "other", "hidden"])
def change(
    link: colonnade.sync.Connection, dsn: str, request: pytest.FixtureRequest
) -> Callable[[str], None]:
    """Run commands here, on another connection, or here where no command tag tells of them."""

    def run(script: str) -> None:
        if request.param == "own":
            link.execute(script)
        elif request.param == "other":
            elsewhere(dsn, IN_SCHEMA + script)
        else:
            link.execute(
                "CREATE OR REPLACE FUNCTION change() RETURNS int LANGUAGE plpgsql AS "
                f"$f$ BEGIN {script}; RETURN 1; END $f$"
            )
            # A query before it, so that only the call is new.
            assert link.fetchval("SELECT change()") == 1

    return run


def test_a_type_that_is_dropped_and_made_again(
    link: colonnade.sync.Connection, change: Callable[[str], None]
) -> None:
    change("CREATE TYPE e AS ENUM ('a')")
    statement = "SELECT $1::e"
    for _ in range(3):
        assert link.fetchval(statement, "a") == "a"
        assert link.fetch("SELECT ARRAY[$1::e]", "a") == [(["a"],)]
        assert (link.fetch_columns("SELECT 'a'::e AS e"))["e"].tolist() == ["a"]
        assert link.fetchmany("SELECT $1::e", [("a",), ("a",)]) == [("a",), ("a",)]
        change("DROP TYPE e; CREATE TYPE e AS ENUM ('a')")


def test_a_wider_column(link: colonnade.sync.Connection, change: Callable[[str], None]) -> None:
    change("CREATE TABLE t (x int)")
    insert, select = "INSERT INTO t VALUES ($1)", "SELECT x FROM t ORDER BY 1"
    link.execute(insert, 5)
    assert link.fetch(select) == [(5,)]
    change("ALTER TABLE t ALTER x TYPE bigint")
    link.execute(insert, 2**40)
    link.executemany(insert, [(2**41,)])
    assert link.fetch(select) == [(5,), (2**40,), (2**41,)]
    change("DROP TABLE t; CREATE TABLE t (x text)")
    link.execute(insert, "007")
    assert link.fetch(select) == [("007",)]
    assert link.fetch("SELECT x FROM t WHERE x = $1", "007") == [("007",)]


def test_the_own_change_of_a_float(link: colonnade.sync.Connection) -> None:
    insert = "INSERT INTO t VALUES ($1)"
    for kind, expected in (("real", 0.10000000149011612), ("float8", 0.1)):
        with link.transaction():
            link.execute(f"CREATE TEMP TABLE t (x {kind}) ON COMMIT DROP")
            link.execute(insert, 0.1)
            assert link.fetchval("SELECT x::float8 FROM t") == expected
    # A table made from a query, and one that hides another.
    link.execute("CREATE TABLE t AS SELECT 1::int4 AS x")
    assert link.fetchval("SELECT x FROM t") == 1
    link.execute("CREATE TEMP TABLE t AS SELECT 'hides it'::text AS x")
    assert link.fetchval("SELECT x FROM t") == "hides it"
    link.execute("DROP TABLE pg_temp.t")
    link.execute("SELECT 'so does this' AS x INTO TEMP t")
    assert link.fetchval("SELECT x FROM t") == "so does this"
    link.execute("DISCARD TEMP")
    assert link.fetchval("SELECT x FROM t") == 1


SWAP = (
    "ALTER TYPE p RENAME ATTRIBUTE a TO t; ALTER TYPE p RENAME ATTRIBUTE b TO a; "
    "ALTER TYPE p RENAME ATTRIBUTE t TO b"
)
WHOLE = {"a": 1, "b": 2}


def written(link: colonnade.sync.Connection, statement: Any) -> list[Any]:
    """The field `a` of a dict that goes in by every door, and the dict as it comes back."""
    with link.transaction():
        link.execute("DELETE FROM rows_of_p")
        link.execute("INSERT INTO rows_of_p VALUES ($1)", WHOLE)
        link.executemany("INSERT INTO rows_of_p VALUES ($1)", [(WHOLE,)])
        link.copy_records_to_table("rows_of_p", records=[(WHOLE,)])
        statement.executemany([(WHOLE,)])
        fields = [row[0] for row in link.fetch("SELECT (v).a FROM rows_of_p")]
    rows = [dict(row["v"].items()) for row in link.fetch("SELECT v FROM rows_of_p")]
    columns = (link.fetch_columns("SELECT v FROM rows_of_p")).to_arrow()["v"].to_pylist()
    with link.pipeline() as pipeline:
        piped = pipeline.fetchval("SELECT v FROM rows_of_p LIMIT 1")
    return [*fields, *rows, *columns, dict(piped.result().items())]


def test_fields_that_are_renamed(link: colonnade.sync.Connection) -> None:
    link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    statement = link.prepare("INSERT INTO rows_of_p VALUES ($1)")
    expected = [1, 1, 1, 1, *[WHOLE] * 9]
    assert written(link, statement) == expected
    link.execute(SWAP)
    assert written(link, statement) == expected
    with link.transaction():
        link.execute(SWAP)
        assert written(link, statement) == expected
        link.execute("SAVEPOINT s")
        link.execute(SWAP)
        assert written(link, statement) == expected
        link.execute("ROLLBACK TO s")
        assert written(link, statement) == expected
    assert written(link, statement) == expected
    transaction = link.transaction()
    transaction.start()
    link.execute(SWAP)
    assert written(link, statement) == expected
    transaction.rollback()
    assert written(link, statement) == expected


RECORD = "SELECT ROW(ROW(1, 2)::p) AS v"
KEYS = "json_object_keys(to_json(ROW(1, 2)::p))"


def check_names(link: colonnade.sync.Connection, insert: Any, record: Any) -> None:
    """Dicts have the names of now in every door, also in a record whose fields have no names."""
    assert written(link, insert) == [1, 1, 1, 1, *[WHOLE] * 9]
    names = link.fetchval(f"SELECT string_agg(k, '') FROM {KEYS} AS k")
    for value in (record.fetchval(), link.fetchval(RECORD)):
        assert "".join(value[0].keys()) == names
    for columns in (record.fetch_columns(), link.fetch_columns(RECORD)):
        assert "".join(columns.to_arrow()["v"].to_pylist()[0]["f1"]) == names


def test_fields_that_another_program_renames(dsn: str, link: colonnade.sync.Connection) -> None:
    # Nothing tells of it, so what is known must never be too old.
    link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    with colonnade.sync.connect(
        dsn, max_cached_statement_lifetime=1e-9, server_settings={"search_path": SCHEMA}
    ) as forgetful:
        insert = forgetful.prepare("INSERT INTO rows_of_p VALUES ($1)")
        record = forgetful.prepare(RECORD)
        for _ in range(3):
            check_names(forgetful, insert, record)
            elsewhere(dsn, IN_SCHEMA + SWAP)


def test_a_reload_tells_of_renamed_fields(dsn: str, link: colonnade.sync.Connection) -> None:
    link.execute("CREATE TYPE p AS (a int, b int); CREATE TABLE rows_of_p (v p)")
    insert = link.prepare("INSERT INTO rows_of_p VALUES ($1)")
    record = link.prepare(RECORD)
    for _ in range(3):
        check_names(link, insert, record)
        elsewhere(dsn, IN_SCHEMA + SWAP)
        link.reload_schema_state()


def test_the_row_type_of_a_table(link: colonnade.sync.Connection) -> None:
    link.execute("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)")
    whole = "SELECT t FROM t"
    assert dict((link.fetchval(whole)).items()) == {"a": 1, "b": 2}
    link.execute("ALTER TABLE t RENAME a TO c")
    assert dict((link.fetchval(whole)).items()) == {"c": 1, "b": 2}
    assert link.fetchval("SELECT ($1::t).c", {"c": 3, "b": 4}) == 3


def test_labels_domains_and_ranges(
    link: colonnade.sync.Connection, change: Callable[[str], None]
) -> None:
    change(
        "CREATE TYPE e AS ENUM ('a', 'b'); CREATE DOMAIN d AS int;"
        "CREATE TYPE r AS RANGE (subtype = int4); CREATE TABLE t (e e, d d, r r)"
    )
    insert = "INSERT INTO t VALUES ($1, $2, $3)"
    link.execute(insert, "a", 1, colonnade.types.Range(1, 2))
    change("ALTER TYPE e RENAME VALUE 'a' TO 'c'")
    link.execute(insert, "c", 2, None)
    assert (link.fetch_columns("SELECT e FROM t"))["e"].tolist() == ["c", "c"]
    change(
        "DROP TABLE t; DROP TYPE r; CREATE TYPE r AS RANGE (subtype = text); DROP DOMAIN d;"
        "CREATE DOMAIN d AS text; CREATE TABLE t (e e, d d, r r)"
    )
    link.execute(insert, "c", "two", colonnade.types.Range("x", "y"))
    row = link.fetchrow("SELECT * FROM t")
    assert row is not None
    assert (row["d"], row["r"].lower) == ("two", "x")


def test_search_path_in_each_transaction(link: colonnade.sync.Connection, dsn: str) -> None:
    for name, shape in (("one", "n int"), ("two", "n text, z int DEFAULT 1")):
        elsewhere(
            dsn,
            f"DROP SCHEMA IF EXISTS tenant_{name} CASCADE; CREATE SCHEMA tenant_{name};"
            f"CREATE TABLE tenant_{name}.t ({shape});"
            f"CREATE TYPE tenant_{name}.e AS ENUM ('{name}')",
        )
    for number in range(6):
        name, value, width = [("one", 5, 1), ("two", "5", 2)][number % 2]
        with link.transaction():
            link.execute(f"SET LOCAL search_path = tenant_{name}")
            link.execute("INSERT INTO t (n) VALUES ($1)", value)
            assert link.fetchval("SELECT $1::e", name) == name
            rows = link.fetch("SELECT * FROM t")
            assert {len(row) for row in rows} == {width}
            # By a function, too: the server reports it since PostgreSQL 18.
            if link.get_server_version().major >= 18:
                other = "two" if name == "one" else "one"
                link.execute(f"SELECT set_config('search_path', 'tenant_{other}', true)")
                assert link.fetchval("SELECT $1::e", other) == other
    kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT * FROM t'"
    assert link.fetchval(kept) == 2, "one for each tenant"
    elsewhere(dsn, "DROP SCHEMA tenant_one, tenant_two CASCADE")


def test_within_a_transaction_the_error_says_so(link: colonnade.sync.Connection, dsn: str) -> None:
    link.execute("CREATE TABLE t (x int)")
    query = "SELECT x FROM t WHERE x = $1"
    for kind, good, bad in (("text", 1, "a"), ("int", "a", 2)):
        link.fetch(query, good)
        elsewhere(dsn, f"ALTER TABLE {SCHEMA}.t ALTER x TYPE {kind} USING NULL")
        transaction = link.transaction()
        transaction.start()
        with pytest.raises(PostgresError) as caught:
            link.fetch(query, bad)
        assert "described anew the next time" in "".join(caught.value.__notes__)
        transaction.rollback()
        with link.transaction():
            assert link.fetch(query, bad) == []


def test_an_error_of_the_value_stays_one(link: colonnade.sync.Connection) -> None:
    link.execute("CREATE TYPE e AS ENUM ('a'); CREATE TABLE t (x int, j jsonb)")
    insert = "INSERT INTO t VALUES ($1, $2)"
    link.execute(insert, 1, "1")
    for _ in range(2):
        with pytest.raises(PostgresError, match="enum e"):
            link.fetchval("SELECT $1::e", "nothing")
        with pytest.raises(EncodeError):
            link.execute(insert, "one", "1")
        with pytest.raises(PostgresError, match="json"):
            link.execute(insert, 1, "{")
    assert link.fetchval("SELECT count(*) FROM t") == 1
