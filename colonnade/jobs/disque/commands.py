"""The commands of Disque as they are sent: checked arguments, no connection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from colonnade._words.arguments import (
    check_choice,
    check_count,
    check_size,
    check_switch,
    check_text,
    checked_timeout,
)
from colonnade._words.shown import class_name
from colonnade.jobs.disque.values import PAUSES, Job

#: A command with its arguments, its name first.
Command: TypeAlias = tuple[str | bytes | int, ...]
#: A job, an id, or several of them.
Jobs: TypeAlias = Job | str | Iterable[Job | str]

#: Commands that may be sent to another node if a connection breaks: they only ask, or doing them
#: twice is doing them once. A GETJOB whose answer was lost has its jobs given again later.
REPEATABLE = frozenset(
    {
        *("ACKJOB", "FASTACK", "GETJOB", "HELLO", "INFO", "JSCAN", "QLEN", "QPEEK", "QSCAN"),
        *("QSTAT", "SHOW"),
    }
)
STATES = ("wait-repl", "active", "queued", "acked")


@dataclass(frozen=True, slots=True)
class AddOptions:
    """The options of ADDJOB, in seconds where they are times; None leaves the node's default.

    Raises TypeError and ValueError for what Disque would refuse, before anything is sent.
    """

    replicate: int | None = None
    delay: int = 0
    retry: int | None = None
    ttl: int | None = None
    max_length: int | None = None
    background: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        if self.replicate is not None:
            check_count("replicate", self.replicate)
        if self.ttl is not None:
            check_count("ttl", self.ttl)
        if self.max_length is not None:
            check_count("max_length", self.max_length)
        check_size("delay", self.delay)
        if self.retry is not None:
            check_size("retry", self.retry)
        check_switch("background", self.background)
        if self.retry == 0 and self.replicate != 1:
            msg = "retry=0 (at most once) needs replicate=1: a copy would never be used"
            raise ValueError(msg)
        if self.ttl is not None and self.delay >= self.ttl:
            msg = f"delay={self.delay} must be less than ttl={self.ttl}: the job would expire first"
            raise ValueError(msg)

    def words(self) -> tuple[str | int, ...]:
        """Return the options as ADDJOB has them."""
        words: list[str | int] = []
        for name, value in (
            ("REPLICATE", self.replicate),
            ("DELAY", self.delay or None),
            ("RETRY", self.retry),
            ("TTL", self.ttl),
            ("MAXLEN", self.max_length),
        ):
            if value is not None:
                words += [name, value]
        return (*words, "ASYNC") if self.background else tuple(words)


def checked_body(body: object) -> bytes:
    """Return a body as bytes. Raises TypeError for a str, whose encoding is the caller's choice."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    hint = ": encode it first" if isinstance(body, str) else ""
    msg = f"a job's body must be bytes, not {class_name(body)}{hint}"
    raise TypeError(msg)


def milliseconds(seconds: float | None) -> int:
    """Return a time as Disque has it: at least 1, because 0 is for ever there."""
    return 0 if seconds is None else max(1, round(seconds * 1000))


def add(queue: str, body: object, timeout: float, options: AddOptions) -> Command:
    """ADDJOB: `timeout` is in seconds."""
    check_text("queue", queue)
    return ("ADDJOB", queue, checked_body(body), milliseconds(timeout), *options.words())


def get(queues: tuple[str, ...], limit: int, timeout: float | None, *, counters: bool) -> Command:
    """GETJOB: a `timeout` of None waits for ever, one of 0 not at all."""
    if not queues:
        msg = "get needs the name of at least one queue"
        raise TypeError(msg)
    for queue in queues:
        check_text("queue", queue)
    check_count("limit", limit)
    check_switch("counters", counters)
    wait: Command = ("TIMEOUT", milliseconds(timeout))
    if timeout is not None and timeout <= 0:
        wait = ("NOHANG",)
    counting: Command = ("WITHCOUNTERS",) if counters else ()
    return ("GETJOB", *wait, "COUNT", limit, *counting, "FROM", *queues)


def checked_wait(timeout: float | None) -> float | None:
    """Return the time that GETJOB waits, in seconds, None for ever."""
    return checked_timeout(timeout)


def job_id(job: object) -> str:
    """Return the id of a job or an id."""
    if isinstance(job, Job):
        return job.id
    if isinstance(job, str):
        return job
    msg = f"expected a Job or the id of one, not {class_name(job)}"
    raise TypeError(msg)


def listed(jobs: Jobs) -> list[Job | str]:
    """Return one or several jobs or ids as a list."""
    found = [jobs] if isinstance(jobs, Job | str) else list(jobs)
    for job in found:
        job_id(job)
    return found


def peek(queue: str, count: int, *, newest_first: bool) -> Command:
    """QPEEK, whose negative count means the newest jobs."""
    check_text("queue", queue)
    check_count("count", count)
    check_switch("newest_first", newest_first)
    return ("QPEEK", queue, -count if newest_first else count)


def of_queue(name: str, queue: str) -> Command:
    """QLEN or QSTAT."""
    check_text("queue", queue)
    return (name, queue)


def pause(queue: str, state: str | None, *, everywhere: bool) -> Command:
    """PAUSE; a state of None only asks."""
    check_text("queue", queue)
    check_switch("everywhere", everywhere)
    if state is not None:
        check_choice("pause", state, PAUSES)
    return ("PAUSE", queue, state or "state", *(("BCAST",) if everywhere else ()))


def scan_queues(
    cursor: int,
    count: int,
    min_length: int | None,
    max_length: int | None,
    import_rate: int | None,
) -> Command:
    """QSCAN."""
    words: list[str | int] = [*_cursor(cursor), "COUNT", _count(count)]
    for name, value in (
        ("MINLEN", min_length),
        ("MAXLEN", max_length),
        ("IMPORTRATE", import_rate),
    ):
        if value is not None:
            check_size(name.lower(), value)
            words += [name, value]
    return ("QSCAN", *words)


def scan_jobs(
    cursor: int, count: int, queue: str | None, states: tuple[str, ...], reply: str
) -> Command:
    """JSCAN; `reply` is "id" or "all"."""
    words: list[str | int] = [*_cursor(cursor), "COUNT", _count(count)]
    if queue is not None:
        check_text("queue", queue)
        words += ["QUEUE", queue]
    for state in states:
        check_choice("a state", state, STATES)
        words += ["STATE", state]
    return ("JSCAN", *words, "REPLY", reply)


def _cursor(cursor: int) -> tuple[int]:
    check_size("cursor", cursor)
    return (cursor,)


def _count(count: int) -> int:
    check_count("count", count)
    return count
