"""Starts the program that publishes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
_IMPORTS = (
    "colonnade._driver._async.pool.pool",
    "colonnade.observe.loop.monitor",
    "colonnade.observe.status.publication",
)


class Publisher:
    """The running program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.path = Path(self._answer())

    def tell(self, order: str) -> str:
        """Have it do something, and return its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Have it end as it should."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait() == 0

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextlib.contextmanager
def publishing(
    dsn: str, runtime: Path, path: Path | str = "-", loop: str = "asyncio"
) -> Iterator[Publisher]:
    """Run the program; its private folder is below `runtime`."""
    program = [sys.executable, "-m", "tests.observe.publishing", str(path), loop, dsn]
    with warm.Popen[str](
        program,
        imports=_IMPORTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
    ) as process:
        try:
            yield Publisher(process)
        finally:
            process.kill()
