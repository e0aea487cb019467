"""A small disk that can be filled: a tmpfs, which only root may mount."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_BLOCK = bytes(1 << 20)


@dataclass(frozen=True)
class Disk:
    """A folder of limited size."""

    folder: Path

    def fill(self) -> None:
        """Take all space that is left."""
        if not self.folder.is_mount():
            raise OSError(f"{self.folder} is on a disk that others need")
        with self._ballast.open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(_BLOCK):
                pass

    def empty(self) -> None:
        """Give the space back."""
        self._ballast.unlink(missing_ok=True)

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


def can_mount() -> bool:
    """Whether this process may make such a disk: in a container, even root may not."""
    if os.geteuid():
        return False
    tried = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Generator[Disk]:
    """Mount a disk, and unmount it at the end; a plain folder for users who may not."""
    folder.mkdir()
    if not can_mount():
        yield Disk(folder)
        return
    words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    subprocess.run(words, check=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
