"""A function of AWS Lambda, or of any other runtime that freezes processes between calls.

Each process has one connection, which outlives its calls, but perhaps not a freeze. A server that
ended it meanwhile has said so, which a trial finds at once; a gateway that forgot it says nothing,
which a trial would wait for. So after a short pause a connection is tried first, and after a long
one it is replaced unasked. The query itself never runs twice: the same is right for one that
writes.

The connection is made in the first call and not at import: from a snapshot of a process that has
already connected (SnapStart), many processes would start with the same socket.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, Protocol

from colonnade import sync

QUERY = """
SELECT day::text AS day, count(*) AS orders, sum(amount)::text AS amount
FROM orders WHERE country = $1 GROUP BY day ORDER BY day
"""
#: Kept of the call's time for the answer itself.
MARGIN_SECONDS = 0.5
CONNECT_SECONDS = 5.0
#: A connection that was used less than this ago is used as it is.
FRESH_SECONDS = 1.0
TRIAL_SECONDS = 1.0
#: One that was used longer ago is not tried. Gateways forget connections after minutes.
IDLE_SECONDS = float(os.environ.get("DATABASE_IDLE_SECONDS", "60"))


class Context(Protocol):
    """The part of the runtime's context that the example uses."""

    def get_remaining_time_in_millis(self) -> int:
        """The time until the runtime ends this call."""
        ...


class Database:
    """The connection of this process."""

    def __init__(self) -> None:
        self._connection: sync.Connection | None = None
        # Of the wall clock: the monotonic one stands still in a frozen virtual machine.
        self._used_at = 0.0

    def fetch_columns(self, query: str, *args: object, until: float) -> sync.Columns:
        """Fetch a result by this time of the monotonic clock, or raise TimeoutError."""
        connection = self._living(until)
        columns = connection.fetch_columns(query, *args, timeout=_left(until))
        self._used_at = time.time()
        return columns

    def _living(self, until: float) -> sync.Connection:
        if self._connection is not None and not self._answers(self._connection, until):
            self._connection.terminate()
            self._connection = None
        if self._connection is None:
            self._connection = sync.connect(
                os.environ["DATABASE_URL"],
                timeout=min(CONNECT_SECONDS, _left(until)),
                # A pooler may give each transaction another server process, which does not know
                # the statements that were prepared in the last one.
                statement_cache_size=0 if os.environ.get("DATABASE_POOLER") else 100,
            )
        return self._connection

    def _answers(self, connection: sync.Connection, until: float) -> bool:
        if connection.is_closed():
            return False
        idle_seconds = time.time() - self._used_at
        if not 0 <= idle_seconds < IDLE_SECONDS:
            return False
        if idle_seconds < FRESH_SECONDS:
            return True
        try:
            connection.fetchval("SELECT 1", timeout=min(TRIAL_SECONDS, _left(until)))
        except (OSError, sync.InterfaceError, sync.PostgresError):
            return False
        return True


DATABASE = Database()


def handler(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Answer a request of an HTTP gateway: ``?country=PT``."""
    until = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - MARGIN_SECONDS
    country = (event.get("queryStringParameters") or {}).get("country")
    if not country:
        return _answer(400, {"error": "country is missing: ?country=PT"})
    try:
        columns = DATABASE.fetch_columns(QUERY, country, until=until)
    except TimeoutError:
        return _answer(504, {"error": "the database did not answer in time"})
    except (OSError, sync.InterfaceError, sync.PostgresError) as error:
        # The log names the cause; the client of the function need not know it.
        print(json.dumps({"level": "error", "cause": type(error).__name__, "text": str(error)}))
        return _answer(503, {"error": "the database cannot be reached"})
    return _answer(200, columns.to_pydict())


def _left(until: float) -> float:
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("nothing is left of the call's time")
    return seconds


def _answer(status: int, body: object) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    if status == 503:
        headers["Retry-After"] = "1"
    return {"statusCode": status, "headers": headers, "body": json.dumps(body)}
