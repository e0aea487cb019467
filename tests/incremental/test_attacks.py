"""Attempts to make `read_new` lose rows silently: NULLs, odd names, broken states, crashes."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded, errors, incremental, sync
from colonnade.errors import InterfaceError, PostgresError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SECONDS_MAX = 60.0


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute("CREATE SCHEMA attacks; SET search_path = attacks")
        yield connection
        connection.execute("DROP SCHEMA attacks CASCADE")


def test_nulls_in_children_are_refused(conn: sync.Connection) -> None:
    conn.execute(
        "CREATE TABLE t (id int, by xid8 DEFAULT pg_current_xact_id());"
        " CREATE TABLE child () INHERITS (t)"
    )
    if conn.get_server_version().major < 18:
        conn.execute("ALTER TABLE ONLY t ALTER by SET NOT NULL")
    else:
        conn.execute("ALTER TABLE t ADD CONSTRAINT only_here NOT NULL by NO INHERIT")
    conn.execute("INSERT INTO child VALUES (1, NULL)")
    with pytest.raises(InterfaceError, match="may be NULL"):
        incremental.sync.read_new("t", conn, by="by")


def test_nulls_from_before_the_constraint_are_refused(conn: sync.Connection) -> None:
    if conn.get_server_version().major < 18:
        pytest.skip("before PostgreSQL 18, NOT NULL is valid for all rows")
    conn.execute(
        "CREATE TABLE t (id int, by xid8 DEFAULT pg_current_xact_id());"
        " INSERT INTO t VALUES (1, NULL);"
        " ALTER TABLE t ADD CONSTRAINT later NOT NULL by NOT VALID"
    )
    with pytest.raises(InterfaceError, match="may be NULL"):
        incremental.sync.read_new("t", conn, by="by")


@pytest.mark.parametrize("by", ["x$tracking$y", "q'", 'a"b', "\\", "{by}", "BY_COLUMN"])
@pytest.mark.parametrize("table", ['"BY_COLUMN"', '"{by}"', '"%s"'])
def test_names_are_only_names(conn: sync.Connection, by: str, table: str) -> None:
    conn.execute(f"CREATE TABLE {table} (id int)")
    conn.execute(incremental.tracking_sql(table, by=by))
    conn.execute(f"INSERT INTO {table} VALUES (1)")
    rows, state = incremental.sync.read_new(table, conn, by=by)
    assert rows["id"].tolist() == [1]
    conn.execute(f"UPDATE {table} SET id = 2")
    assert incremental.sync.read_new(table, conn, by=by, state=state).rows["id"].tolist() == [2]


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b"\xff\xfe", b"\0", b"[" * 100_000])
def test_a_broken_file_has_no_state(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(broken)
    with pytest.raises(InterfaceError, match="has no state"):
        incremental.load_state(path)


def test_a_symbolic_link_to_the_state_stays(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "state.json"
    link.symlink_to(tmp_path / "elsewhere" / "real.json")
    incremental.save_state(link, {"by": "x"})
    assert link.is_symlink()
    assert incremental.load_state(tmp_path / "elsewhere" / "real.json") == {"by": "x"}


@pytest.mark.skipif(os.name != "posix", reason="it kills a process of the server")
def test_a_crash_that_takes_seen_transactions_along_is_told() -> None:
    """Their numbers are used again: by the old state, the rows would have been read."""
    with embedded.start() as server:
        with sync.connect(server.dsn) as conn:
            conn.execute("CREATE TABLE t (id serial)")
            conn.execute(incremental.tracking_sql("t"))
            conn.execute("CHECKPOINT; SET synchronous_commit = off")
            # Written after the checkpoint, and not waited for.
            conn.execute("INSERT INTO t DEFAULT VALUES")
            rows, state = incremental.sync.read_new("t", conn, by="changed_in")
            assert len(rows) == 1
            with sync.connect(server.dsn) as other:
                os.kill(conn.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
                _await_loss(other)
        with _connected(server.dsn) as conn:
            conn.execute("INSERT INTO t DEFAULT VALUES")
            if state["unflushed"]:
                with pytest.raises(InterfaceError, match="has crashed"):
                    incremental.sync.read_new("t", conn, by="changed_in", state=state)
                state["unflushed"] = ""
            incremental.sync.read_new("t", conn, by="changed_in", state=state)


def _await_loss(conn: sync.Connection) -> None:
    """Wait until the server has noticed its crash: it ends its other connections first."""
    with pytest.raises((PostgresError, OSError)):
        conn.execute("SELECT pg_sleep($1)", _SECONDS_MAX)


def _connected(dsn: str) -> sync.Connection:
    """A connection, as soon as the server has recovered."""
    deadline = time.monotonic() + _SECONDS_MAX
    while True:
        try:
            return sync.connect(dsn)
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_a_stranger_s_function_is_not_replaced(conn: sync.Connection) -> None:
    """Its owner stays the owner, and could change what every INSERT runs."""
    conn.execute(
        "DROP ROLE IF EXISTS squatter; CREATE ROLE squatter;"
        " GRANT ALL ON SCHEMA attacks TO squatter;"
        " CREATE TABLE t (id int); SET ROLE squatter;"
        " CREATE FUNCTION t_set_changed_in() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END';"
        " RESET ROLE"
    )
    try:
        with pytest.raises(errors.DuplicateFunctionError):
            conn.execute(incremental.tracking_sql("t"))
        assert conn.fetchval("SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass") == 0
    finally:
        conn.execute("DROP OWNED BY squatter CASCADE; DROP ROLE squatter")


def test_a_function_of_one_s_own_is_not_replaced(conn: sync.Connection) -> None:
    conn.execute(
        "CREATE TABLE t (id int);"
        " CREATE FUNCTION t_set_changed_in() RETURNS int LANGUAGE sql AS 'SELECT 1'"
    )
    with pytest.raises(errors.DuplicateFunctionError):
        conn.execute(incremental.tracking_sql("t"))
    assert conn.fetchval("SELECT t_set_changed_in()") == 1


@pytest.mark.parametrize("by", ["changed_in", "x" * 59 + "_one", "ä" * 30])
def test_each_table_has_a_function_of_its_own_in_its_schema(conn: sync.Connection, by: str) -> None:
    conn.execute("SET search_path = pg_catalog")
    names = ["attacks.t", "attacks . u", f'attacks."{"T" * 60}a"', f'attacks."{"T" * 60}b"']
    for name in names:
        conn.execute(f"CREATE TABLE {name} (id int)")
        conn.execute(incremental.tracking_sql(name, by=by))
        conn.execute(f"INSERT INTO {name} VALUES (1)")
        assert len(incremental.sync.read_new(name, conn, by=by).rows) == 1
    assert conn.fetchval(
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'attacks'::regnamespace"
    ) == len(names)
    # Columns that share 59 bytes, in one table.
    conn.execute(incremental.tracking_sql("attacks.t", by="x" * 59 + "_two"))
    conn.execute("INSERT INTO attacks.t VALUES (2)")


def test_the_index_can_be_built_apart(conn: sync.Connection) -> None:
    conn.execute("CREATE TABLE t (id int)")
    assert "CREATE INDEX" not in incremental.tracking_sql("t", index=False)
    conn.execute(incremental.tracking_sql("t", index=False))
    conn.execute("CREATE INDEX CONCURRENTLY ON t (changed_in)")
    assert len(incremental.sync.read_new("t", conn, by="changed_in").rows) == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"unflushed": []},
        {"unflushed": None},
        {"snapshot": "100:5:"},
        {"snapshot": "0:5:"},
        {"snapshot": "5:9:9"},
        {"snapshot": "5:9:4"},
        {"snapshot": "5:9:8,7"},
        {"snapshot": f"5:{1 << 64}:"},
        {"snapshot": 5},
    ],
)
def test_a_state_that_no_read_returned(conn: sync.Connection, changed: dict[str, object]) -> None:
    conn.execute("CREATE TABLE t (id int)")
    conn.execute(incremental.tracking_sql("t"))
    state = incremental.sync.read_new("t", conn, by="changed_in").state
    with pytest.raises(InterfaceError, match=r"state (has no snapshot|is not one)"):
        incremental.sync.read_new("t", conn, by="changed_in", state={**state, **changed})


@pytest.mark.parametrize(
    ("table", "by"), [("n" * 64, "changed_in"), (f'"{"s" * 64}".t', "changed_in"), ("t", "b" * 64)]
)
def test_a_name_that_the_server_would_cut_names_no_other_table(table: str, by: str) -> None:
    with pytest.raises(InterfaceError, match="64 bytes"):
        incremental.tracking_sql(table, by=by)


def test_one_name_is_not_several_columns(conn: sync.Connection) -> None:
    with pytest.raises(TypeError, match=r"a sequence of names, not one: \['id'\]"):
        incremental.sync.read_new("t", conn, by="changed_in", columns="id")
