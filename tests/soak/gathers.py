"""The soak of `Pool.gather`: gathers that are cancelled, late or broken off at random moments."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any

import psycopg

import colonnade
import colonnade.sync
from colonnade import Gathered, Query
from colonnade.errors import DeadlineError, DivisionByZeroError
from tests.soak.books import Tally, WrongResultError, expect
from tests.support.crowd import Crowd
from tests.support.leftovers import open_sockets, resident_kib, tcp_sockets_since

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "soak-gathers"
WORKERS = 6
SIZE = 5
REST_SECONDS_MAX = 30.0
ROUND = 500

_BUSY = f"""
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = '{NAME}' AND state <> 'idle'
"""
_BACKENDS = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{NAME}'"
_DEADLINES = (None, 10.0, 0.005, 0.02)


def queries(random: Random) -> dict[str, Query[Any]]:
    """Some queries of a gather; the result of each tells its name."""
    made: dict[str, Query[Any]] = {}
    for number in range(random.randrange(1, 13)):
        nap = random.expovariate(100.0)
        kinds: list[Query[Any]] = [
            Query.value("SELECT $1::int", number, cost=0.0),
            Query.value("SELECT $1::int FROM pg_sleep($2)", number, nap),
            Query.value("SELECT $1::int FROM pg_sleep($2)", number, nap, cost=0.0),
            Query.value(f"SELECT {number} FROM pg_sleep(0.01)", shared=True),
            Query.rows("SELECT $1::int, repeat('x', 1000) FROM generate_series(1, 500)", number),
            Query.columns("SELECT $1::int AS n FROM generate_series(1, 5000)", number),
        ]
        made[str(number)] = random.choice(kinds)
    if random.random() < 0.1:
        made["wrong"] = Query.value("SELECT 1 / 0 FROM pg_sleep($1)", random.expovariate(200.0))
    return made


def check_results(results: Gathered) -> None:
    """Raise unless each result is that of its query, or a reason that is expected."""
    for name in results:
        error = results.errors.get(name)
        if error is not None:
            if not isinstance(error, DeadlineError | DivisionByZeroError):
                raise WrongResultError(f"the query {name} ended with {error!r}") from error
            continue
        result = results[name]
        if isinstance(result, list):
            result = {row[0] for row in result}
            expect(result, {int(name)}, "rows")
        elif isinstance(result, colonnade.Columns):
            expect(set(result["n"].tolist()), {int(name)}, "columns")
        else:
            expect(result, int(name), "a value")


class Watcher:
    """A connection of another driver, which sees what the server still does."""

    def __init__(self, dsn: str, tally: Tally) -> None:
        self._psql = psycopg.connect(dsn, autocommit=True)
        self._tally = tally

    def close(self) -> None:
        self._psql.close()

    def rests(self) -> None:
        """Wait until no backend of the pool is busy and none is left over; raise if some are."""
        give_up = time.monotonic() + REST_SECONDS_MAX
        while busy := self._count(_BUSY):
            if time.monotonic() > give_up:
                raise WrongResultError(f"{busy} backends are still busy")
            time.sleep(0.01)
        while (backends := self._count(_BACKENDS)) > SIZE:
            if time.monotonic() > give_up:
                raise WrongResultError(f"{backends} backends of a pool of {SIZE}")
            time.sleep(0.01)
        self._tally.checks["rests without a busy backend"] += 1

    def none_is_left(self) -> None:
        """Wait until the closed pool has no backend; raise if some remain."""
        give_up = time.monotonic() + REST_SECONDS_MAX
        while backends := self._count(_BACKENDS):
            if time.monotonic() > give_up:
                raise WrongResultError(f"{backends} backends of a closed pool")
            time.sleep(0.01)

    def _count(self, sql: str) -> int:
        row = self._psql.execute(sql.encode()).fetchone()
        return 0 if row is None else int(row[0])


class Tasks:
    """Gathers of tasks, cancelled at random moments."""

    def __init__(self, dsn: str, seed: int) -> None:
        self.tally = Tally()
        self.resident: list[int] = []
        self._dsn = dsn
        self._seed = seed
        self._unheard: list[str] = []

    async def run(self, count: int, say: Callable[[str], None]) -> None:
        """Run until this many gathers were cancelled; raise if one has left anything."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self._unheard.append(repr(context)))
        tasks, sockets = asyncio.all_tasks(), open_sockets()
        watcher = Watcher(self._dsn, self.tally)
        try:
            settings = {"application_name": NAME}
            async with colonnade.create_pool(
                self._dsn, min_size=SIZE, max_size=SIZE, server_settings=settings
            ) as pool:
                number = 0
                while (left := count - self.tally.outcomes["cancelled"]) > 0:
                    await self._round(pool, number, min(ROUND, left))
                    await asyncio.to_thread(watcher.rests)
                    await self._is_whole(pool, tasks)
                    number += 1
                    done = self.tally.outcomes["cancelled"]
                    say(f"round {number}: {done} gathers cancelled of {self.tally.total}")
                stats = pool.get_stats()
                self.tally.checks["connections opened"] += stats.opened
            await asyncio.to_thread(watcher.none_is_left)
        finally:
            watcher.close()
        expect(tcp_sockets_since(sockets), set(), "sockets that are left")
        gc.collect()
        expect(self._unheard, [], "unhandled errors")

    async def _round(self, pool: colonnade.Pool, number: int, count: int) -> None:
        until = self.tally.outcomes["cancelled"] + count

        async def work(worker: int) -> None:
            random = Random(f"{self._seed}/{number}/{worker}")
            while self.tally.outcomes["cancelled"] < until:
                await self._gather(pool, random)

        async with asyncio.TaskGroup() as group:
            for worker in range(WORKERS):
                group.create_task(work(worker))
        self.resident.append(resident_kib())

    async def _gather(self, pool: colonnade.Pool, random: Random) -> None:
        on_error: Any = random.choice(["raise", "return"])
        gather = asyncio.ensure_future(
            pool.gather(queries(random), deadline=random.choice(_DEADLINES), on_error=on_error)
        )
        if random.random() < 0.2:
            for _ in range(random.randrange(12)):
                await asyncio.sleep(0)
        else:
            await asyncio.wait([gather], timeout=random.expovariate(150.0))
        gather.cancel()
        await asyncio.wait([gather], timeout=REST_SECONDS_MAX)
        if not gather.done():
            gather.print_stack()
            raise WrongResultError("a cancelled gather did not end")
        if gather.cancelled():
            self.tally.outcomes["cancelled"] += 1
            return
        error = gather.exception()
        if error is None:
            check_results(gather.result())
            self.tally.outcomes["its own results"] += 1
        elif isinstance(error, DeadlineError | DivisionByZeroError):
            self.tally.outcomes[type(error).__name__] += 1
        else:
            raise WrongResultError(f"a gather ended with {error!r}") from error

    async def _is_whole(self, pool: colonnade.Pool, tasks: set[asyncio.Task[Any]]) -> None:
        """Check that all connections are free and as they were, and no other task is left."""
        held = [await pool.acquire(timeout=REST_SECONDS_MAX) for _ in range(SIZE)]
        for connection in held:
            expect(await connection.fetchval("SHOW statement_timeout"), "0", "statement_timeout")
            self.tally.checks["connections without statement_timeout"] += 1
        for connection in held:
            await pool.release(connection)
        give_up = time.monotonic() + REST_SECONDS_MAX
        while left := asyncio.all_tasks() - tasks:
            if time.monotonic() > give_up:
                raise WrongResultError(f"tasks that are left: {left}")
            await asyncio.sleep(0.005)


