"""The default server of programs, tests and benchmarks."""

from __future__ import annotations

import os
import threading

from colonnade.embedded._server import Server, start

#: The environment variable that names a server to use instead of starting one.
DSN_VARIABLE = "COLONNADE_DSN"

# Those of libpq's variables that choose a server. The others (PGUSER, PGPORT, ...) only refine a
# choice: a server is never used merely because it listens on the usual port.
_LIBPQ_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGSERVICE")

_lock = threading.Lock()
_default: Server | None = None


def resolve_dsn() -> str | None:
    """Return the DSN that the environment names, or None when it names no server.

    ``COLONNADE_DSN`` comes first. When libpq's PGHOST, PGHOSTADDR or PGSERVICE is set instead, the
    result is the empty DSN, which means the PG* environment.
    """
    dsn = os.environ.get(DSN_VARIABLE)
    if dsn:
        return dsn
    if any(os.environ.get(name) for name in _LIBPQ_VARIABLES):
        return ""
    return None


def default_server() -> Server:
    """Return this process's default private server, started at the first call.

    It listens on its socket only and is removed at exit.
    """
    global _default  # noqa: PLW0603
    with _lock:
        if _default is None or not _default.is_running:
            _default = start()
        return _default


def ensure_dsn() -> str:
    """Return the DSN of the server to use: the environment's, else the default private one's."""
    dsn = resolve_dsn()
    return default_server().dsn if dsn is None else dsn
