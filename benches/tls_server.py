"""A private server with TLS, from the first installation that was built with it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import trustme

from colonnade import embedded, sync
from colonnade.errors import PostgresError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from colonnade.embedded import Server


@contextlib.contextmanager
def started(settings: Mapping[str, str]) -> Iterator[Server]:
    """Start it with a certificate for this machine; raise `EmbeddedServerError` if none can."""
    for binaries in embedded.all_binaries():
        with embedded.start(tcp=True, settings=settings, binaries=binaries) as server:
            if _enable(server):
                yield server
                return
    raise embedded.EmbeddedServerError(
        "no PostgreSQL found here was built with TLS; Debian's package `postgresql` is"
    )


def dsn(server: Server) -> str:
    """Return the DSN of the server with TLS required."""
    return f"{server.dsn}{'&' if '?' in server.dsn else '?'}sslmode=require"


def _enable(server: Server) -> bool:
    certificate = trustme.CA().issue_cert("localhost", "127.0.0.1")
    owner = server.data_dir.stat()
    file = server.data_dir / "server.pem"
    file.touch(0o600)
    file.write_bytes(certificate.private_key_and_cert_chain_pem.bytes())
    os.chown(file, owner.st_uid, owner.st_gid)
    with sync.connect(server.socket_dsn) as connection:
        try:
            for name in ("ssl_cert_file", "ssl_key_file"):
                connection.execute(f"ALTER SYSTEM SET {name} = 'server.pem'")
            connection.execute("ALTER SYSTEM SET ssl = on")
        except PostgresError:
            return False
        connection.execute("SELECT pg_reload_conf()")
    # A new connection shows whether the server accepted the configuration.
    with sync.connect(server.socket_dsn) as connection:
        return bool(connection.fetchval("SHOW ssl") == "on")
