"""Files that are whole or not there, in directories that are made for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from colonnade.cli.files import WholeFiles

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Generator[Path, None, None]:
    """Give a file to write beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with WholeFiles() as files:
        yield files.begin(path)
