"""A private PostgreSQL for a demo, a test or an afternoon: started in a moment, gone at exit.

    from colonnade import embedded

    with embedded.start() as server:
        connection = await colonnade.connect(server.dsn)

The extra ``embedded`` contains the server; without it, the system's own programs are
used. It never touches a running server, installs nothing, and the server ends with the process that
started it, even if that process is killed.

`ensure_dsn` is for code that can use any server: it returns the one that ``COLONNADE_DSN`` or the
PG* variables name, else one private server per process.
"""

from __future__ import annotations

from colonnade.embedded._binaries import Binaries, all_binaries, find_binaries
from colonnade.embedded._configuration import AuthMethod, Role
from colonnade.embedded._default import default_server, ensure_dsn, resolve_dsn
from colonnade.embedded._errors import EmbeddedServerError
from colonnade.embedded._server import Server, start

__all__ = [
    "AuthMethod",
    "Binaries",
    "EmbeddedServerError",
    "Role",
    "Server",
    "all_binaries",
    "default_server",
    "ensure_dsn",
    "find_binaries",
    "resolve_dsn",
    "start",
]
