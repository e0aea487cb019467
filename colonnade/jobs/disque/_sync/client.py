# Generated from colonnade/jobs/disque/_async/client.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""The client: Disque's commands as methods."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_seconds
from colonnade.jobs.disque import commands, replies
from colonnade.jobs.disque._sync.nodes import Nodes
from colonnade.jobs.disque.commands import AddOptions
from colonnade.jobs.disque.errors import DisqueError, PartlyAddedError, ServerError
from colonnade.jobs.disque.options import Options, addresses
from colonnade.jobs.disque.values import Hello, Job, JobInfo, Page, QueueStats

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Self

    from colonnade.jobs.disque.commands import Command, Jobs
    from colonnade.jobs.disque.values import NodeInfo, Pause

#: Commands in one write. The server sends their answers while it reads, and these must fit into
#: the sockets' buffers, because nobody reads before all is written.
_FLIGHT_MOST = 1000
_ACKED_MOST = 10_000


class Disque:
    """A client of a Disque cluster, for any number of tasks.

    `nodes` are some of the nodes, as "host:port"; the others become known by them. `timeout` is the
    time in seconds in which a node must answer, beyond what the command itself may take.
    `max_connections` is the bound for each node; a `get` that waits holds one. With an
    `origin_window` in seconds, the client counts on which nodes the jobs of that time were added,
    and takes the next ones from a node that leads clearly.

    A node that cannot be reached is replaced by another one. A command that may have reached a
    node is sent to another one only if doing it twice does no harm; otherwise it raises
    `ConnectionLostError` or `CommandTimeoutError`, and has perhaps been carried out.

    All methods raise ServerError, of the class of its code, if a node answers with an error;
    NoNodeError if no node can be reached; CommandTimeoutError if one does not answer in time;
    ReplyError if its answer is not Disque's. `node` is the "host:port" of the node to be asked, and
    the only one then; without it, it is any one.
    """

    def __init__(
        self,
        nodes: str | Iterable[str],
        *,
        password: str | None = None,
        timeout: float = 10.0,
        max_connections: int = 10,
        origin_window: float | None = None,
    ) -> None:
        self._options = Options(addresses(nodes), password, timeout, max_connections, origin_window)
        self._nodes = Nodes(self._options)

    def __enter__(self) -> Self:
        """Return the client; it connects when it is first used."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections. Later calls raise ClosedError."""
        self._nodes.close()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The addresses of the nodes that are known now."""
        return self._nodes.cluster.addresses

    @property
    def source(self) -> str | None:
        """The node that jobs are taken from because most are added there, None if any will do."""
        return self._nodes.cluster.source

    # Jobs.

    def add(
        self,
        queue: str,
        body: bytes,
        *,
        timeout: float = 5.0,
        replicate: int | None = None,
        delay: int = 0,
        retry: int | None = None,
        ttl: int | None = None,
        max_length: int | None = None,
        background: bool = False,
    ) -> str:
        """Add a job, and return its id.

        It is in memory of `replicate` nodes when this returns (a node's default is 3, or all of a
        smaller cluster), and on no disk unless the nodes are set up so. `timeout` is the time in
        seconds for that. `delay` is the time until the job is queued, `retry` the time after which
        a job that was given and not acknowledged is given again (0: never), `ttl` the time after
        which the job is deleted in any case; all in seconds. With a `max_length`, the job is
        refused if the queue has as many on its node. With `background`, the copies are made later.

        Raises NotReplicatedError, PausedError, QueueFullError. After a ConnectionLostError or
        CommandTimeoutError, the job may have been added.
        """
        options = AddOptions(replicate, delay, retry, ttl, max_length, background)
        check_seconds("timeout", timeout)
        command = commands.add(queue, body, timeout, options)
        flight = self._nodes.fly([command], wait=timeout)
        return replies.text(flight.first())

    def add_many(
        self,
        queue: str,
        bodies: Iterable[bytes],
        *,
        timeout: float = 5.0,
        replicate: int | None = None,
        delay: int = 0,
        retry: int | None = None,
        ttl: int | None = None,
        max_length: int | None = None,
        background: bool = False,
    ) -> list[str]:
        """Add a job for each body, in one pipeline, and return their ids.

        The options are those of `add`. Each job is added or refused for itself: if not all were
        added, PartlyAddedError has the ids and the reasons.
        """
        options = AddOptions(replicate, delay, retry, ttl, max_length, background)
        check_seconds("timeout", timeout)
        asked = [commands.add(queue, body, timeout, options) for body in bodies]
        ids: list[str | None] = []
        errors: list[DisqueError | None] = []
        for start in range(0, len(asked), _FLIGHT_MOST):
            part = asked[start : start + _FLIGHT_MOST]
            answers: list[Any] = []
            error: DisqueError | None
            try:
                flight = self._nodes.fly(part, wait=timeout)
                answers, error = flight.answers, flight.error
            except DisqueError as caught:
                error = caught
            answers += [error] * (len(part) - len(answers))
            ids += [None if isinstance(a, DisqueError) else replies.text(a) for a in answers]
            errors += [a if isinstance(a, DisqueError) else None for a in answers]
            if error is not None:
                break
        unsent = len(asked) - len(ids)
        if unsent:
            reason = DisqueError("it was not sent, because the connection broke before it")
            reason.safe_to_retry = True
            ids += [None] * unsent
            errors += [reason] * unsent
        added = [job_id for job_id in ids if job_id is not None]
        if len(added) < len(ids):
            raise PartlyAddedError(ids, errors)
        return added

    def get(
        self,
        *queues: str,
        limit: int = 1,
        timeout: float | None = None,
        counters: bool = False,
        node: str | None = None,
    ) -> list[Job]:
        """Take up to `limit` jobs of the queues, the first of them first.

        While there is none, wait for `timeout` seconds, None without end, 0 not at all; then the
        list is empty. With `counters`, each job tells how often it failed and came again.

        A job that is not acknowledged comes again after its `retry`. This is also so for jobs that
        were on their way when this call was cancelled or its connection broke; those with a `retry`
        of 0 are lost then.
        """
        timeout = commands.checked_wait(timeout)
        wait = None if timeout is None else max(0.0, timeout)
        end = None if wait is None else time.monotonic() + wait

        def again() -> list[Command]:
            left = None if end is None else max(0.0, end - time.monotonic())
            return [commands.get(queues, limit, left, counters=counters)]

        command = commands.get(queues, limit, wait, counters=counters)
        flight = self._nodes.fly([command], again=again, node=node, wait=wait, for_get=True)
        jobs = replies.jobs(flight.first(), flight.node)
        if self._options.origin_window is not None:
            with self._nodes.guard:
                self._nodes.cluster.came(jobs)
        return jobs

    def ack(self, jobs: Jobs) -> int:
        """Acknowledge one or several jobs: they are done, and do not come again.

        Returns the number of jobs that the nodes still knew. It may be repeated.
        """
        return self._by_node("ACKJOB", jobs)

    def fast_ack(self, jobs: Jobs) -> int:
        """Acknowledge with fewer messages between the nodes; a failure of one brings jobs back."""
        return self._by_node("FASTACK", jobs)

    def nack(self, jobs: Jobs) -> int:
        """Give one or several jobs back: they are queued at once, and count a failure.

        Returns the number of jobs that were queued by it.
        """
        return self._by_node("NACK", jobs)

    def enqueue(self, jobs: Jobs, *, node: str | None = None) -> int:
        """Queue jobs that are not queued. Returns their number.

        This also queues jobs with a `retry` of 0, which then may run twice.
        """
        return self._by_node("ENQUEUE", jobs, node)

    def dequeue(self, jobs: Jobs, *, node: str | None = None) -> int:
        """Take jobs off the queue of a node; they come back after their `retry`."""
        return self._by_node("DEQUEUE", jobs, node)

    def delete(self, jobs: Jobs, *, node: str | None = None) -> int:
        """Delete jobs from a node, and from no other. Returns their number."""
        return self._by_node("DELJOB", jobs, node)

    def extend(self, jobs: Jobs) -> list[int | ServerError]:
        """Say that the work on one or several jobs goes on: they do not come again for a `retry`.

        Returns for each job the seconds that it has now, or the error of its node: NoJobError,
        AlreadyAckedError, or TooLateError when half of its ttl has passed. One pipeline per node.
        """
        found = commands.listed(jobs)
        results: dict[int, int | ServerError] = {}
        for prefer, numbers in self._grouped(found).items():
            for start in range(0, len(numbers), _FLIGHT_MOST):
                part = numbers[start : start + _FLIGHT_MOST]
                asked: list[Command] = [("WORKING", commands.job_id(found[n])) for n in part]
                flight = self._nodes.fly(asked, prefer=prefer)
                if flight.error is not None:
                    raise flight.error
                for number, answer in zip(part, flight.answers, strict=True):
                    is_error = isinstance(answer, ServerError)
                    results[number] = answer if is_error else replies.integer(answer)
        return [results[number] for number in range(len(found))]

    def _by_node(self, name: str, jobs: Jobs, node: str | None = None) -> int:
        """Send a command with the ids of jobs to the nodes that know them, and add their counts."""
        found = commands.listed(jobs)
        count = 0
        for prefer, numbers in self._grouped(found).items():
            for start in range(0, len(numbers), _ACKED_MOST):
                ids = [commands.job_id(found[n]) for n in numbers[start : start + _ACKED_MOST]]
                count += replies.integer(self._asked((name, *ids), node, prefer))
        return count

    def _grouped(self, jobs: list[Job | str]) -> dict[str | None, list[int]]:
        """Return the positions of the jobs by the node that gave them, or else made them."""
        grouped: dict[str | None, list[int]] = {}
        with self._nodes.guard:
            for number, job in enumerate(jobs):
                made = self._nodes.cluster.maker
                address = job.node if isinstance(job, Job) else made(job)
                grouped.setdefault(address, []).append(number)
        return grouped

    # Queues and nodes.

    def length(self, queue: str, *, node: str | None = None) -> int:
        """Return the number of jobs that are queued on one node."""
        return replies.integer(self._asked(commands.of_queue("QLEN", queue), node))

    def stats(self, queue: str, *, node: str | None = None) -> QueueStats | None:
        """Return what one node knows of a queue, None if it does not have it."""
        return replies.queue_stats(self._asked(commands.of_queue("QSTAT", queue), node))

    def peek(
        self,
        queue: str,
        count: int = 10,
        *,
        newest_first: bool = False,
        node: str | None = None,
    ) -> list[Job]:
        """Return the next jobs of a queue of one node, and leave them there."""
        command = commands.peek(queue, count, newest_first=newest_first)
        flight = self._nodes.fly([command], node=node)
        return replies.jobs(flight.first(), flight.node)

    def show(self, job: Job | str, *, node: str | None = None) -> JobInfo | None:
        """Return what a node knows of a job, None if it does not know it.

        Without `node`, it is the node that gave the job, or made it.
        """
        (prefer,) = self._grouped([job])
        return replies.job_info(self._asked(("SHOW", commands.job_id(job)), node, prefer))

    def pause(
        self, queue: str, state: Pause, *, everywhere: bool = False, node: str | None = None
    ) -> Pause:
        """Stop a queue of one node, or of all (`everywhere`), and return its state after that.

        "in" refuses new jobs, "out" gives none, "all" is both, "none" ends the pause.
        """
        return replies.pause(self._asked(commands.pause(queue, state, everywhere=everywhere), node))

    def paused(self, queue: str, *, node: str | None = None) -> Pause:
        """Return whether and how a queue of one node is stopped."""
        return replies.pause(self._asked(commands.pause(queue, None, everywhere=False), node))

    def scan_queues(
        self,
        cursor: int = 0,
        *,
        count: int = 100,
        min_length: int | None = None,
        max_length: int | None = None,
        import_rate: int | None = None,
        node: str | None = None,
    ) -> Page[str]:
        """Return names of a node's queues, from a cursor on, which begins with 0.

        Pages of one scan must come from one `node`. A name may come twice.
        """
        command = commands.scan_queues(cursor, count, min_length, max_length, import_rate)
        return replies.page(self._asked(command, node), replies.text)

    def scan_jobs(
        self,
        cursor: int = 0,
        *,
        count: int = 100,
        queue: str | None = None,
        states: Iterable[str] = (),
        node: str | None = None,
    ) -> Page[str]:
        """Return ids of a node's jobs, from a cursor on; `states` are those of `JobInfo`."""
        command = commands.scan_jobs(cursor, count, queue, tuple(states), "id")
        return replies.page(self._asked(command, node), replies.text)

    def scan_job_infos(
        self,
        cursor: int = 0,
        *,
        count: int = 100,
        queue: str | None = None,
        states: Iterable[str] = (),
        node: str | None = None,
    ) -> Page[JobInfo]:
        """As `scan_jobs`, with all that the node knows of each job."""
        command = commands.scan_jobs(cursor, count, queue, tuple(states), "all")
        return replies.page(self._asked(command, node), replies.full_job)

    def hello(self, *, node: str | None = None) -> Hello:
        """Return the id of a node, and the nodes that it knows."""
        flight = self._nodes.fly([("HELLO",)], node=node)
        answer = replies.hello(flight.first())
        with self._nodes.guard:
            self._nodes.cluster.met(flight.node, answer)
        return answer

    def known_nodes(self, *, node: str | None = None) -> tuple[NodeInfo, ...]:
        """Return the nodes that a node knows, with their ids and priorities."""
        return (self.hello(node=node)).nodes

    def info(self, *, node: str | None = None) -> dict[str, str]:
        """Return a node's INFO: version, memory, clients, jobs, as texts by name."""
        return replies.info(self._asked(("INFO",), node))

    def _asked(self, command: Command, node: str | None = None, prefer: str | None = None) -> Any:
        flight = self._nodes.fly([command], node=node, prefer=prefer)
        return flight.first()
