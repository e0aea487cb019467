"""Names and strings in SQL that the package composes keep their text.

No name or string changes the statement around it. Each place where the package puts a caller's
text into SQL is tested with texts designed to break out.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

import colonnade
from colonnade import dbapi, parallel, sync
from colonnade._driver.sql.quoting import quote_identifier, quote_literal
from colonnade.errors import InterfaceError, UntranslatableCharacterError
from colonnade.frames import write_table

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME_BYTES_MAX = 63

# Texts that end strings, names, comments and statements, begin parameters, or mislead a server or
# a lexer that reads single bytes.
_BREAKING = ["'", '"', "\\", "''", '""', "\\'", ";", "--", "/*", "*/", "$$", "$1", ":x", "%s"]
_WORDS = ["E'", "U&'", "a", "A", " ", ".", ")", "\n", "\t", "\r", "\u00a0", "é", "ħ", "密", "😀"]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([*_BREAKING, *_WORDS]),
        st.characters(min_codepoint=1, exclude_categories=["Cs"]),
    ),
    max_size=12,
).map("".join)
NAMES = TEXTS.filter(lambda text: 0 < len(text.encode()) <= _NAME_BYTES_MAX)
BROKEN_OUT = "x\\'; DROP TABLE kept; --"

few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
many = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def latin1(dsn: str) -> Iterator[sync.Connection]:
    """A database with a single-byte encoding, which lacks some of the test's characters."""
    name = f"latin1_{uuid.uuid4().hex}"
    with sync.connect(dsn) as owner:
        owner.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 "
            "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        try:
            with sync.connect(dsn, database=name) as connection:
                yield connection
        finally:
            owner.execute(f"DROP DATABASE {name}")


@contextlib.contextmanager
def undone(connection: sync.Connection) -> Iterator[None]:
    """Undo the block's changes, and check that the table `kept` survives."""
    transaction = connection.transaction()
    transaction.start()
    try:
        connection.execute("CREATE TEMP TABLE kept ()")
        yield
        assert connection.fetchval("SELECT count(*) FROM pg_temp.kept") == 0
    finally:
        transaction.rollback()


# The two functions


@many
@given(text=TEXTS)
@example(text=BROKEN_OUT)
@example(text="")
def test_a_string_is_one_value(asked: sync.Connection, text: str) -> None:
    literal = quote_literal(text)
    row = asked.fetchrow(f"SELECT {literal}, {literal} || 'end', 'end'")
    assert row is not None
    assert tuple(row) == (text, text + "end", "end")


@many
@given(name=NAMES)
@example(name='"; DROP TABLE kept; --')
def test_a_name_is_one_name(asked: sync.Connection, name: str) -> None:
    row = asked.fetchrow(f"SELECT 1 AS {quote_identifier(name)}, 2 AS end")
    assert row is not None
    assert list(row.items()) == [(name, 1), ("end", 2)]


@given(name=st.text('a"é密', min_size=1, max_size=200))
def test_a_name_that_the_server_would_cut_is_refused(name: str) -> None:
    if len(name.encode()) <= _NAME_BYTES_MAX:
        assert quote_identifier(name).count('"') == 2 + 2 * name.count('"')
        return
    with pytest.raises(InterfaceError, match="would cut it to 63"):
        quote_identifier(name)


@few
@given(text=TEXTS)
@example(text="\u0127'")
@example(text="\u815c")  # in other encodings its last byte is a backslash
def test_another_encoding_of_the_server(latin1: sync.Connection, text: str) -> None:
    try:
        name = quote_identifier("n" + text[:15])
        row = latin1.fetchrow(f"SELECT {quote_literal(text)}, 1 AS {name}")
    except UntranslatableCharacterError:
        with pytest.raises(UnicodeEncodeError):
            text.encode("latin-1")
        return
    assert row is not None
    assert tuple(row) == (text, 1)


@pytest.mark.parametrize("quote", [quote_identifier, quote_literal])
def test_zero_bytes_are_refused(asked: sync.Connection, quote: Any) -> None:
    for text in ("\0", "a\0b", "a\0'; SELECT 1; --"):
        with pytest.raises(InterfaceError, match="a NUL character"):
            asked.execute(f"SELECT {quote(text)}")
    assert asked.fetchval("SELECT 1") == 1


# The places that use them


@few
@given(channel=NAMES)
def test_channels(asked: sync.Connection, channel: str) -> None:
    heard: list[tuple[str, object]] = []

    def listener(_connection: object, _pid: int, channel: str, payload: object) -> None:
        heard.append((channel, payload))

    asked.add_listener(channel, listener)
    asked.execute("SELECT pg_notify($1, 'said')", channel)
    asked.fetchval("SELECT 1")
    asked.remove_listener(channel, listener)
    assert heard == [(channel, "said")]
    assert asked.fetchval("SELECT count(*) FROM pg_listening_channels()") == 0


@few
@given(table=NAMES, column=NAMES, text=TEXTS)
@example(table=BROKEN_OUT, column=BROKEN_OUT, text=BROKEN_OUT)
def test_tables_and_columns_of_copies(
    asked: sync.Connection, table: str, column: str, text: str
) -> None:
    with undone(asked):
        # Run SQL that the server itself has quoted.
        made = asked.fetchval(
            "SELECT pg_catalog.format('CREATE TEMP TABLE %I (%I text)', $1::text, $2::text)",
            table,
            column,
        )
        asked.execute(made)
        asked.copy_records_to_table(table, records=[(text,)], columns=[column])
        asked.copy_columns_to_table(table, {column: [text]})
        asked.copy_to_table(table, source=io.BytesIO(b"x\n"), columns=[column], null=BROKEN_OUT)
        rows = asked.fetch(f"SELECT {quote_identifier(column)} FROM {quote_identifier(table)}")
        assert [row[0] for row in rows] == [text, text, "x"]
        out = io.BytesIO()
        asked.copy_from_table(table, output=out, format="csv", null="\\'", force_quote=[column])
        assert text.replace('"', '""').encode() in out.getvalue()


