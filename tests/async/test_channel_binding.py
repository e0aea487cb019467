"""SCRAM bound to the TLS channel, with every kind of certificate; an impostor; `require_auth`."""

from __future__ import annotations

import os
import struct
import time
from typing import TYPE_CHECKING

import psycopg
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import colonnade
from colonnade import embedded
from colonnade.errors import (
    AuthenticationError,
    InvalidAuthorizationSpecificationError,
    RemoteProtocolError,
)
from tests.support.authority import Authority, Issued, self_signed
from tests.support.scripted_server import (
    READ_STARTUP,
    Close,
    ReadBytes,
    ScriptedServer,
    Send,
    message,
)
from tests.support.thief import Thief, tls_socket, without_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.authority import Key
    from tests.support.tls_shim import Certificates

pytestmark = pytest.mark.every_loop

_SECONDS_MAX = 20.0
WORDS = ("disable", "prefer", "require")
FAILURES = (colonnade.PostgresError, colonnade.InterfaceError, RemoteProtocolError, OSError)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the certificates in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def presents(
    tls_server: embedded.Server, certificates: Certificates
) -> Iterator[Callable[[Issued], None]]:
    """Make the server present a certificate until the test ends."""
    file = tls_server.data_dir / "server.pem"
    yield lambda issued: present(tls_server, file, issued.pem())
    present(tls_server, file, certificates.good_file.read_bytes())


def present(server: embedded.Server, file: Path, pem: bytes) -> None:
    owner = server.data_dir.stat()
    file.write_bytes(pem)
    os.chown(file, owner.st_uid, owner.st_gid)
    before = served(server)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
    give_up = time.monotonic() + _SECONDS_MAX
    while served(server) == before:
        assert time.monotonic() < give_up, "the server goes on with the old certificate"


def served(server: embedded.Server) -> bytes | None:
    with tls_socket(server.port) as link:
        return link.getpeercert(binary_form=True)


def dsn(port: int, *words: str, host: str = "localhost") -> str:
    where = f"postgresql://scram_plain:correct%20horse@{host}:{port}/postgres"
    return f"{where}?{'&'.join(words)}"


KINDS: dict[str, tuple[Callable[[], Key], hashes.HashAlgorithm | None]] = {
    "RSA, SHA-256": (lambda: rsa.generate_private_key(65537, 2048), hashes.SHA256()),
    "RSA, SHA-384": (lambda: rsa.generate_private_key(65537, 2048), hashes.SHA384()),
    "RSA, SHA-512": (lambda: rsa.generate_private_key(65537, 2048), hashes.SHA512()),
    "ECDSA, SHA-256": (lambda: ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()),
    "ECDSA, SHA-384": (lambda: ec.generate_private_key(ec.SECP384R1()), hashes.SHA384()),
    "ECDSA, SHA-512": (lambda: ec.generate_private_key(ec.SECP521R1()), hashes.SHA512()),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_certificates(
    tls_server: embedded.Server, presents: Callable[[Issued], None], kind: str
) -> None:
    make_key, digest = KINDS[kind]
    presents(self_signed("localhost", key=make_key(), digest=digest))
    for word in WORDS:
        uri = dsn(tls_server.port, "sslmode=require", f"channel_binding={word}")
        async with await colonnade.connect(uri) as connection:
            assert await connection.fetchval("SELECT 1") == 1


async def test_a_certificate_without_a_hash(
    tls_server: embedded.Server, presents: Callable[[Issued], None]
) -> None:
    """Ed25519 has no channel binding: requiring it is an error, and other logins work."""
    presents(self_signed("localhost", key=ed25519.Ed25519PrivateKey.generate(), digest=None))
    for word in ("disable", "prefer"):
        uri = dsn(tls_server.port, "sslmode=require", f"channel_binding={word}")
        async with await colonnade.connect(uri) as connection:
            assert await connection.fetchval("SELECT 1") == 1
    with pytest.raises(AuthenticationError, match="gives no binding data"):
        await colonnade.connect(dsn(tls_server.port, "sslmode=require", "channel_binding=require"))


# The impostor


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Issued]:
    """A root's file, and the impostor's certificate for the host, issued by that root."""
    root = Authority("A careless root")
    file = tmp_path_factory.mktemp("thief") / "root.pem"
    file.write_bytes(root.pem())
    return f"sslrootcert={file}", root.issue("localhost")


