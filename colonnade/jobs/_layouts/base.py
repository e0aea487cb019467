"""What every layout of a queue offers to the verbs: DDL, statements, and how jobs are settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from colonnade._quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from colonnade.columns import Columns
    from colonnade.jobs._sources import Beside
    from colonnade.jobs.definition import Definition

NOW = "pg_catalog.statement_timestamp()"
DUE = f"job_ready_at OPERATOR(pg_catalog.<=) {NOW}"
ALIVE = f"(job_expires_at IS NULL OR job_expires_at OPERATOR(pg_catalog.>) {NOW})"
# What killed a dead letter joins the reasons before it when the letter becomes a job again.
HISTORY = "pg_catalog.array_append(job_errors, job_reason) AS job_errors"


def later(seconds: str) -> str:
    """An expression: so many seconds from now; `seconds` is a parameter or a column."""
    return f"{NOW} OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => {seconds})"


def equal(left: str, right: str) -> str:
    """An expression: both are equal, by PostgreSQL's own operator."""
    return f"{left} OPERATOR(pg_catalog.=) {right}"


@dataclass(frozen=True)
class Call:
    """A statement, and what its answer says: the ids that were settled, for each hold."""

    sql: str
    arguments: Sequence[object]
    done: Callable[[Columns], list[list[int]]]


@dataclass(frozen=True)
class Route:
    """How the jobs of one `add` reach their table."""

    into: Callable[[Sequence[Any]], tuple[str, str]]
    """Schema and table of the COPY; it is given the row of `opens`."""
    makes: str = ""
    """The statements that make temporary tables; with them, `Beside.arrays` are copied, too."""
    opens: str = ""
    """A query of one row, before the COPY."""
    files: Callable[[Sequence[Any]], tuple[str, Sequence[object]]] | None = None
    """The statement after the COPY, and its arguments; it is given the row of `opens`."""
    drops: str = ""
    """The statements that drop the temporary tables."""
    counts_filed: bool = False
    """Whether `files` says how many jobs were added, and not the COPY."""


@dataclass(frozen=True)
class Chore:
    """Work on a queue's tables that is not urgent."""

    subject: str
    """What it works on: after a failure it waits before it is tried there again."""
    lock: str
    """The statements of its transaction; the first takes a lock, for which it hardly waits."""
    check: str = ""
    """A query whose answer must be true once the lock is held."""
    act: str = ""
    """What it does then."""


class Hold(Protocol):
    """The jobs of one batch under their lease."""

    columns: Columns
    """What the caller sees."""

    def extend(self, wanted: NDArray[np.int64], lease: float) -> Call:
        """Hold jobs for so many seconds from now."""
        raise NotImplementedError

    def release(self, wanted: NDArray[np.int64], held: NDArray[np.int64]) -> Call:
        """Give back jobs that were not begun."""
        raise NotImplementedError

    def nack(self, wanted: NDArray[np.int64], delay: float | None, reasons: list[str]) -> Call:
        """Give back jobs that failed, with a reason for each of them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Part:
    """Jobs of one batch that are done."""

    hold: Any
    wanted: NDArray[np.int64]
    held: NDArray[np.int64]
    """All jobs of the batch that may still be leased; `wanted` are among them."""


class Layout(ABC):
    """The tables and statements of one queue. The statements expect READ COMMITTED."""

    name: ClassVar[str]
    version: ClassVar[int]
    # The columns of the first table that are not the payload's.
    own_columns: ClassVar[int]

    lease: str
    take: str
    release_all: str
    sweep: str
    next_ready: str
    length: str
    excess: str
    stats: str
    peek: str
    requeue: str
    requeue_some: str
    purge: str
    look = ""
    """A query of the state from which `chores` follow; a layout without chores has none."""
    notify = "SELECT pg_catalog.pg_notify($1, '')"

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._table, self._dead = definition.table, definition.dead_table
        self._payload = ", ".join(quote_identifier(name) for name in definition.payload)
        most = definition.retry.max_attempts
        self._has_attempts = f"job_attempts OPERATOR(pg_catalog.<) {most}"
        self._has_none = f"job_attempts OPERATOR(pg_catalog.>=) {most}"
        self.dead = (
            f"SELECT {self._payload}, job_id, job_priority, job_attempts, job_trace, job_key,"
            f" job_reason, job_errors, job_died_at FROM {self._dead} ORDER BY job_id LIMIT $1"
        )
        self.purge_dead = counted(f"DELETE FROM {self._dead}")

    @abstractmethod
    def tables_ddl(self) -> str:
        """The statements that make the tables of the jobs."""

    @abstractmethod
    def drop_ddl(self) -> str:
        """The statements that drop them, with all jobs."""

    @abstractmethod
    def rights_ddl(self, role: str) -> str:
        """The rights of a worker on them; `role` is quoted."""

    @abstractmethod
    def route(self, beside: Beside, *, is_evident: bool) -> Route:
        """How jobs are added; `is_evident` if the names of the source are known and checked."""

    @abstractmethod
    def hold(self, columns: Columns, token: int) -> Hold:
        """The jobs that `lease` has returned."""

    @abstractmethod
    def ack(self, parts: Sequence[Part]) -> Call:
        """Remove the jobs that are done of one or several batches."""

    def chores(self, _state: Sequence[Sequence[Any]]) -> list[Chore]:
        """What is to be done, by the rows of `look`."""
        return []


def counted(change: str) -> str:
    """A query that changes rows and says how many."""
    return f"WITH changed AS ({change} RETURNING 1) SELECT pg_catalog.count(*) FROM changed"
