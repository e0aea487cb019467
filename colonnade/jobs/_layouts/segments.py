"""The layout `segments`: jobs are only ever appended, and only ranges of them change.

A range has up to a thousand jobs that were added together, and one lease: so a thousand jobs leave
two dead rows behind, and not two thousand. Jobs and ranges lie in a ring of slots; a slot that has
no ranges left is truncated with its dead rows, which vacuum could not do while a snapshot is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade.jobs._layouts import segments_adding, segments_ddl
from colonnade.jobs._layouts.base import (
    ALIVE,
    COMES,
    DUE,
    HISTORY,
    IN_LINE,
    NO_TIME,
    NOW,
    WAITS,
    Call,
    Layout,
    Part,
    Question,
    Route,
    equal,
    first_of,
    later,
    locked_first,
    next_ready_sql,
    none_comes,
)
from colonnade.jobs._layouts.lost import lost, room
from colonnade.jobs._layouts.segments_leased import LeasedRanges, ack_call, held_question
from colonnade.jobs._layouts.segments_names import KEY, Names, chunk_of, same, same_key
from colonnade.jobs._layouts.segments_ring import Ring
from colonnade.jobs._layouts.segments_settling import ORDER, Settling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.columns import Columns
    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs._layouts.base import Chore
    from colonnade.jobs.definition import Definition

_ORDER = "job_priority, job_place, job_id"
_PLACES = ", ".join(KEY[:3])
# The columns that all jobs of a range share, besides its key and its bounds.
_RULES = "job_ready_at, job_expires_at, job_attempts, job_lost, job_token, job_done, job_trace"
_RANGE = f"{', '.join(KEY)}, job_slot, job_last, job_count, {_RULES}"
_SWEPT_AT_ONCE = 100


class Segments(Layout):
    """The tables and statements of one queue."""

    name = "segments"
    version = 6

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.names = Names(definition)
        self.settling = Settling(self.names, definition, self._has_attempts)
        self._ring = Ring(self.names)
        self.look = self._ring.look
        self.line_up = self._lining_up()
        self.lease, self.take = self._getting()
        self.sweep = self._sweeping()
        self.release_all = (
            f"WITH mine AS MATERIALIZED (SELECT {', '.join(KEY)} FROM {self.names.ranges}"
            f" WHERE {equal('job_token', '$1')} ORDER BY {ORDER} FOR UPDATE)"
            f", changed AS (UPDATE {self.names.ranges} AS r SET job_token = NULL,"
            f" job_ready_at = {NOW}, job_attempts = r.job_attempts OPERATOR(pg_catalog.-) 1"
            f" FROM mine AS m WHERE {same('r', 'm')} RETURNING 1)"
            " SELECT pg_catalog.count(*) FROM changed"
        )
        self._look()
        self._administer()

    def tables_ddl(self) -> str:
        """Sequences, the ring, and the slots of jobs and ranges."""
        return segments_ddl.tables_ddl(self.definition, self.names)

    def drop_ddl(self) -> str:
        """Drop all of them."""
        return segments_ddl.drop_ddl(self.names)

    def rights_ddl(self, role: str) -> str:
        """Adding, leasing, and emptying slots."""
        return segments_ddl.rights_ddl(self.names, role)

    def route(self, options: AddOptions, *, is_evident: bool) -> Route:
        """A COPY into the current slot, and the ranges of its jobs."""
        return segments_adding.route(self.definition, self.names, options, is_evident=is_evident)

    def leased(self, columns: Columns, token: int) -> LeasedRanges:
        """Jobs whose ranges have the token."""
        return LeasedRanges(self.settling, self.definition.retry, columns, token)

    def ack(self, parts: Sequence[Part]) -> Call:
        """Delete the ranges of all these batches; of those that are done in part, note the jobs."""
        return ack_call(self.settling, parts)

    def held(self, parts: Sequence[Part]) -> Question:
        """The ranges that have the batches' tokens."""
        return held_question(self.settling, parts)

    def chores(self, state: Sequence[Sequence[Any]]) -> list[Chore]:
        """Turn the ring, and truncate finished slots."""
        return self._ring.chores(state)

    def _lining_up(self) -> str:
        ranges = self.names.ranges
        lists = ", ".join(f"pg_catalog.array_agg({name}) AS {name}" for name in KEY)
        unnested = ", ".join(f"pg_catalog.unnest(a.{name})" for name in KEY)
        # Of rows from arrays the planner expects few, and finds each range by the index.
        return (
            f"WITH due AS MATERIALIZED (SELECT {', '.join(KEY)} FROM {ranges}"
            f" WHERE {COMES} ORDER BY job_waits_until {first_of('$1')}"
            " FOR UPDATE SKIP LOCKED),"
            f" arrays AS MATERIALIZED (SELECT {lists} FROM due),"
            f" changed AS (UPDATE {ranges} AS r SET job_waits_until = {NO_TIME} FROM arrays AS a"
            f" CROSS JOIN LATERAL ROWS FROM ({unnested}) AS d ({', '.join(KEY)})"
            f" WHERE r.{WAITS} AND {same_key('r', 'd')} RETURNING 1)"
            " SELECT pg_catalog.count(*) FROM changed"
        )

    def _found(self, in_order: str, most_of_each: str = "") -> str:
        """The first jobs with the ranges that have them, and these ranges.

        Only as many ranges are locked as the LIMIT of the jobs pulls out of the innermost query.
        """
        ready = f"CASE WHEN {DUE} THEN {self._has_attempts} AND {ALIVE} ELSE false END"
        ranges = (
            f"SELECT {_RANGE} FROM {self.names.ranges} WHERE {IN_LINE} AND {ready}"
            f" AND {none_comes(self.names.ranges, in_order)}"
            f" ORDER BY {_PLACES} {first_of('$1')} FOR UPDATE SKIP LOCKED"
        )
        jobs = f"{self.names.jobs_of('r', f's.job_id, {self._payload}')}{most_of_each}"
        scalars = (
            *("job_slot", "job_priority", "job_place", "job_last", "job_count", "job_ready_at"),
            *("job_expires_at", "job_attempts", "job_lost", "job_token", "job_done", "job_trace"),
        )
        firsts = ", ".join(f"pg_catalog.min({name}) AS {name}" for name in scalars)
        return (
            f"WITH found AS MATERIALIZED (SELECT r.*, j.* FROM ({ranges}) AS r"
            f" CROSS JOIN LATERAL ({jobs}) AS j LIMIT $1),"
            f" used AS MATERIALIZED (SELECT job_add, job_first, {firsts},"
            " pg_catalog.max(job_id) AS got_last, pg_catalog.count(*) AS got"
            " FROM found GROUP BY job_add, job_first)"
        )

    def _few_enough(self) -> str:
        """Likewise, but only as many as one batch has room for."""
        limit, most = "$1::pg_catalog.int8", self.definition.retry.max_attempts
        fit = f"{limit} OPERATOR(pg_catalog./) {room(limit, most, 'r.')}"
        each = f"pg_catalog.floor({fit})::pg_catalog.int8"
        taken = f"pg_catalog.sum(got OPERATOR(pg_catalog.*) {room(limit, most)})"
        weighed = f"SELECT *, {taken} OVER (ORDER BY {_PLACES}) AS job_room FROM used"
        return (
            f"{self._found('$4', f' LIMIT {each}')}, few AS MATERIALIZED (SELECT * FROM ({weighed})"
            f" AS weighed WHERE job_room OPERATOR(pg_catalog.<=) {limit})"
        )

    def _getting(self) -> tuple[str, str]:
        """Get with a lease, and without. A range is cut if only its first jobs are got."""
        ranges, whole = self.names.ranges, "u.got OPERATOR(pg_catalog.>=) u.job_count"
        cut = "u.got OPERATOR(pg_catalog.<) u.job_count"
        after = "u.got_last OPERATOR(pg_catalog.+) 1"
        held = (
            f"UPDATE {ranges} AS r SET job_token = $3::pg_catalog.int8,"
            f" job_attempts = r.job_attempts OPERATOR(pg_catalog.+) 1, job_lost = {lost('u.')},"
            f" job_ready_at = {later('$2::pg_catalog.float8')}, job_count = u.got,"
            f" job_last = CASE WHEN {cut} THEN u.got_last ELSE r.job_last END"
            f" FROM few AS u WHERE {same('r', 'u')} RETURNING r.job_add, r.job_first"
        )
        rest = (
            f"INSERT INTO {ranges} (job_slot, job_priority, job_place, job_add, job_first,"
            f" job_last, job_count, {_RULES}) SELECT u.job_slot, u.job_priority, u.job_place,"
            f" u.job_add, {after}, u.job_last, u.job_count OPERATOR(pg_catalog.-) u.got, {_RULES}"
            f" FROM held AS h JOIN few AS u ON {_joined('h', 'u')} WHERE {cut}"
        )
        keys = f"{lost('f.')} AS job_lost, job_place, f.job_add, f.job_first,"
        once_more = "job_attempts OPERATOR(pg_catalog.+) 1::pg_catalog.int2"
        lease = (
            f"{self._few_enough()}, held AS ({held}), rest AS ({rest})"
            f" {self._shown(once_more, keys)}"
        )
        gone = (
            f"DELETE FROM {ranges} AS r USING used AS u WHERE {same('r', 'u')} AND {whole}"
            " RETURNING r.job_add, r.job_first"
        )
        left = (
            f"UPDATE {ranges} AS r SET job_first = {after},"
            " job_count = u.job_count OPERATOR(pg_catalog.-) u.got"
            f" FROM used AS u WHERE {same('r', 'u')} AND {cut} RETURNING u.job_add, u.job_first"
        )
        take = (
            f"{self._found('$2')}, gone AS ({gone}), rest AS ({left}), held AS"
            f" (SELECT * FROM gone UNION ALL SELECT * FROM rest) {self._shown('job_attempts', '')}"
        )
        return lease, take

    def _shown(self, attempts: str, keys: str) -> str:
        """The jobs of the ranges that were held, with the columns that settle them."""
        return (
            f"SELECT {self._payload}, job_id, job_priority, {attempts} AS job_attempts, {keys}"
            f" job_trace FROM found AS f JOIN held AS h ON {_joined('f', 'h')} ORDER BY {_ORDER}"
        )

    def _sweeping(self) -> str:
        """Ranges that no `get` will hand out any more become dead letters."""
        ends = f"CASE WHEN {DUE} THEN {self._has_none} OR NOT {ALIVE} ELSE false END"
        return (
            f"WITH gone AS MATERIALIZED (SELECT {_RANGE} FROM {self.names.ranges}"
            f" WHERE {IN_LINE} AND {ends} ORDER BY {_PLACES} {first_of(_SWEPT_AT_ONCE)}"
            " FOR UPDATE SKIP LOCKED),"
            f" removed AS (DELETE FROM {self.names.ranges} AS r USING gone AS g"
            f" WHERE {same('r', 'g')} RETURNING r.job_add, r.job_first),"
            f" buried AS (INSERT INTO {self._dead} (job_id, job_priority, job_attempts, job_trace,"
            f" job_errors, {self._payload}, job_reason) SELECT j.job_id, g.job_priority,"
            f" g.job_attempts, g.job_trace, j.job_errors, {self._payload},"
            f" CASE WHEN {ALIVE} THEN 'the lease ended' ELSE 'expired' END"
            f" FROM gone AS g JOIN removed AS d ON {_joined('g', 'd')} CROSS JOIN LATERAL"
            f" ({self.names.jobs_of('g', f's.job_id, s.job_errors, {self._payload}')}) AS j"
            " RETURNING 1) SELECT pg_catalog.count(*) FROM buried"
        )

    def _look(self) -> None:
        """Make the statements that change nothing: the ranges know how many jobs they have."""
        ranges = self.names.ranges
        total = "coalesce(pg_catalog.sum(job_count), 0)::pg_catalog.int8"
        some = "coalesce(pg_catalog.sum(job_count) FILTER (WHERE {}), 0)::pg_catalog.int8"
        self.next_ready = next_ready_sql(ranges, _PLACES)
        self.length = f"SELECT {total} FROM {ranges}"
        self.excess = f"SELECT least({total}, $1::pg_catalog.int8) FROM {ranges}"
        self.stats = (
            f"SELECT {total}, {some.format(DUE)},"
            f" {some.format(f'NOT {DUE} AND job_token IS NOT NULL')},"
            f" (SELECT pg_catalog.count(*) FROM {self._dead}),"
            f" coalesce(pg_catalog.date_part('epoch', {NOW} OPERATOR(pg_catalog.-)"
            f" pg_catalog.min(job_ready_at)), 0) FROM {ranges}"
        )
        jobs = self.names.jobs_of("r", f"s.job_id, s.job_errors, {self._payload}")
        first = f"ORDER BY {_PLACES} LIMIT $1"
        self.peek = (
            f"SELECT {self._payload}, job_id, job_priority, job_attempts, job_trace,"
            " NULL::pg_catalog.text AS job_key, job_ready_at, job_expires_at,"
            f" job_token IS NOT NULL AND NOT {DUE} AS job_is_leased, job_errors FROM"
            f" (SELECT r.*, j.* FROM ((SELECT {_RANGE} FROM {ranges} WHERE {IN_LINE} {first})"
            f" UNION ALL (SELECT {_RANGE} FROM {ranges} WHERE {WAITS} {first}) {first}) AS r"
            f" CROSS JOIN LATERAL ({jobs}) AS j LIMIT $1) AS first_ones ORDER BY {_ORDER}"
        )

    def _administer(self) -> None:
        """Make an administrator's statements. Requeued jobs go to the end of their priority."""
        names = self.names
        chunk = "PARTITION BY job_priority, job_trace ORDER BY job_id"
        again = (
            f" RETURNING job_id, job_priority, job_trace, {HISTORY}, {self._payload}),"
            f" c AS MATERIALIZED (SELECT *, {chunk_of(chunk)} AS job_chunk,"
            " pg_catalog.dense_rank() OVER (ORDER BY job_priority, job_trace) AS job_group"
            " FROM back), g AS MATERIALIZED"
            f" (SELECT {names.next_of(names.adds)} AS job_add, ring.slot AS job_slot, i.* FROM"
            " (SELECT job_priority, job_trace, job_group, job_chunk, pg_catalog.min(job_id) AS"
            " job_first, pg_catalog.max(job_id) AS job_last, pg_catalog.count(*) AS job_count"
            " FROM c GROUP BY job_priority, job_trace, job_group, job_chunk ORDER BY job_first)"
            f" AS i CROSS JOIN {names.ring} AS ring), copied AS (INSERT INTO {names.jobs}"
            f" (job_slot, job_add, job_id, job_errors, {self._payload}) SELECT g.job_slot,"
            f" g.job_add, c.job_id, c.job_errors, {self._payload} FROM c JOIN g"
            f" ON {equal('c.job_group', 'g.job_group')}"
            f" AND {equal('c.job_chunk', 'g.job_chunk')} ORDER BY g.job_add, c.job_id), placed AS"
            f" (INSERT INTO {names.ranges} (job_slot, job_priority, job_place, job_add,"
            " job_first, job_last, job_count, job_trace) SELECT job_slot, job_priority, job_add,"
            " job_add, job_first, job_last, job_count, job_trace FROM g)"
            " SELECT pg_catalog.count(*) FROM back"
        )
        self.requeue = f"WITH back AS ({self._dug_up}{again}"
        self.requeue_some = f"WITH back AS ({self._dug_up_some}{again}"
        self.purge = (
            f"WITH gone AS (DELETE FROM {names.ranges} WHERE {locked_first(names.ranges, ORDER)}"
            " RETURNING job_count)"
            " SELECT coalesce(pg_catalog.sum(job_count), 0)::pg_catalog.int8 FROM gone"
        )


def _joined(left: str, right: str) -> str:
    """An expression: both have one range; within a statement, two columns tell ranges apart."""
    return (
        f"{equal(f'{left}.job_add', f'{right}.job_add')}"
        f" AND {equal(f'{left}.job_first', f'{right}.job_first')}"
    )
