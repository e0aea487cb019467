"""The stage of a load: a database with flights, suppliers, and applications under web servers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from colonnade import embedded
from examples.service.commands import ROOT, free_port, stop, wait_until_ready
from examples.service.data import FLIGHTS, prepared
from examples.service.suppliers.processes import suppliers

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_GRANIAN = (
    "granian --interface asgi --http 1 --loop uvloop --workers 1 --log-level warning"
    " --workers-kill-timeout 12 --port PORT"
)
#: Threads wait for suppliers, so they are more than processors.
_GUNICORN = (
    "gunicorn --worker-class gthread --threads 32 --workers 1 --bind 127.0.0.1:PORT"
    " --no-control-socket --log-level warning --keep-alive 75 --worker-connections 4000"
)


@dataclass(frozen=True)
class Variant:
    """A program that answers the routes."""

    title: str
    command: str
    application: str


#: One process each; the first one is ours.
VARIANTS = {
    "colonnade": Variant("Colonnade, Starlette", _GRANIAN, "examples.service.starlette_app:app"),
    "asyncpg": Variant("asyncpg, Starlette", _GRANIAN, "benches.service.rivals.asyncpg_app:app"),
    "flask": Variant("psycopg, Flask in threads", _GUNICORN, "benches.service.rivals.flask_app"),
}


@dataclass(frozen=True)
class Running:
    """An application that runs."""

    variant: Variant
    port: int
    pid: int


@dataclass(frozen=True)
class Stage:
    """The database and the suppliers, the same for all."""

    dsn: str
    suppliers: list[str]
    folder: Path
    database_pid: int = 0
    """For what its processors are to be measured."""


@contextlib.contextmanager
def stage(folder: Path, *, flights: int = FLIGHTS, mood: str = "usual") -> Generator[Stage]:
    """Start a database and forty suppliers."""
    with embedded.start(tcp=True) as database:
        asyncio.run(prepared(database.dsn, flights))
        with suppliers(40, mood=mood) as addresses:
            yield Stage(database.dsn, addresses, folder, database.pid)


@contextlib.contextmanager
def running(name: str, on: Stage, settings: Mapping[str, str] | None = None) -> Generator[Running]:
    """Run a variant, and wait until it is ready; stop it at the end."""
    variant, port = VARIANTS[name], free_port()
    words = [*variant.command.replace("PORT", str(port)).split(), variant.application]
    environment = {
        "SERVICE_DSN": on.dsn,
        "SERVICE_SUPPLIERS": ",".join(on.suppliers),
        "SERVICE_BEAT_FOLDER": str(on.folder),
        "SERVICE_LOG_LEVEL": "error",
        **(settings or {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=ROOT,
        env={**os.environ, **environment},
        # Ctrl-C is for this process, which stops the application.
        start_new_session=True,
    )
    with process:
        try:
            wait_until_ready(port, process)
            yield Running(variant, port, process.pid)
        finally:
            stop(process)
