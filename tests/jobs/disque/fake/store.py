"""The jobs and queues of the nodes of the tests.

Each job is queued on at most one node. What the real nodes agree on by messages, these share: a job
that is acknowledged anywhere is done everywhere, and a node without jobs fetches those of others.
"""

from __future__ import annotations

import base64
import itertools
import os
import time
from dataclasses import dataclass, field

DEFAULT_TTL_S = 24 * 3600
RETRY_MOST_S = 300


class Clock:
    """The time of all nodes, which a test can move."""

    def __init__(self) -> None:
        self._offset = 0.0

    def now(self) -> float:
        return time.monotonic() + self._offset

    def advance(self, seconds: float) -> None:
        self._offset += seconds


@dataclass(eq=False)
class StoredJob:
    id: str
    queue: bytes
    body: bytes
    repl: int
    created: float
    expires: float
    ttl: int
    delay: int
    retry: int
    order: int
    awake: float | None
    state: str = "active"
    nacks: int = 0
    additional: int = 0
    holder: str = ""
    holders: set[str] = field(default_factory=set)


@dataclass
class QueueState:
    name: bytes
    created: float
    used: float
    jobs: list[StoredJob] = field(default_factory=list)
    pause: set[str] = field(default_factory=set)
    blocked: int = 0
    jobs_in: int = 0
    jobs_out: int = 0


class Store:
    """The queues of one node, and the jobs of all."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.jobs: dict[str, StoredJob] = {}
        self.queues: dict[str, dict[bytes, QueueState]] = {}
        self._order = itertools.count(1)

    def join(self, node_id: str) -> None:
        self.queues.setdefault(node_id, {})

    def leave(self, node_id: str) -> None:
        """A node is gone; its queued jobs come again elsewhere after their retry."""
        for queue in self.queues.pop(node_id, {}).values():
            for job in queue.jobs:
                job.state = "active"
                self.postpone(job)
        for job in list(self.jobs.values()):
            job.holders.discard(node_id)
            if not job.holders:
                del self.jobs[job.id]
            elif job.holder == node_id:
                job.holder = min(job.holders)

    def queue(self, node_id: str, name: bytes) -> QueueState:
        now = self.clock.now()
        found = self.queues[node_id].setdefault(name, QueueState(name, now, now))
        found.used = now
        return found

    def new_id(self, node_id: str, ttl: int) -> str:
        middle = base64.b64encode(os.urandom(18)).decode()
        return f"D-{node_id[:8]}-{middle}-{min(ttl // 60, 0x7FFE) * 2 + 1 & 0xFFFF:04x}"

    def add(
        self, node_id: str, name: bytes, body: bytes, *, repl: int, delay: int, retry: int, ttl: int
    ) -> StoredJob:
        now = self.clock.now()
        job = StoredJob(
            self.new_id(node_id, ttl), name, body, repl, now, now + ttl, ttl, delay, retry,
            next(self._order), now + delay if delay else None, holder=node_id,
        )  # fmt: skip
        others = sorted(self.queues.keys() - {node_id})[: repl - 1]
        job.holders = {node_id, *others}
        self.jobs[job.id] = job
        if not delay:
            self.enqueue(job, node_id)
        return job

    def enqueue(self, job: StoredJob, node_id: str) -> bool:
        if job.state == "queued":
            return False
        queue = self.queue(node_id, job.queue)
        job.state = "queued"
        job.holder = node_id
        job.holders.add(node_id)
        job.awake = None
        queue.jobs.append(job)
        queue.jobs.sort(key=lambda queued: queued.order)
        queue.jobs_in += 1
        return True

    def dequeue(self, job: StoredJob) -> bool:
        if job.state != "queued":
            return False
        self.queues[job.holder][job.queue].jobs.remove(job)
        job.state = "active"
        self.postpone(job)
        return True

    def postpone(self, job: StoredJob) -> None:
        job.awake = self.clock.now() + job.retry if job.retry else None

    def take(self, node_id: str, name: bytes) -> StoredJob | None:
        """The first job of a node's queue, or of another node's, which then moves here."""
        own = self.queues[node_id].get(name)
        if own is not None and "out" in own.pause:
            return None
        for holder in (node_id, *sorted(self.queues.keys() - {node_id})):
            queue = self.queues[holder].get(name)
            if queue is None or not queue.jobs or "out" in queue.pause:
                continue
            job = queue.jobs[0]
            self.dequeue(job)
            queue.jobs_out += 1
            job.holder = node_id
            job.holders.add(node_id)
            return job
        return None

    def delete(self, job: StoredJob) -> None:
        self.dequeue(job)
        del self.jobs[job.id]

    def wake(self) -> None:
        """Queue the jobs whose time has come, and delete the expired ones."""
        now = self.clock.now()
        for job in list(self.jobs.values()):
            if job.expires <= now:
                self.delete(job)
            elif job.awake is not None and job.awake <= now and job.state == "active":
                queue = self.queues[job.holder].get(job.queue)
                if queue is not None and "in" in queue.pause:
                    self.postpone(job)
                    continue
                is_first = job.delay and now >= job.created + job.delay and not job.additional
                if not (is_first and job.awake == job.created + job.delay):
                    job.additional += 1
                self.enqueue(job, job.holder)
