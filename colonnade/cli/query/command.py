"""The command `colonnade query`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from colonnade import formats
from colonnade.cli.amounts import duration
from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.failures import CommandError, failures_told, say
from colonnade.cli.options import (
    TABLE,
    Command,
    format_option,
    format_settings,
    output_format,
    query_options,
    result_options,
)
from colonnade.cli.output import STDOUT
from colonnade.cli.query.rows import Done, show_rows, write_rows
from colonnade.cli.result import ResultOptions
from colonnade.cli.statement import Prepared, given_query
from colonnade.cli.transfer import Limits

if TYPE_CHECKING:
    from colonnade import QueryTiming

_SHOWN_ROWS = 100
_EXAMPLES = """\
colonnade query 'SELECT * FROM flights WHERE carrier = $1 AND month = $2' UA 6
colonnade query 'SELECT * FROM flights WHERE origin = :origin' -p origin=JFK -o jfk.parquet
colonnade query -f report.sql --format ndjson | jq .total
echo 'SELECT now()' | colonnade query - --timing
"""
_PHASES = ("prepare", "send", "server_wait", "transfer", "decode")


@click.command(
    cls=Command, short_help="Run a query, and show or write its result.", examples=_EXAMPLES
)
@click.argument("words", nargs=-1, metavar="[SQL] [VALUE]...")
@query_options
@format_option(
    TABLE, help="Default: by the file's extension; a table on a terminal, CSV in a pipe."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=STDOUT,
    metavar="FILE",
    help="Write the result to a file, which appears when it is complete; - is stdout.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Cancel the query after this many rows, and roll back its changes.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=0),
    default=_SHOWN_ROWS,
    show_default=True,
    help="Rows to show in a table; the others are read and counted. 0 shows all.",
)
@click.option("--timing", is_flag=True, help="Print the time of each phase.")
@result_options
@connection_options
def query(
    *,
    words: tuple[str, ...],
    file: str | None,
    named: tuple[tuple[str, str], ...],
    form: str | None,
    output: Path,
    max_rows: int,
    timing: bool,
    target: Target,
    **options: Any,
) -> None:
    """Run one statement, and show or write its result.

    On a terminal the result is a table, and in a pipe it is CSV. --format or the file's extension
    chooses another format: FORMATS. Memory never holds the whole result.

    Put the values of $1, $2, ... after the query, or pass -p name=value for :name. The server
    reads each value as it reads a literal.
    """
    asked = given_query(words, file, named)
    chosen = output_format(form, output)
    limit = options["limit"]
    settings = None if chosen is None else _settings(chosen, options)
    with failures_told(asked.sql), target.connect() as connection:
        start = time.perf_counter()
        prepared = Prepared(connection, asked)
        if not prepared.attributes:
            done = _run_command(prepared, output)
        else:
            done = _run_limited(prepared, output, settings, max_rows, limit)
        elapsed = time.perf_counter() - start
        # In a pipe the rows are all that is said; a statement without rows says what it did.
        if prepared.attributes and output == STDOUT and chosen is not None and not timing:
            return
        say(f"{done.told}, {duration(elapsed)}")
        if timing and done.timing is not None:
            say(_phases(done.timing))


def _settings(chosen: formats.Format, options: dict[str, Any]) -> ResultOptions:
    return ResultOptions(
        form=chosen,
        settings=format_settings(chosen, options),
        schema=dict(options["schema"]),
        infinity=options["infinity"],
        limits=Limits(rows=options["limit"]),
    )


def _run_limited(
    prepared: Prepared,
    output: Path,
    settings: ResultOptions | None,
    max_rows: int,
    limit: int | None,
) -> Done:
    """Show or write the rows; roll back all changes if the result reaches the limit.

    A short statement may already be complete when the limit is reached, so that cancelling it is
    not enough.
    """
    if limit is None:
        return _run(prepared, output, settings, max_rows, None)
    transaction = prepared.connection.transaction()
    transaction.start()
    done = _run(prepared, output, settings, max_rows, limit)
    if done.rows < limit:
        transaction.commit()
    else:
        transaction.rollback()
    return done


def _run(
    prepared: Prepared,
    output: Path,
    settings: ResultOptions | None,
    max_rows: int,
    limit: int | None,
) -> Done:
    if settings is None:
        return show_rows(prepared, max_rows, limit)
    return write_rows(prepared, output, settings)


def _run_command(prepared: Prepared, output: Path) -> Done:
    """Run a statement that returns no rows, and report its status.

    Raises CommandError if an output file was given.
    """
    if output != STDOUT:
        raise CommandError("the statement returns no rows and was not run", "omit -o to run it")
    status = prepared.connection.execute(prepared.query.sql, *prepared.query.args)
    return Done(status, 0, prepared.connection.last_timing)


def _phases(timing: QueryTiming) -> str:
    phases = ", ".join(
        f"{name.replace('_', ' ')} {getattr(timing, name) * 1000:.1f} ms" for name in _PHASES
    )
    return f"{phases}; {timing.bytes:,} bytes"
