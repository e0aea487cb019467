"""Upserts past what the server does not let COPY or UPDATE do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from colonnade import connect, sync, write_table
from colonnade.errors import FeatureNotSupportedError, WrongObjectTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = pa.table({"id": [1, 9], "k": ["a", "c"], "v": [5, 7]})
HINT = 'on_conflict="nothing" fill them by INSERT'


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS excluded, seen CASCADE;"
            "CREATE TABLE excluded ("
            "    id int GENERATED ALWAYS AS IDENTITY, k text PRIMARY KEY, v int);"
            "INSERT INTO excluded (k, v) VALUES ('a', 1), ('b', 2);"
            "CREATE TABLE seen (id int, k text, v int); CREATE VIEW seen_view AS TABLE seen"
        )
        yield connection
        connection.execute("DROP TABLE IF EXISTS excluded, seen CASCADE")


@pytest.mark.parametrize("keys", ["k", ["k"]])
def test_an_identity_column_beside_the_key(conn: sync.Connection, keys: str | list[str]) -> None:
    """It is inserted, and no update touches it; the table has the name of the new rows."""
    for _ in range(2):
        done = write_table(
            ROWS, "excluded", conn, if_exists="append", on_conflict="update", conflict_columns=keys
        )
        assert done == 2
        assert [tuple(row) for row in conn.fetch("SELECT * FROM excluded ORDER BY k")] == [
            *((1, "a", 5), (2, "b", 2), (9, "c", 7))
        ]


def test_only_an_identity_column_beside_the_key(conn: sync.Connection) -> None:
    conn.copy_columns_to_table(
        "excluded", ROWS.select(["id", "k"]), on_conflict="update", conflict_columns="k"
    )
    assert conn.fetchval("SELECT pg_catalog.count(*) FROM excluded") == 3


async def test_async(conn: sync.Connection, dsn: str) -> None:
    asking = await connect(dsn)
    await asking.copy_columns_to_table("excluded", ROWS, on_conflict="update", conflict_columns="k")
    assert await asking.fetchval("SELECT sum(v) FROM excluded") == 14
    await asking.close()
    assert conn.fetchval("SELECT sum(v) FROM excluded") == 14


def test_a_view_is_filled_as_the_note_says(conn: sync.Connection) -> None:
    with pytest.raises(WrongObjectTypeError) as caught:
        write_table(ROWS, "seen_view", conn, if_exists="append")
    assert HINT in caught.value.__notes__[0]
    assert write_table(ROWS, "seen_view", conn, if_exists="append", on_conflict="nothing") == 2
    assert conn.fetchval("SELECT sum(v) FROM seen") == 12


def test_row_level_security_is_passed_as_the_note_says(conn: sync.Connection) -> None:
    conn.execute(
        "DROP ROLE IF EXISTS row_reader; CREATE ROLE row_reader; "
        "GRANT SELECT, INSERT ON seen TO row_reader; "
        "ALTER TABLE seen ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY ours ON seen USING (v > 0) WITH CHECK (v > 0); SET ROLE row_reader"
    )
    try:
        with pytest.raises(FeatureNotSupportedError) as caught:
            conn.copy_columns_to_table("seen", ROWS)
        assert HINT in caught.value.__notes__[0]
        done = write_table(ROWS, "seen", conn, if_exists="append", on_conflict="nothing")
        assert done == 2
    finally:
        conn.execute("RESET ROLE; DROP TABLE seen CASCADE; DROP ROLE row_reader")
