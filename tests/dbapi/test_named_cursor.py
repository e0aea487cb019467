"""Named cursors, which are on the server."""

from __future__ import annotations

import pytest

from colonnade import dbapi
from colonnade.rows import dict_row

TEN = "SELECT n, n::text AS t FROM generate_series(1, 10) AS n"


def test_rows_come_as_they_are_fetched(conn: dbapi.Connection) -> None:
    with conn.cursor('it\'s "mine"') as cur:
        cur.execute(f"{TEN} WHERE n <> %s", (3,))
        assert cur.description is not None
        assert [column.name for column in cur.description] == ["n", "t"]
        assert (cur.rowcount, cur.rownumber) == (-1, 0)
        assert cur.fetchone() == (1, "1")
        assert type(cur.fetchone()) is tuple
        assert cur.fetchmany(2) == [(4, "4"), (5, "5")]
        assert cur.rownumber == 4
        assert cur.fetchall() == [(n, str(n)) for n in range(6, 11)]
        assert cur.fetchone() is None
    open_ones = conn.execute("SELECT count(*) FROM pg_cursors WHERE name <> ''").fetchone()
    assert open_ones == (0,)


@pytest.mark.parametrize("itersize", [1, 3, 100])
def test_iterating(conn: dbapi.Connection, itersize: int) -> None:
    cur = conn.cursor("c", row_factory=dict_row)
    cur.itersize = itersize
    assert [row["n"] for row in cur.execute(TEN)] == list(range(1, 11))


def test_scrolling(conn: dbapi.Connection) -> None:
    cur = conn.cursor("c", scrollable=True)
    cur.execute(TEN)
    cur.scroll(5)
    assert cur.fetchone() == (6, "6")
    cur.scroll(-2)
    assert cur.fetchone() == (5, "5")
    cur.scroll(0, mode="absolute")
    assert cur.fetchone() == (1, "1")
    with pytest.raises(ValueError, match="relative"):
        cur.scroll(1, mode="sideways")
    fixed = conn.cursor("d", scrollable=False)
    fixed.execute(TEN)
    fixed.fetchall()
    with pytest.raises(dbapi.OperationalError) as caught:
        fixed.scroll(-1)
    assert caught.value.sqlstate == "55000"


def test_without_hold_it_ends_with_its_transaction(conn: dbapi.Connection) -> None:
    cur = conn.cursor("c")
    cur.execute(TEN)
    conn.commit()
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cur.fetchone()
    assert caught.value.sqlstate == "34000"
    conn.rollback()
    cur.close()
    held = conn.cursor("c", withhold=True)
    held.execute(TEN)
    conn.commit()
    assert held.fetchmany(2) == [(1, "1"), (2, "2")]
    conn.commit()
    held.close()
    assert conn.execute("SELECT count(*) FROM pg_cursors WHERE name <> ''").fetchone() == (0,)


def test_a_cursor_may_be_used_again(conn: dbapi.Connection) -> None:
    cur = conn.cursor("c")
    assert cur.execute("SELECT 1").fetchall() == [(1,)]
    assert cur.execute("SELECT 'x'::text, 2").fetchall() == [("x", 2)]
    with conn.cursor("d") as other:
        assert other.execute("SELECT 3").fetchone() == (3,)


def test_columns_of_what_is_left(conn: dbapi.Connection) -> None:
    cur = conn.cursor("c")
    cur.execute(TEN)
    cur.fetchmany(4)
    assert cur.fetch_columns()["n"].tolist() == [5, 6, 7, 8, 9, 10]


def test_what_it_is_not_for(conn: dbapi.Connection) -> None:
    cur = conn.cursor("c")
    with pytest.raises(dbapi.NotSupportedError):
        cur.executemany("INSERT INTO t VALUES (%s)", [(1,)])
    with pytest.raises(dbapi.ProgrammingError, match="not open"):
        cur.fetchone()
    conn.autocommit = True
    with pytest.raises(dbapi.InternalError):
        cur.execute(TEN)


@pytest.mark.parametrize("scrollable", [None, True, False])
def test_no_rows_and_fewer(conn: dbapi.Connection, *, scrollable: bool | None) -> None:
    with conn.cursor("c", scrollable=scrollable) as cur:
        with pytest.raises(dbapi.ProgrammingError, match="not open"):
            cur.fetchmany(0)
        cur.execute(TEN)
        assert cur.fetchmany(4)[-1] == (4, "4")
        # FETCH FORWARD 0 repeats the last row, and a negative count moves backwards.
        assert cur.fetchmany(0) == []
        with pytest.raises(ValueError, match="0 or more, not -1"):
            cur.fetchmany(-1)
        for size in (0, -1):
            cur.itersize = size
            with pytest.raises(ValueError, match="or more"):
                next(iter(cur))
        assert cur.fetchone() == (5, "5")


@pytest.mark.parametrize("count", [2**31, 2**70])
def test_more_rows_than_can_be_counted(conn: dbapi.Connection, count: int) -> None:
    with conn.cursor("c", scrollable=True) as cur:
        cur.execute(TEN)
        assert len(cur.fetchmany(count)) == 10
        cur.scroll(-count)
        cur.itersize = count
        assert len(list(cur)) == 10
        cur.scroll(count, mode="absolute")
        assert cur.fetchone() is None
    assert conn.execute("SELECT 1").fetchone() == (1,)
