"""An attacker between client and server sends bytes before TLS protects the connection.

The attacker's bytes must never be taken for the server's: neither bytes ahead of the handshake
(like CVE-2021-23222), nor an error in place of the answer to the TLS request (like
CVE-2024-10977), nor the answer that the server has no TLS if TLS is required.
"""

from __future__ import annotations

import ssl
import struct
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import AuthenticationError, RemoteProtocolError
from tests.support.scripted_server import (
    GREETING,
    READ_MESSAGE,
    READ_STARTUP,
    ReadBytes,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    error,
    message,
)

if TYPE_CHECKING:
    from tests.support.scripted_server import Step

pytestmark = pytest.mark.every_loop

REQUIRED = ("require", "verify-ca", "verify-full")
ASKING = ("prefer", *REQUIRED)
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
# The bytes of a server that accepts everyone, of one that requests a password, and a single byte.
INJECTED = {
    "a welcome": GREETING,
    "a question for the password": message(b"R", struct.pack("!i", 3)),
    "an error": error("28000", "not from the server", "FATAL"),
    "a byte": b"R",
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the certificates in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def dsn(server: ScriptedServer, mode: str) -> str:
    roots = "" if mode in {"prefer", "require", "allow"} else "&sslrootcert=system"
    mode = "verify-full" if roots else mode
    where = f"postgresql://postgres:secret@localhost:{server.port}/postgres"
    return f"{where}?sslmode={mode}{roots}"


@pytest.mark.parametrize("mode", ASKING)
@pytest.mark.parametrize("kind", INJECTED)
async def test_bytes_behind_the_yes(mode: str, kind: str) -> None:
    """The bytes arrive together with the S; even with `prefer`, nothing else is tried."""
    script: list[Step] = [READ_STARTUP, Send(b"S" + INJECTED[kind]), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises(RemoteProtocolError, match="unencrypted data after its answer"):
            await colonnade.connect(dsn(server, mode), timeout=20)
        assert server.received == [SSL_REQUEST]


@pytest.mark.parametrize("mode", REQUIRED)
async def test_bytes_a_moment_behind_the_yes(mode: str) -> None:
    """The bytes are read as part of the handshake, which then fails."""
    script: list[Step] = [READ_STARTUP, Send(b"S"), ReadBytes(5), Send(GREETING), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises((ssl.SSLError, RemoteProtocolError)):
            await colonnade.connect(dsn(server, mode), timeout=20)
        (received,) = server.received
        # The request is followed by a handshake, without password or user.
        assert received[8:9] == b"\x16"
        assert b"secret" not in received
        assert b"database" not in received


@pytest.mark.parametrize("mode", REQUIRED)
@pytest.mark.parametrize("behind", [b"", GREETING], ids=["alone", "with a welcome"])
async def test_the_word_that_there_is_no_tls(mode: str, behind: bytes) -> None:
    script: list[Step] = [READ_STARTUP, Send(b"N" + behind), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises((ConnectionError, RemoteProtocolError)) as caught:
            await colonnade.connect(dsn(server, mode), timeout=20)
        assert isinstance(caught.value, ConnectionError) != bool(behind)
        assert server.received == [SSL_REQUEST]


async def test_bytes_behind_the_no() -> None:
    """With `prefer`, the connection continues without TLS, but unsolicited bytes end it."""
    script: list[Step] = [READ_STARTUP, Send(b"N" + GREETING), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises(RemoteProtocolError, match="unencrypted data"):
            await colonnade.connect(dsn(server, "prefer"), timeout=20)
        assert server.received == [SSL_REQUEST]


@pytest.mark.parametrize("mode", ASKING)
async def test_an_error_in_place_of_an_answer(mode: str) -> None:
    """The text is not authenticated, so no message, cause or note may contain it."""
    wanted = "call this number"
    script: list[Step] = [READ_STARTUP, Send(error("28P01", wanted, "FATAL")), ReadUntilClosed()]
    with ScriptedServer(script) as server:
        with pytest.raises(ConnectionError, match="check the server logs") as caught:
            await colonnade.connect(dsn(server, mode), timeout=20)
        assert server.received == [SSL_REQUEST]
    failure: BaseException | None = caught.value
    while failure is not None:
        assert wanted not in repr(failure) + str(getattr(failure, "__notes__", ""))
        failure = failure.__cause__ or failure.__context__


@pytest.mark.parametrize(
    "answer", [b"s", b"G", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0", b"\x16"]
)
async def test_other_answers(answer: bytes) -> None:
    script: list[Step] = [READ_STARTUP, Send(answer), ReadUntilClosed()]
    for mode in ("prefer", "require"):
        with ScriptedServer(script) as server:
            with pytest.raises(RemoteProtocolError, match="is it the right port"):
                await colonnade.connect(dsn(server, mode), timeout=20)
            assert server.received == [SSL_REQUEST]


# An attacker that strips TLS


QUESTIONS = {0: b"", 3: b"", 5: b"salt", 10: b"SCRAM-SHA-256\0\0"}


def asking_for(kind: int) -> list[Step]:
    """A server without TLS that requests a password by this method, or none."""
    question = Send(message(b"R", struct.pack("!i", kind) + QUESTIONS[kind]))
    return [READ_STARTUP, Send(b"N"), READ_STARTUP, question, READ_MESSAGE, ReadUntilClosed()]


async def test_an_attacker_who_strips_tls_gets_what_prefer_gives() -> None:
    """As with libpq, `prefer` protects only against passive eavesdroppers, as the docs say."""
    welcome: list[Step] = [READ_STARTUP, Send(b"N"), READ_STARTUP, Send(GREETING)]
    with ScriptedServer([*welcome, ReadUntilClosed()]) as server:
        connection = await colonnade.connect(dsn(server, "prefer"), timeout=20)
        assert not connection.conversation.transport.is_tls
        connection.terminate()


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_an_attacker_who_strips_tls_fails_where_the_channel_must_be_bound(kind: int) -> None:
    with ScriptedServer(asking_for(kind)) as server:
        uri = f"{dsn(server, 'prefer')}&channel_binding=require"
        with pytest.raises(AuthenticationError, match="channel_binding"):
            await colonnade.connect(uri, timeout=20)
        assert b"secret" not in server.received[0]
        # The client sent nothing after the startup message: no password in any form.
        assert b"p\0\0\0" not in server.received[0]


@pytest.mark.parametrize("kind", [0, 3, 5])
async def test_an_attacker_who_strips_tls_gets_no_weaker_proof_than_is_required(kind: int) -> None:
    with ScriptedServer(asking_for(kind)) as server:
        uri = f"{dsn(server, 'prefer')}&require_auth=scram-sha-256"
        with pytest.raises(AuthenticationError, match="require_auth"):
            await colonnade.connect(uri, timeout=20)
        assert b"p\0\0\0" not in server.received[0]
