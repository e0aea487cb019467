"""The command itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.failures import CommandError, failures_told
from colonnade.cli.measure import machine, peers
from colonnade.cli.measure.choice import BASE, choose_peers
from colonnade.cli.measure.report import Measured, Report, versions
from colonnade.cli.measure.table import cost_table
from colonnade.cli.measure.terminal import Terminal
from colonnade.cli.measure.watch import measure_all
from colonnade.cli.options import Command
from colonnade.cli.statement import Prepared, Query, as_query, given_query

if TYPE_CHECKING:
    from colonnade.cli.measure.summary import Summaries

#: A DSN that leaves everything to the PG* variables, in the form every driver takes.
_FROM_ENVIRONMENT = "postgresql://"
_EXAMPLES = """\
colonnade bench "SELECT * FROM flights"
colonnade bench flights --rounds 5 --json figures.json
colonnade bench -f report.sql --peers colonnade-columns,colonnade-rows,asyncpg-rows
"""


@click.command(
    cls=Command,
    short_help="Measure a query with every driver that is installed.",
    examples=_EXAMPLES,
)
@click.argument("words", nargs=-1, metavar="[TABLE|SQL]")
@click.option("-f", "--file", metavar="FILE", help="Read the query from a file; - is stdin.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Turns of each driver; medians and minima are shown.",
)
@click.option("--peers", "names", help="Only these, by name; --list has the names.")
@click.option("--list", "lists", is_flag=True, help="List what can be measured, and why not.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds for one driver's turn.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all figures to this file.",
)
@connection_options
def bench(
    *,
    words: tuple[str, ...],
    file: str | None,
    names: str | None,
    lists: bool,
    json_path: Path | None,
    target: Target,
    **options: Any,
) -> int | None:
    """Fetch the whole result of a query several times, by Colonnade and its peers, and compare.

    Each turn has a process and a connection of its own; the drivers take turns, so that what
    disturbs the machine disturbs all. What counts is the fetch alone: wall time, processor time and
    memory of the client, and how long its event loop answered nobody. The query is run once or
    twice in each turn; it should be one that only reads.
    """
    terminal = Terminal.open()
    chosen, skipped = choose_peers(names)
    if lists:
        _list(terminal)
        return None
    if len(words) > 1:
        raise click.UsageError("the query is one word, and has no parameters here: quote it")
    asked = given_query([as_query(word) for word in words], file, ())
    dsn = _dsn_for_peers(target)
    with failures_told(asked.sql):
        server = _checked(target, asked)
    for name, reason in skipped.items():
        terminal.note(f"not compared: {name} ({reason})")
    report = Report(
        machine=machine.describe(),
        server=server,
        transport="the user's server",
        rounds=options["rounds"],
        base=BASE,
        versions=versions(chosen),
        skipped=skipped,
        load_before=machine.load(),
    )
    summaries = measure_all(
        "measuring",
        chosen,
        terminal.err,
        dsn=dsn,
        sql=asked.sql,
        rounds=options["rounds"],
        timeout_s=options["timeout"],
    )
    report.load_after = machine.load()
    result = Measured("query", "your query", asked.sql, _rows(summaries), summaries)
    report.results.append(result)
    terminal.out.print(cost_table(result.heading, summaries, base=BASE))
    terminal.say(report.note())
    if json_path is not None:
        with failures_told():
            terminal.note(f"wrote {report.write_json(json_path)}")
    return 1 if report.failed else 0


def _list(terminal: Terminal) -> None:
    for peer in peers.discover():
        reason = f" (cannot run: {peer.unavailable})" if peer.unavailable else ""
        terminal.say(f"{peer.name}: {peer.title}{reason}")


def _dsn_for_peers(target: Target) -> str:
    """A DSN that every driver takes; what it does not say is left to the children's environment."""
    if target.service is not None:
        os.environ["PGSERVICE"] = target.service
    if target.password is not None:
        os.environ["PGPASSWORD"] = target.password
    return target.dsn or _FROM_ENVIRONMENT


def _checked(target: Target, asked: Query) -> str:
    """See that the server is there and takes the query; return what it is."""
    with target.connect() as connection:
        if not Prepared(connection, asked).attributes:
            raise CommandError("the statement gives no rows to fetch, and was not run")
        return str(connection.fetchval("SELECT pg_catalog.version()"))


def _rows(summaries: Summaries) -> int:
    """How many rows the drivers have fetched."""
    counted = (run.rows for summary in summaries for run in summary.runs)
    return next((rows for rows in counted if rows is not None), 0)
