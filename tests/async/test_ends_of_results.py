"""The end of a result from a real server is accepted for every kind of statement.

The driver compares the number of rows in a command tag with the rows received. With rules,
triggers, SQL-level prepared statements and cursors, the tag can belong to another statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import colonnade

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SETUP = """
CREATE TEMP TABLE items (id int, name text);
INSERT INTO items SELECT i, 'x' FROM generate_series(1, 10) AS i;
CREATE TEMP TABLE log (id int);
CREATE TEMP VIEW twice AS SELECT * FROM items;
CREATE RULE instead AS ON INSERT TO twice DO INSTEAD
    INSERT INTO items VALUES (NEW.id, NEW.name), (NEW.id + 100, NEW.name) RETURNING *;
CREATE RULE and_more AS ON UPDATE TO twice DO INSTEAD (
    UPDATE items SET name = NEW.name WHERE id = OLD.id RETURNING items.*;
    INSERT INTO log VALUES (1), (2)
);
CREATE TEMP TABLE also (id int);
CREATE RULE also_log AS ON INSERT TO also DO ALSO INSERT INTO log SELECT generate_series(1, 7);
CREATE TEMP TABLE selects (id int);
CREATE RULE selecting AS ON INSERT TO selects DO INSTEAD SELECT * FROM items;
CREATE TEMP TABLE odd (id int);
CREATE FUNCTION pg_temp.skip_even() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
CREATE TRIGGER skipping BEFORE INSERT ON odd FOR EACH ROW EXECUTE FUNCTION pg_temp.skip_even();
CREATE PROCEDURE pg_temp.next_of(INOUT a int) LANGUAGE plpgsql AS 'BEGIN a := a + 1; END';
PREPARE inserting AS INSERT INTO items VALUES (1, 'p'), (2, 'p') RETURNING id;
PREPARE selecting AS SELECT * FROM items;
"""

# Statement -> the number of rows of its first execution.
STATEMENTS = {
    "INSERT INTO twice VALUES (50, 'n') RETURNING *": 2,
    "UPDATE twice SET name = 'u' WHERE id < 4 RETURNING *": 3,
    "UPDATE twice SET name = 'u' WHERE id < 4": 0,
    "INSERT INTO also VALUES (1), (2) RETURNING *": 2,
    "INSERT INTO also VALUES (1)": 0,
    "INSERT INTO selects VALUES (1)": 0,
    "INSERT INTO odd SELECT generate_series(1, 9) RETURNING id": 5,
    "CALL pg_temp.next_of(1)": 1,
    "EXECUTE inserting": 2,
    "EXECUTE selecting": 10,
    "SHOW work_mem": 1,
    "VALUES (1), (2)": 2,
    "SELECT FROM items": 10,
    "SELECT generate_series(1, 0)": 0,
    "CREATE TEMP TABLE copies AS SELECT * FROM items": 0,
    "WITH new AS (INSERT INTO items VALUES (8, 'w'), (9, 'w') RETURNING id) "
    "SELECT id FROM new WHERE id = 9": 1,
    "WITH one AS (SELECT 1) INSERT INTO items SELECT 1, 'a' FROM one RETURNING *": 1,
    "DELETE FROM items WHERE false RETURNING *": 0,
    "": 0,
    "-- nothing": 0,
}


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection that sends the statement with each query, as behind a pooler."""
    async with await colonnade.connect(dsn, statement_cache_size=0) as connection:
        await connection.execute(SETUP)
        yield connection


@pytest.mark.parametrize("query", STATEMENTS, ids=list(STATEMENTS))
async def test_a_result_of_every_kind(connection: colonnade.Connection, query: str) -> None:
    assert len(await connection.fetch(query)) == STATEMENTS[query]
    if "copies" in query:
        await connection.execute("DROP TABLE copies")
    await connection.fetchrow(query)
    if "copies" in query:
        await connection.execute("DROP TABLE copies")
    await connection.fetch_columns(query)
    assert not connection.is_closed()


async def test_kept_statements(dsn: str) -> None:
    async with await colonnade.connect(dsn) as connection:
        await connection.execute(SETUP)
        for query, rows in STATEMENTS.items():
            async with connection.transaction():
                await connection.execute("TRUNCATE items, odd, log, also")
                await connection.execute(
                    "INSERT INTO items SELECT i, 'x' FROM generate_series(1, 10) AS i"
                )
                assert len(await connection.fetch(query)) == rows, query


async def test_cursors(connection: colonnade.Connection) -> None:
    async with connection.transaction():
        await connection.execute("DECLARE cur SCROLL CURSOR FOR SELECT * FROM items")
        assert len(await connection.fetch("FETCH 3 FROM cur")) == 3
        assert len(await connection.fetch("FETCH ALL FROM cur")) == 7
        assert len(await connection.fetch("FETCH BACKWARD ALL FROM cur")) == 10
        assert await connection.fetch("MOVE 2 FROM cur") == []
        assert await connection.fetchval("FETCH 5 FROM cur") == 3
        made = "INSERT INTO items SELECT i, 'c' FROM generate_series(1, 10) AS i RETURNING id"
        ids = [row["id"] async for row in connection.cursor(made, prefetch=3)]
        assert ids == list(range(1, 11))


async def test_series(connection: colonnade.Connection) -> None:
    query = "INSERT INTO odd VALUES ($1) RETURNING id"
    assert len(await connection.fetchmany(query, [(i,) for i in range(10)])) == 5
    query = "INSERT INTO twice VALUES ($1, 'm') RETURNING id"
    assert len(await connection.fetchmany(query, [(i,) for i in range(3)])) == 6
    await connection.executemany("INSERT INTO selects VALUES ($1)", [(1,), (2,)])
    assert not connection.is_closed()
