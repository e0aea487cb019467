"""The plan of a run of chaos: its size, its mode, its workers, its faults."""

from __future__ import annotations

import enum
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Mode = Literal["at-least-once", "at-most-once", "commit"]
Layout = Literal["rows", "segments"]

MODES: tuple[Mode, ...] = ("at-least-once", "at-most-once", "commit")
LAYOUTS: tuple[Layout, ...] = ("rows", "segments")

QUEUE = "work"
PAYLOAD = {"n": "int8 NOT NULL", "mark": "int8 NOT NULL", "body": "text"}
NAME = "chaos"
"""The `application_name` of the connections that are hit."""
_MARK_FACTOR = 2_654_435_761
_MARK_MODULUS = 1 << 32


class Injection(enum.Enum):
    """A fault that the conductor injects."""

    KILL_WORKER = "worker killed by SIGKILL"
    FREEZE_WORKER = "worker stopped for longer than its lease"
    RETIRE_WORKER = "worker told to end by SIGTERM"
    KILL_PRODUCER = "producer killed by SIGKILL"
    TERMINATE = "pg_terminate_backend"
    CANCEL = "pg_cancel_backend"
    CRASH_BACKEND = "backend killed by SIGKILL: the server crashes and recovers"
    CRASH_SERVER = "server ended at once, started again: it recovers"
    RESTART_SERVER = "server shut down and started again"
    HOLD_SNAPSHOT = "transaction that stays open"
    STEP_CLOCK = "step of some workers' clocks"
    CUT = "connection cut or reset at a message"
    STALL = "connection silent or stalled at a message"
    HOLD_ROWS = "rows of jobs locked by somebody else"
    KILL_POOLER = "PgBouncer killed and started again"


# How often each one is in the deck that is dealt again and again.
DECK = {
    Injection.KILL_WORKER: 3,
    Injection.FREEZE_WORKER: 2,
    Injection.RETIRE_WORKER: 1,
    Injection.KILL_PRODUCER: 1,
    Injection.TERMINATE: 3,
    Injection.CANCEL: 2,
    Injection.CRASH_BACKEND: 1,
    Injection.CRASH_SERVER: 1,
    Injection.RESTART_SERVER: 1,
    Injection.HOLD_SNAPSHOT: 1,
    Injection.STEP_CLOCK: 3,
    Injection.CUT: 4,
    Injection.STALL: 2,
    Injection.HOLD_ROWS: 2,
    Injection.KILL_POOLER: 1,
}


class Kind(enum.Enum):
    """How a worker is written."""

    VERBS = "get and ack in tasks"
    CONSUMER = "consume() in tasks"
    THREADS = "get and ack in threads"
    THREADS_CONSUMER = "consume() in threads"


class Road(enum.Enum):
    """How a worker reaches the server."""

    DIRECT = "direct"
    PROXY = "through the fault proxy"
    POOLER = "through PgBouncer"


# Defaults that a role or a database may have. PgBouncer in transaction mode takes none of them.
SETTINGS: dict[str, dict[str, str]] = {
    "": {},
    "serializable": {"default_transaction_isolation": "serializable"},
    "read only": {"default_transaction_read_only": "on"},
    "idle": {"idle_in_transaction_session_timeout": "300"},
    "locks": {"lock_timeout": "5"},
    "statements": {"statement_timeout": "2000"},
}


@dataclass(frozen=True)
class Post:
    """A worker's place, which a new process takes when the old one ends."""

    kind: Kind
    road: Road
    is_clock_stepped: bool = False
    settings: str = ""
    """The defaults of its sessions, of `SETTINGS`."""
    is_hostile: bool = False
    """Whether its handlers do what no handler should."""


POSTS = (
    Post(Kind.VERBS, Road.DIRECT, settings="serializable"),
    Post(Kind.THREADS, Road.DIRECT, is_clock_stepped=True, settings="read only"),
    Post(Kind.CONSUMER, Road.PROXY, settings="idle"),
    Post(Kind.VERBS, Road.POOLER, is_clock_stepped=True),
    Post(Kind.THREADS_CONSUMER, Road.DIRECT, is_clock_stepped=True, settings="locks"),
    Post(Kind.VERBS, Road.PROXY, settings="statements"),
    Post(Kind.CONSUMER, Road.DIRECT, settings="serializable", is_hostile=True),
    Post(Kind.THREADS_CONSUMER, Road.DIRECT, settings="read only", is_hostile=True),
)


@dataclass(frozen=True)
class Plan:
    """A run: equal plans make equal choices, though not the same timing."""

    jobs: int
    seed: int
    mode: Mode = "at-least-once"
    layout: Layout = "rows"
    lease: float = 2.0
    limit: int = 500
    chunk: int = 2_000
    pause: tuple[float, float] = (0.3, 1.5)
    """The least and the most seconds between two faults."""

    @property
    def chunks(self) -> int:
        """The number of calls of `add`."""
        return -(-self.jobs // self.chunk)

    @property
    def posts(self) -> tuple[Post, ...]:
        """The workers. A consumer has a lease, so at most once is for the verbs alone."""
        if self.mode != "at-most-once":
            return POSTS
        verbs = {Kind.CONSUMER: Kind.VERBS, Kind.THREADS_CONSUMER: Kind.THREADS}
        return tuple(
            replace(post, kind=verbs.get(post.kind, post.kind), is_hostile=False) for post in POSTS
        )


@dataclass(frozen=True)
class Assignment:
    """The orders to a worker's process."""

    name: str
    kind: str
    dsn: str
    is_pooled: bool
    mode: Mode
    seed: int
    ledger: str
    lease: float
    limit: int
    settings: str = ""
    is_hostile: bool = False
    layout: Layout = "rows"
    lanes: int = 2

    def to_json(self) -> str:
        """The text that `from_json` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


def marks_of(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The marks that the payloads of these jobs must carry beside their numbers."""
    return numbers * _MARK_FACTOR % _MARK_MODULUS
