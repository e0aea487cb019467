"""The written dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Dataset:
    """A complete dataset, as `write` returns it."""

    path: Path
    """Its folder."""
    files: tuple[Path, ...]
    """Its files, in the order in which they were written."""
    rows: int
    nbytes: int
    """The size of its files."""
    snapshots: tuple[str, ...]
    """The server's snapshot of each run that wrote a part; one, unless a run was continued."""

    @property
    def is_one_moment(self) -> bool:
        """Whether all rows are those of one moment, because one run wrote them."""
        return len(self.snapshots) == 1
