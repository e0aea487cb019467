# Generated from tests/async/test_hostile_authentication.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Servers that pretend to know the password, or try to learn it."""

from __future__ import annotations

import base64
import struct
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    AuthenticationError,
    InterfaceError,
    PostgresError,
    RemoteProtocolError,
)
from tests.support.scripted_server import (
    AUTHENTICATION_OK,
    GREETING,
    READ_MESSAGE,
    READ_STARTUP,
    Answer,
    ReadMessage,
    ReadUntilClosed,
    ScriptedServer,
    Send,
    SendForever,
    error,
    message,
    parameter,
    ready,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.scripted_server import Step

DEADLINE_S = 5.0
PASSWORD = "correct horse battery staple"
SALT = base64.b64encode(b"salt").decode()


def request(code: int, rest: bytes = b"") -> bytes:
    """An authentication request."""
    return message(b"R", struct.pack("!i", code) + rest)


CLEARTEXT = request(3)
MD5 = request(5, b"salt")
SASL = request(10, b"SCRAM-SHA-256\0\0")
SASL_PLUS = request(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0")
FINAL = request(12, b"v=" + base64.b64encode(bytes(32)))


def server_first(
    *, own: str = "of-the-server", salt: str = SALT, iterations: str = "4096"
) -> Answer:
    """The server's first SCRAM message, with the client's nonce."""

    def make(received: bytes) -> bytes:
        nonce = received.rpartition(b",r=")[2].decode()
        return request(11, f"r={nonce}{own},s={salt},i={iterations}".encode())

    return Answer(make)


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Fail a test that takes long."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < DEADLINE_S


def refused(
    script: list[Step],
    options: str = "",
    *,
    kind: type[Exception] = AuthenticationError,
    match: str | None = None,
) -> None:
    """Check that connecting fails and the password was not sent."""
    with ScriptedServer([READ_STARTUP, *script, ReadUntilClosed()]) as server:
        dsn = f"{server.dsn}?sslmode=disable{options}"
        with pytest.raises(kind, match=match) as caught:
            colonnade.sync.connect(dsn, password=PASSWORD, timeout=DEADLINE_S)
        assert PASSWORD not in f"{caught.value!r}{caught.value}"
        assert PASSWORD.encode() not in server.received[0]


# Downgrades


@pytest.mark.parametrize(
    ("demand", "options"),
    [
        (CLEARTEXT, "&require_auth=scram-sha-256"),
        (CLEARTEXT, "&require_auth=md5"),
        (CLEARTEXT, "&require_auth=!password"),
        (CLEARTEXT, "&channel_binding=require"),
        (MD5, "&require_auth=scram-sha-256"),
        (MD5, "&require_auth=!md5,!password"),
        (MD5, "&channel_binding=require"),
        (SASL, "&require_auth=md5"),
        (SASL, "&channel_binding=require"),
        (SASL_PLUS, "&channel_binding=require"),
        (request(7), "&require_auth=scram-sha-256"),
        (request(7), "&channel_binding=require"),
        (AUTHENTICATION_OK, "&require_auth=scram-sha-256"),
        (AUTHENTICATION_OK, "&require_auth=!none"),
        (AUTHENTICATION_OK, "&channel_binding=require"),
        (GREETING, "&require_auth=password"),
    ],
)
def test_less_than_was_demanded(demand: bytes, options: str) -> None:
    refused([Send(demand + GREETING)], options, match="require_auth|channel.binding")


@pytest.mark.parametrize("second", [CLEARTEXT, MD5, SASL])
def test_another_method_in_between(second: bytes) -> None:
    first: list[Step] = [Send(SASL), READ_MESSAGE]
    refused([*first, Send(second)], match="sent")
    refused([*first, server_first(), READ_MESSAGE, Send(second)], match="sent")


@pytest.mark.parametrize(
    "mechanisms",
    [b"SCRAM-SHA-1\0\0", b"PLAIN\0\0", b"scram-sha-256\0\0", b"SCRAM-SHA-256-PLUS\0\0"],
)
def test_mechanisms_that_are_not_spoken(mechanisms: bytes) -> None:
    refused([Send(request(10, mechanisms))], match="mechanism|SCRAM")


# SCRAM


@pytest.mark.parametrize(
    "script",
    [
        [Send(GREETING)],
        [server_first(), READ_MESSAGE, Send(GREETING)],
        [server_first(), READ_MESSAGE, Send(FINAL + GREETING)],
        [server_first(), READ_MESSAGE, Send(request(12, b"v=") + GREETING)],
        [server_first(), READ_MESSAGE, Send(request(12, b"") + GREETING)],
        [server_first(), READ_MESSAGE, Send(request(12, b"v=!!!") + GREETING)],
        [server_first(), READ_MESSAGE, Send(request(12, b"e=other-error") + GREETING)],
        [server_first(), READ_MESSAGE, server_first()],
        [server_first(), READ_MESSAGE, SendForever(request(11, b"more"))],
        [Send(FINAL)],
        [SendForever(request(11, b"r=nonce,s=c2FsdA==,i=1"))],
    ],
)
def test_a_server_that_does_not_know_the_password(script: list[Step]) -> None:
    refused([Send(SASL), READ_MESSAGE, *script])


def test_iterations_that_would_take_hours() -> None:
    hours = ["100001", "2147483647", "2147483648", "4294967297", "9" * 30]
    for iterations in [*hours, "0", "-1", "", "4096x", "4 096", "+4096"]:
        refused([Send(SASL), READ_MESSAGE, server_first(iterations=iterations)])


@pytest.mark.parametrize(
    "first",
    [
        server_first(own=""),
        server_first(own="a,b"),
        server_first(own="\x7f"),
        server_first(own="x" * 60_000),
        server_first(salt="no base64!"),
        Send(request(11, b"r=somebody-else,s=c2FsdA==,i=4096")),
        Send(request(11, b"m=extension,r=x,s=c2FsdA==,i=4096")),
        Send(request(11, b"")),
        Send(request(11, b"\xff\xfe")),
        Send(message(b"R", b"\0\0")),
    ],
)
def test_first_messages_that_make_no_sense(first: Step) -> None:
    kinds = (AuthenticationError, RemoteProtocolError)
    script: list[Step] = [Send(SASL), READ_MESSAGE, first, READ_MESSAGE, Send(FINAL)]
    with ScriptedServer([READ_STARTUP, *script, ReadUntilClosed()]) as server:
        with pytest.raises(kinds):
            colonnade.sync.connect(f"{server.dsn}?sslmode=disable", password=PASSWORD)
        assert PASSWORD.encode() not in server.received[0]


# Before and after authentication


@pytest.mark.parametrize(
    "reply", [b"X", b"\0", b"E", b"s", b"SN", b"N" + GREETING, b"S" + GREETING]
)
def test_replies_to_the_request_for_tls(reply: bytes) -> None:
    """Neither the replies nor the bytes after them are accepted."""
    for mode in ("prefer", "require", "verify-full"):
        with ScriptedServer([READ_STARTUP, Send(reply), ReadUntilClosed()]) as server:
            with pytest.raises((RemoteProtocolError, OSError, InterfaceError)):
                colonnade.sync.connect(f"{server.dsn}?sslmode={mode}", password=PASSWORD, timeout=1)
            assert PASSWORD.encode() not in b"".join(server.received)


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
def test_a_server_that_declines_tls_that_was_demanded(mode: str) -> None:
    script: list[Step] = [READ_STARTUP, Send(b"N"), READ_STARTUP, Send(CLEARTEXT)]
    with ScriptedServer([*script, ReadUntilClosed()]) as server:
        with pytest.raises((OSError, InterfaceError), match=r"(?i)ssl|tls"):
            colonnade.sync.connect(f"{server.dsn}?sslmode={mode}", password=PASSWORD)
        assert PASSWORD.encode() not in b"".join(server.received)


@pytest.mark.parametrize("severity", ["ERROR", "FATAL", "PANIC", "WARNING", ""])
def test_an_error_ahead_of_it(severity: str) -> None:
    """The connection fails whatever the error's severity and whatever follows it."""
    refusal = error("53300", "not today", severity)
    last = error("57P01", "the end", "FATAL")
    for behind in (last, ready()):
        refused([Send(refusal + behind)], kind=PostgresError, match="not today|the end")
    # Messages after an error are invalid; after an error that ends the session, they are ignored.
    is_last = severity in {"FATAL", "PANIC"}
    kind: type[Exception] = PostgresError if is_last else RemoteProtocolError
    match = "not today" if is_last else "not allowed"
    for behind in (GREETING, AUTHENTICATION_OK + ready()):
        refused([Send(refusal + behind)], kind=kind, match=match)


@pytest.mark.parametrize("key", [4, 32, 256])
def test_keys_of_every_size(key: int) -> None:
    greeting = (
        AUTHENTICATION_OK
        + parameter("server_version", "18.0")
        + message(b"K", struct.pack("!i", 4711) + b"k" * key)
        + ready()
    )
    with ScriptedServer([READ_STARTUP, Send(greeting), ReadMessage(b"X")]) as server:
        connection = colonnade.sync.connect(f"{server.dsn}?sslmode=disable")
        assert connection.get_server_pid() == 4711
        connection.close()


@pytest.mark.parametrize("key", [-4, 0, 3, 257, 60_000])
def test_keys_of_no_size(key: int) -> None:
    body = struct.pack("!i", 4711)[: 4 + min(key, 0)] + b"k" * key
    refused(
        [Send(AUTHENTICATION_OK + message(b"K", body) + ready())],
        kind=RemoteProtocolError,
        match="BackendKeyData",
    )


@pytest.mark.parametrize(
    "body",
    [
        struct.pack("!ii", 2 << 16, 0),
        struct.pack("!ii", 4 << 16, 0),
        struct.pack("!ii", 3 << 16, -1),
        struct.pack("!ii", 3 << 16, 0x7FFFFFFF),
        struct.pack("!ii", 3 << 16, 1) + b"_pq_.no_end",
        struct.pack("!ii", 3 << 16, 0) + b"more",
        b"\0",
    ],
)
def test_versions_that_there_are_not(body: bytes) -> None:
    refused(
        [Send(message(b"v", body) + GREETING)],
        kind=RemoteProtocolError,
        match="NegotiateProtocolVersion",
    )
