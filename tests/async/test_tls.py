"""TLS: each `sslmode` against good and bad servers, and queries over TLS."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import embedded
from colonnade.errors import InvalidPasswordError, QueryCanceledError, RemoteProtocolError
from tests.support.tls_shim import Certificates, TlsVariant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.tls_shim import TlsShim

    Shims = Callable[[TlsVariant], TlsShim]

pytestmark = pytest.mark.every_loop

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

# Kind of server -> the outcome of each mode: "tls", "plain", or an error's class.
CERTIFICATE = ssl.SSLCertVerificationError
OUTCOMES: dict[TlsVariant, tuple[Any, ...]] = {
    TlsVariant.GOOD: ("plain", "plain", "tls", "tls", "tls", "tls"),
    TlsVariant.WRONG_HOST: ("plain", "plain", "tls", "tls", "tls", CERTIFICATE),
    TlsVariant.EXPIRED: ("plain", "plain", "plain", CERTIFICATE, CERTIFICATE, CERTIFICATE),
    TlsVariant.SELF_SIGNED: ("plain", "plain", "plain", CERTIFICATE, CERTIFICATE, CERTIFICATE),
    TlsVariant.REFUSED: ("plain", "plain", "plain", *[ConnectionError] * 3),
    TlsVariant.INJECTED: ("plain", "plain", *[RemoteProtocolError] * 4),
    TlsVariant.CUT: ("plain", "plain", "plain", *[ConnectionError] * 3),
    TlsVariant.GARBAGE: ("plain", "plain", "plain", *[OSError] * 3),
    # With TLS 1.3, this error can follow after the client has completed its handshake.
    TlsVariant.TORN: ("plain", "plain", "plain", *[OSError] * 3),
}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the certificates in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))


def is_tls(connection: colonnade.Connection) -> bool:
    return connection.conversation.transport.is_tls


@pytest.mark.parametrize(
    ("variant", "mode", "outcome"),
    [
        (variant, mode, outcome)
        for variant, outcomes in OUTCOMES.items()
        for mode, outcome in zip(MODES, outcomes, strict=True)
    ],
    ids=str,
)
async def test_modes(
    tls_shim: Shims, certificates: Certificates, variant: TlsVariant, mode: str, outcome: Any
) -> None:
    """The CA's certificate is given, so every mode that uses TLS verifies."""
    shim = tls_shim(variant)
    uri = f"{shim.dsn}?sslmode={mode}&sslrootcert={certificates.ca_file}"
    if isinstance(outcome, type):
        with pytest.raises(outcome) as caught:
            await colonnade.connect(uri, timeout=10)
        assert str(caught.value)
        return
    async with await colonnade.connect(uri, timeout=10) as connection:
        assert is_tls(connection) == (outcome == "tls")
        assert await connection.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("variant", [TlsVariant.SELF_SIGNED, TlsVariant.EXPIRED])
async def test_nothing_is_verified_where_no_root_is_named(
    tls_shim: Shims, variant: TlsVariant
) -> None:
    for mode in ("prefer", "require"):
        shim = tls_shim(variant)
        async with await colonnade.connect(shim.dsn, ssl=mode) as connection:
            assert is_tls(connection)


async def test_the_message_says_what_is_wrong(tls_shim: Shims, certificates: Certificates) -> None:
    ca_file = certificates.ca_file
    for variant, text in (
        (TlsVariant.WRONG_HOST, "localhost"),
        (TlsVariant.EXPIRED, "expired"),
        (TlsVariant.SELF_SIGNED, "self.signed"),
    ):
        uri = f"{tls_shim(variant).dsn}?sslmode=verify-full&sslrootcert={ca_file}"
        with pytest.raises(ssl.SSLCertVerificationError, match=text) as caught:
            await colonnade.connect(uri)
        assert "while connecting to localhost:" in caught.value.__notes__[0]
    with pytest.raises(ConnectionError, match="does not offer TLS, which sslmode=require requires"):
        await colonnade.connect(f"{tls_shim(TlsVariant.REFUSED).dsn}?sslmode=require")
    with pytest.raises(RemoteProtocolError, match="unencrypted data"):
        await colonnade.connect(f"{tls_shim(TlsVariant.INJECTED).dsn}?sslmode=require")