@few
@given(table=NAMES, column=NAMES, text=TEXTS)
def test_tables_that_are_written(
    asked: sync.Connection, table: str, column: str, text: str
) -> None:
    schema = 'it\\\'s "mine"'
    with undone(asked):
        asked.execute(f"CREATE SCHEMA {quote_identifier(schema)}")
        for exists in ("fail", "append", "replace"):
            write_table({column: [text]}, table, asked, schema_name=schema, if_exists=exists)
        target = f"{quote_identifier(schema)}.{quote_identifier(table)}"
        assert list(asked.fetch_columns(f"SELECT * FROM {target}")[column]) == [text]
        key = {column: "text PRIMARY KEY"}
        asked.execute(f"DROP TABLE {target}")
        for conflict in (None, "update", "nothing"):
            asked.copy_columns_to_table(
                table,
                {column: [text]},
                schema_name=schema,
                create=key if conflict is None else False,
                on_conflict=conflict,
                conflict_columns=None if conflict is None else [column],
            )
        assert list(asked.fetch_columns(f"SELECT * FROM {target}")[column]) == [text]


@few
@given(text=TEXTS)
@example(text=BROKEN_OUT)
def test_values_of_a_copied_query(asked: sync.Connection, text: str) -> None:
    query = "SELECT json_build_array($1::text, $2::text[], $2[2], '$1') -- $1"
    out = io.BytesIO()
    asked.copy_from_query(query, text, [text, text + "2"], output=out, format="csv")
    ((cell,),) = csv.reader([out.getvalue().decode()])
    assert json.loads(cell) == [text, [text, text + "2"], text + "2", "$1"]
    out = io.BytesIO()
    asked.copy_from_query("SELECT length($1), ($2::int[])[1] + $2[1]", text, [4], output=out)
    assert out.getvalue().decode() == f"{len(text)}\t8\n"


@few
@given(key=NAMES)
def test_keys_of_partitions(strings_dsn: str, asked: sync.Connection, key: str) -> None:
    table = f"parted_{uuid.uuid4().hex}"
    asked.execute(
        f"CREATE TABLE {table} AS SELECT n AS {quote_identifier(key)} FROM "
        "generate_series(1, 50) AS n"
    )
    try:
        with parallel.sync.plan(table, strings_dsn, parts=3, partition_by=key) as plan:
            numbers = [n for part in plan for n in part.read()[key]]
        assert sorted(numbers) == list(range(1, 51))
    finally:
        asked.execute(f"DROP TABLE {table}")


def test_a_snapshots_name(strings_dsn: str, asked: sync.Connection) -> None:
    asked.execute("CREATE TABLE IF NOT EXISTS kept_snapshot ()")
    wanted = "x\\'; DROP TABLE kept_snapshot; --"
    with pytest.raises(colonnade.InterfaceError, match="snapshot"):
        parallel.sync.plan("kept_snapshot", strings_dsn, parts=1, snapshot=wanted)
    asked.execute("DROP TABLE kept_snapshot")


# The DB-API


@pytest.fixture(scope="module")
def conn(strings_dsn: str) -> Iterator[dbapi.Connection]:
    """A DB-API connection for the module's tests."""
    with dbapi.connect(strings_dsn) as connection:
        yield connection


@few
@given(name=NAMES)
@example(name=BROKEN_OUT)
def test_named_cursors_and_savepoints(conn: dbapi.Connection, name: str) -> None:
    with conn.transaction(force_rollback=True), conn.transaction(name):
        with conn.cursor(name, scrollable=True) as cursor:
            cursor.execute("SELECT generate_series(1, 9)")
            assert cursor.fetchone() == (1,)
            cursor.scroll(3)
            assert cursor.fetchall() == [(n,) for n in range(5, 10)]
        assert conn.execute("SELECT count(*) FROM pg_cursors WHERE name = %s", (name,)).fetchone()


@few
@given(name=NAMES.filter(lambda name: "." not in name), argument=NAMES, text=TEXTS)
def test_procedures_and_their_arguments(
    conn: dbapi.Connection, name: str, argument: str, text: str
) -> None:
    with conn.transaction(force_rollback=True), conn.cursor() as cursor:
        cursor.execute(
            f"CREATE FUNCTION pg_temp.{quote_identifier(name)}({quote_identifier(argument)} text) "
            "RETURNS text LANGUAGE sql AS 'SELECT $1'".replace("%", "%%"),
            (),
        )
        cursor.callproc(f"pg_temp.{name}", {argument: text})
        assert cursor.fetchone() == (text,)


@pytest.mark.parametrize("gid", [BROKEN_OUT, "it's", "\\", "\\' ", '"é密'])
def test_transactions_in_two_phases(two_phase_dsn: str, strings: str, gid: str) -> None:
    dsn = f"{two_phase_dsn}?standard_conforming_strings={strings}&escape_string_warning=off"
    with dbapi.connect(dsn) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept ()")
        connection.commit()
        connection.tpc_begin(gid)
        connection.execute("SELECT txid_current()")
        connection.tpc_prepare()
        connection.tpc_commit()
        connection.tpc_begin(gid)
        connection.execute("SELECT txid_current()")
        connection.tpc_prepare()
        connection.tpc_rollback()
        with pytest.raises(dbapi.ProgrammingError):
            connection.tpc_commit(gid)
        connection.execute("DROP TABLE kept")
        connection.commit()
