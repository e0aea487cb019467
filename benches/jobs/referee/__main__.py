"""A queue under a steady load, for the public benchmark of queues on PostgreSQL.

The harness of github.com/hardbyte/postgresql-job-queue-benchmarking starts `python -m
benches.jobs.referee` with its settings in the environment, reads a line of JSON per figure from
standard output, and ends it with SIGTERM. It paces the jobs itself, by lines `ENQUEUE <n>` on
standard input, or leaves that to this program. `COLONNADE_LAYOUT` chooses rows or segments.

Each handler does the work of its jobs one after another: `JOB_WORK_MS` for each of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

import colonnade
from benches.jobs.referee.latencies import Latencies
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

_PERCENTILES = {"claim_p50_ms": 0.5, "claim_p95_ms": 0.95, "claim_p99_ms": 0.99}
_WINDOW_S = 30
_DEPTH_EVERY_S = 0.5
_BATCH = 100
_MAX_LINE_JOBS = 1_000_000


@dataclass(frozen=True)
class Settings:
    """The settings that the harness asks for."""

    dsn: str
    layout: Any
    mode: str
    pacing: str
    rate: float
    depth: int
    workers: int
    payload_bytes: int
    work_s: float
    sample_s: float
    batch_most: int
    batch_s: float
    instance: int
    rate_file: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Settings:
        """Read them from the environment; the defaults are the harness's."""
        get = environment.get
        return cls(
            dsn=environment["DATABASE_URL"],
            layout=get("COLONNADE_LAYOUT", "rows"),
            mode=get("PRODUCER_MODE", "fixed"),
            pacing=get("PRODUCER_PACING", "adapter"),
            rate=float(get("PRODUCER_RATE", "800")),
            depth=int(get("TARGET_DEPTH", "1000")),
            workers=int(get("WORKER_COUNT", "32")),
            payload_bytes=int(get("JOB_PAYLOAD_BYTES", "256")),
            work_s=float(get("JOB_WORK_MS", "1")) / 1000,
            sample_s=float(get("SAMPLE_EVERY_S", "5")),
            batch_most=max(1, int(get("PRODUCER_BATCH_MAX", "1000"))),
            batch_s=max(1.0, float(get("PRODUCER_BATCH_MS", "10"))) / 1000,
            instance=int(get("BENCH_INSTANCE_ID", "0")),
            rate_file=get("PRODUCER_RATE_CONTROL_FILE", ""),
        )