async def test_a_context_of_the_callers(tls_shim: Shims, certificates: Certificates) -> None:
    context = certificates.client_context()
    shim = tls_shim(TlsVariant.GOOD)
    async with await colonnade.connect(shim.dsn, ssl=context) as connection:
        assert is_tls(connection)
    assert context.check_hostname
    for variant in (TlsVariant.WRONG_HOST, TlsVariant.SELF_SIGNED, TlsVariant.EXPIRED):
        with pytest.raises(ssl.SSLCertVerificationError):
            await colonnade.connect(tls_shim(variant).dsn, ssl=context)
    with pytest.raises(ConnectionError, match="does not offer TLS"):
        await colonnade.connect(tls_shim(TlsVariant.REFUSED).dsn, ssl=context)


async def test_true_and_false(tls_shim: Shims) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    async with await colonnade.connect(shim.dsn, ssl=False) as connection:
        assert not is_tls(connection)
    # The system's roots do not include the test CA.
    with pytest.raises(ssl.SSLCertVerificationError):
        await colonnade.connect(shim.dsn, ssl=True)


async def test_a_password_refused_under_tls(tls_shim: Shims, certificates: Certificates) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    uri = f"postgresql://scram_plain:wrong@localhost:{shim.port}/postgres"
    with pytest.raises(InvalidPasswordError):
        await colonnade.connect(uri, ssl=certificates.client_context())


async def test_large_results_under_tls(tls_shim: Shims, certificates: Certificates) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    query = "SELECT i, repeat('x', i % 200) AS t FROM generate_series(1, 200000) i"
    async with await colonnade.connect(shim.dsn, ssl=certificates.client_context()) as connection:
        columns = await connection.fetch_columns(query)
        assert len(columns) == 200_000
        assert columns["i"].sum() == 200_000 * 200_001 // 2
        rows = 0
        async for batch in connection.iter_columns(query, batch_rows=10_000):
            rows += len(batch)
        assert rows == 200_000
        assert len(await connection.fetch(query)) == 200_000
        assert await connection.fetchval("SELECT length($1::text)", "y" * 5_000_000) == 5_000_000
        assert await connection.fetchval("SELECT repeat('z', 5000000)") == "z" * 5_000_000
        # async-only: begin
        # One turn of the loop decrypts and decodes one read.
        await connection.fetch(query)
        assert connection.conversation.transport.window_bytes <= 64 * 1024
        # async-only: end


async def test_cancel_under_tls(tls_shim: Shims, certificates: Certificates) -> None:
    shim = tls_shim(TlsVariant.GOOD)
    async with await colonnade.connect(shim.dsn, ssl=certificates.client_context()) as connection:
        with pytest.raises(TimeoutError):
            await connection.execute("SELECT pg_sleep(100)", timeout=0.05)
        assert await connection.fetchval("SELECT 1") == 1
        stream = connection.iter_columns("SELECT generate_series(1, 10000000)", batch_rows=10)
        assert len(await anext(stream)) == 10
        await stream.aclose()
        assert await connection.fetchval("SELECT 2") == 2


async def test_the_server_sees_tls(tls_server: embedded.Server, certificates: Certificates) -> None:
    where = f"localhost:{tls_server.port}"
    uri = f"postgresql://postgres@{where}/postgres?sslrootcert={certificates.ca_file}"
    seen = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    for mode in MODES:
        async with await colonnade.connect(f"{uri}&sslmode={mode}") as connection:
            assert await connection.fetchval(seen) == (mode not in {"disable", "allow"})
            with pytest.raises(TimeoutError):
                await connection.execute("SELECT pg_sleep(100)", timeout=0.05)
            with pytest.raises(QueryCanceledError):
                await connection.execute("SET statement_timeout = 10; SELECT pg_sleep(100)")
            await connection.execute("SET statement_timeout = 0")
            columns = await connection.fetch_columns("SELECT generate_series(1, 100000) AS i")
            assert len(columns) == 100_000
            assert len(await connection.fetch("SELECT repeat('x', 100000)")) == 1


async def test_a_server_that_wants_tls(
    tls_server: embedded.Server, certificates: Certificates
) -> None:
    """`allow` begins without TLS, is refused, and continues with TLS."""
    where = f"localhost:{tls_server.port}"
    uri = f"postgresql://tls_only@{where}/postgres?sslrootcert={certificates.ca_file}"
    async with await colonnade.connect(f"{uri}&sslmode=allow") as connection:
        assert is_tls(connection)
