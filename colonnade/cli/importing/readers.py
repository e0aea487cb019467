"""The files of an import: their options, and the reader of each format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade import formats
from colonnade.cli.importing.arrow_files import ArrowFile
from colonnade.cli.importing.csv_files import CsvFile
from colonnade.cli.importing.ndjson_files import NdjsonFile
from colonnade.cli.options import Character, Pair, chosen_format
from colonnade.cli.progress import bytes_progress, rows_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade.cli.importing.destination import Destination

    Reader = ArrowFile | CsvFile | NdjsonFile

F = TypeVar("F", bound="Callable[..., Any]")

_STDIN = Path("-")


def files_argument(function: F) -> F:
    """Add the argument FILE..., which are paths; - is standard input."""
    return click.argument(
        "files",
        nargs=-1,
        required=True,
        metavar="FILE...",
        type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True),
    )(function)


def csv_options(function: F) -> F:
    """Add the options that say how CSV is written."""
    delimiter = click.option(
        "--delimiter", type=Character(), show_default=",", help="Delimiter in CSV."
    )
    null = click.option("--null", default="", help="Text of NULL in CSV; empty by default.")
    header = click.option(
        "--header/--no-header", default=True, help="Whether CSV begins with column names."
    )
    return delimiter(null(header(function)))


def column_options(function: F) -> F:
    """Add the options that say which column of the files becomes which."""
    renamed = click.option(
        *("--column", "renamed"),
        type=Pair(),
        multiple=True,
        metavar="FILE=TABLE",
        help="Rename a column.",
    )
    skipped = click.option(
        "--skip", "skipped", multiple=True, metavar="COLUMN", help="Leave a column out."
    )
    return renamed(skipped(function))


def reader_of(path: Path, form: str | None, options: dict[str, Any]) -> Reader:
    """Return the reader of a file. Raises UsageError for a format that cannot be read so."""
    if form is None and path == _STDIN:
        raise click.UsageError("standard input has no file extension: choose a --format")
    chosen = chosen_format(form, path)
    if chosen is formats.CSV:
        return CsvFile(path, options["delimiter"], options["null"], options["header"])
    if chosen is formats.NDJSON:
        return NdjsonFile(path)
    if chosen.open is None:
        raise click.UsageError(f"{chosen} can only be written, not imported")
    if path == _STDIN:
        raise click.UsageError(f"{chosen} must be a file: only CSV and NDJSON can come from a pipe")
    return ArrowFile(path, str(chosen), chosen.open)


def copy_file(
    reader: Reader, destination: Destination, *, is_first: bool, is_made: bool, quiet: bool
) -> int:
    """Copy a file into the table with a progress bar, and return the number of rows."""
    if isinstance(reader, ArrowFile):
        if not (is_first and is_made):
            reader.check(destination)
        with rows_progress(reader.path.name, reader.rows(), is_guess=False, quiet=quiet) as bar:
            return reader.copy(destination, lambda rows: bar(rows, 0), is_first=is_first)
    total = None if reader.path == _STDIN else reader.path.stat().st_size
    done = 0
    with bytes_progress(reader.name, total, quiet=quiet) as tell:

        def progress(more: int) -> None:
            nonlocal done
            done += more
            tell(done)

        return reader.copy(destination, progress)
