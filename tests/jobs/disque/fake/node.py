"""The commands of one node of the tests, as Disque documents them."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from tests.jobs.disque.fake.resp import Error, NullArray, Reply, Status
from tests.jobs.disque.fake.store import DEFAULT_TTL_S, RETRY_MOST_S, Store, StoredJob

if TYPE_CHECKING:
    from collections.abc import Callable

JOB_ID = re.compile(rb"D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}")
SYNTAX = "ERR syntax error"
# How often a blocked GETJOB looks again.
LOOK_S = 0.01


class Node:
    """A node: an id, the shared store, and a method for each command."""

    def __init__(self, node_id: str, store: Store, tell_nodes: Callable[[], list[Reply]]) -> None:
        self.id = node_id
        self.store = store
        self.tell_nodes = tell_nodes
        self.is_leaving = False
        self.lacks: set[str] = set()
        self.password: bytes | None = None
        self.calls: list[list[bytes]] = []
        store.join(node_id)

    async def run(self, words: list[bytes]) -> Reply:
        name = words[0].decode().upper()
        self.calls.append(words)
        self.store.wake()
        method = getattr(self, f"do_{name.lower()}", None)
        if method is None or name in self.lacks:
            return Error(f"ERR unknown command '{name}'")
        try:
            if name == "GETJOB":
                return await self.do_getjob(words[1:])
            reply: Reply = method(words[1:])
        except Error as error:
            return error
        except (IndexError, ValueError):
            return Error(SYNTAX)
        return reply

    def do_ping(self, _words: list[bytes]) -> Reply:
        return Status("PONG")

    def do_hello(self, _words: list[bytes]) -> Reply:
        return [1, self.id, *self.tell_nodes()]

    def do_info(self, _words: list[bytes]) -> Reply:
        return f"# Server\r\ndisque_version:1.0-rc1\r\nregistered_jobs:{len(self.store.jobs)}\r\n"

    def do_addjob(self, words: list[bytes]) -> Reply:
        queue, body, _timeout = words[0], words[1], int(words[2])
        given = {b"REPLICATE": min(3, len(self.store.queues)), b"TTL": DEFAULT_TTL_S}
        given |= {b"DELAY": 0, b"RETRY": -1, b"MAXLEN": 0}
        rest = iter(words[3:])
        for word in rest:
            if word.upper() != b"ASYNC":
                if word.upper() not in given:
                    raise Error(SYNTAX)
                given[word.upper()] = int(next(rest))
        repl, ttl, delay = given[b"REPLICATE"], given[b"TTL"], given[b"DELAY"]
        retry = given[b"RETRY"]
        if repl > 1 and retry == 0:
            raise Error("ERR With RETRY set to 0 please explicitly set  REPLICATE to 1")
        if delay >= ttl:
            raise Error("ERR The specified DELAY is greater than TTL. Job refused")
        if retry < 0:
            retry = max(1, min(ttl // 10, RETRY_MOST_S))
        if repl + self.is_leaving > len(self.store.queues):
            raise Error("NOREPL Not enough reachable nodes for the requested replication level")
        state = self.store.queue(self.id, queue)
        if given[b"MAXLEN"] and len(state.jobs) >= given[b"MAXLEN"]:
            raise Error("MAXLEN Queue is already longer than the specified MAXLEN count")
        if "in" in state.pause:
            raise Error("PAUSED Queue paused in input, try later")
        job = self.store.add(self.id, queue, body, repl=repl, delay=delay, retry=retry, ttl=ttl)
        return Status(job.id)

    async def do_getjob(self, words: list[bytes]) -> Reply:
        at = [word.upper() for word in words].index(b"FROM")
        options, queues = [word.upper() for word in words[:at]], words[at + 1 :]
        count = int(options[options.index(b"COUNT") + 1]) if b"COUNT" in options else 1
        timeout = int(options[options.index(b"TIMEOUT") + 1]) if b"TIMEOUT" in options else 0
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout / 1000 if timeout else None
        waited = [self.store.queue(self.id, queue) for queue in queues]
        for state in waited:
            state.blocked += 1
        try:
            while not (jobs := self._take(queues, count)):
                if b"NOHANG" in options or (end is not None and loop.time() >= end):
                    return NullArray()
                if self.is_leaving:
                    raise Error("LEAVING This node is leaving the cluster")
                await asyncio.sleep(LOOK_S)
                self.store.wake()
        finally:
            for state in waited:
                state.blocked -= 1
        return [self._given(job, with_counters=b"WITHCOUNTERS" in options) for job in jobs]

    def _take(self, queues: list[bytes], count: int) -> list[StoredJob]:
        """Rounds over the queues, left to right, one job of each."""
        jobs: list[StoredJob] = []
        while True:
            before = len(jobs)
            for queue in queues:
                if len(jobs) < count and (job := self.store.take(self.id, queue)) is not None:
                    jobs.append(job)
            if len(jobs) in {before, count}:
                return jobs

    def _given(self, job: StoredJob, *, with_counters: bool) -> Reply:
        parts: list[Reply] = [job.queue, job.id, job.body]
        if with_counters:
            parts += ["nacks", job.nacks, "additional-deliveries", job.additional]
        return parts

    def _jobs(self, words: list[bytes]) -> list[StoredJob]:
        for word in words:
            if not JOB_ID.fullmatch(word):
                raise Error("BADID Invalid Job ID format.")
        found = (self.store.jobs.get(word.decode()) for word in words)
        return [job for job in found if job is not None]

    def do_ackjob(self, words: list[bytes]) -> Reply:
        jobs = self._jobs(words)
        for job in jobs:
            self.store.delete(job)
        return len(jobs)

    do_fastack = do_ackjob

    def _held(self, words: list[bytes]) -> list[StoredJob]:
        return [job for job in self._jobs(words) if self.id in job.holders]

    def do_deljob(self, words: list[bytes]) -> Reply:
        jobs = self._held(words)
        for job in jobs:
            self.store.delete(job)
        return len(jobs)

    def do_nack(self, words: list[bytes]) -> Reply:
        active = [job for job in self._held(words) if job.state == "active"]
        for job in active:
            job.nacks += 1
        return sum(self.store.enqueue(job, self.id) for job in active)

    def do_enqueue(self, words: list[bytes]) -> Reply:
        active = [job for job in self._held(words) if job.state == "active"]
        for job in active:
            job.additional += 1
        return sum(self.store.enqueue(job, self.id) for job in active)

    def do_dequeue(self, words: list[bytes]) -> Reply:
        return sum(self.store.dequeue(job) for job in self._held(words) if job.holder == self.id)

    def do_working(self, words: list[bytes]) -> Reply:
        jobs = self._held(words[:1])
        if not jobs:
            raise Error("NOJOB Job not known in the context of this node.")
        job = jobs[0]
        if self.store.clock.now() - job.created > job.ttl / 2:
            raise Error("TOOLATE Half of job TTL already elapsed, you are no longer allowed")
        self.store.dequeue(job)
        self.store.postpone(job)
        return job.retry

    def do_qlen(self, words: list[bytes]) -> Reply:
        queue = self.store.queues[self.id].get(words[0])
        return len(queue.jobs) if queue else 0

    def do_qpeek(self, words: list[bytes]) -> Reply:
        queue, count = self.store.queues[self.id].get(words[0]), int(words[1])
        jobs = list(queue.jobs) if queue else []
        jobs = jobs[:count] if count >= 0 else jobs[::-1][:-count]
        return [self._given(job, with_counters=False) for job in jobs]

    def do_qstat(self, words: list[bytes]) -> Reply:
        queue = self.store.queues[self.id].get(words[0])
        if queue is None:
            return NullArray()
        now = self.store.clock.now()
        return [
            *("name", queue.name, "len", len(queue.jobs), "age", int(now - queue.created)),
            *("idle", int(now - queue.used), "blocked", queue.blocked, "import-from", []),
            *("import-rate", 0, "jobs-in", queue.jobs_in, "jobs-out", queue.jobs_out),
            *("pause", _pause(queue.pause)),
        ]

    def do_pause(self, words: list[bytes]) -> Reply:
        options = {word.decode().lower() for word in words[1:]}
        known = {"none", "in", "out", "all", "state", "bcast"}
        if options - known:
            raise Error(SYNTAX)
        nodes = self.store.queues if "bcast" in options else [self.id]
        if options & {"none", "in", "out", "all"}:
            wanted = {"in", "out"} if "all" in options else options & {"in", "out"}
            for node_id in nodes:
                self.store.queue(node_id, words[0]).pause = set(wanted)
        return Status(_pause(self.store.queue(self.id, words[0]).pause))

    def do_show(self, words: list[bytes]) -> Reply:
        jobs = self._held(words[:1])
        return self._described(jobs[0]) if jobs else None

    def _described(self, job: StoredJob) -> Reply:
        now = self.store.clock.now()
        holders: list[Reply] = [*sorted(job.holders)]
        awake = None if job.awake is None else int(max(0, job.awake - now) * 1000)
        return [
            *("id", job.id, "queue", job.queue, "state", job.state, "repl", job.repl),
            *("ttl", int(job.expires - now), "ctime", int(job.created * 1e9)),
            *("delay", job.delay, "retry", job.retry, "nacks", job.nacks),
            *("additional-deliveries", job.additional, "nodes-delivered", holders),
            *("nodes-confirmed", [], "next-requeue-within", awake, "next-awake-within", awake),
            *("body", job.body),
        ]

    def do_qscan(self, words: list[bytes]) -> Reply:
        cursor, options = _scan(words)
        count = int(options.get(b"COUNT", [b"100"])[0])
        names = [
            name
            for name, queue in sorted(self.store.queues[self.id].items())
            if len(queue.jobs) >= int(options.get(b"MINLEN", [b"0"])[0])
            and len(queue.jobs) <= int(options.get(b"MAXLEN", [b"999999999"])[0])
        ]
        end = cursor + count
        return [str(end if end < len(names) else 0), [*names[cursor:end]]]

    def do_jscan(self, words: list[bytes]) -> Reply:
        cursor, options = _scan(words)
        count = int(options.get(b"COUNT", [b"100"])[0])
        states = {state.decode() for state in options.get(b"STATE", [])}
        jobs = [
            job
            for _, job in sorted(self.store.jobs.items())
            if self.id in job.holders
            and options.get(b"QUEUE", [job.queue])[0] == job.queue
            and (not states or job.state in states)
        ]
        end = cursor + count
        is_full = options.get(b"REPLY", [b"id"])[0].lower() == b"all"
        items = [self._described(job) if is_full else Status(job.id) for job in jobs[cursor:end]]
        return [str(end if end < len(jobs) else 0), items]


def _pause(parts: set[str]) -> str:
    return "all" if len(parts) == 2 else next(iter(parts), "none")


def _scan(words: list[bytes]) -> tuple[int, dict[bytes, list[bytes]]]:
    """The cursor, and the values of each option."""
    options: dict[bytes, list[bytes]] = {}
    rest = iter(words[1:])
    for name in rest:
        options.setdefault(name.upper(), []).append(next(rest))
    return int(words[0]), options
