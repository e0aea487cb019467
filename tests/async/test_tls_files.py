"""TLS with files: client certificates, revocation, protocol versions, and direct handshakes."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

import colonnade
from colonnade import embedded
from colonnade.errors import ClientConfigurationError, InvalidAuthorizationSpecificationError
from tests.support.servers import enable_tls
from tests.support.tls_shim import Certificates, TlsVariant, revocation_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.tls_shim import TlsShim

    Shims = Callable[[TlsVariant], TlsShim]

pytestmark = pytest.mark.every_loop


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hide the certificates in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def certificate_server(certificates: Certificates) -> Iterator[embedded.Server]:
    """A server that accepts the role `holder` only with its certificate."""
    roles = [embedded.Role("holder", method="trust")]
    for binaries in embedded.all_binaries():
        hba = ["hostssl all holder all cert", "hostnossl all holder all reject"]
        try:
            started = embedded.start(tcp=True, hba=hba, roles=roles, binaries=binaries)
        except embedded.EmbeddedServerError:
            # A server built without TLS does not know the method `cert`.
            continue
        with started as server:
            if enable_tls(server, certificates):
                trust(server, certificates)
                yield server
                return
    pytest.skip("none of the PostgreSQL installations was built with TLS")


def trust(server: embedded.Server, certificates: Certificates) -> None:
    """Make the server trust the test CA."""
    file, owner = server.data_dir / "clients.pem", server.data_dir.stat()
    file.write_bytes(certificates.ca_file.read_bytes())
    os.chown(file, owner.st_uid, owner.st_gid)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET ssl_ca_file = 'clients.pem'")
        connection.execute("ALTER SYSTEM SET ssl_min_protocol_version = 'TLSv1.2'")
        connection.execute("ALTER SYSTEM SET ssl_max_protocol_version = 'TLSv1.2'")
        connection.execute("SELECT pg_reload_conf()")
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        assert connection.execute("SHOW ssl_max_protocol_version").fetchone() == ("TLSv1.2",)


@dataclass(frozen=True)
class Holder:
    """The files of the role that has a certificate."""

    certificate: Path
    key: Path
    locked_key: Path


@pytest.fixture
def holder(certificates: Certificates, tmp_path: Path) -> Holder:
    issued = certificates.authority.issue_cert("holder@example.org", common_name="holder")
    files = Holder(tmp_path / "holder.crt", tmp_path / "holder.key", tmp_path / "locked.key")
    files.certificate.write_bytes(issued.cert_chain_pems[0].bytes())
    files.key.write_bytes(issued.private_key_pem.bytes())
    key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    files.locked_key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"open sesame"),
        )
    )
    for file in (files.key, files.locked_key):
        file.chmod(0o600)
    return files


def place(server: embedded.Server, certificates: Certificates, **options: object) -> str:
    words = "".join(f"&{name}={value}" for name, value in options.items())
    where = f"postgresql://holder@localhost:{server.port}/postgres?sslmode=verify-full"
    return f"{where}&sslrootcert={certificates.ca_file}{words}"


async def user_at(dsn: str) -> str:
    async with await colonnade.connect(dsn) as connection:
        user: str = await connection.fetchval("SELECT session_user::text")
        return user


async def test_a_certificate_is_the_proof(
    certificate_server: embedded.Server, certificates: Certificates, holder: Holder
) -> None:
    dsn = place(certificate_server, certificates, sslcert=holder.certificate, sslkey=holder.key)
    assert await user_at(dsn) == "holder"
    locked = place(
        certificate_server,
        certificates,
        sslcert=holder.certificate,
        sslkey=holder.locked_key,
        sslpassword="open%20sesame",
    )
    assert await user_at(locked) == "holder"
    with pytest.raises(ClientConfigurationError, match="sslpassword"):
        await user_at(locked.replace("&sslpassword=open%20sesame", ""))
    with pytest.raises(ClientConfigurationError) as caught:
        await user_at(locked.replace("open%20sesame", "guess"))
    assert "guess" not in str(caught.value)


async def test_without_a_certificate(
    certificate_server: embedded.Server, certificates: Certificates
) -> None:
    with pytest.raises(InvalidAuthorizationSpecificationError, match="valid client certificate"):
        await user_at(place(certificate_server, certificates))


async def test_by_the_environment(
    certificate_server: embedded.Server,
    certificates: Certificates,
    holder: Holder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(certificates.ca_file))
    monkeypatch.setenv("PGSSLCERT", str(holder.certificate))
    monkeypatch.setenv("PGSSLKEY", str(holder.key))
    assert await user_at(f"postgresql://holder@localhost:{certificate_server.port}/postgres")
    monkeypatch.setenv("PGSSLMINPROTOCOLVERSION", "TLSv1.3")
    with pytest.raises(ssl.SSLError, match=r"(?i)protocol"):
        await user_at(f"postgresql://holder@localhost:{certificate_server.port}/postgres")
    monkeypatch.setenv("PGSSLMAXPROTOCOLVERSION", "TLSv1.2")
    with pytest.raises(ClientConfigurationError, match="ssl_max_protocol_version"):
        await user_at(f"postgresql://holder@localhost:{certificate_server.port}/postgres")


async def test_a_revoked_server_is_refused(
    certificate_server: embedded.Server,
    certificates: Certificates,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = x509.load_pem_x509_certificates(certificates.good_file.read_bytes())[0]
    where = f"postgresql://postgres@localhost:{certificate_server.port}/postgres"
    dsn = f"{where}?sslmode=verify-full&sslrootcert={certificates.ca_file}"
    file = home / "revoked.crl"
    file.write_bytes(revocation_list(certificates.authority, []))
    assert await user_at(f"{dsn}&sslcrl={file}") == "postgres"
    file.write_bytes(revocation_list(certificates.authority, [served.serial_number]))
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        await user_at(f"{dsn}&sslcrl={file}")
    monkeypatch.setenv("PGSSLCRL", str(file))
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        await user_at(dsn)
    with pytest.raises(ClientConfigurationError, match="revocation list"):
        await user_at(f"{dsn}&sslcrl={home / 'missing.crl'}")


async def test_versions(certificate_server: embedded.Server, certificates: Certificates) -> None:
    where = f"postgresql://postgres@localhost:{certificate_server.port}/postgres?sslmode=require"
    assert await user_at(f"{where}&ssl_max_protocol_version=TLSv1.2") == "postgres"
    with pytest.raises(ssl.SSLError, match=r"(?i)protocol"):
        await user_at(f"{where}&ssl_min_protocol_version=TLSv1.3")
    del certificates


async def test_keys_are_logged_when_asked_for(
    certificate_server: embedded.Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(home / "keys"))
    await user_at(f"postgresql://postgres@localhost:{certificate_server.port}/?sslmode=require")
    assert "CLIENT_RANDOM" in (home / "keys").read_text("ascii")


# Handshakes at once


async def test_direct_tls(tls_shim: Shims, certificates: Certificates) -> None:
    """The shim starts TLS if the first byte belongs to a handshake, and selects the protocol."""
    shim = tls_shim(TlsVariant.GOOD)
    roots = f"sslrootcert={certificates.ca_file}"
    spellings: list[tuple[str, dict[str, Any]]] = [
        (f"{shim.dsn}?sslmode=verify-full&{roots}&sslnegotiation=direct", {}),
        (f"{shim.dsn}?sslmode=require&{roots}", {"direct_tls": True}),
        (f"{shim.dsn}?{roots}", {"direct_tls": True, "ssl": "verify-ca"}),
    ]
    for dsn, arguments in spellings:
        async with await colonnade.connect(dsn, **arguments) as connection:
            assert connection._params.ssl_negotiation == "direct"
            assert connection.conversation.transport.is_tls
            with pytest.raises(TimeoutError):
                await connection.execute("SELECT pg_sleep(100)", timeout=0.05)
            assert await connection.fetchval("SELECT 1") == 1


async def test_direct_tls_by_the_environment(
    tls_shim: Shims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLNEGOTIATION", "direct")
    shim = tls_shim(TlsVariant.GOOD)
    async with await colonnade.connect(shim.dsn, ssl="require") as connection:
        assert connection._params.ssl_negotiation == "direct"
    async with await colonnade.connect(shim.dsn, ssl="require", direct_tls=False) as connection:
        assert connection._params.ssl_negotiation == "postgres"
    with pytest.raises(ClientConfigurationError, match=r"direct.*require"):
        await colonnade.connect(shim.dsn)


async def test_direct_tls_needs_the_name_of_the_protocol(
    tls_shim: Shims, certificates: Certificates
) -> None:
    """Without a selected protocol, the server may be another service: a cross-protocol attack."""
    context = certificates.client_context()
    context.set_alpn_protocols(["postgresql"])
    shim = tls_shim(TlsVariant.GOOD)
    async with await colonnade.connect(shim.dsn, ssl=context, direct_tls=True) as connection:
        assert await connection.fetchval("SELECT 1") == 1
    shim = tls_shim(TlsVariant.SELF_SIGNED)
    with pytest.raises(ConnectionError, match="ALPN"):
        await colonnade.connect(shim.dsn, ssl="require", direct_tls=True)


async def test_a_server_without_tls_that_is_not_asked(dsn: str) -> None:
    with pytest.raises(OSError, match=r"."):
        await colonnade.connect(dsn, ssl="require", direct_tls=True)