class Threads:
    """Gathers of threads, which have no cancellation: deadlines and errors break them off."""

    def __init__(self, dsn: str, seed: int) -> None:
        self.tally = Tally()
        self.resident: list[int] = []
        self._dsn = dsn
        self._seed = seed
        self._lock = threading.Lock()

    def run(self, count: int, say: Callable[[str], None]) -> None:
        """Run this many gathers; raise if one has left anything."""
        sockets, threads = open_sockets(), threading.active_count()
        with contextlib.closing(Watcher(self._dsn, self.tally)) as watcher:
            settings = {"application_name": NAME}
            with colonnade.sync.create_pool(
                self._dsn, min_size=SIZE, max_size=SIZE, server_settings=settings
            ) as pool:
                number = 0
                while (left := count - self.tally.total) > 0:
                    self._round(pool, number, min(ROUND, left))
                    watcher.rests()
                    self._is_whole(pool, threads)
                    number += 1
                    say(f"round {number}: {self.tally.total} gathers")
                self.tally.checks["connections opened"] += pool.get_stats().opened
            watcher.none_is_left()
        expect(tcp_sockets_since(sockets), set(), "sockets that are left")

    def _round(self, pool: colonnade.sync.Pool, number: int, count: int) -> None:
        places = iter(range(count))

        def work(worker: int) -> None:
            random = Random(f"{self._seed}/{number}/{worker}")
            while True:
                with self._lock:
                    if next(places, None) is None:
                        return
                outcome = self._gather(pool, random)
                with self._lock:
                    self.tally.outcomes[outcome] += 1

        with Crowd() as crowd:
            for worker in range(WORKERS):
                crowd.start(work, worker)
            crowd.ends(10 * REST_SECONDS_MAX)
        self.resident.append(resident_kib())

    def _gather(self, pool: colonnade.sync.Pool, random: Random) -> str:
        on_error: Any = random.choice(["raise", "return"])
        asked = queries(random)
        if random.random() < 0.5:
            asked["wrong"] = Query.value("SELECT 1 / 0 FROM pg_sleep($1)", random.random() / 50)
        try:
            results = pool.gather(asked, deadline=random.choice(_DEADLINES), on_error=on_error)
        except (DeadlineError, DivisionByZeroError) as error:
            return f"broken off by {type(error).__name__}"
        check_results(results)
        return "some were late" if results.errors else "its own results"

    def _is_whole(self, pool: colonnade.sync.Pool, threads: int) -> None:
        with contextlib.ExitStack() as stack:
            for _ in range(SIZE):
                connection = stack.enter_context(pool.acquire(timeout=REST_SECONDS_MAX))
                expect(connection.fetchval("SHOW statement_timeout"), "0", "statement_timeout")
                self.tally.checks["connections without statement_timeout"] += 1
        give_up = time.monotonic() + REST_SECONDS_MAX
        while (left := threading.active_count()) > threads:
            if time.monotonic() > give_up:
                raise WrongResultError(f"{left - threads} threads are left")
            time.sleep(0.005)
