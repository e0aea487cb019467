"""Columns as an HTML table, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from colonnade._columns.conversion.sample import DOTS, Sample, ShownColumn, shape_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade._core import Batch

_CHARACTERS_MAX = 100
_COLUMNS_MAX = 40


def html_table(batch: Batch) -> str:
    """Return the names, types, first and last rows and the shape as HTML. All text is escaped."""
    shape = f"<p>{shape_line(batch)}</p>"
    if not batch.num_columns:
        return f"<div>\n{shape}\n</div>"
    sample = Sample(batch, _CHARACTERS_MAX)
    columns = list(_columns(batch.num_columns, sample))
    names, types, *rows = ("".join(line) for line in zip(*columns, strict=True))
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        '<div>\n<table border="1" class="dataframe">\n'
        f"<thead>\n<tr>{names}</tr>\n<tr>{types}</tr>\n</thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n{shape}\n</div>"
    )


def _columns(count: int, sample: Sample) -> Iterator[list[str]]:
    half = _COLUMNS_MAX // 2
    for index in range(count):
        if count <= _COLUMNS_MAX or index < half or index >= count - half:
            yield _markup(sample.column(index))
        elif index == half:
            cells = len(_markup(sample.column(index))) - 2
            yield [f"<th>{DOTS}</th>"] * 2 + [f"<td>{DOTS}</td>"] * cells


def _markup(column: ShownColumn) -> list[str]:
    """Return the header cells (name and type), then the cells of the rows."""
    align = ' style="text-align: right"' if column.is_number else ' style="text-align: left"'
    cells = ("<em>NULL</em>" if cell is None else escape(cell) for cell in column.cells)
    name = f"<th{align}>{escape(column.name)}</th>"
    type_name = f"<th{align}><small>{escape(column.type_name)}</small></th>"
    return [name, type_name, *(f"<td{align}>{cell}</td>" for cell in cells)]
