"""The progress of a copy, reported to a callback or shown as a bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from colonnade._words.arguments import check_switch
from colonnade._words.extras import needed_by

if TYPE_CHECKING:
    from collections.abc import Generator

Progress: TypeAlias = bool | Callable[[int], object]
Report: TypeAlias = Callable[[int], object] | None


@contextlib.contextmanager
def reporting(progress: Progress, title: str, frame: object) -> Generator[Report, None, None]:
    """Yield the function to call with the number of rows sent so far; None for no reports."""
    check_switch("progress", True if callable(progress) else progress)
    if callable(progress):
        yield progress
    elif progress:
        with _bar(title, _rows(frame)) as report:
            yield report
    else:
        yield None


def _rows(frame: Any) -> int | None:
    """Return the number of rows of a frame; None if it is unknown before the copy."""
    rows = getattr(frame, "num_rows", None)
    if isinstance(rows, int):
        return rows
    # len() of a mapping or of a list of frames is not a row count.
    return len(frame) if hasattr(frame, "columns") and hasattr(frame, "__len__") else None


@contextlib.contextmanager
def _bar(title: str, total: int | None) -> Generator[Callable[[int], object], None, None]:
    with needed_by("progress=True, unlike a function,", "rich", "cli"):
        from rich.progress import BarColumn, Progress as Bar, TextColumn, TimeElapsedColumn
    rows = TextColumn("{task.completed:,} rows")
    with Bar(TextColumn("{task.description}"), BarColumn(), rows, TimeElapsedColumn()) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
