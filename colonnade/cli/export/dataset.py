"""`colonnade export --partition-by`: a folder of Parquet files."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade import formats
from colonnade.cli.amounts import count, duration, size
from colonnade.cli.failures import CommandError, failures_told, say
from colonnade.cli.options import chosen_format, format_settings
from colonnade.cli.output import STDOUT
from colonnade.cli.progress import rows_progress
from colonnade.cli.statement import Prepared, Query, as_query
from colonnade.datasets.files import Limits
from colonnade.datasets.query import KeyedQuery
from colonnade.datasets.unfinished import Unfinished
from colonnade.datasets.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from colonnade.cli.connecting import Target
    from colonnade.datasets import Dataset

F = TypeVar("F", bound="Callable[..., Any]")
_ENDINGS = {ending for form in formats.FORMATS for ending in form.endings}
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".zip"}


def dataset_options(function: F) -> F:
    """Add the options of a dataset."""
    for option in (
        click.option("--resume", is_flag=True, help="Go on with an interrupted dataset."),
        click.option(
            "--order-by",
            multiple=True,
            metavar="COLUMN",
            help="A dataset's column to sort by; without --partition-by, one to resume by.",
        ),
        click.option(
            "--partition-by",
            multiple=True,
            metavar="COLUMN",
            help="Write a dataset, with a folder for each value of the column; may be repeated.",
        ),
    ):
        function = option(function)
    return function


def export_dataset(
    target: Target,
    asked: Query,
    output: Path,
    *,
    form: str | None,
    keys: dict[str, tuple[str, ...]],
    options: dict[str, Any],
    resume: bool,
    quiet: bool,
) -> None:
    """Write the dataset, and print a summary."""
    if output == STDOUT:
        raise click.UsageError("a dataset is a folder: pass its name to -o")
    _check_folder_name(output)
    chosen = chosen_format(form or "parquet", output)
    if chosen.name != "parquet":
        raise click.UsageError(f"a dataset has Parquet files: leave out --format {chosen}")
    unfinished = Unfinished(Path.cwd() / output, sync=options["fsync"])
    with _kept_told(unfinished), failures_told(asked.sql), target.connect() as connection:
        start = time.perf_counter()
        asked = as_query(connection, asked)
        prepared = Prepared(connection, asked)
        prepared.ask_planner()
        writing = Writing(
            KeyedQuery(asked.sql, asked.args, keys["partition_by"], keys["order_by"]),
            unfinished,
            limits=Limits(options["max_rows_per_file"], options["max_file_size"]),
            codec=format_settings(chosen, options).codec,
            schema=dict(options["schema"]) or None,
            infinity=options["infinity"],
            batch_rows=prepared.batch_rows,
        )
        with rows_progress("exporting", prepared.rows, is_guess=True, quiet=quiet) as progress:
            dataset = writing.run(
                connection, progress, resume=resume, overwrite=options["overwrite"]
            )
        elapsed = time.perf_counter() - start
    if not quiet:
        say(_summary(dataset, output, elapsed))


def _check_folder_name(output: Path) -> None:
    """Refuse a name that ends like a file's: programs would open the folder as such a file."""
    plain = output.with_suffix("") if output.suffix.lower() in _COMPRESSED else output
    bare = plain.with_suffix("") if plain.suffix.lower() in _ENDINGS else plain
    if bare != output:
        raise click.UsageError(
            f"{output} is the name of a file, and a dataset is a folder of Parquet files: pass a "
            f"name without an ending (-o {bare}), or for one sorted file leave out the options of "
            "a dataset and write ORDER BY in the query"
        )


def _summary(dataset: Dataset, output: Path, elapsed: float) -> str:
    said = (
        f"{count(dataset.rows, 'row')}, {size(dataset.nbytes)} in {duration(elapsed)}: "
        f"{count(len(dataset.files), 'file')} in {output}"
    )
    if not dataset.is_one_moment:
        said += f"\nits parts were read at {len(dataset.snapshots)} moments, by as many runs"
    return said


@contextmanager
def _kept_told(unfinished: Unfinished) -> Generator[None, None, None]:
    """Say in the error which parts are kept, and how to go on."""
    try:
        yield
    except CommandError as error:
        message = error.message
        if unfinished.kept is not None:
            message = message.removesuffix(": nothing was kept")
        hints = [hint for hint in (error.hint, unfinished.kept) if hint is not None]
        raise CommandError(message, _in_options("; ".join(hints)) or None) from error
    except KeyboardInterrupt as interrupt:
        interrupt.__notes__ = [_in_options(unfinished.kept)] if unfinished.kept else []
        raise


def _in_options(hint: str) -> str:
    """Replace Python's arguments in a hint by options."""
    for name in ("overwrite", "resume"):
        hint = hint.replace(f"{name}=True", f"--{name}")
    return hint
