"""Threads that share a connection, and Ctrl-C."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from colonnade import dbapi


def test_cursors_of_one_connection_take_turns(conn: dbapi.Connection) -> None:
    def work(number: int) -> int:
        total = 0
        for n in range(20):
            with conn.cursor() as cur:
                cur.execute("SELECT %s::int, m FROM generate_series(1, %s) AS m", (number, n))
                total += sum(row[0] == number for row in cur)
        return total

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(8))) == [sum(range(20))] * 8


@pytest.mark.parametrize("attempt", range(3))
def test_ctrl_c_leaves_a_usable_connection(conn: dbapi.Connection, attempt: int) -> None:
    press = signal.pthread_kill, [threading.get_ident(), signal.SIGINT]
    timer = threading.Timer(0.05 * (attempt + 1), *press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        conn.execute("SELECT pg_sleep(60)")
    timer.join()
    conn.rollback()
    assert conn.execute("SELECT 1").fetchone() == (1,)
