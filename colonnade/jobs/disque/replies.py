"""The answers of Disque as values. Anything undocumented raises `ReplyError`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from colonnade._words.shown import shown
from colonnade.jobs.disque.errors import DisqueError, ReplyError
from colonnade.jobs.disque.values import PAUSES, Hello, Job, JobInfo, NodeInfo, Page, QueueStats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade.jobs.disque.values import Pause

T = TypeVar("T")

#: Disque counts in 64 bits; some of its counters have no sign.
_NUMBERS = 1 << 64
_NUMBER = re.compile(rb"-?[0-9]{1,20}")
_JOB_LENGTH = 3
_HELLO_FIXED = 2
_NODE_LENGTH = 4
_PAGE_LENGTH = 2


def _wrong(what: str, reply: object) -> ReplyError:
    return ReplyError(f"the server sent {shown(reply)} where {what} belongs")


def first(answers: Sequence[Any]) -> Any:
    """Return the only answer, or raise it if it is an error."""
    if isinstance(answers[0], DisqueError):
        raise answers[0]
    return answers[0]


def integer(reply: object) -> int:
    """Return a number of 64 bits, which some commands send as text."""
    number = int(reply) if isinstance(reply, bytes) and _NUMBER.fullmatch(reply) else reply
    if isinstance(number, int) and -_NUMBERS <= number < _NUMBERS:
        return number
    raise _wrong("a number", reply)


def text(reply: object) -> str:
    """Return a text: a name, an id, a state."""
    if isinstance(reply, bytes):
        # A queue's name may be any bytes; this way it comes back as it was when it is sent.
        return reply.decode("utf-8", "surrogateescape")
    raise _wrong("a text", reply)


def body(reply: object) -> bytes:
    """Return the body of a job."""
    if isinstance(reply, bytes):
        return reply
    raise _wrong("the body of a job", reply)


def _sequence(what: str, reply: object) -> Sequence[Any]:
    if isinstance(reply, list):
        return reply
    raise _wrong(what, reply)


def _named(what: str, reply: object) -> dict[str, Any]:
    """Return pairs of names and values as a dict; names that are not known are no error."""
    pairs = _sequence(what, reply)
    if len(pairs) % 2:
        raise _wrong(what, reply)
    return {text(name): value for name, value in zip(pairs[::2], pairs[1::2], strict=True)}


def _optional(parse: Callable[[object], T], reply: object) -> T | None:
    return None if reply is None else parse(reply)


def _texts(reply: object) -> tuple[str, ...]:
    return tuple(map(text, _sequence("a list of texts", reply)))


def jobs(reply: object, node: str) -> list[Job]:
    """The answer to GETJOB and QPEEK; nil is no job."""
    if reply is None:
        return []
    return [_job(part, node) for part in _sequence("a list of jobs", reply)]


def _job(reply: object, node: str) -> Job:
    parts = _sequence("a job", reply)
    if len(parts) < _JOB_LENGTH:
        raise _wrong("a job of queue, id and body", reply)
    queue, job_id, content = text(parts[0]), text(parts[1]), body(parts[2])
    if len(parts) == _JOB_LENGTH:
        return Job(job_id, queue, content, node)
    counters = _named("the counters of a job", parts[_JOB_LENGTH:])
    try:
        failures, deliveries = counters["nacks"], counters["additional-deliveries"]
    except KeyError as error:
        raise _wrong(f"the counters of a job with {error.args[0]}", reply) from None
    return Job(job_id, queue, content, node, integer(failures), integer(deliveries))


def job_info(reply: object) -> JobInfo | None:
    """The answer to SHOW; nil is an unknown job."""
    if reply is None:
        return None
    fields = _named("a job's description", reply)
    try:
        return JobInfo(
            id=text(fields["id"]),
            queue=_optional(text, fields["queue"]),
            state=text(fields["state"]),
            replicate=integer(fields["repl"]),
            ttl=integer(fields["ttl"]),
            created_at=integer(fields["ctime"]) / 1e9,
            delay=integer(fields["delay"]),
            retry=integer(fields["retry"]),
            nacks=integer(fields.get("nacks", 0)),
            additional_deliveries=integer(fields.get("additional-deliveries", 0)),
            nodes_delivered=_texts(fields["nodes-delivered"]),
            nodes_confirmed=_texts(fields["nodes-confirmed"]),
            next_requeue=_optional(_seconds, fields["next-requeue-within"]),
            next_awake=_optional(_seconds, fields["next-awake-within"]),
            body=_optional(body, fields["body"]),
        )
    except KeyError as error:
        raise _wrong(f"a job's description with {error.args[0]}", reply) from None


def _seconds(reply: object) -> float:
    return integer(reply) / 1000


def queue_stats(reply: object) -> QueueStats | None:
    """The answer to QSTAT; nil is a queue that the node does not have."""
    if reply is None:
        return None
    fields = _named("a queue's statistics", reply)
    try:
        return QueueStats(
            name=text(fields["name"]),
            length=integer(fields["len"]),
            age=integer(fields["age"]),
            idle=integer(fields["idle"]),
            blocked=integer(fields["blocked"]),
            import_from=_texts(fields["import-from"]),
            import_rate=integer(fields["import-rate"]),
            jobs_in=integer(fields["jobs-in"]),
            jobs_out=integer(fields["jobs-out"]),
            pause=pause(fields["pause"]),
        )
    except KeyError as error:
        raise _wrong(f"a queue's statistics with {error.args[0]}", reply) from None


def pause(reply: object) -> Pause:
    """The answer to PAUSE."""
    state = text(reply)
    for known in PAUSES:
        if state == known:
            return known
    raise _wrong("the state of a pause", reply)


def hello(reply: object) -> Hello:
    """The answer to HELLO."""
    parts = _sequence("the answer to HELLO", reply)
    if len(parts) < _HELLO_FIXED:
        raise _wrong("the answer to HELLO", reply)
    return Hello(integer(parts[0]), text(parts[1]), tuple(map(_node, parts[_HELLO_FIXED:])))


def _node(reply: object) -> NodeInfo:
    parts = _sequence("a node", reply)
    if len(parts) < _NODE_LENGTH:
        raise _wrong("a node of id, host, port and priority", reply)
    return NodeInfo(text(parts[0]), text(parts[1]), integer(parts[2]), integer(parts[3]))


def page(reply: object, item: Callable[[object], T]) -> Page[T]:
    """The answer to QSCAN and JSCAN."""
    parts = _sequence("a page of a scan", reply)
    if len(parts) != _PAGE_LENGTH:
        raise _wrong("a page of cursor and items", reply)
    return Page(integer(parts[0]), tuple(map(item, _sequence("a page's items", parts[1]))))


def full_job(reply: object) -> JobInfo:
    """An item of JSCAN's REPLY all."""
    found = job_info(reply)
    if found is None:
        raise _wrong("a job's description", reply)
    return found


def info(reply: object) -> dict[str, str]:
    """The answer to INFO, without the titles of its sections."""
    lines = text(reply).splitlines()
    pairs = (line.partition(":") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}
