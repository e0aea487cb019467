"""Round trips of the DB-API."""

from __future__ import annotations

import threading
import time

from colonnade import dbapi
from tests.support.proxy import Proxy


def test_a_transaction_begins_in_the_round_trip_of_its_first_statement(dsn: str) -> None:
    with Proxy(dsn) as proxy, dbapi.connect(proxy.dsn, sslmode="disable") as conn:
        conn.execute("SELECT 1")
        conn.commit()
        sent = len(proxy.first.tags)
        proxy.hold_after(0)
        rows: list[object] = []
        worker = threading.Thread(target=lambda: rows.extend(conn.execute("SELECT 1")))
        worker.start()
        # The server gets BEGIN and the statement after it without having answered.
        give_up = time.monotonic() + 10
        while not (tags := proxy.first.tags[sent:]).endswith("S") and time.monotonic() < give_up:
            worker.join(0.01)
        proxy.release()
        worker.join()
        assert tags == "QBES"
        assert rows == [(1,)]
        assert conn.info.transaction_status == "in transaction"
