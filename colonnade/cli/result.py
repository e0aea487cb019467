"""Writes the result of a query in any format but the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from colonnade.cli.failures import CommandError
from colonnade.cli.formats import Format
from colonnade.cli.formats.arrow import ArrowWriter, ParquetWriter
from colonnade.cli.formats.csv import CsvOptions, split_rows
from colonnade.cli.formats.ndjson import RowsAsJson, with_json_of_parts
from colonnade.cli.formats.text import Lines, TextWriter
from colonnade.cli.transfer import EnoughRowsError, Limits, Transfer, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade import Columns
    from colonnade.cli.outlet import Outlet, OutputFile
    from colonnade.cli.statement import Prepared
    from colonnade.cli.transfer import Progress
    from colonnade.types import Infinity

    MakeWriter = Callable[[OutputFile, Any], Writer]


@dataclass(frozen=True)
class ResultOptions:
    """What a result is asked for as."""

    form: Format
    csv: CsvOptions = field(default_factory=CsvOptions)
    #: Arrow's types by column, as `schema=` of the driver takes them.
    schema: dict[str, str] = field(default_factory=dict)
    infinity: Infinity = "raise"
    codec: str = "none"
    limits: Limits = field(default_factory=Limits)


def write_result(
    prepared: Prepared,
    outlet: Outlet,
    options: ResultOptions,
    progress: Progress | None = None,
) -> Transfer:
    """Run the query, and write its rows; the transfer says how many there were."""
    if options.schema and options.form in {Format.CSV, Format.NDJSON}:
        raise CommandError(f"--schema is for Arrow's types, and {options.form} has none of them")
    make_writer, rows = _road(prepared, options)
    transfer = Transfer(outlet, make_writer, options.limits, progress)
    try:
        rows(transfer)
    except EnoughRowsError:
        pass
    except BaseException:
        outlet.discard()
        raise
    try:
        transfer.finish()
    finally:
        outlet.discard()
    return transfer


def _road(
    prepared: Prepared, options: ResultOptions
) -> tuple[MakeWriter, Callable[[Transfer], None]]:
    """What writes a file, and what brings the rows."""
    if options.form is Format.CSV:
        head = options.csv.line(a.name for a in prepared.attributes) if options.csv.header else b""
        # The server's own CSV where it can be had, which is the faster way.
        by_copy = prepared.query.is_selection
        bring = _copied if by_copy else _as_csv
        return partial(_text_writer, head), partial(bring, prepared, options)
    if options.form is Format.NDJSON:
        prepared = with_json_of_parts(prepared)
        lines = RowsAsJson(prepared.attributes).lines
        bring_lines = partial(_batches, prepared, prepared.text_schema, options.infinity, lines)
        return partial(_text_writer, b""), bring_lines
    bring_columns = partial(_batches, prepared, options.schema, options.infinity, _unchanged)
    if options.form is Format.PARQUET:
        return partial(_parquet_writer, options), bring_columns
    return partial(_arrow_writer, options), bring_columns


def _text_writer(head: bytes, file: OutputFile, _first: Lines) -> Writer:
    return TextWriter(file, head)


def _parquet_writer(options: ResultOptions, file: OutputFile, first: Columns) -> Writer:
    return ParquetWriter(file, first, options.codec, options.limits.file_bytes)


def _arrow_writer(options: ResultOptions, file: OutputFile, first: Columns) -> Writer:
    return ArrowWriter(file, first, options.form, options.codec)


def _unchanged(batch: Columns) -> Columns:
    return batch


def _copied(prepared: Prepared, options: ResultOptions, transfer: Transfer) -> None:
    """The server's CSV, which comes in whole rows."""
    transfer.take(Lines([]))
    prepared.connection.copy_from_query(
        prepared.query.sql,
        *prepared.query.args,
        output=lambda chunk: transfer.take(split_rows(chunk)),
        format="csv",
        delimiter=options.csv.delimiter,
        null=options.csv.null,
    )


def _as_csv(prepared: Prepared, options: ResultOptions, transfer: Transfer) -> None:
    """The same of a statement that COPY does not take, such as EXPLAIN."""
    line = options.csv.line

    def lines(batch: Columns) -> Lines:
        columns = batch.to_pydict().values()
        return Lines([line(row) for row in zip(*columns, strict=True)])

    _batches(prepared, prepared.text_schema, options.infinity, lines, transfer)


def _batches(
    prepared: Prepared,
    schema: dict[str, str],
    infinity: Infinity,
    made: Callable[[Columns], Any],
    transfer: Transfer,
) -> None:
    stream = prepared.statement.iter_columns(
        *prepared.query.args,
        batch_rows=prepared.batch_rows,
        schema=schema or None,
        infinity=infinity,
    )
    with stream:
        for batch in stream:
            transfer.take(made(batch))
