"""Progress bars; they appear only if standard error is a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.progress import Task

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000
_BAR_WIDTH = 30


class _RowsColumn(ProgressColumn):
    """Rows so far and rows expected; "about" marks an estimate."""

    def render(self, task: Task) -> Text:
        expected = task.fields["expected"]
        if expected is None:
            return Text(count(task.fields["rows"], "row"))
        about = "about " if task.fields["is_guess"] else ""
        return Text(f"{task.fields['rows']:,} of {about}{count(expected, 'row')}")


class _BytesColumn(ProgressColumn):
    """Bytes so far, and bytes per second."""

    def render(self, task: Task) -> Text:
        done = task.fields["bytes"]
        if not done:
            return Text("")
        rate = f", {size(done / task.elapsed)}/s" if task.elapsed else ""
        return Text(f"{size(done)}{rate}")


@contextmanager
def rows_bar(
    description: str, expected_rows: int | None, *, is_guess: bool, quiet: bool = False
) -> Generator[Callable[[int, int], None], None, None]:
    """Show a bar during the block; yield a function that takes the rows and bytes so far.

    If the number of rows is an estimate and more rows come, the bar drops its total.
    """
    with _bar(quiet, _RowsColumn(), _BytesColumn()) as progress:
        task = progress.add_task(
            description,
            total=expected_rows or None,
            expected=expected_rows,
            is_guess=is_guess,
            rows=0,
            bytes=0,
        )

        def tell(rows: int, done_bytes: int) -> None:
            if is_guess and expected_rows is not None and rows > expected_rows:
                progress.update(task, total=None, expected=None)
            progress.update(task, completed=rows, rows=rows, bytes=done_bytes)

        yield tell


@contextmanager
def bytes_bar(
    description: str, total_bytes: int | None, *, quiet: bool = False
) -> Generator[Callable[[int], None], None, None]:
    """Show a bar during the block; yield a function that takes the bytes so far."""
    with _bar(quiet, _BytesColumn()) as progress:
        task = progress.add_task(description, total=total_bytes or None, bytes=0)

        def tell(done_bytes: int) -> None:
            progress.update(task, completed=done_bytes, bytes=done_bytes)

        yield tell


def _bar(quiet: bool, *columns: ProgressColumn) -> Progress:
    """Create a bar that is drawn only on a terminal and erased at the end."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR_WIDTH),
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def count(number: int, noun: str) -> str:
    """Format a count: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: float) -> str:
    """Format a number of bytes: `512 bytes`, `1.5 MB`."""
    unit = 0
    while number >= _STEP and unit < len(_UNITS) - 1:
        number /= _STEP
        unit += 1
    return f"{number:.0f} {_UNITS[unit]}" if not unit else f"{number:.1f} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Format a duration: `12 ms`, `3.45 s`."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
