"""The SQL of a queue in the layout `rows`. All of it expects READ COMMITTED."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._quoting import quote_identifier

if TYPE_CHECKING:
    from colonnade.jobs.definition import Definition

_NOW = "pg_catalog.statement_timestamp()"
_DUE = f"job_ready_at OPERATOR(pg_catalog.<=) {_NOW}"
_ALIVE = f"(job_expires_at IS NULL OR job_expires_at OPERATOR(pg_catalog.>) {_NOW})"
# Both columns are of the primary key; a batch has few priorities.
_MINE = (
    "job_priority OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.int2[])"
    " AND job_id OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])"
    " AND job_token OPERATOR(pg_catalog.=) $3"
)
_IN_ORDER = "SELECT * FROM taken ORDER BY job_priority, job_id"
_SWEPT_AT_ONCE = 10_000


def later(seconds: str) -> str:
    """An expression: so many seconds from now; `seconds` is a parameter or a column."""
    return f"{_NOW} OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => {seconds})"


class Statements:
    """The statements of one queue."""

    notify = "SELECT pg_catalog.pg_notify($1, '')"

    def __init__(self, definition: Definition) -> None:
        self._table, self._dead = definition.table, definition.dead_table
        self._payload = ", ".join(quote_identifier(name) for name in definition.payload)
        self._shown = f"{self._payload}, job_id, job_priority, job_attempts, job_trace"
        self._kept = f"job_id, job_priority, job_key, job_trace, job_errors, {self._payload}"
        most = definition.retry.max_attempts
        self._has_attempts = f"job_attempts OPERATOR(pg_catalog.<) {most}"
        self._has_none = f"job_attempts OPERATOR(pg_catalog.>=) {most}"
        self.lease, self.take = self._getting()
        self.nack = self._nacking()
        self.sweep = self._sweeping()
        self._settle()
        self._look()
        self._administer()

    def _getting(self) -> tuple[str, str]:
        """Get with a lease, and without; a row's place cannot change while it is locked."""
        table = self._table
        # The planner expects half of the rows of a CASE, but few of several conditions; and then it
        # would read and sort the whole queue instead of the first rows of the index.
        ready = f"CASE WHEN {_DUE} THEN {self._has_attempts} AND {_ALIVE} ELSE false END"
        chosen = (
            "ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
            f"SELECT ctid FROM {table} WHERE {ready}"
            " ORDER BY job_priority, job_id LIMIT $1 FOR UPDATE SKIP LOCKED))"
        )
        lease = (
            f"WITH taken AS (UPDATE {table} SET job_token = $3::pg_catalog.int8,"
            " job_attempts = job_attempts OPERATOR(pg_catalog.+) 1,"
            f" job_ready_at = {later('$2::pg_catalog.float8')}"
            f" WHERE {chosen} RETURNING {self._shown}) {_IN_ORDER}"
        )
        take = f"WITH taken AS (DELETE FROM {table} WHERE {chosen} RETURNING {self._shown})"
        return lease, f"{take} {_IN_ORDER}"

    def _settle(self) -> None:
        """What the holder of a lease does."""
        table = self._table
        self.ack = f"DELETE FROM {table} WHERE {_MINE} RETURNING job_id"
        self.extend = (
            f"UPDATE {table} SET job_ready_at = {later('$4::pg_catalog.float8')}"
            f" WHERE {_MINE} RETURNING job_id"
        )
        # The attempt that was not made is not counted.
        released = (
            f"UPDATE {table} SET job_token = NULL, job_ready_at = {_NOW},"
            " job_attempts = job_attempts OPERATOR(pg_catalog.-) 1"
        )
        self.release = f"{released} WHERE {_MINE} RETURNING job_id"
        self.release_all = f"{released} WHERE job_token OPERATOR(pg_catalog.=) $1"

    def _nacking(self) -> str:
        """Each job with its own pause and reason; without attempts left it is a dead letter."""
        buried = f"{self._kept}, job_attempts"
        return (
            "WITH failed AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.int8[]),"
            " pg_catalog.unnest($4::pg_catalog.float8[]),"
            " pg_catalog.unnest($5::pg_catalog.text[])) AS f (id, pause, reason)),"
            f" again AS (UPDATE {self._table} SET job_token = NULL,"
            f" job_ready_at = {later('f.pause')},"
            " job_errors = pg_catalog.array_append(job_errors, f.reason) FROM failed AS f"
            f" WHERE {_MINE} AND job_id OPERATOR(pg_catalog.=) f.id"
            f" AND {self._has_attempts} RETURNING job_id),"
            f" gone AS (DELETE FROM {self._table} WHERE {_MINE}"
            f" AND {self._has_none} RETURNING {buried}),"
            f" dead AS (INSERT INTO {self._dead} ({buried}, job_reason)"
            " SELECT g.*, f.reason FROM gone AS g JOIN failed AS f"
            " ON g.job_id OPERATOR(pg_catalog.=) f.id RETURNING job_id)"
            " SELECT job_id FROM again UNION ALL SELECT job_id FROM dead"
        )

    def _sweeping(self) -> str:
        """Jobs that no `get` will hand out any more become dead letters."""
        buried = f"{self._kept}, job_attempts"
        return (
            f"WITH gone AS (DELETE FROM {self._table} WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
            f"SELECT ctid FROM {self._table} WHERE {_DUE} AND ({self._has_none} OR NOT {_ALIVE})"
            f" LIMIT {_SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)) RETURNING {buried}, job_expires_at)"
            f" INSERT INTO {self._dead} ({buried}, job_reason) SELECT {buried},"
            f" CASE WHEN {_ALIVE} THEN 'the lease ended' ELSE 'expired' END FROM gone"
        )

    def _look(self) -> None:
        """What changes nothing."""
        table, dead = self._table, self._dead
        self.next_ready = (
            "SELECT pg_catalog.date_part('epoch', pg_catalog.min(job_ready_at)"
            f" OPERATOR(pg_catalog.-) {_NOW}) FROM {table}"
        )
        self.length = f"SELECT pg_catalog.count(*) FROM {table}"
        self.excess = (
            f"SELECT pg_catalog.count(*) FROM (SELECT FROM {table} LIMIT $1) AS first_ones"
        )
        self.stats = (
            f"SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE {_DUE}),"
            f" pg_catalog.count(*) FILTER (WHERE NOT {_DUE} AND job_token IS NOT NULL),"
            f" (SELECT pg_catalog.count(*) FROM {dead}), coalesce(pg_catalog.date_part('epoch',"
            f" {_NOW} OPERATOR(pg_catalog.-) pg_catalog.min(job_ready_at)), 0) FROM {table}"
        )
        self.peek = (
            f"SELECT {self._shown}, job_key, job_ready_at, job_expires_at,"
            f" job_token IS NOT NULL AND NOT {_DUE} AS job_is_leased, job_errors FROM {table}"
            " ORDER BY job_priority, job_id LIMIT $1"
        )
        self.dead = (
            f"SELECT {self._shown}, job_key, job_reason, job_errors, job_died_at FROM {dead}"
            " ORDER BY job_id LIMIT $1"
        )

    def _administer(self) -> None:
        """What an administrator does."""
        back = (
            f" RETURNING {self._kept}) INSERT INTO {self._table} ({self._kept})"
            f" SELECT {self._kept} FROM back"
        )
        self.requeue = f"WITH back AS (DELETE FROM {self._dead}{back}"
        self.requeue_some = (
            f"WITH back AS (DELETE FROM {self._dead} WHERE job_id OPERATOR(pg_catalog.=)"
            f" ANY ($1::pg_catalog.int8[]){back}"
        )
        self.purge = f"DELETE FROM {self._table}"
        self.purge_dead = f"DELETE FROM {self._dead}"
