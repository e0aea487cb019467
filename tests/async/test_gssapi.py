"""GSSAPI: against a real server and Kerberos realm if available, and against scripted servers."""

from __future__ import annotations

import os
import struct
import sys
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import AuthenticationError
from tests.support import kerberos
from tests.support.scripted_server import (
    READ_STARTUP,
    Hang,
    ReadBytes,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    message,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.scripted_server import Step

pytestmark = pytest.mark.every_loop

DEMAND = message(b"R", struct.pack("!i", 7))
OK = message(b"R", struct.pack("!i", 0))


class Context:
    """A substitute for a security context of the library."""

    def __init__(self, *_: object, **__: object) -> None:
        self.complete = False
        self.seen: list[bytes | None] = []

    def step(self, token: bytes | None) -> bytes | None:
        self.seen.append(token)
        if token == b"fail":
            raise Library.exceptions.GSSError("the clock is wrong")
        if token == b"last":
            self.complete = True
            return None
        return b"own token"


class Library:
    """A substitute for the package `gssapi`."""

    class exceptions:  # noqa: N801 - a module of the package
        """Its errors."""

        class GSSError(Exception):
            """The library's base error."""

    class NameType:
        """The kinds of names."""

        hostbased_service = object()

    class RequirementFlag:
        """The requirements of a context."""

        mutual_authentication = object()

    SecurityContext = Context

    def Name(self, text: str, kind: object) -> str:  # noqa: N802 - the package's name for it
        assert kind is self.NameType.hostbased_service
        assert text == "postgres@127.0.0.1"
        return text


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setitem(sys.modules, "gssapi", made)
    return made


async def at(server: ScriptedServer, words: str = "", **options: Any) -> None:
    dsn = f"postgresql://postgres@127.0.0.1:{server.port}/postgres?sslmode=disable{words}"
    async with await colonnade.connect(dsn, timeout=10, **options):
        pass


async def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with (
        ScriptedServer([READ_STARTUP, Send(DEMAND), ReadUntilClosed()]) as server,
        pytest.raises(AuthenticationError, match=r"(?s)package gssapi.*gssapi>="),
    ):
        await at(server)


async def test_with_the_other_library(library: Library) -> None:
    del library
    with (
        ScriptedServer([READ_STARTUP, Send(DEMAND), ReadUntilClosed()]) as server,
        pytest.raises(AuthenticationError, match="gsslib must be gssapi"),
    ):
        await at(server, gsslib="sspi")


async def test_methods_can_be_forbidden(library: Library) -> None:
    del library
    with (
        ScriptedServer([READ_STARTUP, Send(DEMAND), ReadUntilClosed()]) as server,
        pytest.raises(AuthenticationError, match="gss authentication, which require_auth"),
    ):
        await at(server, "&require_auth=scram-sha-256")


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (OK, "without proving who it is"),
        (message(b"R", struct.pack("!i", 8) + b"fail"), "failed: the clock is wrong"),
    ],
)
async def test_exchanges_that_fail(library: Library, sent: bytes, text: str) -> None:
    del library
    ready = message(b"K", b"\0\0\0\1\0\0\0\2") + message(b"Z", b"I")
    own_token = ReadBytes(1 + 4 + len(b"own token"))
    script: list[Step] = [READ_STARTUP, Send(DEMAND), own_token, Send(sent + ready), Hang()]
    with ScriptedServer(script) as server, pytest.raises(AuthenticationError, match=text):
        await at(server)


# Against a realm


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Realm]:
    pytest.importorskip("gssapi")
    if not kerberos.is_there():
        pytest.skip("there are no programs of a key distribution centre")
    with kerberos.Realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


@pytest.fixture(scope="module")
def kerberos_server(realm: kerberos.Realm) -> Iterator[embedded.Server]:
    """A server that authenticates the realm's users by their tickets."""
    hba = [f"host all {kerberos.USER} all gss include_realm=0 krb_realm={kerberos.REALM}"]
    roles = [embedded.Role(kerberos.USER, method="trust")]
    for binaries in embedded.all_binaries():
        try:
            with embedded.start(tcp=True, hba=hba, roles=roles, binaries=binaries) as server:
                know(server, realm)
                yield server
                return
        except (embedded.EmbeddedServerError, psycopg.errors.Error):
            continue
    pytest.skip("none of the PostgreSQL installations was built with GSSAPI")


def know(server: embedded.Server, realm: kerberos.Realm) -> None:
    """Give the server its keytab."""
    file, owner = server.data_dir / "server.keytab", server.data_dir.stat()
    file.write_bytes(realm.keytab.read_bytes())
    file.chmod(0o600)
    os.chown(file, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET krb_server_keyfile = '{file}'".encode())
        connection.execute("SELECT pg_reload_conf()")


async def test_a_ticket_is_the_proof(
    realm: kerberos.Realm, kerberos_server: embedded.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in realm.environment.items():
        monkeypatch.setenv(name, value)
    dsn = f"postgresql://{kerberos.USER}@localhost:{kerberos_server.port}/postgres"
    realm.log_out()
    with pytest.raises(AuthenticationError, match="postgres@localhost failed"):
        await colonnade.connect(dsn)
    realm.log_in()
    for service in (None, "postgres", "other"):
        async with await colonnade.connect(dsn, krbsrvname=service, gsslib="gssapi") as connection:
            assert await connection.fetchval("SELECT session_user::text") == kerberos.USER
            seen = "SELECT gss_authenticated FROM pg_stat_gssapi WHERE pid = pg_backend_pid()"
            assert await connection.fetchval(seen) is True
    with pytest.raises(AuthenticationError, match="nobody@localhost failed"):
        await colonnade.connect(dsn, krbsrvname="nobody")
