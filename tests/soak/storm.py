"""Disturbances of a pool from outside: terminated backends, cancelled queries, restarts."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import TYPE_CHECKING, Literal, Self

import psycopg

from colonnade.errors import InterfaceError, PostgresError
from tests.soak.books import WrongResultError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from random import Random

    from tests.soak.books import Tally
    from tests.support.restarts import RestartableServer

NAME = "soak"
"""The `application_name` of the connections to hit."""

_GONE_SECONDS_MAX = 30.0

_STRIKES = {
    "pg_terminate_backend": "SELECT pg_terminate_backend(pid) FROM ({}) AS hit",
    "pg_cancel_backend": "SELECT pg_cancel_backend(pid) FROM ({}) AS hit",
}
_HIT = (
    "SELECT pid FROM pg_stat_activity WHERE application_name = %s "
    "AND (state <> 'idle' OR random() < 0.2) ORDER BY random() LIMIT 1"
)
_COUNT = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"

# The errors of a query when its server or backend is terminated.
_STATES_OF_ENDS = ("57P01", "57P02", "57P03", "57014", "08", "25P02", "25P03", "53300")

# The driver's messages for lost connections: its own, and one that held a snapshot.
_ENDS = ("connection is closed", "connection was closed", "snapshot", "released back to the pool")


class Weather(Enum):
    """The disturbances in a round."""

    CALM = "calm"
    """No disturbance from outside: every failure is the driver's fault."""
    STORM = "storm"
    """The server's functions terminate backends and cancel queries."""
    RESTART = "restart"
    """The same, and the server itself is shut down or crashes in the middle."""


class Storm:
    """Strikes, requested by operations and carried out by a thread; a context manager."""

    def __init__(self, server: RestartableServer, tally: Tally) -> None:
        self._server = server
        self._tally = tally
        self._hand = ThreadPoolExecutor(1, "storm")
        self._under_way: list[Future[None]] = []
        self._connection: psycopg.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hand.shutdown()
        self._hang_up()

    def strike(self, random: Random) -> None:
        """Terminate one of the connections, or cancel its query."""
        if not self._under_way or self._under_way[-1].done():
            kind = random.choice(list(_STRIKES))
            self._under_way.append(self._hand.submit(self._strike, kind))

    def restart(self, number: int) -> None:
        """Shut the server down in some way, or crash it, and start it again."""
        kinds: tuple[Literal["immediate", "fast"] | None, ...] = ("immediate", "fast", None)
        mode = kinds[number % len(kinds)]
        if mode is None:
            self._under_way.append(self._hand.submit(self._crash))
        else:
            self._under_way.append(self._hand.submit(self._restart, mode))

    def end(self) -> None:
        """Wait until all strikes are done; raise the first failure."""
        under_way, self._under_way = self._under_way, []
        for blow in under_way:
            blow.result(120)

    def none_is_left(self) -> None:
        """Wait until no backend of the pool is left; raise if some remain."""
        give_up = time.monotonic() + _GONE_SECONDS_MAX
        while backends := self._hand.submit(self._count).result(30):
            # Backends end a moment after the request.
            if time.monotonic() > give_up:
                raise WrongResultError(f"{backends} backends of a closed pool")
            time.sleep(0.01)

    # In the thread

    def _strike(self, kind: str) -> None:
        try:
            struck = self._psql().execute(_STRIKES[kind].format(_HIT).encode(), (NAME,)).rowcount
        except psycopg.OperationalError:
            self._hang_up()
            return
        self._tally.faults[kind] += struck

    def _count(self) -> int:
        row = self._psql().execute(_COUNT.encode(), (NAME,)).fetchone()
        return 0 if row is None else int(row[0])

    def _restart(self, mode: Literal["immediate", "fast"]) -> None:
        self._server.restart(mode)
        self._hang_up()
        self._tally.faults[f"restart ({mode})"] += 1

    def _crash(self) -> None:
        """When one backend is killed, the server ends the others and recovers."""
        row = self._psql().execute(_HIT.encode(), (NAME,)).fetchone()
        if row is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(row[0], signal.SIGKILL)
                self._tally.faults["restart (a backend crashed)"] += 1
        self._hang_up()

    def _psql(self) -> psycopg.Connection:
        give_up = threading.Event()
        while self._connection is None:
            try:
                self._connection = psycopg.connect(self._server.dsn, autocommit=True)
            except psycopg.OperationalError:
                # The server is recovering.
                give_up.wait(0.05)
        return self._connection

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_of_a_storm(error: BaseException) -> str:
    """The class name of an error that a storm may cause; empty for any other error."""
    if isinstance(error, OSError):
        return f"OSError ({type(error).__name__})"
    if isinstance(error, PostgresError) and str(error.sqlstate).startswith(_STATES_OF_ENDS):
        return type(error).__name__
    if isinstance(error, InterfaceError):
        return next((f"InterfaceError ({words})" for words in _ENDS if words in str(error)), "")
    return ""
