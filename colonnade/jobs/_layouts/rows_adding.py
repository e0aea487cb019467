"""How jobs with a key, a delay, a priority or a time to live get into the layout `rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._driver.sql.quoting import quote_identifier
from colonnade.jobs._add_arguments import TYPES
from colonnade.jobs._layouts import staging
from colonnade.jobs._layouts.base import Route, later, waits_until
from colonnade.jobs._layouts.rows_again import again_sql
from colonnade.jobs._layouts.rows_keys import BY_KEY, ON_KEY, next_id

if TYPE_CHECKING:
    from colonnade.jobs._add_arguments import AddOptions
    from colonnade.jobs.definition import Definition

# An index takes rows of 2,704 bytes with pages of 8 KB.
_KEY_MOST_BYTES = 2600
_HASHED = "... sha256 "


def staged_route(definition: Definition, options: AddOptions) -> Route:
    """A COPY into another table, and an INSERT from there."""
    return Route(
        makes=staging.makes(definition, options),
        into=lambda _opened: staging.into(definition, options),
        files=lambda _opened: _insert_sql(definition, options),
        drops=staging.drops(options),
        counts_filed=True,
    )


def _insert_sql(definition: Definition, options: AddOptions) -> tuple[str, list[object]]:
    """The statement that adds the jobs and says how many, and its arguments."""
    arguments: list[object] = []

    def value(option: str) -> str | None:
        if option in options.arrays:
            return f"b.job_{option}"
        if option in options.constants:
            arguments.append(options.constants[option])
            return f"${len(arguments)}::{TYPES[option]}"
        return None

    chosen: dict[str, str] = {}
    if (delay := value("delay")) is not None:
        chosen["job_ready_at"] = later(f"coalesce({delay}, 0)")
        chosen["job_waits_until"] = waits_until(f"coalesce({delay}, 0)")
    if (priority := value("priority")) is not None:
        chosen["job_priority"] = f"coalesce({priority}, 0)"
    if (ttl := value("ttl")) is not None:
        chosen["job_expires_at"] = later(ttl)
    if options.trace is not None:
        arguments.append(options.trace)
        chosen["job_trace"] = f"${len(arguments)}::pg_catalog.text"
    if options.has_key:
        column = options.key_column
        chosen["job_key"] = _indexed(
            "b.job_key" if column is None else f"s.{quote_identifier(column)}::pg_catalog.text"
        )
    for name in definition.payload:
        quoted = quote_identifier(name)
        chosen[quoted] = f"s.{quoted}"
    rows, source = staging.staged(definition, options, arguments)
    inserted = _insert(definition, options, chosen, source)
    if options.is_again:
        return f"WITH {rows}, {inserted}", arguments
    filed = f"filed AS ({inserted} RETURNING 1)"
    return f"WITH {rows}, {filed} SELECT pg_catalog.count(*) FROM filed", arguments


def _indexed(key: str) -> str:
    """An expression: the key, or its beginning and a hash if it is too long for an index.

    A key with the mark of a hash is hashed, too: else it could be chosen to equal another's.
    """
    digest = f"pg_catalog.sha256(pg_catalog.convert_to({key}, 'UTF8'))"
    return (
        f"CASE WHEN pg_catalog.octet_length({key}) OPERATOR(pg_catalog.>) {_KEY_MOST_BYTES}"
        f" OR pg_catalog.strpos({key}, '{_HASHED}') OPERATOR(pg_catalog.>) 0"
        f" THEN pg_catalog.concat(pg_catalog.left({key}, 200), '{_HASHED}',"
        f" pg_catalog.encode({digest}, 'hex')) ELSE {key} END"
    )


def _insert(
    definition: Definition, options: AddOptions, chosen: dict[str, str], source: str
) -> str:
    columns = ", ".join(chosen)
    values = ", ".join(chosen.values())
    if not options.has_key:
        return (
            f"INSERT INTO {definition.table} ({columns})"
            f" SELECT {values} FROM {source} ORDER BY s.job_ordinal"
        )
    key = chosen["job_key"]
    # The ids are in the order of the call, and the rows are locked in that of the keys. Of the jobs
    # with one key in this call, the first counts, or if it replaces, the last.
    order = " DESC" if options.replaces else ""
    action = "DO NOTHING"
    if options.replaces:
        own = ("job_ready_at", "job_waits_until", "job_priority", "job_expires_at", "job_trace")
        renewed = [name for name in (*own, *chosen) if name != "job_key"]
        pairs = ", ".join(f"{name} = EXCLUDED.{name}" for name in dict.fromkeys(renewed))
        anew = "job_token = NULL, job_attempts = 0, job_lost = 0, job_errors = NULL"
        action = f"DO UPDATE SET {pairs}, {anew}"
    named = ", ".join(f"{expression} AS {name}" for name, expression in chosen.items())
    jobs = (
        f"SELECT {next_id(definition.table)} AS job_id, {columns} FROM (SELECT {columns}"
        f" FROM (SELECT {named}, s.job_ordinal, pg_catalog.row_number() OVER (PARTITION BY {key}"
        f" ORDER BY s.job_ordinal{order}) AS job_place FROM {source}) AS j"
        " WHERE job_key IS NULL OR job_place OPERATOR(pg_catalog.=) 1 ORDER BY job_ordinal) AS i"
    )
    if options.is_again:
        return again_sql(definition.table, ["job_id", *chosen], jobs)
    return (
        f"INSERT INTO {definition.table} (job_id, {columns}) SELECT job_id, {columns}"
        f" FROM ({jobs}) AS n ORDER BY {BY_KEY} {ON_KEY} {action}"
    )
