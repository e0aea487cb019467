"""The test helpers, tested with libpq as the client."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support import scripted_server as scripted
from tests.support.scripted_server import GREETING, READ_STARTUP, ReadMessage, ScriptedServer, Send
from tests.support.servers import PASSWORD_ROLES
from tests.support.tls_shim import Certificates, TlsShim, TlsVariant

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade import embedded

# Options of libpq: no GSS, no TLS first.
PLAIN = "?sslmode=disable&gssencmode=disable"


def _verified(shim: TlsShim, certificates: Certificates, login: str = "postgres") -> str:
    authority = f"sslmode=verify-full&sslrootcert={certificates.ca_file}"
    return f"postgresql://{login}@localhost:{shim.port}/postgres?{authority}"


def test_good_shim_carries_much_both_ways(
    tls_shim: Callable[[TlsVariant], TlsShim], certificates: Certificates
) -> None:
    with psycopg.connect(_verified(tls_shim(TlsVariant.GOOD), certificates)) as connection:
        assert connection.pgconn.ssl_in_use
        text = "ü" * 3_000_000
        row = connection.execute("SELECT %s || repeat('x', 5000000)", [text]).fetchone()
        assert row == (text + "x" * 5_000_000,)


def test_shim_passes_passwords_and_cancels(
    tls_shim: Callable[[TlsVariant], TlsShim], certificates: Certificates
) -> None:
    role = PASSWORD_ROLES[0]
    dsn = _verified(tls_shim(TlsVariant.GOOD), certificates, role.name)
    with (
        psycopg.connect(dsn, password=role.password) as connection,
        ThreadPoolExecutor(1) as pool,
    ):
        asleep = pool.submit(connection.execute, "SELECT pg_sleep(60)")
        # A cancel request that arrives before the query does nothing, so repeat it until one
        # works.
        while not asleep.done():
            connection.cancel_safe(timeout=10)
        with pytest.raises(psycopg.errors.QueryCanceled):
            asleep.result()


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (TlsVariant.WRONG_HOST, "does not match"),
        (TlsVariant.EXPIRED, "certificate verify failed"),
        (TlsVariant.SELF_SIGNED, "certificate verify failed"),
        (TlsVariant.REFUSED, "server does not support SSL"),
        (TlsVariant.INJECTED, "unencrypted data"),
        (TlsVariant.CUT, "closed"),
        (TlsVariant.GARBAGE, "SSL error"),
        (TlsVariant.TORN, "SSL error"),
    ],
    ids=lambda value: value.value if isinstance(value, TlsVariant) else "",
)
def test_every_bad_shim_is_refused(
    tls_shim: Callable[[TlsVariant], TlsShim],
    certificates: Certificates,
    variant: TlsVariant,
    text: str,
) -> None:
    with pytest.raises(psycopg.OperationalError, match=text):
        psycopg.connect(_verified(tls_shim(variant), certificates))


def test_refusing_shim_goes_on_without_tls(tls_shim: Callable[[TlsVariant], TlsShim]) -> None:
    shim = tls_shim(TlsVariant.REFUSED)
    with psycopg.connect(f"{shim.dsn}?sslmode=prefer") as connection:
        assert not connection.pgconn.ssl_in_use
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_script_answers_a_query() -> None:
    answer = (
        scripted.row_description(("n", 23))
        + scripted.data_row(b"\0\0\0\x07")
        + scripted.data_row(None)
        + scripted.command_complete("SELECT 2")
        + scripted.ready()
    )
    script: list[scripted.Step]
    script = [READ_STARTUP, Send(GREETING, chunk=7), ReadMessage(b"Q"), Send(answer)]
    with ScriptedServer([*script, scripted.ReadUntilClosed()]) as server:
        connection = psycopg.connect(server.dsn + PLAIN)
        result = connection.pgconn.exec_(b"SELECT n")
        assert result.get_value(0, 0) == b"\0\0\0\x07"
        assert result.get_value(1, 0) is None
        connection.close()
    assert b"SELECT n" in server.received[0]


@pytest.mark.parametrize("step", [scripted.Close(), scripted.Reset(), Send(b"\0\0\0\0garbage!")])
def test_script_fails_in_start_up(step: scripted.Step) -> None:
    with (
        ScriptedServer([READ_STARTUP, step]) as server,
        pytest.raises(psycopg.OperationalError),
    ):
        psycopg.connect(server.dsn + PLAIN)


def test_hanging_script_ends_with_the_test() -> None:
    with (
        ScriptedServer([scripted.Hang()]) as server,
        pytest.raises(psycopg.OperationalError, match="timeout"),
    ):
        psycopg.connect(server.dsn + PLAIN, connect_timeout=2)


def test_error_message_is_well_formed() -> None:
    refusal = scripted.error("53300", "no room", "FATAL")
    with (
        ScriptedServer([READ_STARTUP, Send(refusal)]) as server,
        pytest.raises(psycopg.OperationalError, match="no room"),
    ):
        psycopg.connect(server.dsn + PLAIN)


@pytest.mark.every_loop
async def test_both_event_loops_run(request: pytest.FixtureRequest) -> None:
    module = type(asyncio.get_running_loop()).__module__
    kind = request.node.callspec.id
    assert ("uvloop" in module) == (kind == "uvloop")


def test_session_server_answers(dsn: str, socket_dsn: str) -> None:
    for address in (dsn, socket_dsn):
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_password_server_lets_the_superuser_in(password_server: embedded.Server) -> None:
    with psycopg.connect(password_server.dsn) as connection:
        assert not connection.pgconn.used_password
