# Generated from tests/async/test_broken_servers.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Servers that are missing, hang, lie or vanish: each gives the right error in time."""

from __future__ import annotations

import resource
import socket
import struct
import time
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade.errors import (
    AdminShutdownError,
    AuthenticationError,
    CannotConnectNowError,
    ConnectionDoesNotExistError,
    InterfaceError,
    PostgresError,
    RemoteProtocolError,
    TooManyConnectionsError,
)
from tests.support.scripted_server import (
    AUTHENTICATION_OK,
    GREETING,
    READ_STARTUP,
    Close,
    Hang,
    ReadBytes,
    ReadMessage,
    ReadUntilClosed,
    Reset,
    ScriptedServer,
    Send,
    SendForever,
    command_complete,
    data_row,
    error,
    message,
    ready,
    row_description,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.leftovers import BackendWatch
    from tests.support.scripted_server import Step

DEADLINE_S = 10.0
SYNC = ReadMessage(b"S")
INT4 = 23
PREPARED = Send(
    message(b"1") + message(b"t", struct.pack("!h", 0)) + row_description(("n", INT4)) + ready()
)
ROW = data_row(struct.pack("!i", 7))
# The messages up to the first row of the first query.
TO_ROWS: list[Step] = [READ_STARTUP, Send(GREETING), SYNC, PREPARED, SYNC, Send(message(b"2"))]
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Fail a test of a broken server that takes long."""
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < DEADLINE_S


def connect(server: ScriptedServer, timeout: float = DEADLINE_S) -> colonnade.sync.Connection:
    return colonnade.sync.connect(f"{server.dsn}?sslmode=disable", timeout=timeout)


def exhaust(stream: colonnade.sync.ColumnStream) -> None:
    for batch in stream:
        assert len(batch) == 100


# Before there is a connection


def test_an_unknown_host() -> None:
    with pytest.raises(OSError, match=r": 'nowhere\.invalid:5432'") as caught:
        colonnade.sync.connect("postgresql://postgres@nowhere.invalid/")
    assert caught.value.__notes__ == ["while connecting to nowhere.invalid:5432"]


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ConnectionRefusedError, match=r"refused|Connect call failed") as caught:
            colonnade.sync.connect(f"postgresql://postgres@127.0.0.1:{port}/")
    assert caught.value.__notes__ == [f"while connecting to 127.0.0.1:{port}"]
    # In the text alone, too, for programs that log nothing else.
    assert str(caught.value).endswith(f": '127.0.0.1:{port}'")


def test_a_server_without_direct_tls() -> None:
    """One older than PostgreSQL 17 takes the handshake for a message, and hangs up."""
    with ScriptedServer([ReadBytes(8), Close()]) as server:
        dsn = f"postgresql://postgres@127.0.0.1:{server.port}/?sslmode=require"
        with pytest.raises(OSError) as caught:  # noqa: PT011 - which one depends on the loop
            colonnade.sync.connect(f"{dsn}&sslnegotiation=direct", timeout=20)
    assert any("needs PostgreSQL 17" in note for note in caught.value.__notes__)


def test_a_socket_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        colonnade.sync.connect("postgresql://postgres@/?host=/nowhere")
    assert caught.value.__notes__ == ["while connecting to /nowhere/.s.PGSQL.5432"]


@pytest.mark.parametrize(
    "script",
    [
        [Hang()],
        [READ_STARTUP, Hang()],
        [READ_STARTUP, Send(AUTHENTICATION_OK), Hang()],
        [READ_STARTUP, Send(GREETING[:-6]), Hang()],
        [READ_STARTUP, Send(GREETING[:5]), Hang()],
        [READ_STARTUP, Send(GREETING, chunk=1, pause_seconds=0.1)],
    ],
)
def test_a_server_that_hangs_in_startup(script: list[Step]) -> None:
    with (
        ScriptedServer(script) as server,
        pytest.raises(TimeoutError, match=f"no connection to .*:{server.port} within 0.1 s"),
    ):
        connect(server, timeout=0.1)


def test_a_server_that_hangs_when_asked_for_tls() -> None:
    for mode in ("prefer", "require"):
        with (
            ScriptedServer([READ_STARTUP, Hang()]) as server,
            pytest.raises(TimeoutError, match=f"no connection to .*:{server.port} within 0.1 s"),
        ):
            colonnade.sync.connect(server.dsn, ssl=mode, timeout=0.1)


@pytest.mark.parametrize(
    "script",
    [
        [Close()],
        [READ_STARTUP, Close()],
        [READ_STARTUP, Send(GREETING[:3]), Close()],
        [READ_STARTUP, Send(AUTHENTICATION_OK), Close()],
        [READ_STARTUP, Send(GREETING[:-6]), Close()],
        [READ_STARTUP, Reset()],
    ],
)
def test_a_server_that_closes_in_startup(script: list[Step]) -> None:
    with (
        ScriptedServer(script) as server,
        pytest.raises((ConnectionDoesNotExistError, OSError), match=r"closed|reset|lost"),
    ):
        connect(server)


@pytest.mark.parametrize(
    "reply",
    [
        HTTP,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0" * 64,
        b"\xff" * 64,
        message(b"D", b"\0\1\0\0\0\0"),
        ready(),
        message(b"R", struct.pack("!i", 99)),
        message(b"R", b"\0"),
        message(b"R", struct.pack("!i", 10) + b"SCRAM-SHA-256"),
        AUTHENTICATION_OK + message(b"K", b"\1"),
        AUTHENTICATION_OK + AUTHENTICATION_OK,
        AUTHENTICATION_OK + b"Z\x7f\xff\xff\xff",
        AUTHENTICATION_OK + b"Z\0\0\0\3",
        AUTHENTICATION_OK + message(b"Z", b"?"),
        AUTHENTICATION_OK + message(b"S", b"no end"),
    ],
)
def test_a_server_that_speaks_nonsense(reply: bytes) -> None:
    with ScriptedServer([READ_STARTUP, Send(reply), ReadUntilClosed()]) as server:
        with pytest.raises((RemoteProtocolError, AuthenticationError)) as caught:
            connect(server)
        assert str(caught.value)


@pytest.mark.parametrize("reply", [HTTP, b"x", b"\x15\x03\x01\0\2\2\x16"])
def test_a_server_that_answers_the_request_for_tls_with_nonsense(reply: bytes) -> None:
    with (
        ScriptedServer([READ_STARTUP, Send(reply), ReadUntilClosed()]) as server,
        pytest.raises(RemoteProtocolError, match="is it the right port"),
    ):
        colonnade.sync.connect(server.dsn)


def test_a_server_that_sends_without_end() -> None:
    notice = error("01000", "x" * 1000, "NOTICE", tag=b"N")
    with (
        ScriptedServer([READ_STARTUP, SendForever(notice)]) as server,
        pytest.raises(TimeoutError),
    ):
        connect(server, timeout=0.2)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("57P03", CannotConnectNowError),
        ("53300", TooManyConnectionsError),
        ("XX999", PostgresError),
    ],
)
def test_a_server_that_refuses(code: str, kind: type[PostgresError]) -> None:
    refusal = Send(error(code, "not today", "FATAL"))
    with ScriptedServer([READ_STARTUP, refusal]) as server:
        with pytest.raises(kind, match="not today") as caught:
            connect(server)
        assert caught.value.sqlstate == code


# After that


def test_an_answer_byte_by_byte() -> None:
    reply = Send(ROW + ROW + command_complete("SELECT 2") + ready(), chunk=1, pause_seconds=0)
    with ScriptedServer([*TO_ROWS, reply, ReadUntilClosed()]) as server:
        with connect(server) as connection:
            assert connection.fetch("SELECT n") == [(7,), (7,)]


@pytest.mark.parametrize("end", [Close(), Reset()])
@pytest.mark.parametrize("sent", [b"", ROW, ROW + ROW[:5], ROW + ROW[:-1], ROW + b"C\0\0"])
def test_a_connection_that_is_cut_amid_a_result(end: Close | Reset, sent: bytes) -> None:
    script: list[Step] = [*TO_ROWS, Send(sent), end]
    with ScriptedServer(script) as server:
        connection = connect(server)
        with pytest.raises(ConnectionDoesNotExistError, match="closed in the middle of operation"):
            connection.fetch_columns("SELECT n")
        assert connection.is_closed()
        with pytest.raises(InterfaceError, match="connection is closed"):
            connection.fetch("SELECT n")
        connection.close()


def test_a_stream_that_is_cut_tells_its_batches_first() -> None:
    with ScriptedServer([*TO_ROWS, Send(ROW * 5), Close()]) as server:
        connection = connect(server)
        stream = connection.iter_columns("SELECT n", batch_rows=2)
        assert len(next(stream)) == 2
        assert len(next(stream)) == 2
        with pytest.raises(ConnectionDoesNotExistError):
            next(stream)
        with pytest.raises(StopIteration):
            next(stream)
        assert connection.is_closed()


@pytest.mark.parametrize(
    "sent",
    [
        HTTP,
        data_row(b"\0\0\0\1", b"\0\0\0\1"),
        data_row(),
        message(b"D", b"\0\1\0\0\0\x7f"),
        message(b"D", b"\0\1\xff\xff\xff\xfe"),
        message(b"D", b""),
        ROW + row_description(("n", INT4)),
        ROW + message(b"1"),
        AUTHENTICATION_OK,
        message(b"d", b"1\n"),
        message(b"C", b"no end"),
        message(b"E", b"Sno end"),
        b"D\0\0\0\3",
        b"D\xff\xff\xff\xff",
    ],
)
def test_nonsense_amid_a_result(sent: bytes) -> None:
    with ScriptedServer([*TO_ROWS, Send(ROW + sent), ReadUntilClosed()]) as server:
        connection = connect(server)
        with pytest.raises(RemoteProtocolError) as caught:
            connection.fetch_columns("SELECT n")
        assert str(caught.value)
        assert connection.is_closed()
        connection.close()


def test_a_large_claim_alone_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colonnade._driver.transport.blocking.RECOVERY_TIMEOUT_S", 0.2)
    claim = b"D" + struct.pack("!i", 1_000_000_000) + b"\0\1" + struct.pack("!i", 999_999_990)
    with ScriptedServer([*TO_ROWS, Send(claim), Hang()]) as server:
        connection = connect(server)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(TimeoutError):
            connection.fetch("SELECT n", timeout=0.1)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
        connection.terminate()


def test_a_fatal_error_amid_a_result() -> None:
    last = error("57P01", "terminating connection due to administrator command", "FATAL")
    with ScriptedServer([*TO_ROWS, Send(ROW + last), Close()]) as server:
        connection = connect(server)
        with pytest.raises(ConnectionDoesNotExistError, match="administrator command") as caught:
            connection.fetch("SELECT n")
        assert isinstance(caught.value.__cause__, AdminShutdownError)
        assert connection.is_closed()


def test_an_error_after_rows_leaves_the_connection_usable() -> None:
    failing = Send(ROW + error("22012", "division by zero") + ready())
    good = Send(message(b"2") + ROW + command_complete("SELECT 1") + ready())
    with ScriptedServer([*TO_ROWS, failing, SYNC, good, ReadUntilClosed()]) as server:
        with connect(server) as connection:
            with pytest.raises(PostgresError, match="division by zero"):
                connection.fetch_columns("SELECT n")
            assert connection.fetch("SELECT n") == [(7,)]


def test_a_backend_that_is_ended_while_idle(
    connection: colonnade.sync.Connection, watch: BackendWatch
) -> None:
    assert connection.fetchval("SELECT 1") == 1
    watch.end(connection.get_server_pid())
    with pytest.raises((InterfaceError, ConnectionDoesNotExistError)):
        connection.fetch("SELECT 1")
    assert connection.is_closed()
    # Both the error and later calls give the reason, whenever the end is noticed.
    for call in (connection.fetch, connection.prepare, connection.cursor):
        with pytest.raises(InterfaceError, match="connection is closed") as caught:
            call("SELECT 1")
        assert isinstance(caught.value.__cause__, AdminShutdownError)
    with pytest.raises(InterfaceError, match="connection is closed") as caught:
        connection.transaction()
    assert isinstance(caught.value.__cause__, AdminShutdownError)


def test_a_backend_that_ends_itself_amid_a_result(connection: colonnade.sync.Connection) -> None:
    query = (
        "SELECT i, CASE i WHEN 50000 THEN pg_terminate_backend(pg_backend_pid()) END "
        "FROM generate_series(1, 100000) i"
    )
    with pytest.raises(ConnectionDoesNotExistError, match="operation: terminating") as caught:
        connection.fetch_columns(query)
    assert isinstance(caught.value.__cause__, AdminShutdownError)
    assert connection.is_closed()


def test_a_backend_that_is_ended_under_a_stream(
    connection: colonnade.sync.Connection, watch: BackendWatch
) -> None:
    stream = connection.iter_columns(
        "SELECT i, repeat('x', 1000) FROM generate_series(1, 100000) i", batch_rows=100
    )
    assert len(next(stream)) == 100
    watch.end(connection.get_server_pid())
    with pytest.raises(ConnectionDoesNotExistError):
        exhaust(stream)
    assert connection.is_closed()
