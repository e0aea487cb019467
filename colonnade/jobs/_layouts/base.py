"""The base of the layouts of queues: the DDL, statements and settling that the verbs use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias

from colonnade._driver.sql.quoting import quote_identifier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from colonnade.columns import Columns
    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs.definition import Definition

    #: The rows that a statement has answered.
    Answer: TypeAlias = Sequence[tuple[Any, ...]]

NOW = "pg_catalog.statement_timestamp()"
DUE = f"job_ready_at OPERATOR(pg_catalog.<=) {NOW}"
ALIVE = f"(job_expires_at IS NULL OR job_expires_at OPERATOR(pg_catalog.>) {NOW})"
# The reason of a dead letter joins the earlier ones when the letter becomes a job again.
HISTORY = "pg_catalog.array_append(job_errors, job_reason) AS job_errors"


# The index that orders `get` begins with the time until which a job waits. Jobs that wait for no
# time are in line, so `get` never steps over the others. A lease leaves this column alone, because
# a change of an indexed column writes to every index of the table.
NO_TIME = "'-infinity'::pg_catalog.timestamptz"
IN_LINE = f"job_waits_until OPERATOR(pg_catalog.=) {NO_TIME}"
WAITS = f"job_waits_until OPERATOR(pg_catalog.>) {NO_TIME}"
COMES = f"{WAITS} AND job_waits_until OPERATOR(pg_catalog.<=) {NOW}"
# The number of jobs in line that are asked for the ends of their leases.
LOOKED_AT = 10_000


def later(seconds: str) -> str:
    """An expression: this many seconds from now; `seconds` is a parameter or a column."""
    return f"{NOW} OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => {seconds})"


def first_of(count: int | str) -> str:
    """A clause: the first rows in an order that an index has.

    The planner does not see the number, and expects a tenth of the rows: so it takes the index, and
    does not read and sort the table, even if it misjudges the rows.
    """
    return f"LIMIT (SELECT {count}::pg_catalog.int8)"


def waits_until(seconds: str) -> str:
    """An expression: the time for which a job waits that is ready in this many seconds."""
    return f"CASE WHEN {seconds} OPERATOR(pg_catalog.>) 0 THEN {later(seconds)} ELSE {NO_TIME} END"


def next_ready_sql(table: str, order: str) -> str:
    """A query: the seconds until a job has to get in line, and until one in line is ready.

    And whether all in line were looked at: otherwise there may be one that is ready now.
    """
    return (
        f"SELECT {_seconds_until(f'({_first_that(WAITS, table)})')},"
        f" {_seconds_until('pg_catalog.min(job_ready_at)')},"
        f" pg_catalog.count(*) OPERATOR(pg_catalog.<) {LOOKED_AT} FROM (SELECT job_ready_at"
        f" FROM {table} WHERE {IN_LINE} ORDER BY {order} {first_of(LOOKED_AT)}) AS first_ones"
    )


def _seconds_until(time: str) -> str:
    return f"pg_catalog.date_part('epoch', {time} OPERATOR(pg_catalog.-) {NOW})"


def _first_that(waits: str, table: str) -> str:
    return (
        f"SELECT job_waits_until FROM {table} WHERE {waits}"
        f" AND pg_catalog.isfinite(job_waits_until) ORDER BY job_waits_until {first_of(1)}"
    )


def none_comes(table: str, is_asked: str) -> str:
    """A condition: no job of the table waits for a time that has come, if that is asked."""
    return f"(NOT {is_asked}::pg_catalog.bool OR ({_first_that(COMES, table)}) IS NULL)"


WAITS_DDL = f"job_waits_until pg_catalog.timestamptz NOT NULL DEFAULT {NO_TIME}"


def times_ddl(definition: Definition) -> str:
    """The columns with the times of a job. They count from the statement that adds it.

    The transaction of that statement may have begun long before.
    """
    ready = f"job_ready_at pg_catalog.timestamptz NOT NULL DEFAULT {NOW}"
    expires = "job_expires_at pg_catalog.timestamptz"
    if definition.ttl is not None:
        expires += f" DEFAULT {later(str(definition.ttl))}"
    return f"{ready},\n    {expires},\n    {WAITS_DDL}"


def times_changed_ddl(definition: Definition, table: str) -> str:
    """The statement that gives an older table the same defaults."""
    changes = f"ALTER COLUMN job_ready_at SET DEFAULT {NOW}"
    if definition.ttl is not None:
        changes += f", ALTER COLUMN job_expires_at SET DEFAULT {later(str(definition.ttl))}"
    return f"ALTER TABLE {table} {changes};"


def equal(left: str, right: str) -> str:
    """An expression: both are equal, by PostgreSQL's own operator."""
    return f"{left} OPERATOR(pg_catalog.=) {right}"


