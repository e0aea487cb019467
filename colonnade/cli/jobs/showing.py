"""How queues and their jobs are printed: as a table, as JSON, or in a format of files."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade._words.type_facts import NUMBERS
from colonnade.cli.failures import missing_library
from colonnade.cli.outlet import STDOUT, OutputFile, is_terminal
from colonnade.cli.query.table import show_cells
from colonnade.formats import NDJSON, by_name
from colonnade.formats.streams import STREAMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from colonnade import Columns

F = TypeVar("F", bound="Callable[..., Any]")

_TABLE = "table"
#: The formats that a table of jobs is written in; JSON column by column is for browsers.
_STREAMS = {stream.name: stream for stream in STREAMS if stream.name != "json"}
_DECODER = json.JSONDecoder()


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
    form = click.option(
        "--format",
        "form",
        type=click.Choice([_TABLE, *_STREAMS]),
        help="Default: a table on a terminal, CSV in a pipe.",
    )
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object per line: --format ndjson."
    )
    return form(as_json(function))


def chosen_jobs_format(form: str | None, *, as_json: bool) -> str:
    """The format that the options mean. Raises UsageError for a pair that contradicts itself.

    Raises CommandError if its library is missing, so that this comes before any query.
    """
    if as_json:
        if form not in {None, NDJSON.name}:
            raise click.UsageError(f"--json means --format {NDJSON}, not {form}")
        return NDJSON.name
    if form is None:
        return _TABLE if is_terminal(STDOUT) else "csv"
    stream = _STREAMS.get(form)
    if stream is not None:
        if not stream.is_there:
            library = str(stream.library)
            raise missing_library(library, library, f"the format {form}")
        if by_name(form).is_binary and is_terminal(STDOUT):
            raise click.UsageError(f"{form} is a binary format: use a pipe")
    return form


def show_jobs(columns: Columns, form: str) -> None:
    """Write a table of jobs to standard output."""
    if form == _TABLE:
        are_numbers = [field.type_name in NUMBERS for field in columns.fields]
        show_cells(columns.names, are_numbers, _cells(columns))
        return
    sys.stdout.flush()
    out = OutputFile(sys.stdout.fileno(), "standard output", owned=False)
    encoder = _STREAMS[form].open(_STREAMS[form].settled({}) or {})
    try:
        for piece in encoder.encode(columns):
            out.write(piece)
        for piece in encoder.finish():
            out.write(piece)
        out.close()
    finally:
        out.discard()


def _cells(columns: Columns) -> list[list[str | None]]:
    """The values as text, taken from the lines of NDJSON, so that numbers keep all their digits."""
    encoder = _STREAMS[NDJSON.name].open({"end": "false"})
    lines = b"".join([*encoder.encode(columns), *encoder.finish()]).decode().split("\n")
    return [list(_values(line)) for line in lines if line]


def _values(line: str) -> Iterator[str | None]:
    """Yield the values of an object that has no spaces between its parts."""
    place = 0
    while line[place] != "}":
        _, colon = _DECODER.raw_decode(line, place + 1)
        value, end = _DECODER.raw_decode(line, colon + 1)
        yield value if value is None or isinstance(value, str) else line[colon + 1 : end]
        place = end


def _fact(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    return value if value is None else str(value)