async def test_a_thief_with_a_good_certificate(
    tls_server: embedded.Server, trusted: tuple[str, Issued]
) -> None:
    root, presented = trusted
    with Thief(tls_server.port, presented) as thief:
        where = dsn(thief.port, "sslmode=verify-full", root)
        async with await colonnade.connect(f"{where}&channel_binding=disable") as connection:
            assert await connection.fetchval("SELECT 'secret'") == "secret"
        assert b"secret" in thief.read
        for word in ("prefer", "require"):
            thief.read.clear()
            # The real server detects the mismatch.
            with pytest.raises(InvalidAuthorizationSpecificationError, match="channel binding"):
                await colonnade.connect(f"{where}&channel_binding={word}")
            assert b"SCRAM-SHA-256-PLUS" in thief.read


async def test_a_thief_who_hides_that_the_channel_can_be_bound(
    tls_server: embedded.Server, trusted: tuple[str, Issued]
) -> None:
    root, presented = trusted
    with Thief(tls_server.port, presented, without_plus) as thief:
        where = dsn(thief.port, "sslmode=verify-full", root)
        with pytest.raises(AuthenticationError, match="does not offer SCRAM-SHA-256-PLUS"):
            await colonnade.connect(f"{where}&channel_binding=require")
        assert b"SCRAM-SHA-256" not in thief.read
        # The client says that it supports binding, and the real server knows that it offered
        # binding.
        with pytest.raises(InvalidAuthorizationSpecificationError, match="channel binding"):
            await colonnade.connect(f"{where}&channel_binding=prefer")
        assert b"SCRAM-SHA-256\0" in thief.read


async def test_a_server_that_binds_where_we_have_no_tls() -> None:
    """Its offer reveals that it has a TLS connection with a third party."""
    offered = message(b"R", struct.pack("!i", 10) + b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
    for word in ("prefer", "require"):
        with ScriptedServer([READ_STARTUP, Send(offered), ReadBytes(1), Close()]) as server:
            uri = dsn(server.port, "sslmode=disable", f"channel_binding={word}", host="127.0.0.1")
            with pytest.raises(AuthenticationError, match="not encrypted"):
                await colonnade.connect(uri)
            assert b"SCRAM" not in server.received[0]


# require_auth

METHODS = {
    "none": struct.pack("!i", 0),
    "password": struct.pack("!i", 3),
    "md5": struct.pack("!i", 5) + b"salt",
    "gss": struct.pack("!i", 7),
    "scram-sha-256": struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0",
}
# These can be listed, but are not supported.
NAMED = ("sspi", "oauth")


def lists() -> Iterator[tuple[str, set[str]]]:
    """The lists to try, each with the methods that it allows a server to request."""
    every = set(METHODS)
    words = [*METHODS, *NAMED]
    yield "", every
    for index, word in enumerate(words):
        other = words[index - 2]
        yield word, every & {word}
        yield f"!{word}", every - {word}
        yield f"{word},{other}", every & {word, other}
        yield f"!{word}, !{other}", every - {word, other}
    yield ",".join(words), every
    yield ",".join(f"!{word}" for word in words), set()


@pytest.mark.parametrize("method", METHODS)
async def test_every_list_of_methods(method: str) -> None:
    question = Send(message(b"R", METHODS[method]))
    # The server's log has nothing about a method that requests nothing.
    answer = [] if method == "none" else [ReadBytes(1)]
    with ScriptedServer([READ_STARTUP, question, *answer, Close()]) as server:
        for number, (listed, allowed) in enumerate(lists()):
            uri = dsn(server.port, "sslmode=disable", host="127.0.0.1")
            with pytest.raises(FAILURES) as caught:
                await colonnade.connect(f"{uri}&require_auth={listed}", timeout=20)
            refuses = "require_auth" in str(caught.value)
            assert refuses == (method not in allowed), (listed, str(caught.value))
            if refuses:
                assert isinstance(caught.value, AuthenticationError)
                assert b"p\0\0\0" not in server.received[number]


@pytest.mark.parametrize(
    "listed", ["md5,!none", "!md5,none", "md5,md5", "MD5", "scram", "!", "md5,", "!!md5"]
)
async def test_lists_that_say_nothing(listed: str) -> None:
    with pytest.raises(colonnade.ClientConfigurationError, match="require_auth must be"):
        await colonnade.connect(dsn(1, f"require_auth={listed}"))