class Forms(NamedTuple):
    """A statement that settles jobs, in two forms."""

    brisk: str
    """It leaves alone what another transaction has locked: it never waits."""
    patient: str
    """It waits for that, and locks in the one order of all statements that wait."""


@dataclass(frozen=True)
class Call:
    """A statement, and what its answer says: the ids that were settled, for each batch."""

    forms: Forms
    arguments: Sequence[object]
    done: Callable[[Answer], list[list[int]]]
    is_awaited: Callable[[Answer], bool] = lambda _answer: False
    """Whether others waited for the end of these jobs."""


@dataclass(frozen=True)
class Question:
    """A query about jobs, and what its answer says: their ids, for each batch."""

    sql: str
    arguments: Sequence[object]
    found: Callable[[Answer], list[list[int]]]


@dataclass(frozen=True)
class Route:
    """How the jobs of one `add` reach their table."""

    into: Callable[[Sequence[Any]], tuple[str, str]]
    """Schema and table of the COPY; it is given the row of `opens`."""
    makes: str = ""
    """The statements that make temporary tables, if it is a large call."""
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
    """The object that it works on: after a failure it waits before it is tried there again."""
    lock: str
    """The statements of its transaction; the first takes a lock, for which it hardly waits."""
    check: str = ""
    """A query whose answer must be true once the lock is held."""
    act: str = ""
    """The statement that does the work, once the lock is held."""


class LeasedJobs(Protocol):
    """The jobs of one batch under their lease."""

    columns: Columns
    """The columns that the caller sees."""
    is_alone: bool
    """Whether it is one job that may end the process, before its last attempt."""

    def extend(self, wanted: NDArray[np.int64], lease: float) -> Call:
        """Hold jobs for `lease` seconds from now."""
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

    leased: Any
    wanted: NDArray[np.int64]
    held: NDArray[np.int64]
    """All jobs of the batch that may still be leased; `wanted` are among them."""


class Layout(ABC):
    """The tables and statements of one queue. The statements expect READ COMMITTED."""

    name: ClassVar[str]
    version: ClassVar[int]

    line_up: str
    """Let jobs in line whose time has come, at most $1; a query of their number."""
    lease: str
    """Hold at most $1 jobs for $2 seconds with the token $3. With $4, nothing is handed out while a
    job waits whose time has come: it may be the first one, so `line_up` is to be run before. `hold`
    brings the jobs into their order."""
    take: str
    """Remove at most $1 jobs; $2 is as $4 of `lease`."""
    release_all: str
    """Give back the jobs with the token $1, for which it waits: another `get` may have locked them
    to see that they are leased. A query of their number."""
    sweep: str
    next_ready: str
    """The seconds until a job has to get in line, and until one in line is ready, or NULL; and
    whether all in line were looked at."""
    length: str
    excess: str
    stats: str
    peek: str
    requeue: str
    requeue_some: str
    purge: str
    free = ""
    """A statement: it lets jobs into line that waited for jobs now gone. None without keys."""
    look = ""
    """A query of the state from which `chores` follow; a layout without chores has none."""

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
        dead = locked_first(self._dead, "job_id")
        self.purge_dead = counted(f"DELETE FROM {self._dead} WHERE {dead}")
        some = "job_id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int8[])"
        dead_some = locked_first(f"{self._dead} WHERE {some}", "job_id")
        self._dug_up = f"DELETE FROM {self._dead} WHERE {dead}"
        self._dug_up_some = f"DELETE FROM {self._dead} WHERE {some} AND {dead_some}"

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
    def route(self, options: AddOptions, *, is_evident: bool) -> Route:
        """How jobs are added; `is_evident` if the names of the source are known and checked."""

    @abstractmethod
    def leased(self, columns: Columns, token: int) -> LeasedJobs:
        """The jobs that `lease` has returned."""

    @abstractmethod
    def ack(self, parts: Sequence[Part]) -> Call:
        """Remove the jobs that are done of one or several batches."""

    @abstractmethod
    def held(self, parts: Sequence[Part]) -> Question:
        """A query for those of these jobs that their batches still hold."""

    def chores(self, _state: Sequence[Sequence[Any]]) -> list[Chore]:
        """The chores that are due, by the rows of `look`."""
        return []


def locked_first(rows: str, order: str) -> str:
    """A condition that is true, and locks rows in an order before a statement changes any.

    A statement that changes rows takes them as its plan finds them, and two that wait for each
    other's rows would wait in a circle. `rows` is a FROM clause, and may have a WHERE.
    """
    locked = f"SELECT FROM {rows} ORDER BY {order} FOR UPDATE"
    return f"(SELECT pg_catalog.count(*) FROM ({locked}) AS l) OPERATOR(pg_catalog.>=) 0"


def counted(change: str) -> str:
    """A query that changes rows and says how many."""
    return f"WITH changed AS ({change} RETURNING 1) SELECT pg_catalog.count(*) FROM changed"
