"""The service in processes: a database with few flights, quick suppliers, a web server."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from examples.service.commands import application, free_port

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator

FLIGHTS = 20_000


@dataclass(frozen=True)
class Service:
    """A running service."""

    process: subprocess.Popen[bytes]
    address: str
    folder: Path


@contextlib.contextmanager
def serving(
    server: str,
    framework: str,
    dsn: str,
    suppliers: list[str],
    folder: Path,
    **settings: str,
) -> Generator[Service]:
    port = free_port()
    variables = {
        "SERVICE_DSN": dsn,
        "SERVICE_SUPPLIERS": ",".join(suppliers),
        "SERVICE_BEAT_FOLDER": str(folder),
        **settings,
    }
    with application(server, framework, port, 1, variables) as process:
        yield Service(process, f"http://127.0.0.1:{port}", folder)
