"""How queues and their jobs are printed: as a table, as JSON, or as `query` writes rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade.cli.options import TABLE, format_option, output_format
from colonnade.cli.output import STDOUT
from colonnade.cli.query.rows import show_rows, write_rows
from colonnade.cli.query.table import show_cells
from colonnade.cli.result import ResultOptions
from colonnade.cli.statement import Prepared
from colonnade.formats import NDJSON, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import colonnade.sync
    from colonnade.cli.statement import Query
    from colonnade.formats import Format

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Heading:
    """A column of a table of facts."""

    key: str
    """The key of the facts."""
    name: str
    is_number: bool = True


def show_facts(
    facts: Sequence[Mapping[str, Any]], headings: Sequence[Heading], *, as_json: bool
) -> None:
    """Print a line for each mapping of facts; JSON has all of them, the table those with a name."""
    if as_json:
        for fact in facts:
            click.echo(json.dumps(fact))
        return
    rows = [[_fact(fact[heading.key]) for heading in headings] for fact in facts]
    names = [heading.name for heading in headings]
    show_cells(names, [heading.is_number for heading in headings], rows, null="-")


def jobs_format_options(function: F) -> F:
    """Add --format and --json, for tables of jobs."""
    form = format_option(TABLE, help="Default: a table on a terminal, CSV in a pipe.")
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object per line: --format ndjson."
    )
    return form(as_json(function))


def chosen_jobs_format(form: str | None, *, as_json: bool) -> Format | None:
    """The format that the options mean; None is a table.

    Raises UsageError for a pair that contradicts itself, and CommandError if the format's library
    is missing, so that this comes before any query.
    """
    if as_json:
        if form not in {None, NDJSON.name}:
            raise click.UsageError(f"--json means --format {NDJSON}, not {form}")
        return NDJSON
    return output_format(form, STDOUT)


def show_jobs(connection: colonnade.sync.Connection, query: Query, form: Format | None) -> None:
    """Write a table of jobs to standard output, as `colonnade query` writes rows."""
    # A stricter default of the role could give the query up, and what is written stays written.
    connection.execute("SET default_transaction_isolation = 'read committed'")
    prepared = Prepared(connection, query)
    if form is None:
        show_rows(prepared, max_rows=0, limit=None)
    else:
        write_rows(prepared, STDOUT, ResultOptions(form, Settings(form.codec(None))))


def _fact(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return value if value is None else str(value)
