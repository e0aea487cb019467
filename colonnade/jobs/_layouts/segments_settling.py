"""The statements with which the holder of ranges settles their jobs.

Their first parameters name the ranges as the holder got them: arrays of priorities, places, adds,
first and last ids, and tokens. Since then a range may have been cut, and parts of it may have
passed to another holder; so a statement takes all ranges within these bounds that have the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier
from colonnade.jobs._layouts.base import IN_LINE, NO_TIME, NOW, Forms, equal, later, waits_until
from colonnade.jobs._layouts.segments_names import KEY, same

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.jobs._layouts.segments_names import Names
    from colonnade.jobs.definition import Definition

_KEYS = (
    "ROWS FROM (pg_catalog.unnest($1::pg_catalog.int2[]), pg_catalog.unnest($2::pg_catalog.int8[]),"
    " pg_catalog.unnest($3::pg_catalog.int8[]), pg_catalog.unnest($4::pg_catalog.int8[]),"
    " pg_catalog.unnest($5::pg_catalog.int8[]), pg_catalog.unnest($6::pg_catalog.int8[]))"
    " WITH ORDINALITY AS k (priority, place, added, first_id, last_id, token, n)"
)
_MATCH = (
    f"{IN_LINE} AND {equal('r.job_priority', 'k.priority')} AND {equal('r.job_place', 'k.place')}"
    f" AND {equal('r.job_add', 'k.added')}"
    " AND r.job_first OPERATOR(pg_catalog.>=) k.first_id"
    " AND r.job_first OPERATOR(pg_catalog.<=) k.last_id"
    f" AND {equal('r.job_token', 'k.token')}"
)
_BOUNDS = "m.n, r.job_first, r.job_last"
# The locks of ranges: without waiting, and with waiting, in the one order of all that wait.
_BRISKLY = "FOR UPDATE OF r SKIP LOCKED"
ORDER = "job_add, job_first"
_PATIENTLY = "ORDER BY r.job_add, r.job_first FOR UPDATE OF r"
_RULES = "job_attempts, job_lost, job_expires_at, job_trace"
_RANGE = f"{', '.join(KEY)}, job_last, job_count, {_RULES}"
_SETTLED = "pg_catalog.cardinality(t.ids)"


class Settling:
    """The statements of one queue."""

    def __init__(self, names: Names, definition: Definition, has_attempts: str) -> None:
        self._names = names
        self._dead = definition.dead_table
        quoted = [quote_identifier(name) for name in definition.payload]
        self._payload = ", ".join(quoted)
        # Beside ids and reasons, which the payload may have, too.
        self._jobs_payload = ", ".join(f"j.{name}" for name in quoted)
        self._has_attempts = has_attempts
        self.holding = (
            f"SELECT k.n, r.job_first, r.job_last FROM {names.ranges} AS r JOIN {_KEYS} ON {_MATCH}"
        )
        self._settle_ranges()
        self._settle_jobs()

    def _settle_ranges(self) -> None:
        """Whole ranges."""
        ranges = self._names.ranges
        these = f"WHERE {same('r', 'm')} RETURNING {_BOUNDS}"
        self.ack = _in_both_forms(
            lambda lock: f"{self._mine(lock)} DELETE FROM {ranges} AS r USING mine AS m {these}"
        )
        self.extend = _in_both_forms(
            lambda lock: (
                f"{self._mine(lock)} UPDATE {ranges} AS r"
                f" SET job_ready_at = {later('$7::pg_catalog.float8')} FROM mine AS m {these}"
            )
        )
        self.release = _in_both_forms(
            lambda lock: (
                f"{self._mine(lock)} UPDATE {ranges} AS r SET job_token = NULL,"
                f" job_ready_at = {NOW}, job_attempts = r.job_attempts OPERATOR(pg_catalog.-) 1"
                f" FROM mine AS m {these}"
            )
        )

    def _settle_jobs(self) -> None:
        """Some jobs of ranges."""
        self.ack_some = _in_both_forms(lambda lock: f"{self._told(lock)} {_TOLD_IDS}")
        fewer = "t.job_attempts OPERATOR(pg_catalog.-) 1"
        self.release_some = _in_both_forms(
            lambda lock: (
                f"{self._told(lock)}, {self._again('true')},"
                f" {self._copied('j.job_errors')}, {self._placed(fewer, NOW, NO_TIME)} {_TOLD_IDS}"
            )
        )
        errors = "pg_catalog.array_append(j.job_errors, w.reason)"
        self.nack = _in_both_forms(
            lambda lock: (
                f"{self._told(lock, '$9::pg_catalog.text[]', '$10::pg_catalog.float8[]')},"
                f" {self._again(self._has_attempts)}, {self._copied(errors)},"
                f" {self._placed('t.job_attempts', later('t.pause'), waits_until('t.pause'))},"
                f" {self._buried()} {_TOLD_IDS}"
            )
        )

    def _mine(self, lock: str, pause: str = "") -> str:
        """The ranges that the holder still has, locked."""
        mine = ", ".join(f"r.{name}" for name in _RANGE.split(", "))
        return (
            f"WITH mine AS MATERIALIZED (SELECT {mine}, r.job_done, k.n{pause}"
            f" FROM {self._names.ranges} AS r JOIN {_KEYS} ON {_MATCH} {lock})"
        )

    def _told(self, lock: str, reasons: str = "", pauses: str = "") -> str:
        """Some jobs of ranges are settled: $7 has their ids, $8 for each the number of its range.

        The last jobs of a range take it with them; of others, the range notes the ids. Reasons come
        beside the ids, and pauses beside the ranges.
        """
        words = "pg_catalog.unnest($7::pg_catalog.int8[]), pg_catalog.unnest($8::pg_catalog.int8[])"
        collected, paused, pause = "", "", ""
        if reasons:
            words += f", pg_catalog.unnest({reasons})"
            collected = ", pg_catalog.array_agg(i.reason ORDER BY i.id) AS reasons"
            paused = f", ({pauses})[k.n] AS pause"
            pause = ", pause"
        named = "id, n, reason" if reasons else "id, n"
        ranges = self._names.ranges
        told = ", ".join(f"m.{name}" for name in [*_RANGE.split(", "), "n"])
        if pause:
            told += ", m.pause"
        return (
            f"{self._mine(lock, paused)},"
            f" t AS MATERIALIZED (SELECT {told}, pg_catalog.array_agg(i.id ORDER BY i.id) AS ids"
            f"{collected} FROM mine AS m JOIN ROWS FROM ({words}) AS i ({named})"
            f" ON {equal('i.n', 'm.n')} AND i.id OPERATOR(pg_catalog.>=) m.job_first"
            " AND i.id OPERATOR(pg_catalog.<=) m.job_last AND (m.job_done IS NULL"
            f" OR i.id OPERATOR(pg_catalog.<>) ALL (m.job_done)) GROUP BY {told}),"
            f" ended AS (DELETE FROM {ranges} AS r USING t WHERE {same('r', 't')}"
            f" AND {_SETTLED} OPERATOR(pg_catalog.>=) t.job_count),"
            f" noted AS (UPDATE {ranges} AS r SET job_done = coalesce(r.job_done, '{{}}')"
            f" OPERATOR(pg_catalog.||) t.ids,"
            f" job_count = t.job_count OPERATOR(pg_catalog.-) {_SETTLED}"
            f" FROM t WHERE {same('r', 't')} AND {_SETTLED} OPERATOR(pg_catalog.<) t.job_count)"
        )

    def _again(self, condition: str) -> str:
        """The jobs that are tried again: for each range a new one, in the current slot."""
        return (
            f"again AS MATERIALIZED (SELECT t.*, {self._names.next_of(self._names.adds)} AS again,"
            f" ring.slot AS again_slot FROM t CROSS JOIN {self._names.ring} AS ring"
            f" WHERE {condition})"
        )

    def _words(self, of: str, has_reasons: str) -> str:
        """Each job of `of`, with the reason if there is one."""
        return (
            f"ROWS FROM (pg_catalog.unnest({of}.ids){has_reasons}) AS w"
            f"{' (id, reason)' if has_reasons else ' (id)'}"
            f" JOIN {self._names.jobs} AS j ON {equal('j.job_add', f'{of}.job_add')}"
            f" AND {equal('j.job_id', 'w.id')}"
        )

    def _copied(self, errors: str) -> str:
        """The jobs themselves, under their ids."""
        words = self._words("t", ", pg_catalog.unnest(t.reasons)" if "reason" in errors else "")
        return (
            f"copied AS (INSERT INTO {self._names.jobs}"
            f" (job_slot, job_add, job_id, job_errors, {self._payload})"
            f" SELECT t.again_slot, t.again, j.job_id, {errors}, {self._jobs_payload}"
            f" FROM again AS t CROSS JOIN LATERAL {words} ORDER BY t.again, j.job_id)"
        )

    def _placed(self, attempts: str, ready: str, waits: str) -> str:
        """Their new ranges, at the place of the old ones."""
        return (
            f"placed AS (INSERT INTO {self._names.ranges} (job_slot, job_priority, job_place,"
            " job_add, job_first, job_last, job_count, job_ready_at, job_waits_until,"
            " job_expires_at, job_attempts, job_lost, job_trace) SELECT t.again_slot,"
            " t.job_priority, t.job_place, t.again,"
            f" t.ids[1], t.ids[{_SETTLED}], {_SETTLED}, {ready}, {waits}, t.job_expires_at,"
            f" {attempts}, t.job_lost, t.job_trace FROM again AS t)"
        )

    def _buried(self) -> str:
        """Jobs without attempts left become dead letters."""
        return (
            f"buried AS (INSERT INTO {self._dead} (job_id, job_priority, job_attempts, job_trace,"
            f" job_errors, {self._payload}, job_reason) SELECT j.job_id, t.job_priority,"
            f" t.job_attempts, t.job_trace, j.job_errors, {self._jobs_payload}, w.reason FROM t"
            f" CROSS JOIN LATERAL {self._words('t', ', pg_catalog.unnest(t.reasons)')}"
            f" WHERE NOT ({self._has_attempts}))"
        )


def _in_both_forms(build: Callable[[str], str]) -> Forms:
    """A statement about ranges, without and with waiting for locked ones."""
    return Forms(build(_BRISKLY), build(_PATIENTLY))


_TOLD_IDS = "SELECT t.n, w.id FROM t CROSS JOIN LATERAL pg_catalog.unnest(t.ids) AS w (id)"
