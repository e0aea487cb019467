"""What happens to a pool from outside: backends that end, queries that are stopped, restarts."""

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
"""The `application_name` of the connections that are hit."""

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

# What a server that ends, or a backend that is ended, makes of a query.
_STATES_OF_ENDS = ("57P01", "57P02", "57P03", "57014", "08", "25P02", "25P03", "53300")

# What the driver says of connections that have ended: of its own, of one that kept a snapshot.
_ENDS = ("connection is closed", "connection was closed", "snapshot", "released back to the pool")


class Weather(Enum):
    """What a round has to stand."""

    CALM = "calm"
    """Nothing from outside: whatever fails is the driver's own doing."""
    STORM = "storm"
    """Backends are ended, and queries cancelled, by the server's functions."""
    RESTART = "restart"
    """The same, and the server itself ends in the middle, or one of its backends crashes."""


class Storm:
    """Strikes that are counted by operations and dealt by a thread; a context manager."""

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
        """End or stop what one of the connections does."""
        if not self._under_way or self._under_way[-1].done():
            kind = random.choice(list(_STRIKES))
            self._under_way.append(self._hand.submit(self._strike, kind))

    def restart(self, number: int) -> None:
        """End the server one way or the other, or have it crash, and start it again."""
        kinds: tuple[Literal["immediate", "fast"] | None, ...] = ("immediate", "fast", None)
        mode = kinds[number % len(kinds)]
        if mode is None:
            self._under_way.append(self._hand.submit(self._crash))
        else:
            self._under_way.append(self._hand.submit(self._restart, mode))

    def end(self) -> None:
        """Wait until all that was begun has struck; raises what failed."""
        under_way, self._under_way = self._under_way, []
        for blow in under_way:
            blow.result(120)

    def none_is_left(self) -> None:
        """Wait until no backend is left of those that were struck; raises where some are."""
        give_up = time.monotonic() + _GONE_SECONDS_MAX
        while backends := self._hand.submit(self._count).result(30):
            # They end a moment after they were told to.
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
        """The server ends all backends, recovers and goes on when one of them is killed."""
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
                # It recovers.
                give_up.wait(0.05)
        return self._connection

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_of_a_storm(error: BaseException) -> str:
    """The class of an error that a server in a storm may cause; empty for any other."""
    if isinstance(error, OSError):
        return f"OSError ({type(error).__name__})"
    if isinstance(error, PostgresError) and str(error.sqlstate).startswith(_STATES_OF_ENDS):
        return type(error).__name__
    if isinstance(error, InterfaceError):
        return next((f"InterfaceError ({words})" for words in _ENDS if words in str(error)), "")
    return ""
