"""The command `colonnade import`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, get_args

import click

from colonnade.cli.amounts import count, duration
from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.failures import failures_of, failures_told, say
from colonnade.cli.importing.arrow_files import ArrowFile
from colonnade.cli.importing.csv_files import CsvFile
from colonnade.cli.importing.destination import Destination, TableName
from colonnade.cli.importing.ndjson_files import NdjsonFile
from colonnade.cli.importing.readers import (
    column_options,
    copy_file,
    csv_options,
    files_argument,
    reader_of,
)
from colonnade.cli.options import Command, Pair, format_option
from colonnade.frames.write import IfExists

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from colonnade.cli.importing.readers import Reader

_EXAMPLES = """\
colonnade import trades.parquet trades --create
colonnade import 2024-*.csv app.trades --column "Trade Date=day" --skip comment
colonnade import day.parquet trades --if-exists truncate
zcat trades.csv.gz | colonnade import - trades --format csv
"""


@click.command(
    cls=Command, short_help="Copy files into a table.", examples=_EXAMPLES, name="import"
)
@files_argument
@click.argument("table")
@format_option(help="Default: the format of each file's extension.")
@click.option("--create", is_flag=True, help="Create a missing table with the file's types.")
@click.option(
    "--if-exists",
    type=click.Choice(get_args(IfExists)),
    default="append",
    show_default=True,
    help="What to do with an existing table; replace drops and creates it.",
)
@column_options
@click.option(
    "--type",
    "types",
    type=Pair(),
    multiple=True,
    metavar="COLUMN=TYPE",
    help='SQL type of a column of a new table, such as price="numeric(12, 2)".',
)
@csv_options
@click.option("-q", "--quiet", is_flag=True, help="Print no progress bar and no summary.")
@connection_options
def import_(
    *,
    files: tuple[Path, ...],
    table: str,
    form: str | None,
    quiet: bool,
    target: Target,
    **options: Any,
) -> None:
    """Copy the rows of Parquet, Arrow, CSV or newline-delimited JSON files into a table.

    Columns are matched by name; columns of the table that the files lack get their defaults. All
    files are one transaction: after an error the table is unchanged, and the message names the
    file, the column and the row.

    The server reads the values of CSV and JSON as it reads literals. With --create or --if-exists
    replace, the new table has the types of the first file. The types of CSV are guessed from its
    first rows, and a row with a value that would change ends the import. --type sets the type of a
    column.
    """
    name = TableName.read(table)
    readers = [reader_of(path, form, options) for path in files]
    with failures_told(), target.connect() as connection:
        start = time.perf_counter()
        destination = Destination(
            connection,
            name,
            options["if_exists"],
            create=options["create"],
            renamed=dict(options["renamed"]),
            skipped=frozenset(options["skipped"]),
            types=dict(options["types"]),
        )
        with connection.transaction():
            rows, is_made = _import(readers, destination, quiet=quiet)
        elapsed = time.perf_counter() - start
        made = destination.made_columns() if is_made else None
    if not quiet:
        if made is not None:
            say(f"made {name.sql}: {made}; for other types: --type COLUMN=TYPE")
        say(f"{count(rows, 'row')} into {name.sql} in {duration(elapsed)}")


def _import(
    readers: Sequence[Reader], destination: Destination, *, quiet: bool
) -> tuple[int, bool]:
    is_made = destination.check()
    first = readers[0]
    if is_made and isinstance(first, NdjsonFile):
        raise click.UsageError("--create needs a file with column types: JSON has none")
    if is_made and isinstance(first, CsvFile):
        if any(isinstance(reader, NdjsonFile) for reader in readers):
            raise click.UsageError("import NDJSON apart from the CSV that creates the table")
        with failures_of(first.name), first.opened() as (beginning, _):
            first.create_table(destination, beginning)
    elif not isinstance(first, ArrowFile):
        destination.truncate()
    rows = 0
    for number, reader in enumerate(readers):
        with failures_of(reader.name):
            rows += copy_file(
                reader, destination, is_first=not number, is_made=is_made, quiet=quiet
            )
    return rows, is_made