@dataclass
class Run:
    """A producer, a consumer and a sampler."""

    settings: Settings
    queue: jobs.Queue
    added: int = 0
    done: int = 0
    depth: int = 0
    latencies: Latencies = field(default_factory=lambda: Latencies(_WINDOW_S))

    async def until_told(self) -> None:
        """Run until SIGTERM or SIGINT."""
        consumer = self.queue.consume(
            self._handle, limit=_BATCH, concurrency=self.settings.workers, stop_within=3.0
        )
        told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        working = asyncio.create_task(consumer.run())
        beside = [
            asyncio.create_task(work)
            for work in (self._produce(), self._sample(), self._follow_depth())
        ]
        # A task that ends by itself has failed, and its error is shown.
        waits = [asyncio.create_task(told.wait()), working, *beside]
        ended, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        consumer.stop()
        for task in (*beside, waits[0]):
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        with suppress(TimeoutError):
            await working
        for task in ended:
            if not told.is_set():
                task.result()

    async def _handle(self, batch: jobs.Batch) -> None:
        """Note how long each job has waited until its turn in this batch, and work."""
        work_s = self.settings.work_s
        waited = time.time() - batch.columns["created_at"] + work_s * np.arange(len(batch))
        self.latencies.add(waited * 1000, time.monotonic())
        await asyncio.sleep(work_s * len(batch))
        self.done += len(batch)

    async def _produce(self) -> None:
        async for count in self._counts():
            created = np.full(count, time.time())
            padding = ["x" * self.settings.payload_bytes] * count
            await self.queue.add({"created_at": created, "padding": padding})
            self.added += count

    def _counts(self) -> AsyncIterator[int]:
        """How many jobs to add, and when."""
        if self.settings.mode == "depth-target":
            return self._to_the_depth()
        if self.settings.pacing == "harness":
            return self._as_told()
        return self._at_the_rate()

    async def _to_the_depth(self) -> AsyncIterator[int]:
        while True:
            missing = self.settings.depth - await self._ready()
            if missing > 0:
                yield min(missing, self.settings.batch_most)
            else:
                await asyncio.sleep(self.settings.batch_s)

    async def _as_told(self) -> AsyncIterator[int]:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            word, _, number = line.decode("ascii", "replace").strip().partition(" ")
            if word == "ENQUEUE" and number.isdecimal() and 0 < int(number) <= _MAX_LINE_JOBS:
                yield int(number)
        # The harness has gone; SIGTERM follows.
        await asyncio.Event().wait()

    async def _at_the_rate(self) -> AsyncIterator[int]:
        credit, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(self.settings.batch_s)
            now = time.monotonic()
            credit += self._rate() * (now - last)
            last = now
            count = min(int(credit), self.settings.batch_most)
            if count:
                credit -= count
                yield count

    def _rate(self) -> float:
        """The rate of the control file, which the harness may change at any time."""
        if self.settings.rate_file:
            with suppress(OSError, ValueError):
                return float(Path(self.settings.rate_file).read_text(encoding="ascii"))
        return self.settings.rate

    async def _ready(self) -> int:
        return (await self.queue.stats()).ready

    async def _follow_depth(self) -> None:
        while self.settings.instance == 0:
            self.depth = await self._ready()
            await asyncio.sleep(_DEPTH_EVERY_S)
        await asyncio.Event().wait()

    async def _sample(self) -> None:
        """Tell the figures at whole multiples of the interval of the wall clock."""
        every = self.settings.sample_s
        began, added, done = time.monotonic(), 0, 0
        while True:
            await asyncio.sleep(every - time.time() % every)
            now = time.monotonic()
            found = self.latencies.percentiles(list(_PERCENTILES.values()), now)
            figures = [
                (name, ms, float(_WINDOW_S)) for name, ms in zip(_PERCENTILES, found, strict=True)
            ]
            figures += [
                ("enqueue_rate", (self.added - added) / (now - began), every),
                ("completion_rate", (self.done - done) / (now - began), every),
            ]
            if self.settings.instance == 0:
                figures += [
                    ("queue_depth", float(self.depth), 0.0),
                    ("producer_target_rate", self._rate(), 0.0),
                ]
            began, added, done = now, self.added, self.done
            for metric, value, window in figures:
                self._told(metric, value, window)

    def _told(self, metric: str, value: float, window_s: float) -> None:
        emit(
            self.settings,
            {
                "t": now_text(),
                "kind": "adapter",
                "subject_kind": "adapter",
                "subject": "",
                "metric": metric,
                "value": value,
                "window_s": window_s,
            },
        )


def emit(settings: Settings, record: dict[str, Any]) -> None:
    """Write a line for the harness."""
    system = "colonnade" if settings.layout == "rows" else f"colonnade-{settings.layout}"
    line = json.dumps({**record, "system": system, "instance_id": settings.instance})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def now_text() -> str:
    """The time as the harness writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def main() -> None:
    """Make the queue, describe it, and run."""
    settings = Settings.of(os.environ)
    async with colonnade.create_pool(settings.dsn, min_size=2, max_size=8) as pool:
        payload = {"created_at": "float8", "padding": "text"}
        queue = await jobs.create_queue(pool, "bench", payload, layout=settings.layout)
        tables = await pool.fetchval(
            "SELECT array_agg(schemaname || '.' || tablename ORDER BY tablename) FROM pg_tables"
            " WHERE schemaname = 'jobs' AND tablename <> 'colonnade_queues'"
        )
        (info,) = [each for each in await jobs.list_queues(pool) if each.name == "bench"]
        emit(
            settings,
            {
                "kind": "descriptor",
                "event_tables": tables,
                "extensions": [],
                "version": colonnade.__version__,
                "schema_version": f"{info.layout} {info.version}",
                "db_name": urlsplit(settings.dsn).path.lstrip("/"),
                "started_at": now_text(),
            },
        )
        await Run(settings, queue).until_told()


if __name__ == "__main__":
    asyncio.run(main())
