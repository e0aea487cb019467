"""Progress bars on a terminal; `progress` decides whether there are any."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from colonnade.cli.amounts import count, size
from colonnade.cli.failures import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.progress import Task

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
    description: str, expected_rows: int | None, *, is_guess: bool
) -> Generator[Callable[[int, int], None]]:
    """Draw what `rows_progress` shows."""
    with _bar(_RowsColumn(), _BytesColumn()) as progress:
        task = progress.add_task(
            visible(description),
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
def bytes_bar(description: str, total_bytes: int | None) -> Generator[Callable[[int], None]]:
    """Draw what `bytes_progress` shows."""
    with _bar(_BytesColumn()) as progress:
        task = progress.add_task(visible(description), total=total_bytes or None, bytes=0)

        def tell(done_bytes: int) -> None:
            progress.update(task, completed=done_bytes, bytes=done_bytes)

        yield tell


def _bar(*columns: ProgressColumn) -> Progress:
    """Create a bar that is erased at the end."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR_WIDTH),
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
