"""Columns as a text table for a terminal, in psql's style."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from colonnade._columns.conversion.sample import DOTS, Sample, ShownColumn, shape_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from colonnade._core import Batch

_CHARACTERS_MAX = 40
_SEPARATOR = " | "


def text_table(batch: Batch, width: int) -> str:
    """Return the first and last rows, with as many columns from both ends as fit into `width`."""
    sample = Sample(batch, _CHARACTERS_MAX)
    columns = list(_fitting(batch.num_columns, sample, width))
    title = f"Columns: {shape_line(batch)}"
    if not columns:
        return title
    lines = [_SEPARATOR.join(line).rstrip() for line in zip(*columns, strict=True)]
    rule = "-+-".join("-" * display_width(column[0]) for column in columns)
    return "\n".join([title, *lines[:2], rule, *lines[2:]])


def _fitting(count: int, sample: Sample, width: int) -> Iterator[list[str]]:
    """Yield the columns that fit, formatted; a column of dots replaces omitted ones."""
    left: list[list[str]] = []
    right: list[list[str]] = []
    used = 0
    for taken, index in enumerate(_ends_first(count)):
        column = _layout(sample.column(index))
        used += display_width(column[0]) + len(_SEPARATOR)
        # No separator follows the last column; before any other, leave room for the dots.
        rest = -len(_SEPARATOR) if taken == count - 1 else len(DOTS)
        if taken and used + rest > width:
            yield from [*left, [DOTS] * len(column), *reversed(right)]
            return
        (left if taken % 2 == 0 else right).append(column)
    yield from [*left, *reversed(right)]


def _ends_first(count: int) -> Iterator[int]:
    """Yield the indexes first, last, second, last but one, ..."""
    for step in range(count):
        yield step // 2 if step % 2 == 0 else count - 1 - step // 2


def _layout(column: ShownColumn) -> list[str]:
    """Return name, type and cells, padded to the same width."""
    cells = ("NULL" if cell is None else cell for cell in column.cells)
    texts = [column.name, column.type_name, *cells]
    widths = [display_width(text) for text in texts]
    padding = [" " * (max(widths) - width) for width in widths]
    if column.is_number:
        return [pad + text for pad, text in zip(padding, texts, strict=True)]
    return [text + pad for pad, text in zip(padding, texts, strict=True)]


def display_width(text: str) -> int:
    """Return the terminal cells of a text: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
