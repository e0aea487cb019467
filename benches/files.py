"""Files that are written completely or not at all; missing directories are created."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from colonnade.cli.files import WholeFiles

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Generator[Path, None, None]:
    """Open a temporary file beside `path`, which replaces `path` if the block raises nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with WholeFiles() as files:
        yield files.begin(path)
