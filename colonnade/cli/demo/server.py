"""The demo's server: the one that the environment names, else a private one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Generator

#: The tables of the demo stay in memory, and nothing runs beside a fetch.
_SETTINGS = {"shared_buffers": "256MB", "autovacuum": "off"}


@dataclass(frozen=True)
class DemoServer:
    """The server that the demo uses."""

    #: None means that the PG* variables choose the server.
    dsn: str | None = field(repr=False)
    #: The server in words, without a password.
    description: str


@contextmanager
def demo_server() -> Generator[DemoServer, None, None]:
    """Yield the server; a private server stops when the block ends."""
    given = embedded.resolve_dsn()
    if given is not None:
        named = "COLONNADE_DSN" if given else "the PG* variables"
        yield DemoServer(given or None, f"the server that {named} names")
        return
    with embedded.start(settings=_SETTINGS) as server:
        yield DemoServer(server.dsn, f"a private server from the {server.binaries.source}")
