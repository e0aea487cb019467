"""Prints a result as a table that fits the terminal, or as one record after another."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from colonnade._words.type_facts import NUMBERS
from colonnade.cli.output import OutputFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from colonnade import Attribute

    Row = Sequence[str | None]

NULL = "NULL"
_ALIGNED_RIGHT = {*NUMBERS, "money", "oid", "xid", "xid8"}
#: A column with wider values is never cut below this width.
_COLUMN_WIDTH_MIN = 10
#: Longer values are cut on a terminal.
_CHARACTERS_MAX = 1000
_GAP = "  "
_CUT = "…"
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2;3m", "\x1b[0m"


@dataclass(frozen=True)
class Screen:
    """The width of standard output (None: unlimited), and whether it supports styles."""

    width: int | None
    has_styles: bool

    @classmethod
    def of_output(cls) -> Screen:
        """Inspect standard output; without a terminal there is no width limit and no style."""
        if not sys.stdout.isatty():
            return cls(None, has_styles=False)
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(shutil.get_terminal_size().columns, has_styles=not is_plain)

    def styled(self, text: str, style: str) -> str:
        """Apply the style if the terminal supports styles."""
        return f"{style}{text}{_PLAIN}" if self.has_styles else text


@dataclass(frozen=True)
class _Shown:
    """The part of a result to print."""

    heads: Sequence[str]
    are_numbers: Sequence[bool]
    rows: Sequence[Row]
    #: The rows' values as they are printed.
    cells: Sequence[Sequence[str]]

    def widths(self) -> list[int]:
        """The full width of each column, in terminal cells."""
        return [max(map(cell_len, column)) for column in zip(self.heads, *self.cells, strict=True)]


def show(attributes: Sequence[Attribute], rows: Sequence[Row]) -> None:
    """Print the rows to standard output; each value is text, or None for NULL."""
    are_numbers = [attribute.type.name in _ALIGNED_RIGHT for attribute in attributes]
    show_cells([attribute.name for attribute in attributes], are_numbers, rows)


def show_cells(
    names: Sequence[str], are_numbers: Sequence[bool], rows: Sequence[Row], null: str = NULL
) -> None:
    """Print rows under these names; numbers align right, and `null` stands for None."""
    screen = Screen.of_output()
    shown = _Shown(
        heads=[printable(name) for name in names],
        are_numbers=are_numbers,
        rows=rows,
        cells=[[_cell(value, screen, null) for value in row] for row in rows],
    )
    widths = _allotted(shown.widths(), screen)
    lines = _records(screen, shown) if widths is None else _table(screen, shown, widths)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.flush()
    out = OutputFile(sys.stdout.fileno(), "standard output", owned=False)
    try:
        for line in lines:
            out.write(f"{line}\n".encode(encoding, "replace"))
        out.close()
    finally:
        out.discard()


def printable(text: str) -> str:
    """Escape every character that is not printable.

    So no value can move the cursor, break the line or control the terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def _cell(value: str | None, screen: Screen, null: str) -> str:
    if value is None:
        return null
    if screen.width is not None and len(value) > _CHARACTERS_MAX:
        value = value[:_CHARACTERS_MAX] + _CUT
    return printable(value)


def _allotted(widths: Sequence[int], screen: Screen) -> list[int] | None:
    """Return the width of each column, shrinking the widest first; None if they cannot fit."""
    if screen.width is None:
        return list(widths)
    room = screen.width - len(_GAP) * (len(widths) - 1)
    level = max(widths, default=0)
    while sum(min(width, level) for width in widths) > room:
        level -= 1
        if level < _COLUMN_WIDTH_MIN:
            return None
    return [min(width, level) for width in widths]


def _table(screen: Screen, shown: _Shown, widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of the table; numbers align right, other values left."""
    columns = list(zip(widths, shown.are_numbers, strict=True))
    heads = (_laid_out(head, *column) for head, column in zip(shown.heads, columns, strict=True))
    yield _GAP.join(screen.styled(head, _BOLD) for head in heads).rstrip()
    for row, texts in zip(shown.rows, shown.cells, strict=True):
        line = [_laid_out(text, *column) for text, column in zip(texts, columns, strict=True)]
        if screen.has_styles and None in row:
            line = [
                screen.styled(text, _DIM) if value is None else text
                for text, value in zip(line, row, strict=True)
            ]
        yield _GAP.join(line).rstrip()


def _laid_out(text: str, width: int, is_number: bool) -> str:
    taken = cell_len(text)
    if taken > width:
        return set_cell_size(text, width - 1) + _CUT
    padding = " " * (width - taken)
    return padding + text if is_number else text + padding


def _records(screen: Screen, shown: _Shown) -> Iterator[str]:
    """Yield one line per column for each row; the terminal wraps long lines."""
    width = max(map(cell_len, shown.heads), default=0)
    names = [screen.styled(_laid_out(head, width, is_number=False), _BOLD) for head in shown.heads]
    for number, (row, texts) in enumerate(zip(shown.rows, shown.cells, strict=True), 1):
        yield screen.styled(f"row {number}", _DIM)
        for name, value, text in zip(names, row, texts, strict=True):
            yield f"{name}{_GAP}{screen.styled(text, _DIM) if value is None else text}"
