"""The soak of a pool shared by threads."""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any

import colonnade.sync
from colonnade.errors import QueryCanceledError
from tests.soak.blocking_operations import OPERATIONS, Job, chosen
from tests.soak.books import Books, Tally, WrongResultError, expect
from tests.soak.storm import NAME, Storm, Weather, is_of_a_storm
from tests.support.crowd import Crowd
from tests.support.leftovers import open_files, open_sockets, resident_kib, tcp_sockets_since

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.restarts import RestartableServer

THREADS = 8
SIZES = {"min_size": 2, "max_size": 5}
STUCK_SECONDS = 120.0
_STRIKE_EACH = 12
# As for tasks, with `Connection.cancel` instead of cancelling the task.
_PLANS = {
    "left alone": 65,
    "timeout=": 15,
    "Connection.cancel": 15,
    "acquire(timeout=)": 5,
}


class Soak:
    """One pool, rounds of operations in threads, and their results."""

    def __init__(self, server: RestartableServer, seed: int) -> None:
        self.tally = Tally()
        self.resident: list[int] = []
        """Resident KiB at the end of each round."""
        self._server = server
        self._seed = seed
        self._dsn = f"{server.dsn}?sslmode=disable&application_name={NAME}"
        self._books = Books()
        self._lock = threading.Lock()

    def run(self, rounds: list[tuple[Weather, int]], say: Callable[[str], None]) -> None:
        """Run the rounds; raise at the end of a round in which anything was wrong."""
        sockets, files, threads = open_sockets(), open_files(), threading.active_count()
        with Storm(self._server, self.tally) as storm:
            options: dict[str, Any] = {"max_queries": 400, "max_lifetime": 4.0, **SIZES}
            with colonnade.sync.create_pool(
                self._dsn, max_inactive_connection_lifetime=0.5, **options
            ) as pool:
                for number, (weather, count) in enumerate(rounds):
                    began = time.monotonic()
                    self._round(pool, storm, number, weather, count)
                    seconds = time.monotonic() - began
                    say(f"round {number} ({weather.value}): {count} operations in {seconds:.1f} s")
                stats = pool.get_stats()
                self.tally.checks["connections opened"] += stats.opened
                for reason, closed in stats.closed.items():
                    self.tally.checks[f"connections closed ({reason})"] += closed
            storm.none_is_left()
        expect(tcp_sockets_since(sockets), set(), "sockets that are left")
        expect(open_files() - files, set(), "files that are left")
        expect(max(threading.active_count() - threads, 0), 0, "threads that are left")

    def _round(
        self, pool: colonnade.sync.Pool, storm: Storm, number: int, weather: Weather, count: int
    ) -> None:
        places = iter(range(count))
        restart_at = count // 2 if weather is Weather.RESTART else -1

        def work(worker: int) -> None:
            random = Random(f"{self._seed}/{number}/{worker}")
            while True:
                with self._lock:
                    place = next(places, None)
                    if place is None:
                        return
                    if place == restart_at:
                        storm.restart(number)
                    if weather is not Weather.CALM and random.randrange(_STRIKE_EACH) == 0:
                        storm.strike(random)
                self._operate(pool, random, weather)

        # A hanging thread cannot be ended, so the process prints all stacks and ends.
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        try:
            with Crowd() as crowd:
                for worker in range(THREADS):
                    crowd.start(work, worker)
                crowd.ends(STUCK_SECONDS)
            storm.end()
            self._pool_is_whole(pool)
        finally:
            faulthandler.cancel_dump_traceback_later()
        self.tally.checks["tokens audited in the table"] += self._books.audit(self._server.dsn)
        self.resident.append(resident_kib())

    def _operate(self, pool: colonnade.sync.Pool, random: Random, weather: Weather) -> None:
        kind = chosen(random)
        plan = random.choices(list(_PLANS), list(_PLANS.values()))[0]
        try:
            self._planned(pool, random, kind, plan)
            outcome = "its own result"
        except WrongResultError:
            raise
        except TimeoutError as error:
            if "timeout" not in plan:
                raise WrongResultError(f"{kind}, {plan}: {error!r}") from error
            outcome = "timed out"
        except QueryCanceledError as error:
            if plan != "Connection.cancel" and weather is Weather.CALM:
                raise WrongResultError(f"{kind}, {plan}: cancelled by nobody") from error
            outcome = "cancelled"
        except Exception as error:
            outcome = is_of_a_storm(error)
            if weather is Weather.CALM or not outcome:
                message = f"{kind}, {plan}, {weather.value}: it ended with {error!r}"
                raise WrongResultError(message) from error
        with self._lock:
            self.tally.operations[kind] += 1
            self.tally.outcomes[outcome] += 1
            if plan != "left alone":
                self.tally.faults[plan] += 1
        if outcome.startswith(("OSError", "CannotConnectNow")):
            # The server is down.
            time.sleep(0.02)

    def _planned(self, pool: colonnade.sync.Pool, random: Random, kind: str, plan: str) -> None:
        with self._lock:
            token = self._books.token()
        limit = random.expovariate(200.0) if plan == "timeout=" else None
        patience = random.expovariate(500.0) if plan == "acquire(timeout=)" else None
        with pool.acquire(timeout=patience) as connection:
            expect(connection.is_in_transaction(), False, "a connection in a transaction")
            if connection.fetchval("SELECT current_setting('soak.token', true)"):
                raise WrongResultError("a connection that was not reset")
            mark = "SELECT set_config('soak.token', $1, false)"
            connection.fetchval(mark, str(token), timeout=limit)
            job = Job(connection, token, random, self._books, limit)
            if plan != "Connection.cancel":
                OPERATIONS[kind][1](job)
                return
            with self._cancelled(connection, random.expovariate(300.0)):
                OPERATIONS[kind][1](job)

    @contextlib.contextmanager
    def _cancelled(self, connection: Any, seconds: float) -> Iterator[None]:
        """A block in which another thread once cancels the connection's query."""
        failures: list[Exception] = []

        def cancel() -> None:
            try:
                connection.cancel(timeout=10)
            except Exception as error:  # noqa: BLE001 - raised by the waiting thread
                failures.append(error)

        timer = threading.Timer(seconds, cancel)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
        # On a closed connection there is nothing to cancel.
        for error in failures:
            raise error

    def _pool_is_whole(self, pool: colonnade.sync.Pool) -> None:
        stats = pool.get_stats()
        expect((stats.busy, stats.waiting, stats.opening), (0, 0, 0), "a pool at rest")
        give_up = time.monotonic() + STUCK_SECONDS / 2
        for attempt in itertools.count():
            try:
                with contextlib.ExitStack() as held:
                    for _ in range(SIZES["max_size"]):
                        connection = held.enter_context(pool.acquire(timeout=30))
                        answer = connection.fetchval("SELECT $1::int", attempt)
                        expect(answer, attempt, "an answer at the end of a round")
                    expect(pool.get_size(), SIZES["max_size"], "size of a fully lent pool")
            except Exception as error:
                # An effect of the storm that has just ended.
                if not is_of_a_storm(error) or time.monotonic() > give_up:
                    raise
                time.sleep(0.02)
            else:
                self.tally.checks["connections of whole pools that answered"] += SIZES["max_size"]
                return
