"""`read_new`: every committed row once, whatever the order of commits."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded, incremental, sync
from colonnade.errors import InterfaceError, ObjectNotInPrerequisiteStateError
from tests.support.servers import start_replica

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from colonnade.incremental import State

_SECONDS_MAX = 120.0
_WRITERS = 12
_TRANSACTIONS = 25


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        yield connection


@pytest.fixture
def table(conn: sync.Connection) -> Iterator[str]:
    name = "news"
    conn.execute(f"DROP TABLE IF EXISTS {name}")
    conn.execute(f"CREATE TABLE {name} (id serial PRIMARY KEY, version int DEFAULT 0, w int)")
    conn.execute(incremental.tracking_sql(name))
    yield name
    conn.execute(f"DROP TABLE {name}; DROP FUNCTION {name}_set_changed_in")


def new_ids(conn: Any, table: str, state: State | None, **options: Any) -> tuple[list[int], State]:
    rows, state = incremental.sync.read_new(table, conn, by="changed_in", state=state, **options)
    return sorted(rows.to_pydict()["id"]), state


def test_a_row_that_is_committed_late_comes_later(
    dsn: str, conn: sync.Connection, table: str
) -> None:
    """It has the lowest number, or was written within a savepoint, with a number of its own."""
    with sync.connect(dsn) as late:
        late.execute("BEGIN")
        late.execute(f"INSERT INTO {table} DEFAULT VALUES")
        late.execute("SAVEPOINT s")
        late.execute(f"INSERT INTO {table} DEFAULT VALUES")
        conn.execute(f"INSERT INTO {table} DEFAULT VALUES")
        ids, state = new_ids(conn, table, None)
        assert ids == [3]
        assert new_ids(conn, table, state)[0] == []
        late.execute(f"INSERT INTO {table} DEFAULT VALUES")
        late.execute("RELEASE s; COMMIT")
    ids, state = new_ids(conn, table, json.loads(json.dumps(state)))
    assert ids == [1, 2, 4]
    assert new_ids(conn, table, state)[0] == []


def test_updates_come_again_and_deletions_do_not(conn: sync.Connection, table: str) -> None:
    conn.execute(f"INSERT INTO {table} (w) SELECT g FROM generate_series(1, 5) g")
    ids, state = new_ids(conn, table, None)
    assert ids == [1, 2, 3, 4, 5]
    conn.execute(f"UPDATE {table} SET w = 0 WHERE id = 2; DELETE FROM {table} WHERE id = 3")
    # The trigger overrules what an INSERT says.
    conn.execute(f"INSERT INTO {table} (id, changed_in) VALUES (9, '3')")
    assert new_ids(conn, table, state)[0] == [2, 9]


def test_rows_that_are_there_are_new_to_the_first_read(conn: sync.Connection) -> None:
    conn.execute("CREATE TABLE older AS SELECT g AS id FROM generate_series(1, 10) g")
    try:
        conn.execute(incremental.tracking_sql("older", by="seen in", updates=False))
        rows, state = incremental.sync.read_new("older", conn, by="seen in", columns=["id"])
        assert rows.names == ("id",)
        assert len(rows) == 10
        conn.execute("UPDATE older SET id = id + 100")
        assert len(incremental.sync.read_new("older", conn, by="seen in", state=state).rows) == 0
    finally:
        conn.execute('DROP TABLE older; DROP FUNCTION "older_set_seen in"')


def test_rows_of_the_own_transaction_come_after_it(
    dsn: str, conn: sync.Connection, table: str
) -> None:
    for isolation in ("read_committed", "repeatable_read"):
        _, state = new_ids(conn, table, None)
        with sync.connect(dsn) as other, conn.transaction(isolation=isolation):
            conn.execute(f"INSERT INTO {table} (w) VALUES (1)")
            other.execute(f"INSERT INTO {table} (w) VALUES (2)")
            rows, state = incremental.sync.read_new(table, conn, by="changed_in", state=state)
            assert rows.to_pydict()["w"] == ([2] if isolation == "read_committed" else [])
            conn.execute(f"INSERT INTO {table} (w) VALUES (3)")
        rows, state = incremental.sync.read_new(table, conn, by="changed_in", state=state)
        late = [] if isolation == "read_committed" else [2]
        assert sorted(rows.to_pydict()["w"]) == sorted([1, 3, *late])


def test_a_state_from_the_future_of_a_transaction(
    dsn: str, conn: sync.Connection, table: str
) -> None:
    with sync.connect(dsn) as other, conn.transaction(isolation="repeatable_read"):
        conn.fetchval("SELECT 1")
        other.execute(f"INSERT INTO {table} (w) VALUES (2)")
        _, state = new_ids(other, table, None)
        with pytest.raises(InterfaceError, match="newer than the moment"):
            new_ids(conn, table, state)


def test_batches(conn: sync.Connection, table: str) -> None:
    conn.execute(f"INSERT INTO {table} (w) SELECT g FROM generate_series(1, 1000) g")
    with incremental.sync.iter_new(table, conn, by="changed_in", batch_rows=300) as batches:
        assert len(next(batches)) == 300
        with pytest.raises(InterfaceError, match="after the last batch"):
            assert batches.state
        assert sum(map(len, batches)) == 700
    assert new_ids(conn, table, batches.state)[0] == []
    with incremental.sync.iter_new(table, conn, by="changed_in", batch_rows=300) as batches:
        next(batches)
    assert conn.fetchval("SELECT 1") == 1


async def test_asyncio(dsn: str, conn: sync.Connection, table: str) -> None:
    conn.execute(f"INSERT INTO {table} (w) SELECT g FROM generate_series(1, 1000) g")
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        batches = incremental.iter_new(table, pool, by="changed_in", batch_rows=300)
        async with batches:
            assert sum([len(batch) async for batch in batches]) == 1000
        new = await incremental.read_new(table, pool, by="changed_in", state=batches.state)
        assert len(new.rows) == 0
        assert len((await incremental.read_new(table, dsn, by="changed_in")).rows) == 1000
        async with incremental.iter_new(table, dsn, by="changed_in", batch_rows=300) as batches:
            assert len(await anext(batches)) == 300
    with pytest.raises(TypeError, match="a connection or a pool of asyncio"):
        await incremental.read_new(table, 5, by="x")  # type: ignore[arg-type]


def test_the_state_in_a_file(tmp_path: Path, conn: sync.Connection, table: str) -> None:
    path = tmp_path / "state.json"
    assert incremental.load_state(path) is None
    _, state = new_ids(conn, table, None)
    for _ in range(2):
        incremental.save_state(path, state)
    assert incremental.load_state(path) == state
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("{")
    with pytest.raises(InterfaceError, match="has no state"):
        incremental.load_state(path)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("id", "has the type integer, and must be xid8"),
        ("at", "timestamp with time zone"),
        ("missing", "has no column"),
        ("maybe", "may be NULL"),
    ],
)
def test_columns_that_cannot_tell_are_refused(
    conn: sync.Connection, table: str, by: str, said: str
) -> None:
    conn.execute(f"ALTER TABLE {table} ADD at timestamptz DEFAULT now(), ADD maybe xid8")
    with pytest.raises(InterfaceError, match=said) as caught:
        incremental.sync.read_new(table, conn, by=by)
    assert "tracking_sql" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"system": "1"}, "of another server"),
        ({"timeline": 7}, "promoted or restored"),
        ({"table": 1}, "of another table"),
        ({"database": 1}, "of another database"),
        ({"by": "other"}, "for another column"),
        ({"snapshot": "1:2"}, "has no snapshot"),
        ({"snapshot": None}, "not one that an earlier read returned"),
    ],
)
def test_a_state_of_something_else_is_refused(
    conn: sync.Connection, table: str, change: dict[str, Any], said: str
) -> None:
    _, state = new_ids(conn, table, None)
    with pytest.raises(InterfaceError, match=said):
        new_ids(conn, table, {**state, **change})
    with pytest.raises(InterfaceError, match="not one that"):
        new_ids(conn, table, {})


def test_transactions_of_another_server_are_refused(conn: sync.Connection, table: str) -> None:
    conn.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    conn.execute(f"INSERT INTO {table} (changed_in) VALUES ('9000000000')")
    with pytest.raises(InterfaceError, match="copied from another server"):
        new_ids(conn, table, None)


def test_an_ordinary_role_may_read(dsn: str, conn: sync.Connection, table: str) -> None:
    conn.execute(
        "DROP ROLE IF EXISTS newsreader; CREATE ROLE newsreader; "
        f"GRANT SELECT ON {table} TO newsreader"
    )
    try:
        with sync.connect(dsn) as reader:
            reader.execute("SET ROLE newsreader")
            assert new_ids(reader, table, None)[0] == []
    finally:
        conn.execute("DROP OWNED BY newsreader; DROP ROLE newsreader")


def test_a_replica_is_refused_and_a_promotion_is_noticed() -> None:
    with embedded.start(tcp=True) as primary:
        with sync.connect(primary.dsn) as conn:
            conn.execute("CREATE TABLE news (id int)")
            conn.execute(incremental.tracking_sql("news"))
            _, state = new_ids(conn, "news", None)
        with start_replica(primary) as replica, sync.connect(replica.dsn) as conn:
            with pytest.raises(ObjectNotInPrerequisiteStateError, match="from the primary"):
                new_ids(conn, "news", state)
            assert conn.fetchval("SELECT pg_promote()")
            with pytest.raises(InterfaceError, match="promoted or restored") as caught:
                new_ids(conn, "news", state)
            assert 'state["timeline"] to 2' in str(caught.value)
            conn.execute("INSERT INTO news VALUES (7)")
            assert new_ids(conn, "news", {**state, "timeline": 2, "unflushed": ""})[0] == [7]


async def write(dsn: str, table: str, number: int, is_over: asyncio.Event) -> None:
    """Insert and update rows in transactions that commit late, or not, or in part."""
    chance = random.Random(number)
    mine: list[int] = []
    async with await colonnade.connect(dsn) as conn:
        for _ in range(_TRANSACTIONS):
            transaction = conn.transaction()
            await transaction.start()
            made = []
            for _ in range(chance.randrange(1, 4)):
                savepoint = conn.transaction()
                has_savepoint = chance.random() < 0.5
                if has_savepoint:
                    await savepoint.start()
                sql = f"INSERT INTO {table} (w) VALUES ($1) RETURNING id"
                row = await conn.fetchval(sql, number)
                if mine and chance.random() < 0.4:
                    sql = f"UPDATE {table} SET version = version + 1 WHERE id = $1"
                    await conn.execute(sql, chance.choice(mine))
                await asyncio.sleep(chance.random() * 0.02)
                if has_savepoint and chance.random() < 0.4:
                    await savepoint.rollback()
                    continue
                if has_savepoint:
                    await savepoint.commit()
                made.append(row)
            if chance.random() < 0.25:
                await transaction.rollback()
            else:
                await transaction.commit()
                mine += made
    is_over.set()


async def test_many_writers_and_a_reader(dsn: str, conn: sync.Connection, table: str) -> None:
    """The union of all reads is the table; no version of a row comes twice."""
    seen: list[tuple[int, int]] = []
    state: State | None = None
    over = [asyncio.Event() for _ in range(_WRITERS)]
    reads = 0
    async with (
        asyncio.timeout(_SECONDS_MAX),
        colonnade.create_pool(dsn, min_size=2, max_size=2) as pool,
        asyncio.TaskGroup() as tasks,
    ):
        for number, event in enumerate(over):
            tasks.create_task(write(dsn, table, number, event))
        is_last = False
        while not is_last:
            is_last = all(event.is_set() for event in over)
            new = await incremental.read_new(table, pool, by="changed_in", state=state)
            state = new.state
            found = new.rows.to_pydict()
            seen += zip(found["id"], found["version"], strict=True)
            reads += 1
    assert len(seen) == len(set(seen)), "a version came twice"
    rows = conn.fetch_columns(f"SELECT id, version FROM {table}").to_pydict()
    table_rows = set(zip(rows["id"], rows["version"], strict=True))
    last: dict[int, int] = {}
    for row, version in seen:
        assert version > last.get(row, -1), "an older version came after a newer one"
        last[row] = version
    assert set(last.items()) == table_rows
    assert reads > 5
    assert len(seen) > len(table_rows), "no row was read before and after an update"


def test_what_is_no_state_is_refused(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    _, state = new_ids(conn, table, None)
    wrong: Any
    for wrong, told in ((json.dumps(state), "not str: json.loads makes"), (5, "not int")):
        with pytest.raises(TypeError, match=f"the mapping that a read returned, {told}"):
            new_ids(conn, table, wrong)
        with pytest.raises(TypeError, match=f"the mapping that a read returned, {told}"):
            incremental.save_state(tmp_path / "state.json", wrong)
    with pytest.raises(FileNotFoundError, match=r"no such directory: '.*missing'"):
        incremental.save_state(tmp_path / "missing" / "state.json", state)


async def test_a_blocking_connection_is_refused(conn: sync.Connection, table: str) -> None:
    blocking: Any = conn
    with pytest.raises(
        TypeError, match=r"of colonnade\.sync: read_new and iter_new of incremental\.sync take it"
    ):
        await incremental.read_new(table, blocking, by="changed_in")


async def test_an_asynchronous_one_is_refused(dsn: str, table: str) -> None:
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        other: Any
        async with pool.acquire() as connection:
            for other in (pool, connection):
                for read in (incremental.sync.read_new, incremental.sync.iter_new):
                    with pytest.raises(
                        TypeError, match="read_new and iter_new of incremental take"
                    ):
                        read(table, other, by="changed_in")
