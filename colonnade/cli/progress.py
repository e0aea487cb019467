"""The progress of long work; shown only if standard error is a terminal.

Drawing takes a library, and its import a third of a short command's time: so it is imported for a
terminal only.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


@contextmanager
def rows_progress(
    description: str, expected_rows: int | None, *, is_guess: bool, quiet: bool = False
) -> Generator[Callable[[int, int], None]]:
    """Show a bar during the block; yield a function that takes the rows and bytes so far.

    If the number of rows is an estimate and more rows come, the bar drops its total.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _rows, _bytes: None
        return
    from colonnade.cli.bars import rows_bar

    with rows_bar(description, expected_rows, is_guess=is_guess) as tell:
        yield tell


@contextmanager
def bytes_progress(
    description: str, total_bytes: int | None, *, quiet: bool = False
) -> Generator[Callable[[int], None]]:
    """Show a bar during the block; yield a function that takes the bytes so far."""
    if quiet or not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from colonnade.cli.bars import bytes_bar

    with bytes_bar(description, total_bytes) as tell:
        yield tell
