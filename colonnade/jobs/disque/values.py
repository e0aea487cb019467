"""The results of a client's methods: jobs, and figures of jobs, queues and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

#: Where new jobs are refused ("in"), where none are given ("out"), both ("all"), neither ("none").
Pause = Literal["none", "in", "out", "all"]
PAUSES: tuple[Pause, ...] = get_args(Pause)

#: The characters of an id that are the beginning of its node's id: "D-dcb833cf-..." (since 1.0) and
#: "DIdcb833cf..." (before).
_ORIGIN = slice(2, 10)


def origin(job_id: str) -> str:
    """Return the first eight characters of the id of the node that made the job."""
    return job_id[_ORIGIN]


def origin_of_node(node_id: str) -> str:
    """Return the part of a node's id that the ids of its jobs have."""
    return node_id[:8]


@dataclass(frozen=True, slots=True)
class Job:
    """A job that a node gave.

    `nacks` and `additional_deliveries` are None unless `get` asked for the counters. `node` is the
    "host:port" of the node that gave the job, and to which `ack`, `nack` and `extend` go.
    """

    id: str
    queue: str
    body: bytes
    node: str
    nacks: int | None = None
    additional_deliveries: int | None = None

    @property
    def origin(self) -> str:
        """The first eight characters of the id of the node where the job was added."""
        return origin(self.id)


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A node's knowledge of a job. Times are in seconds.

    `state` is one of "wait-repl", "active", "queued" and "acked". `created_at` is a Unix time.
    `next_requeue` and `next_awake` are the seconds until the node queues the job again, and until
    it looks at it; None if it never does.
    """

    id: str
    queue: str | None
    state: str
    replicate: int
    ttl: int
    created_at: float
    delay: int
    retry: int
    nacks: int
    additional_deliveries: int
    nodes_delivered: tuple[str, ...]
    nodes_confirmed: tuple[str, ...]
    next_requeue: float | None
    next_awake: float | None
    body: bytes | None


@dataclass(frozen=True, slots=True)
class QueueStats:
    """A node's knowledge of a queue. Times are in seconds.

    `blocked` is the number of clients that wait for a job, `import_from` the ids of the nodes that
    sent jobs for it lately, `import_rate` their jobs per second.
    """

    name: str
    length: int
    age: int
    idle: int
    blocked: int
    import_from: tuple[str, ...]
    import_rate: int
    jobs_in: int
    jobs_out: int
    pause: Pause


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node as another one describes it; a lower `priority` is better, 100 is unreachable."""

    id: str
    host: str
    port: int
    priority: int

    @property
    def address(self) -> str:
        """The "host:port" that the methods of a client take as `node`."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Hello:
    """The answer of a node to HELLO: its own id, and all nodes that it knows."""

    version: int
    node_id: str
    nodes: tuple[NodeInfo, ...]


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a scan. With a `cursor` of 0 it is the last one."""

    cursor: int
    items: tuple[T, ...]

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items."""
        return iter(self.items)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)
