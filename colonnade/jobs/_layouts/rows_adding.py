"""How jobs with a key, a delay, a priority or a time to live get into the layout `rows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colonnade._quoting import quote_identifier
from colonnade.jobs._layouts.base import Route, later
from colonnade.jobs._sources import BESIDE, STAGING, TYPES, staging_ddl, unstaging_ddl

if TYPE_CHECKING:
    from colonnade.jobs._sources import Beside
    from colonnade.jobs.definition import Definition


def staged(definition: Definition, beside: Beside) -> Route:
    """A COPY into a temporary table, and an INSERT from there."""
    return Route(
        into=lambda _opened: ("pg_temp", STAGING),
        makes=staging_ddl(definition, beside),
        files=lambda _opened: _insert_sql(definition, beside),
        drops=unstaging_ddl(beside),
        counts_filed=True,
    )


def _insert_sql(definition: Definition, beside: Beside) -> tuple[str, list[object]]:
    """The statement that adds the jobs, and its arguments."""
    arguments: list[object] = []

    def value(option: str) -> str | None:
        if option in beside.arrays:
            return f"b.job_{option}"
        if option in beside.constants:
            arguments.append(beside.constants[option])
            return f"${len(arguments)}::{TYPES[option]}"
        return None

    chosen: dict[str, str] = {}
    if (delay := value("delay")) is not None:
        chosen["job_ready_at"] = later(f"coalesce({delay}, 0)")
    if (priority := value("priority")) is not None:
        chosen["job_priority"] = f"coalesce({priority}, 0)"
    if (ttl := value("ttl")) is not None:
        chosen["job_expires_at"] = later(ttl)
    if beside.trace is not None:
        arguments.append(beside.trace)
        chosen["job_trace"] = f"${len(arguments)}::pg_catalog.text"
    if beside.has_key:
        column = beside.key_column
        chosen["job_key"] = (
            "b.job_key" if column is None else f"s.{quote_identifier(column)}::pg_catalog.text"
        )
    for name in definition.payload:
        quoted = quote_identifier(name)
        chosen[quoted] = f"s.{quoted}"
    source = f"pg_temp.{STAGING} AS s"
    if beside.arrays:
        source += (
            f" JOIN pg_temp.{BESIDE} AS b ON s.job_ordinal OPERATOR(pg_catalog.=) b.job_ordinal"
        )
    return _insert(definition, beside, chosen, source), arguments


def _insert(definition: Definition, beside: Beside, chosen: dict[str, str], source: str) -> str:
    columns = ", ".join(chosen)
    values = ", ".join(chosen.values())
    if not beside.has_key:
        return (
            f"INSERT INTO {definition.table} ({columns})"
            f" SELECT {values} FROM {source} ORDER BY s.job_ordinal"
        )
    key = chosen["job_key"]
    # Of the jobs with one key in this call, the first counts, or if it replaces, the last.
    order = " DESC" if beside.replaces else ""
    action = "DO NOTHING"
    if beside.replaces:
        renewed = [
            name
            for name in ("job_ready_at", "job_priority", "job_expires_at", "job_trace", *chosen)
            if name != "job_key"
        ]
        pairs = ", ".join(f"{name} = EXCLUDED.{name}" for name in dict.fromkeys(renewed))
        action = f"DO UPDATE SET {pairs}, job_token = NULL, job_attempts = 0, job_errors = NULL"
    named = ", ".join(f"{expression} AS {name}" for name, expression in chosen.items())
    return (
        f"INSERT INTO {definition.table} ({columns}) SELECT {columns} FROM (SELECT {named},"
        f" s.job_ordinal, pg_catalog.row_number() OVER (PARTITION BY {key}"
        f" ORDER BY s.job_ordinal{order}) AS job_place FROM {source}) AS j"
        " WHERE job_key IS NULL OR job_place OPERATOR(pg_catalog.=) 1 ORDER BY job_ordinal"
        f" ON CONFLICT (job_key) WHERE job_key IS NOT NULL {action}"
    )
