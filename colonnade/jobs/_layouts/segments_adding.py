"""How jobs get into the layout `segments`: one COPY, and then their ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._driver.sql.quoting import quote_identifier
from colonnade.errors import InterfaceValueError
from colonnade.jobs._add_arguments import TYPES
from colonnade.jobs._layouts import staging
from colonnade.jobs._layouts.base import Route, equal, later, waits_until
from colonnade.jobs._layouts.segments_names import chunk_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs._layouts.segments_names import Names
    from colonnade.jobs.definition import Definition

# Parameters of both statements.
_SLOT, _ADD = "$1::pg_catalog.int2", "$2::pg_catalog.int8"
_DELAY = "coalesce({0}, 0)"
_BOUNDS = "pg_catalog.min(job_id), pg_catalog.max(job_id), pg_catalog.count(*)"


def route(definition: Definition, names: Names, options: AddOptions, *, is_evident: bool) -> Route:
    """A COPY into the current slot; if a value comes for each job, through another table."""
    if options.has_key:
        msg = (
            f"the queue {definition} has the layout segments, which has no unique keys: "
            'leave key out, or make a queue with layout="rows"'
        )
        raise InterfaceValueError(msg)
    opens = f"SELECT {names.next_of(names.adds)}, slot FROM {names.ring}"
    if is_evident and not options.arrays:
        return Route(
            opens=opens,
            into=lambda opened: (definition.schema, f"{definition.name}_s{opened[1]}"),
            files=lambda opened: _ranges_sql(names, options, opened),
        )
    return Route(
        makes=staging.makes(definition, options),
        opens=opens,
        into=lambda _opened: staging.into(definition, options),
        files=lambda opened: _spread_sql(definition, names, options, opened),
        drops=staging.drops(options),
    )


class _Values:
    """The values beside the payload as expressions, and the arguments that they name."""

    def __init__(self, options: AddOptions, opened: Sequence[Any]) -> None:
        self.arguments: list[object] = [opened[1], opened[0]]
        self.columns: dict[str, str] = {}
        for option, forms in (
            ("priority", {"job_priority": "coalesce({0}, 0)"}),
            ("delay", {"job_ready_at": later(_DELAY), "job_waits_until": waits_until(_DELAY)}),
            ("ttl", {"job_expires_at": later("{0}")}),
        ):
            if option in options.arrays:
                value = f"b.job_{option}"
            elif option in options.constants:
                value = self._argument(options.constants[option], TYPES[option])
            else:
                continue
            self.columns |= {column: form.format(value) for column, form in forms.items()}
        if options.trace is not None:
            self.columns["job_trace"] = self._argument(options.trace, "pg_catalog.text")

    def _argument(self, value: object, kind: str) -> str:
        self.arguments.append(value)
        return f"${len(self.arguments)}::{kind}"


def _ranges_sql(
    names: Names, options: AddOptions, opened: Sequence[Any]
) -> tuple[str, list[object]]:
    """The ranges of the jobs that were just copied, which all have one value beside them."""
    values = _Values(options, opened)
    listed = "".join(f", {name}" for name in values.columns)
    given = "".join(f", {expression}" for expression in values.columns.values())
    sql = (
        f"INSERT INTO {names.ranges} (job_slot, job_place, job_add, job_first, job_last,"
        f" job_count{listed}) SELECT {_SLOT}, {_ADD}, {_ADD}, {_BOUNDS}{given}"
        f" FROM (SELECT job_id, {chunk_of('ORDER BY job_id')} AS job_chunk FROM {names.jobs}"
        f" WHERE {equal('job_slot', _SLOT)} AND {equal('job_add', _ADD)}) AS j GROUP BY job_chunk"
    )
    return sql, values.arguments


def _spread_sql(
    definition: Definition, names: Names, options: AddOptions, opened: Sequence[Any]
) -> tuple[str, list[object]]:
    """The jobs from the other table, sorted by the values beside them, and their ranges.

    The ids follow this order, so that a range is a stretch of ids of this `add`.
    """
    values = _Values(options, opened)
    payload = ", ".join(quote_identifier(name) for name in definition.payload)
    copied = ", ".join(f"s.{quote_identifier(name)}" for name in definition.payload)
    kinds = list(values.columns)
    listed = "".join(f", {name}" for name in kinds)
    given = "".join(f", {expression} AS {name}" for name, expression in values.columns.items())
    rows, source = staging.staged(definition, options, values.arguments)
    window = "ORDER BY job_id"
    if kinds:
        window = f"PARTITION BY {', '.join(kinds)} {window}"
    sql = (
        f"WITH {rows}, j AS MATERIALIZED (SELECT {names.next_of(names.ids)} AS job_id, i.* FROM"
        f" (SELECT {copied}, s.job_ordinal{given} FROM {source}"
        f" ORDER BY {', '.join([*kinds, 'job_ordinal'])}) AS i),"
        f" copied AS (INSERT INTO {names.jobs} (job_slot, job_add, job_id, {payload})"
        f" SELECT {_SLOT}, {_ADD}, job_id, {payload} FROM j ORDER BY job_id)"
        f" INSERT INTO {names.ranges} (job_slot, job_place, job_add, job_first, job_last,"
        f" job_count{listed}) SELECT {_SLOT}, {_ADD}, {_ADD}, {_BOUNDS}{listed}"
        f" FROM (SELECT job_id{listed}, {chunk_of(window)} AS job_chunk FROM j) AS c"
        f" GROUP BY job_chunk{listed}"
    )
    return sql, values.arguments
