"""A run: a server, workers, producers, and one fault after another until all jobs are done."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import re
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import psycopg

import colonnade.sync
from colonnade.jobs import Retry, sync as jobs
from tests.jobs.chaos import clocks, ledger
from tests.jobs.chaos.crew import Producer, Station
from tests.jobs.chaos.plan import DECK, NAME, PAYLOAD, QUEUE, Injection, Road
from tests.jobs.chaos.roads import BusyDoor, MortalPooler
from tests.jobs.chaos.verdict import Evidence
from tests.support import pooler
from tests.support.fault_proxy import FaultProxy
from tests.support.restarts import RestartableServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.jobs.chaos.plan import Plan, Post
    from tests.support.restarts import Mode

# Durable, and with the time limits that protect a server from connections without a peer.
_SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    "idle_in_transaction_session_timeout": "5s",
    "tcp_user_timeout": "5s",
}
_TABLES = (
    "CREATE TABLE public.added (chunk int PRIMARY KEY)",
    "CREATE TABLE public.results (n int8 NOT NULL, worker text NOT NULL)",
)
_HIT = (
    "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid()"
    " AND (state <> 'idle' OR random() < 0.3) ORDER BY random() LIMIT 1"
)
_WRONG_COUNTS = (
    "SELECT n, count(r.n) FROM generate_series(0, %s - 1) AS n LEFT JOIN results AS r USING (n)"
    " GROUP BY n HAVING count(r.n) <> 1"
)
# A backend that ends by a fault of its own; those that are killed here end by signal 9 or 3.
_UNEXPLAINED = re.compile(r".*(?:terminated by signal (?:4|6|7|8|11)\b|PANIC:|TRAP:).*")
_BACKLOG_JOBS_MAX = 60_000
_LOOK_S = 0.3
_TICK_S = 0.02
_CALM_SECONDS_MAX = 180.0
_END_SECONDS_MAX = 60.0


class Report:
    """The acts of a run, and its remains."""

    def __init__(self, evidence: Evidence, injected: Counter[Injection]) -> None:
        self.evidence = evidence
        self.injected = injected
        self.failures: list[str] = []
        self.seconds = 0.0
        self.repeated_adds = 0


class Conductor:
    """Runs a plan once; the ledgers of its workers stay in the directory."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        self._plan = plan
        self._directory = directory
        self._random = random.Random(plan.seed)
        self._injected = Counter[Injection]()
        self._deck: list[Injection] = []
        self._stack = contextlib.ExitStack()
        self._held: list[tuple[float, psycopg.Connection[Any]]] = []
        self._said: list[str] = []
        self._chunks: queue.Queue[int | None] = queue.Queue()
        self._asked = 0
        self._injections = {
            Injection.KILL_WORKER: self._kill_worker,
            Injection.FREEZE_WORKER: self._freeze_worker,
            Injection.RETIRE_WORKER: self._retire_worker,
            Injection.KILL_PRODUCER: self._kill_producer,
            Injection.TERMINATE: self._terminate,
            Injection.CANCEL: self._cancel,
            Injection.CRASH_BACKEND: self._crash_backend,
            Injection.CRASH_SERVER: self._crash_server,
            Injection.RESTART_SERVER: self._restart_server,
            Injection.HOLD_SNAPSHOT: self._hold_snapshot,
            Injection.STEP_CLOCK: self._step_clock,
            Injection.CUT: self._cut,
            Injection.STALL: self._stall,
            Injection.KILL_POOLER: self._kill_pooler,
            Injection.HOLD_ROWS: self._hold_rows,
        }

    def run(self) -> Report:
        """Start everything, disturb it until the end, and collect what is left."""
        with self._stack:
            self._set_up()
            began = time.monotonic()
            self._disturb()
            self._calm_down()
            seconds = time.monotonic() - began
            for station in self._stations:
                station.tell_to_end()
            give_up = time.monotonic() + _END_SECONDS_MAX
            for station in self._stations:
                station.wait(give_up)
            return self._collect(seconds)

    # Beginning and end

    def _set_up(self) -> None:
        self._clock = clocks.Clock(self._directory)
        self._server = self._stack.enter_context(RestartableServer(_SETTINGS))
        self._proxy = self._stack.enter_context(FaultProxy(self._server.dsn))
        self._door = self._stack.enter_context(BusyDoor(self._proxy))
        self._pooler: MortalPooler | None = None
        if pooler.program() is not None:
            self._pooler = self._stack.enter_context(MortalPooler(self._server.dsn))
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            for statement in _TABLES:
                connection.execute(statement.encode())
        self._pool = self._stack.enter_context(
            colonnade.sync.create_pool(self._server.dsn, min_size=0, max_size=1)
        )
        layout: dict[str, Any] = {} if self._plan.layout == "rows" else {"layout": "segments"}
        retry = Retry(max_attempts=30_000, delay=0.05, factor=1)
        self._queue = jobs.create_queue(self._pool, QUEUE, PAYLOAD, retry=retry, **layout)
        self._stations = [
            Station(
                number,
                post,
                self._plan,
                dsn=self._dsn(post.road),
                directory=self._directory,
                environment=self._environment(post),
            )
            for number, post in enumerate(self._plan.posts)
        ]
        for station in self._stations:
            self._stack.callback(station.kill)
        self._producers = [
            Producer(self._plan, self._dsn(road), self._chunks)
            for road in (Road.DIRECT, Road.PROXY)
        ]
        for producer in self._producers:
            self._stack.callback(producer.close)

    def _environment(self, post: Post) -> Mapping[str, str]:
        return self._clock.environment if post.is_clock_stepped and clocks.library() else {}

    def _dsn(self, road: Road) -> str:
        dsn = self._server.dsn
        if road is Road.PROXY:
            dsn = self._door.dsn
        elif road is Road.POOLER and self._pooler is not None:
            dsn = self._pooler.dsn
        return f"{dsn}?application_name={NAME}"

    def _collect(self, seconds: float) -> Report:
        events = [
            event
            for path in sorted(self._directory.glob("*.ledger"))
            for event in ledger.read(path)
        ]
        killed = set[str]().union(*(station.killed for station in self._stations))
        evidence = Evidence(self._plan, events, killed)
        report = Report(evidence, self._injected)
        report.seconds = seconds
        report.failures = [line for station in self._stations for line in station.failed]
        self._read_log()
        report.failures += [f"the server said: {line}" for line in self._said]
        report.repeated_adds = sum(producer.repeated for producer in self._producers)
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            row = connection.execute(b"SELECT count(*) FROM public.added").fetchone()
            if row != (self._plan.chunks,):
                report.failures.append(f"{row} chunks were added, not {self._plan.chunks}")
            if self._plan.mode == "commit":
                evidence.results = dict(
                    connection.execute(_WRONG_COUNTS.encode(), (self._plan.jobs,)).fetchall()
                )
        stats = self._queue.stats()
        if stats.total or stats.dead:
            report.failures.append(f"at the end the queue still has jobs: {stats}")
        return report

    # In the middle

    def _disturb(self) -> None:
        """Inject faults until all jobs are added, each fault was dealt, and few jobs are left."""
        next_look = next_fault = 0.0
        first_deck, dealt, length = sum(DECK.values()), 0, 0
        while True:
            now = time.monotonic()
            for station in self._stations:
                station.keep_manned(self._random)
            self._end_held(now)
            if now >= next_look:
                next_look = now + _LOOK_S
                length = self._length(length)
                self._feed(length, min(1.0, dealt / first_deck))
                if self._is_all_added() and dealt >= first_deck and length < self._plan.limit:
                    return
            if now >= next_fault:
                self._inject()
                dealt += 1
                next_fault = time.monotonic() + self._random.uniform(*self._plan.pause)
            time.sleep(_TICK_S)

    def _length(self, last: int) -> int:
        with contextlib.suppress(OSError, colonnade.PostgresError, colonnade.InterfaceError):
            return self._queue.length()
        return last

    def _feed(self, length: int, part: float) -> None:
        """Let the producers add, as far as the backlog and the faults so far allow."""
        waiting = length + self._chunks.qsize() * self._plan.chunk
        allowed = int(self._plan.chunks * part)
        while self._asked < allowed and waiting < _BACKLOG_JOBS_MAX:
            self._chunks.put(self._asked)
            self._asked += 1
            waiting += self._plan.chunk
        if self._asked == self._plan.chunks:
            self._asked += 1
            for _ in self._producers:
                self._chunks.put(None)

    def _is_all_added(self) -> bool:
        return sum(producer.added for producer in self._producers) == self._plan.chunks

    def _inject(self) -> None:
        if not self._deck:
            self._deck = [each for each, times in DECK.items() for _ in range(times)]
            self._random.shuffle(self._deck)
        injection = self._deck.pop()
        with contextlib.suppress(psycopg.Error):
            if self._injections[injection]():
                self._injected[injection] += 1

    def _calm_down(self) -> None:
        """Without further faults, wait until the leases of the dead have ended and all is done."""
        self._door.disarm()
        self._end_held(float("inf"))
        for station in self._stations:
            station.thaw()
        give_up = time.monotonic() + _CALM_SECONDS_MAX
        length = 1
        while length and time.monotonic() < give_up:
            for station in self._stations:
                station.keep_manned(self._random)
            time.sleep(_LOOK_S / 3)
            length = self._length(length)

    # The faults; each returns whether it struck

    def _kill_worker(self) -> bool:
        self._random.choice(self._stations).kill()
        return True

    def _freeze_worker(self) -> bool:
        seconds = self._plan.lease * self._random.uniform(1.1, 1.8)
        self._random.choice(self._stations).freeze(seconds)
        return True

    def _retire_worker(self) -> bool:
        self._random.choice(self._stations).tell_to_end()
        return True

    def _kill_producer(self) -> bool:
        self._random.choice(self._producers).kill()
        return True

    def _terminate(self) -> bool:
        return self._hit("SELECT pg_terminate_backend(%s)")

    def _cancel(self) -> bool:
        return self._hit("SELECT pg_cancel_backend(%s)")

    def _hit(self, statement: str) -> bool:
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            row = connection.execute(_HIT.encode(), (NAME,)).fetchone()
            if row is not None:
                connection.execute(statement.encode(), row)
            return row is not None

    def _crash_backend(self) -> bool:
        with psycopg.connect(self._server.dsn, autocommit=True) as connection:
            row = connection.execute(_HIT.encode(), (NAME,)).fetchone()
        if row is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(row[0], signal.SIGKILL)
        return True

    def _crash_server(self) -> bool:
        self._restart("immediate")
        return True

    def _restart_server(self) -> bool:
        # During a recovery, PostgreSQL 18 sometimes does not end.
        psycopg.connect(self._server.dsn).close()
        try:
            self._restart("fast")
        except AssertionError:
            self._restart("immediate")
        return True

    def _restart(self, mode: Mode) -> None:
        self._server.stop(mode)
        self._read_log()
        self._server.start()

    def _read_log(self) -> None:
        """Note what no fault explains. The server's next start begins its log anew."""
        path = self._server.directory / "server.log"
        self._said += _UNEXPLAINED.findall(path.read_text(errors="replace"))

    def _hold_snapshot(self) -> bool:
        connection = psycopg.connect(self._server.dsn)
        connection.execute(b"SET idle_in_transaction_session_timeout = 0")
        connection.commit()
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute(b"SELECT count(*) FROM public.added")
        until = time.monotonic() + self._random.uniform(2, 20)
        self._held.append((until, connection))
        return True

    def _end_held(self, now: float) -> None:
        """End the transactions that were open for long enough."""
        for until, connection in self._held:
            if until <= now:
                connection.close()
        self._held = [each for each in self._held if each[0] > now]

    def _hold_rows(self) -> bool:
        """Lock some of what is leased, as an administrator does."""
        connection = psycopg.connect(self._server.dsn)
        table = QUEUE if self._plan.layout == "rows" else f"{QUEUE}_r"
        connection.execute(
            f"SELECT FROM jobs.{table} WHERE job_token IS NOT NULL ORDER BY random() LIMIT 50"
            " FOR UPDATE SKIP LOCKED".encode()
        )
        until = time.monotonic() + self._random.uniform(0.1, 1.5) * self._plan.lease
        self._held.append((until, connection))
        return True

    def _step_clock(self) -> bool:
        self._clock.step(self._random)
        return clocks.library() is not None

    def _cut(self) -> bool:
        self._door.cut(self._random)
        return True

    def _stall(self) -> bool:
        self._door.stall(self._random)
        return True

    def _kill_pooler(self) -> bool:
        if self._pooler is None:
            return False
        self._pooler.restart()
        return True
