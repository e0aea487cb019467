"""The servers of these tests have a separate directory, in memory if there is enough.

The tests count leftovers, so no other servers may share the directory. Each server lives only
briefly, so most of the time goes into creating its files: memory is faster.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_FREE_BYTES_MIN = 1 << 30


@pytest.fixture(scope="session")
def servers_directory() -> Iterator[Path]:
    """A directory with a short path that every user may traverse."""
    made = Path(tempfile.mkdtemp(prefix="c-", dir=_parent()))
    made.chmod(0o1777)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_temporary_directory(servers_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(servers_directory))
    monkeypatch.setattr(tempfile, "tempdir", str(servers_directory))


def _parent() -> str:
    memory = Path("/dev/shm")  # noqa: S108 - a directory of a random name is made in it
    if memory.is_dir() and os.access(memory, os.W_OK):
        found = os.statvfs(memory)
        if found.f_bavail * found.f_frsize >= _FREE_BYTES_MIN:
            return str(memory)
    return "/tmp"  # noqa: S108 - likewise
