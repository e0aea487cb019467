"""A program that queries without a pause and is interrupted repeatedly.

    python -m tests.soak.interrupted DSN connection|pool|dbapi OPERATIONS SEED

It prints "ready", treats every SIGINT as Ctrl-C, and after each interrupted operation checks its
connection. At the end it prints its counts as JSON; if anything was wrong, it fails.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import signal
import sys
import warnings
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

import colonnade.sync
from colonnade import dbapi
from colonnade.errors import InterfaceWarning
from tests.soak.blocking_operations import OPERATIONS, Job, chosen
from tests.soak.books import Books, WrongResultError, expect
from tests.soak.storm import NAME

if TYPE_CHECKING:
    from types import FrameType

STUCK_SECONDS = 60.0
_WARM_UP = 100
# The timeouts of calls in seconds. No call takes so long unless a timeout outlives its call.
_LIMITS = (None, None, 5.0)

_BLOCK = "SELECT %s::bigint, i FROM generate_series(1, %s) AS i"
_INSERT = "INSERT INTO soak_rows (token, part) VALUES (%s, %s)"


class User(Protocol):
    """A user of a connection or a pool."""

    def operate(self, token: int, random: Random, books: Books) -> str:
        """Run one operation, which may be interrupted; return its kind."""

    def check(self, token: int) -> str:
        """Check the connection or pool after an interrupt; return the steps needed for it."""

    def close(self) -> None:
        """The end."""


class ConnectionUser:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection = colonnade.sync.connect(dsn)

    def operate(self, token: int, random: Random, books: Books) -> str:
        kind = chosen(random)
        limit = random.choice(_LIMITS)
        OPERATIONS[kind][1](Job(self._connection, token, random, books, limit))
        return kind

    def check(self, token: int) -> str:
        state = "usable"
        if self._connection.is_closed():
            self._connection, state = colonnade.sync.connect(self._dsn), "closed"
        value = self._connection.fetchval("SELECT $1::bigint", token, timeout=STUCK_SECONDS / 2)
        expect(value, token, "an answer after Ctrl-C")
        expect(self._connection.is_in_transaction(), False, "in a transaction after Ctrl-C")
        # From an operation that could not reset its `statement_timeout`.
        self._connection.reset()
        return state

    def close(self) -> None:
        self._connection.close()


class PoolUser:
    def __init__(self, dsn: str) -> None:
        self._pool = colonnade.sync.create_pool(dsn, min_size=1, max_size=2, max_queries=50)

    def operate(self, token: int, random: Random, books: Books) -> str:
        kind = chosen(random)
        if kind == "fetchval":
            expect(self._pool.fetchval("SELECT $1::bigint", token), token, "Pool.fetchval")
            return "Pool.fetchval"
        with self._pool.acquire() as connection:
            expect(connection.is_in_transaction(), False, "a connection in a transaction")
            limit = random.choice(_LIMITS)
            OPERATIONS[kind][1](Job(connection, token, random, books, limit))
        return kind

    def check(self, token: int) -> str:
        gc.collect()
        stats = self._pool.get_stats()
        expect((stats.busy, stats.waiting, stats.opening), (0, 0, 0), "a pool after Ctrl-C")
        with self._pool.acquire(timeout=10) as first, self._pool.acquire(timeout=10) as second:
            for number, connection in enumerate((first, second)):
                value = connection.fetchval("SELECT $1::bigint", token + number)
                expect(value, token + number, "an answer after Ctrl-C")
        return "whole"

    def close(self) -> None:
        self._pool.close()


class DbapiUser:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection = dbapi.connect(dsn)

    def operate(self, token: int, random: Random, books: Books) -> str:
        kind = random.choice(["select", "commit", "rollback", "executemany", "named cursor"])
        connection, count = self._connection, random.choice([1, 5, 500])
        if kind == "select":
            cursor = connection.cursor()
            cursor.execute(_BLOCK, (token, count))
            expect(cursor.fetchall(), [(token, n + 1) for n in range(count)], "fetchall")
        elif kind == "named cursor":
            with connection.cursor("soak") as named:
                named.execute(_BLOCK, (token, 500))
                expect(named.fetchmany(10), [(token, n + 1) for n in range(10)], "fetchmany")
        elif kind == "executemany":
            books.may_write(token, count)
            connection.cursor().executemany(_INSERT, [(token, n) for n in range(count)])
            connection.commit()
            books.has_written(token, count)
            return kind
        else:
            books.may_write(token, 2 if kind == "commit" else 0)
            connection.execute(_INSERT, (token, 1))
            connection.execute(_INSERT, (token, 2))
            if kind == "commit":
                connection.commit()
                books.has_written(token, 2)
                return kind
        connection.rollback()
        return kind

    def check(self, token: int) -> str:
        state = "usable"
        if self._connection.closed:
            self._connection, state = dbapi.connect(self._dsn), "closed"
        # Roll back like a caller that has caught an exception.
        self._connection.rollback()
        value = self._connection.execute("SELECT %s::bigint", (token,)).fetchone()
        expect(value, (token,), "an answer after Ctrl-C")
        self._connection.rollback()
        return state

    def close(self) -> None:
        self._connection.close()


USERS: dict[str, Any] = {"connection": ConnectionUser, "pool": PoolUser, "dbapi": DbapiUser}


class CtrlC:
    """Handles SIGINT like Python's own handler while an operation runs; else counts it."""

    def __init__(self) -> None:
        self.is_armed = False
        self.counts: Counter[str] = Counter()
        signal.signal(signal.SIGINT, self._strike)

    def _strike(self, _signal: int, _frame: FrameType | None) -> None:
        if not self.is_armed:
            self.counts["between operations"] += 1
            return
        self.counts["within operations"] += 1
        raise KeyboardInterrupt


def run(dsn: str, mode: str, operations: int, seed: int) -> dict[str, Counter[str]]:
    """Run the operations; raise if anything was wrong."""
    random, books, ctrl_c = Random(seed), Books(), CtrlC()
    kinds: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    user: User = USERS[mode](f"{dsn}?sslmode=disable&application_name={NAME}")
    # NumPy cannot be imported again if Ctrl-C strikes during its import.
    for _ in range(_WARM_UP):
        user.operate(books.token(), random, books)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for _ in range(operations):
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        try:
            ctrl_c.is_armed = True
            kind = user.operate(books.token(), random, books)
            ctrl_c.is_armed = False
        except KeyboardInterrupt:
            ctrl_c.is_armed = False
            outcomes["interrupted"] += 1
        except BaseException as error:
            ctrl_c.is_armed = False
            raise WrongResultError(f"it ended with {error!r}") from error
        else:
            kinds[kind] += 1
            outcomes["its own result"] += 1
            continue
        outcomes[f"{user.check(books.token())} afterwards"] += 1
        # The check has used this token and the next one, so skip that.
        books.token()
    user.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcomes["tokens audited in the table"] += books.audit(dsn)
    faulthandler.cancel_dump_traceback_later()
    return {"operations": kinds, "outcomes": outcomes, "Ctrl-C": ctrl_c.counts}


if __name__ == "__main__":
    # A connection or socket lost to Ctrl-C closes itself with a ResourceWarning.
    warnings.filterwarnings("ignore", "unclosed", ResourceWarning)
    # A pool also warns of a listener whose removal was interrupted.
    warnings.filterwarnings("ignore", ".*active notification listener", InterfaceWarning)
    done = run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    sys.stdout.write(json.dumps(done) + "\n")
