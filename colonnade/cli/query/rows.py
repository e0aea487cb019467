"""The rows of a statement: shown as a table, or written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colonnade.cli.amounts import count as counted
from colonnade.cli.failures import CommandError
from colonnade.cli.files import WholeFiles
from colonnade.cli.output import OutputFiles
from colonnade.cli.query.table import show
from colonnade.cli.result import write_result
from colonnade.cli.statement import Prepared, Query
from colonnade.formats.text import texts

if TYPE_CHECKING:
    from pathlib import Path

    from colonnade import QueryTiming
    from colonnade.cli.result import ResultOptions


@dataclass(frozen=True)
class Done:
    """The summary of a statement that has run."""

    told: str
    rows: int
    timing: QueryTiming | None


def show_rows(prepared: Prepared, max_rows: int, limit: int | None) -> Done:
    """Print the first rows, and count all rows."""
    prepared = _with_unique_names(prepared)
    rows: list[tuple[str | None, ...]] = []
    count = 0
    stream = prepared.statement.iter_columns(
        *prepared.query.args, batch_rows=prepared.batch_rows, schema=prepared.text_schema
    )
    with stream:
        for batch in stream:
            kept = len(batch) if limit is None else min(len(batch), limit - count)
            count += kept
            wanted = kept if not max_rows else min(kept, max_rows - len(rows))
            if wanted > 0:
                rows += zip(*texts(batch[:wanted]), strict=True)
            if count == limit:
                break
    show(prepared.attributes, rows)
    told = counted(count, "row")
    if len(rows) < count:
        told = f"first {len(rows):,} of {told}"
    return Done(told, count, prepared.connection.last_timing)


def _with_unique_names(prepared: Prepared) -> Prepared:
    """Give repeated column names unique aliases; the table shows the original names.

    Raises CommandError if the statement cannot stand in FROM.
    """
    names = [attribute.name for attribute in prepared.attributes]
    if len(set(names)) == len(names):
        return prepared
    if not prepared.query.is_selection:
        raise CommandError(
            "several columns have the same name", "give them names: RETURNING a AS first"
        )
    places = ", ".join(f"column_{number}" for number in range(1, len(names) + 1))
    sql = f"SELECT * FROM ({prepared.query.sql}\n) AS query ({places})"
    return Prepared(prepared.connection, Query(sql, prepared.query.args))


def write_rows(prepared: Prepared, output: Path, options: ResultOptions) -> Done:
    """Write the rows to a file or to standard output."""
    prepared.ask_planner()
    with WholeFiles() as files:
        output_files = OutputFiles(files, output)
        transfer = write_result(prepared, output_files, options)
    told = counted(transfer.rows, "row")
    return Done(told, transfer.rows, prepared.connection.last_timing)
