"""The command `colonnade export`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from colonnade.cli.amounts import count, duration, size
from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.export.dataset import dataset_options, export_dataset
from colonnade.cli.failures import CommandError, failures_told, say
from colonnade.cli.files import WholeFiles
from colonnade.cli.options import (
    Command,
    Size,
    chosen_format,
    format_option,
    format_settings,
    query_options,
    result_options,
)
from colonnade.cli.output import STDOUT, OutputFiles, is_terminal, older_parts
from colonnade.cli.progress import rows_progress
from colonnade.cli.result import ResultOptions, write_result
from colonnade.cli.statement import Prepared, Query, as_query, given_query
from colonnade.cli.transfer import Limits

if TYPE_CHECKING:
    from colonnade.cli.transfer import Transfer

_EXAMPLES = """\
colonnade export flights -o flights.parquet
colonnade export 'SELECT * FROM flights WHERE month = $1' 6 -o june.csv
colonnade export flights -o flights.parquet --max-file-size 256MB    # flights-0001.parquet, ...
colonnade export flights -o flights --partition-by carrier           # flights/carrier=UA/...
"""


@click.command(
    cls=Command, short_help="Write a table or a query to files.", examples=_EXAMPLES, name="export"
)
@click.argument("words", nargs=-1, metavar="[TABLE|SQL] [VALUE]...")
@query_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The output file; parts add a number to its name. - is stdout. Of a dataset, the folder.",
)
@format_option(help="Default: the format of the file's extension.")
@click.option("--max-file-size", type=Size(), help="Largest size of a part, such as 256MB or 1GiB.")
@click.option("--max-rows-per-file", type=click.IntRange(min=1), help="Most rows in a part.")
@dataset_options
@click.option("--overwrite", is_flag=True, help="Replace older parts, or the older dataset.")
@click.option("--fsync", is_flag=True, help="Flush the files to disk before they get their names.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress bar and no summary.")
@result_options
@connection_options
def export(
    *,
    words: tuple[str, ...],
    file: str | None,
    named: tuple[tuple[str, str], ...],
    output: Path,
    form: str | None,
    target: Target,
    quiet: bool,
    partition_by: tuple[str, ...],
    order_by: tuple[str, ...],
    resume: bool,
    **options: Any,
) -> None:
    """Write the rows of a table or a query to one file, or to several parts of limited size.

    The format is the value of --format, or follows from the file's extension: FORMATS. Memory use
    is a few batches of rows, even for a huge result.

    The file appears when it is complete, and replaces a file of the same name; all parts appear
    together. If an error occurs, no file appears.

    With --partition-by or --order-by, the output is a folder of Parquet files, a dataset; --resume
    goes on with one that was interrupted.
    """
    asked = given_query(words, file, named)
    if partition_by or order_by or resume:
        keys = {"partition_by": partition_by, "order_by": order_by}
        export_dataset(
            target,
            asked,
            output,
            form=form,
            keys=keys,
            options=options,
            resume=resume,
            quiet=quiet,
        )
        return
    if _is_folder(output):
        raise click.UsageError(f"{output} is a directory: a dataset has --partition-by")
    settings = _settings(output, form, options)
    outdated = _older_parts(output, settings.limits, overwrite=options["overwrite"])
    with failures_told(asked.sql), target.connect() as connection:
        start = time.perf_counter()
        prepared = _prepared(connection, as_query(connection, asked))
        with WholeFiles(sync=options["fsync"]) as files:
            transfer = _written(prepared, files, output, settings, quiet=quiet)
            for place in set(outdated) - set(files.places):
                files.remove_at_the_end(place)
        elapsed = time.perf_counter() - start
    if not quiet:
        where = _where(files, output, settings.limits)
        say(f"{count(transfer.rows, 'row')}, {size(transfer.bytes)} in {duration(elapsed)}{where}")


def _is_folder(path: Path) -> bool:
    """Whether it is one. A name that no file can have is reported when the file is made."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _settings(output: Path, form: str | None, options: dict[str, Any]) -> ResultOptions:
    limits = Limits(options["max_file_size"], options["max_rows_per_file"])
    if form is None and output == STDOUT:
        raise click.UsageError("standard output has no file extension: choose a --format")
    chosen = chosen_format(form, output)
    if output == STDOUT and limits.are_parts:
        raise click.UsageError("standard output cannot be split into parts: pass a file to -o")
    if chosen.is_binary and is_terminal(output):
        raise click.UsageError(f"{chosen} is a binary format: use -o FILE or a pipe")
    return ResultOptions(
        form=chosen,
        settings=format_settings(chosen, options, limits.file_bytes),
        schema=dict(options["schema"]),
        infinity=options["infinity"],
        limits=limits,
    )


def _older_parts(output: Path, limits: Limits, *, overwrite: bool) -> list[Path]:
    """List the parts of an earlier export, which readers would mix up with the new parts.

    Raises CommandError if there are any and `overwrite` is false.
    """
    found = older_parts(output) if limits.are_parts else []
    if found and not overwrite:
        raise CommandError(
            f"there are parts of an earlier export, such as {found[0]}",
            "--overwrite removes them when the new ones are complete",
        )
    return found


def _prepared(connection: Any, asked: Query) -> Prepared:
    prepared = Prepared(connection, asked)
    if not prepared.attributes:
        raise CommandError("the statement gives no rows to write, and was not run")
    prepared.ask_planner()
    return prepared


def _written(
    prepared: Prepared, files: WholeFiles, output: Path, settings: ResultOptions, *, quiet: bool
) -> Transfer:
    output_files = OutputFiles(files, output, numbered=settings.limits.are_parts)
    with rows_progress("exporting", prepared.rows, is_guess=True, quiet=quiet) as progress:
        return write_result(prepared, output_files, settings, progress)


def _where(files: WholeFiles, output: Path, limits: Limits) -> str:
    if not limits.are_parts:
        return "" if output == STDOUT else f": {output}"
    first, *others = files.places
    last = f" to {others[-1].name}" if others else ""
    return f": {count(len(files.places), 'file')}, {first}{last}"
