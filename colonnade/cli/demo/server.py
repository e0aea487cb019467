"""The server of the demo: the one that the environment names, or a private one."""

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
    """Where the demo runs."""

    #: None leaves everything to the PG* variables.
    dsn: str | None = field(repr=False)
    #: How to speak of it; never with a password.
    description: str


@contextmanager
def demo_server() -> Generator[DemoServer, None, None]:
    """Give the server; a private one ends with the block."""
    given = embedded.resolve_dsn()
    if given is not None:
        named = "COLONNADE_DSN" if given else "the PG* variables"
        yield DemoServer(given or None, f"the server that {named} names")
        return
    with embedded.start(settings=_SETTINGS) as server:
        yield DemoServer(server.dsn, f"a private server from the {server.binaries.source}")
