"""Runs a query and writes its result in a file format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colonnade import formats
from colonnade.cli.failures import CommandError
from colonnade.cli.json_parts import with_json_of_parts
from colonnade.cli.transfer import EnoughRowsError, Limits, Transfer

if TYPE_CHECKING:
    from colonnade.cli.output import OutputFiles
    from colonnade.cli.statement import Prepared
    from colonnade.cli.transfer import Progress
    from colonnade.types import Infinity


@dataclass(frozen=True)
class ResultOptions:
    """The format of a result, its settings and its limits."""

    form: formats.Format
    settings: formats.Settings = field(default_factory=formats.Settings)
    #: Arrow types by column name, as in the driver's argument `schema`.
    schema: dict[str, str] = field(default_factory=dict)
    infinity: Infinity = "raise"
    limits: Limits = field(default_factory=Limits)


def write_result(
    prepared: Prepared,
    output_files: OutputFiles,
    options: ResultOptions,
    progress: Progress | None = None,
) -> Transfer:
    """Run the query and write its rows; the returned transfer has the counts.

    Raises CommandError for a schema with a text format.
    """
    form = options.form
    if options.schema and form.fetched != "arrow":
        raise CommandError(f"--schema sets Arrow types, and {form} has no Arrow types")
    if form.fetched == "json":
        prepared = with_json_of_parts(prepared)
    encoding = form.encode(prepared.attributes, options.settings)
    transfer = Transfer(output_files, encoding.writer, options.limits, progress)
    try:
        _stream(prepared, options, encoding, transfer)
    except EnoughRowsError:
        pass
    except BaseException:
        output_files.discard()
        raise
    try:
        transfer.finish()
    finally:
        output_files.discard()
    return transfer


def _stream(
    prepared: Prepared, options: ResultOptions, encoding: formats.Encoding, transfer: Transfer
) -> None:
    schema = options.schema if options.form.fetched == "arrow" else prepared.text_schema
    stream = prepared.statement.iter_columns(
        *prepared.query.args,
        batch_rows=prepared.batch_rows,
        schema=schema or None,
        infinity=options.infinity,
    )
    with stream:
        for batch in stream:
            transfer.take(encoding.unit(batch))
