"""The server of the demo: the one that the environment names, or a private one."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from colonnade import embedded

if TYPE_CHECKING:
    from collections.abc import Generator

#: The tables of the demo stay in memory, and nothing runs beside a measurement.
_SETTINGS = {"shared_buffers": "512MB", "autovacuum": "off", "max_wal_size": "4GB"}
#: A DSN that leaves everything to the PG* variables, in the form every driver takes.
_FROM_ENVIRONMENT = "postgresql://"


@dataclass(frozen=True)
class DemoServer:
    """Where the demo runs."""

    dsn: str = field(repr=False)
    #: How to speak of it; never with a password.
    description: str
    #: Ours alone, and gone with all its data at the end.
    private: bool = False


@contextmanager
def demo_server() -> Generator[DemoServer, None, None]:
    """Give the server; a private one ends with the block."""
    given = embedded.resolve_dsn()
    if given is not None:
        named = "COLONNADE_DSN" if given else "the PG* variables"
        yield DemoServer(given or _FROM_ENVIRONMENT, f"the server that {named} names")
        return
    with embedded.start(tcp=True, settings=_SETTINGS) as server:
        source = server.binaries.source
        yield DemoServer(
            server.dsn,
            f"a private server from the {source}, at {server.host}:{server.port}",
            private=True,
        )
