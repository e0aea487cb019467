"""The servers that tests talk to, and the roles of the one that asks for passwords."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest import mock

import psycopg

from colonnade import embedded
from colonnade.embedded._configuration import write_hba

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.tls_shim import Certificates


@dataclass(frozen=True)
class ServerUnderTest:
    """The addresses of the session's server.

    ``embedded`` and ``socket_dsn`` are missing when the environment names the server.
    """

    dsn: str
    socket_dsn: str | None = None
    embedded: embedded.Server | None = None


#: Every method of proving a password, with an ASCII one and with one that SCRAM has to prepare
#: (a non-breaking space becomes a space, the fraction is normalised to three characters).
PASSWORD_ROLES = (
    embedded.Role("scram_plain", "correct horse", "scram-sha-256"),
    embedded.Role("scram_words", "pässwörd\N{NO-BREAK SPACE}½ 密码", "scram-sha-256"),
    embedded.Role("md5_plain", "correct horse", "md5"),
    embedded.Role("md5_words", "pässwörd 密码", "md5"),
    embedded.Role("cleartext_plain", "correct horse", "password"),
    embedded.Role("cleartext_words", "pässwörd 密码", "password"),
)


def start_standby(**options: Any) -> embedded.Server:
    """Start a server that stays in recovery, as a standby does while it waits for its primary."""

    def write_signal(data: Path, *arguments: Any) -> None:
        write_hba(data, *arguments)
        signal, owner = data / "standby.signal", data.stat()
        signal.touch()
        os.chown(signal, owner.st_uid, owner.st_gid)

    with mock.patch("colonnade.embedded._server.write_hba", write_signal):
        return embedded.start(**options)


def enable_tls(server: embedded.Server, certificates: Certificates) -> bool:
    """Have a server speak TLS with the good certificate; False where it was built without."""
    owner = server.data_dir.stat()
    file = server.data_dir / "server.pem"
    file.touch(0o600)
    file.write_bytes(certificates.good_file.read_bytes())
    os.chown(file, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        try:
            for name in ("ssl_cert_file", "ssl_key_file"):
                connection.execute(f"ALTER SYSTEM SET {name} = 'server.pem'".encode())
            connection.execute("ALTER SYSTEM SET ssl = on")
        except psycopg.errors.Error:
            return False
        connection.execute("SELECT pg_reload_conf()")
    # Later connections are served by a process that has read the new configuration.
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        shown = connection.execute("SHOW ssl").fetchone()
    return shown == ("on",)
