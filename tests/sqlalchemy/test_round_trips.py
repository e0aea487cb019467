"""Round trips of the dialect."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from tests.support.proxy import Proxy

Within = Callable[..., Any]


def test_a_transaction_begins_in_the_round_trip_of_its_first_statement(
    within: Within, url: sa.URL
) -> None:
    statement = sa.text("SELECT :n + 1")
    dsn = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with Proxy(dsn) as proxy:

        def body(connection: sa.Connection) -> str:
            assert connection.scalar(statement, {"n": 1}) == 2
            connection.commit()
            sent, unanswered = len(proxy.first.tags), list[str]()
            proxy.hold_after(0)
            watch = threading.Thread(target=lambda: unanswered.append(_released(proxy, sent)))
            watch.start()
            assert connection.scalar(statement, {"n": 2}) == 3
            watch.join()
            return unanswered[0]

        through = sa.make_url(proxy.dsn).set(drivername="postgresql+colonnade")
        tags = within(body, url=through.update_query_dict({"sslmode": "disable"}))
    assert tags == "QBES"


def _released(proxy: Proxy, sent: int) -> str:
    """Let answers through once BEGIN and the statement after it have arrived, or after a timeout.

    Return the tags received until then.
    """
    give_up = time.monotonic() + 5
    while not (tags := proxy.first.tags[sent:]).endswith("S") and time.monotonic() < give_up:
        time.sleep(0.01)
    proxy.release()
    return tags
