"""The soak of an asyncio pool: rounds of disturbed operations, each with an audit."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import colonnade
from colonnade.errors import InterfaceError, InterfaceWarning, PostgresError
from tests.soak.books import Books, Tally, WrongResultError, expect
from tests.soak.operations import OPERATIONS, Job
from tests.soak.storm import NAME, Storm, Weather, is_of_a_storm
from tests.support.leftovers import open_files, open_sockets, resident_kib, tcp_sockets_since

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.restarts import RestartableServer

WORKERS = 10
SIZE_MIN, SIZE_MAX = 2, 6
STUCK_SECONDS = 60.0

# In a storm, one strike from outside per this many operations.
_STRIKE_EACH = 12

# The disturbances of an operation, with weights.
_PLANS = {
    "left alone": 60,
    "cancelled at a time": 16,
    "cancelled at a turn": 8,
    "cancelled twice": 5,
    "asyncio.timeout": 5,
    "timeout=": 6,
}


@dataclass(frozen=True)
class Before:
    """The resources in use when the soak began."""

    tasks: set[asyncio.Task[Any]]
    sockets: set[str]
    files: set[str]
    threads: int = field(default_factory=threading.active_count)


class Soak:
    """One pool, rounds of operations, and their results."""

    def __init__(self, server: RestartableServer, seed: int) -> None:
        self.tally = Tally()
        self.resident: list[int] = []
        """Resident KiB at the end of each round."""
        self._server = server
        self._seed = seed
        self._dsn = f"{server.dsn}?sslmode=disable&application_name={NAME}"
        self._books = Books()
        self._unheard: list[str] = []
        self._kinds = list(OPERATIONS)
        self._weights = [OPERATIONS[kind][0] for kind in self._kinds]

    async def run(self, rounds: list[tuple[Weather, int]], say: Callable[[str], None]) -> None:
        """Run the rounds; raise at the end of a round in which anything was wrong."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self._hear(context))
        warnings.simplefilter("ignore", InterfaceWarning)
        logging.getLogger("colonnade").addHandler(logging.NullHandler())
        sys.unraisablehook = lambda args: self._unheard.append(repr(args))
        before = Before(set(asyncio.all_tasks()), open_sockets(), open_files())
        with Storm(self._server, self.tally) as storm:
            pool = await colonnade.create_pool(
                self._dsn,
                min_size=SIZE_MIN,
                max_size=SIZE_MAX,
                max_queries=400,
                max_inactive_connection_lifetime=0.5,
                max_lifetime=4.0,
            )
            try:
                for number, (weather, count) in enumerate(rounds):
                    began = time.monotonic()
                    await self._round(pool, storm, number, weather, count)
                    seconds = time.monotonic() - began
                    say(f"round {number} ({weather.value}): {count} operations in {seconds:.1f} s")
                await pool.close()
            finally:
                self._count(pool)
                pool.terminate()
            await asyncio.to_thread(storm.none_is_left)
        await self._nothing_left(before)

    def _count(self, pool: colonnade.Pool) -> None:
        stats = pool.get_stats()
        self.tally.checks["connections opened"] += stats.opened
        self.tally.checks["connections that could not be opened"] += stats.open_failures
        for reason, closed in stats.closed.items():
            self.tally.checks[f"connections closed ({reason})"] += closed

    def _hear(self, context: dict[str, Any]) -> None:
        # The log message of an operation that leaves a transaction open on purpose.
        if not context["message"].startswith("Resetting connection with an active transaction"):
            self._unheard.append(repr(context))

    async def _round(
        self, pool: colonnade.Pool, storm: Storm, number: int, weather: Weather, count: int
    ) -> None:
        places = iter(range(count))
        restart_at = count // 2 if weather is Weather.RESTART else -1

        async def work(worker: int) -> None:
            random = Random(f"{self._seed}/{number}/{worker}")
            for place in places:
                if place == restart_at:
                    storm.restart(number)
                if weather is not Weather.CALM and random.randrange(_STRIKE_EACH) == 0:
                    storm.strike(random)
                await self._operate(pool, random, weather)

        workers = [asyncio.create_task(work(worker)) for worker in range(WORKERS)]
        try:
            await self._watch(workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
        await asyncio.to_thread(storm.end)
        await self._pool_is_whole(pool)
        audited = await asyncio.to_thread(self._books.audit, self._server.dsn)
        self.tally.checks["tokens audited in the table"] += audited
        gc.collect()
        await asyncio.sleep(0)
        expect(self._unheard, [], "unhandled errors")
        self.resident.append(resident_kib())

    async def _watch(self, workers: list[asyncio.Task[None]]) -> None:
        """Wait for all; raise the exception of one, or an error if none ends any more."""
        waiting = set(workers)
        while waiting:
            seen = self.tally.total
            done, waiting = await asyncio.wait(
                waiting, timeout=STUCK_SECONDS, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in done:
                task.result()
            if waiting and self.tally.total == seen:
                for task in asyncio.all_tasks():
                    task.print_stack()
                raise WrongResultError(f"no operation has ended for {STUCK_SECONDS} s")

    async def _operate(self, pool: colonnade.Pool, random: Random, weather: Weather) -> None:
        kind = random.choices(self._kinds, self._weights)[0]
        plan = random.choices(list(_PLANS), list(_PLANS.values()))[0]
        limit = random.expovariate(200.0) if plan == "timeout=" else None
        job = Job(pool, self._dsn, self._books.token(), random, self._books, self.tally, limit)
        self.tally.operations[kind] += 1
        if plan != "left alone":
            self.tally.faults[plan] += 1
        operation = asyncio.ensure_future(self._planned(kind, job, plan))
        try:
            await _disturb(operation, random, plan)
            done, _ = await asyncio.wait([operation], timeout=STUCK_SECONDS)
            if not done:
                operation.print_stack()
                raise WrongResultError(f"{kind}, {plan}: did not end within {STUCK_SECONDS} s")
        finally:
            operation.cancel()
        outcome = self._outcome(operation, kind, plan, weather)
        self.tally.outcomes[outcome] += 1
        if outcome.startswith(("OSError", "CannotConnectNow")):
            # The server is down.
            await asyncio.sleep(0.02)

    async def _planned(self, kind: str, job: Job, plan: str) -> None:
        operation = OPERATIONS[kind][1]
        if plan != "asyncio.timeout":
            await operation(job)
            return
        async with asyncio.timeout(job.random.expovariate(200.0)):
            await operation(job)

    def _outcome(
        self, operation: asyncio.Task[None], kind: str, plan: str, weather: Weather
    ) -> str:
        """Classify the end of an operation; raise for an impossible one."""
        if operation.cancelled():
            if "cancelled" in plan:
                return "cancelled"
            raise WrongResultError(f"{kind}, {plan}: cancelled by nobody")
        error = operation.exception()
        if error is None:
            return "its own result"
        if isinstance(error, WrongResultError):
            raise error
        if isinstance(error, TimeoutError) and plan in {"asyncio.timeout", "timeout="}:
            return "timed out"
        if weather is not Weather.CALM and (name := is_of_a_storm(error)):
            return name
        message = f"{kind}, {plan}, {weather.value}: it ended with {error!r}"
        raise WrongResultError(message) from error

    async def _pool_is_whole(self, pool: colonnade.Pool) -> None:
        """Check that every place of the pool is free, and that each connection answers."""
        give_up = time.monotonic() + STUCK_SECONDS
        while True:
            stats = pool.get_stats()
            if (stats.busy, stats.waiting, stats.opening) == (0, 0, 0):
                break
            if time.monotonic() > give_up:
                raise WrongResultError(f"a pool that is not whole: {stats}")
            await asyncio.sleep(0.005)
        async with asyncio.timeout(STUCK_SECONDS):
            held: list[Any] = []
            while len(held) < SIZE_MAX:
                try:
                    connection = await pool.acquire()
                    held.append(connection)
                    token = self._books.token()
                    answer = await connection.fetchval("SELECT $1::bigint", token)
                except (OSError, PostgresError, InterfaceError) as error:
                    # An effect of the storm that has just ended.
                    if not is_of_a_storm(error):
                        raise
                    while held:
                        await pool.release(held.pop())
                    await asyncio.sleep(0.02)
                    continue
                expect(answer, token, "an answer at the end of a round")
            expect(pool.get_size(), SIZE_MAX, "size of a fully lent pool")
            self.tally.checks["connections of whole pools that answered"] += len(held)
            for connection in held:
                await pool.release(connection)
        expect(pool.get_size(), pool.get_idle_size(), "idle connections of a pool at rest")

    async def _nothing_left(self, before: Before) -> None:
        await asyncio.get_running_loop().shutdown_default_executor()
        give_up = time.monotonic() + 10.0
        while (
            asyncio.all_tasks() - before.tasks
            or tcp_sockets_since(before.sockets)
            or open_files() - before.files
        ):
            # Sockets close a moment after the request, and a restart opens files for a moment.
            await asyncio.sleep(0.01)
            if time.monotonic() > give_up:
                break
        expect(asyncio.all_tasks() - before.tasks, set(), "tasks that are left")
        expect(tcp_sockets_since(before.sockets), set(), "sockets that are left")
        expect(open_files() - before.files, set(), "files that are left")
        expect(max(threading.active_count() - before.threads, 0), 0, "threads that are left")
        gc.collect()
        expect(self._unheard, [], "unhandled errors")


async def _disturb(operation: asyncio.Task[None], random: Random, plan: str) -> None:
    """Cancel the task if that is the plan."""
    if "cancelled" not in plan:
        return
    if plan == "cancelled at a turn":
        for _ in range(random.randrange(12)):
            await asyncio.sleep(0)
    else:
        await asyncio.wait([operation], timeout=random.expovariate(250.0))
    operation.cancel()
    if plan == "cancelled twice":
        if random.random() < 0.5:
            await asyncio.sleep(0)
        else:
            await asyncio.wait([operation], timeout=random.expovariate(1000.0))
        operation.cancel()
