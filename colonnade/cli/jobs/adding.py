"""The command `colonnade jobs add`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from colonnade._driver.sql.quoting import quote_identifier
from colonnade.cli.amounts import count, duration
from colonnade.cli.failures import CommandError, failures_of, say
from colonnade.cli.importing.destination import Destination, TableName, listed
from colonnade.cli.importing.readers import (
    column_options,
    copy_file,
    csv_options,
    files_argument,
    reader_of,
)
from colonnade.cli.jobs.place import json_option, opened, place_options
from colonnade.cli.options import Command, format_option
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    import colonnade.sync
    from colonnade import Columns
    from colonnade.cli.connecting import Target
    from colonnade.cli.importing.readers import Reader
    from colonnade.jobs import sync as jobs

#: The table into which a file is read, before its rows are added.
_READ = TableName("pg_temp", "colonnade_jobs_read")
#: The most jobs in memory at once.
_JOBS_AT_ONCE = 100_000
_EXAMPLES = """\
colonnade jobs add emails new-users.parquet
colonnade jobs add emails users.csv --column "User Id=user_id" --skip comment --delay 3600
zcat users.csv.gz | colonnade jobs add emails - --format csv
echo '{"user_id": 7}' | colonnade jobs add emails - --format ndjson --key user_id
"""


@click.command(cls=Command, short_help="Add the rows of files as jobs.", examples=_EXAMPLES)
@click.argument("name", metavar="QUEUE")
@files_argument
@format_option(help="Default: the format of each file's extension.")
@column_options
@csv_options
@click.option(
    "--delay",
    type=click.FloatRange(0, 1e9),
    metavar="SECONDS",
    help="The jobs are ready after this time.",
)
@click.option(
    "--priority", type=click.IntRange(-32_767, 32_767), help="Lower is sooner; 0 by default."
)
@click.option(
    "--ttl",
    type=click.FloatRange(0, 1e9, min_open=True),
    metavar="SECONDS",
    help="Older jobs are not handed out any more.",
)
@click.option("--key", metavar="COLUMN", help="At most one job with each value is in the queue.")
@click.option(
    "--on-conflict",
    type=click.Choice(["ignore", "replace", "again"]),
    default="ignore",
    show_default=True,
    help="What to do with a job whose key is in the queue.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress bar and no summary.")
@json_option
@place_options
def add(
    *,
    name: str,
    files: tuple[Path, ...],
    form: str | None,
    quiet: bool,
    as_json: bool,
    target: Target,
    schema: str,
    **options: Any,
) -> None:
    """Add each row of Parquet, Arrow, CSV or newline-delimited JSON files as a job.

    Columns are matched with the payload by name; columns of the payload that a file lacks get
    their defaults. All files are one transaction: after an error no job was added, and the message
    names the file, the column and the row.
    """
    if options["on_conflict"] != "ignore" and options["key"] is None:
        raise click.UsageError(f"--on-conflict {options['on_conflict']} needs --key")
    readers = [reader_of(path, form, options) for path in files]
    beside = {name: options[name] for name in ("delay", "priority", "ttl", "key", "on_conflict")}
    with opened(target, schema) as place:
        start = time.perf_counter()
        queue = place.queue(name)
        _check_key(queue, beside["key"])
        added = 0
        with place.pool.acquire() as connection, connection.transaction():
            reading = _Reading(connection, queue.definition, options)
            for reader in readers:
                with failures_of(reader.name):
                    for columns in reading.parts(reader, quiet=quiet):
                        added += queue.add(columns, connection=connection, **beside)
        elapsed = time.perf_counter() - start
    if as_json:
        click.echo(json.dumps({"added": added}))
    elif not quiet:
        said = f'{count(added, "job")} added to "{visible(name)}" in {duration(elapsed)}'
        say(said)


def _check_key(queue: jobs.Queue, key: str | None) -> None:
    if key is not None and key not in queue.definition.payload:
        raise CommandError(f'--key: the payload has no column "{key}"', _columns_of(queue))


def _columns_of(queue: jobs.Queue) -> str:
    return f"its columns are {listed(queue.definition.payload)}"


@dataclass(frozen=True)
class _Payload(Destination):
    """A temporary table with the payload's columns, which the readers of files fill."""

    queue: str = ""
    payload: tuple[str, ...] = ()
    #: The payload's columns that the file at hand has.
    present: list[str] = field(default_factory=list)

    def check_columns(self, names: Iterable[str], where: str) -> None:
        """Raise CommandError for a column that the payload does not have."""
        self.present[:] = names
        for name in self.present:
            if name not in self.payload:
                raise CommandError(
                    f'{where}: the queue "{self.queue}" has no column "{name}": it has '
                    f"{listed(self.payload)}",
                    f'--skip "{name}" omits it, --column "{name}=other" renames it',
                )


class _Reading:
    """Reads files, by way of a temporary table: the server parses text by the payload's types."""

    def __init__(
        self, connection: colonnade.sync.Connection, definition: Any, options: dict[str, Any]
    ) -> None:
        self._connection = connection
        self._table = _Payload(
            connection,
            _READ,
            "append",
            create=False,
            renamed=dict(options["renamed"]),
            skipped=frozenset(options["skipped"]),
            queue=definition.name,
            payload=tuple(definition.payload),
        )
        columns = ", ".join(
            f"{quote_identifier(name)} {kind}" for name, kind in definition.payload.items()
        )
        connection.execute(f"CREATE TEMPORARY TABLE {_READ.sql} ({columns}) ON COMMIT DROP")

    def parts(self, reader: Reader, *, quiet: bool) -> Generator[Columns, None, None]:
        """Read a file, and yield its rows in parts that fit into memory."""
        copy_file(reader, self._table, is_first=False, is_made=False, quiet=quiet)
        # A file without any column of the payload has jobs of NULLs.
        names = self._table.present or self._table.payload
        columns = ", ".join(map(quote_identifier, names))
        cursor = self._connection.cursor(f"SELECT {columns} FROM {_READ.sql}").open()
        while len(part := cursor.fetch_columns(_JOBS_AT_ONCE)):
            yield part
        self._connection.execute(f"DELETE FROM {_READ.sql}")
