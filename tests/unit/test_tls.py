"""TLS policies, contexts against real handshakes, and channel-binding data of real certificates."""

from __future__ import annotations

import datetime as dt
import hashlib
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import NameOID

from colonnade._driver.connection_options import TlsArguments, resolve
from colonnade._driver.transport.address import TcpAddress, UnixAddress
from colonnade._driver.transport.channel_binding import server_end_point
from colonnade._driver.transport.tls import SslMode, TlsOptions, TlsPolicy
from colonnade._driver.transport.tls_context import tls_policy
from colonnade.errors import ClientConfigurationError, InterfaceWarning, RemoteProtocolError
from tests.support.tls_shim import revocation_list

HOST = "db.example.org"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, which hides the user's own certificates."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSLKEYLOGFILE", raising=False)
    (tmp_path / ".postgresql").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def server(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    context.set_alpn_protocols(["postgresql"])
    return context


@pytest.fixture
def root(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def handshake(policy: TlsPolicy, server: ssl.SSLContext, host: str = HOST) -> ssl.SSLObject:
    """Run both sides of a handshake in memory; raise the client's error."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    assert policy.context is not None
    client_side = policy.context.wrap_bio(
        to_client, to_server, server_hostname=policy.server_hostname(host)
    )
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    done = 0
    while done < 2:
        done = 0
        for side in (client_side, server_side):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                continue
    return client_side


# Policies


def test_attempts_of_each_mode(root: str) -> None:
    def attempts(mode: SslMode) -> list[bool]:
        policy = tls_policy(None, TlsOptions(mode, root_certificate=root))
        # A Unix socket has only one attempt.
        (plain,) = policy.attempts(UnixAddress("/run/.s.PGSQL.5432"))
        assert plain.context is None
        return [attempt.context is not None for attempt in policy.attempts(TcpAddress("h", 1))]

    assert attempts(SslMode.DISABLE) == [False]
    assert attempts(SslMode.ALLOW) == [False, True]
    assert attempts(SslMode.PREFER) == [True, False]
    assert attempts(SslMode.REQUIRE) == [True]
    assert attempts(SslMode.VERIFY_CA) == [True]
    assert attempts(SslMode.VERIFY_FULL) == [True]


def test_answers_of_the_server() -> None:
    prefer = tls_policy("prefer", TlsOptions())
    require = tls_policy("require", TlsOptions())
    assert prefer.accepts(b"S")
    assert require.accepts(b"S")
    assert not prefer.accepts(b"N")
    with pytest.raises(ConnectionError, match="sslmode=require"):
        require.accepts(b"N")
    for policy in (prefer, require):
        with pytest.raises(ConnectionError, match="closed the connection"):
            policy.accepts(b"")
        with pytest.raises(ConnectionError, match="error response during SSL exchange"):
            policy.accepts(b"E\x00\x00\x00\x10Sfatal")
        with pytest.raises(RemoteProtocolError, match="unencrypted data"):
            policy.accepts(b"SR\x00\x00\x00\x08\x00\x00\x00\x00")
        with pytest.raises(RemoteProtocolError, match="right port"):
            policy.accepts(b"HTTP/1.1 400")


def test_a_context_is_honoured_untouched() -> None:
    context = ssl.create_default_context()
    policy = tls_policy(context, TlsOptions(SslMode.DISABLE))
    assert policy.context is context
    assert policy.mode is SslMode.REQUIRE
    assert policy.attempts(TcpAddress("h", 1)) == (policy,)
    assert policy.server_hostname(HOST) == HOST


def test_true_verifies_against_the_platform() -> None:
    policy = tls_policy(True, TlsOptions())
    assert policy.context is not None
    assert policy.context.check_hostname
    assert policy.context.verify_mode is ssl.CERT_REQUIRED


def test_false_is_disable() -> None:
    policy = tls_policy(False, TlsOptions(SslMode.REQUIRE, negotiation="direct"))
    assert policy.context is None
    assert not policy.is_direct


def test_a_wrong_word_lists_the_right_ones() -> None:
    with pytest.raises(ClientConfigurationError, match=r"verify-ca, verify-full$"):
        tls_policy("on", TlsOptions())


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer"])
def test_direct_needs_a_strict_mode(mode: str) -> None:
    with pytest.raises(ClientConfigurationError, match=f"not {mode}"):
        tls_policy(mode, TlsOptions(negotiation="direct"))


def test_direct() -> None:
    assert tls_policy("require", TlsOptions(negotiation="direct")).is_direct
    assert not tls_policy("require", TlsOptions()).is_direct


def test_server_name_can_be_left_out_unless_it_is_checked(root: str) -> None:
    options = TlsOptions(SslMode.REQUIRE, sends_server_name=False)
    assert tls_policy(None, options).server_hostname(HOST) is None
    options = TlsOptions(SslMode.VERIFY_FULL, root_certificate=root, sends_server_name=False)
    assert tls_policy(None, options).server_hostname(HOST) == HOST


def test_repr_keeps_the_password_of_the_key() -> None:
    assert "secret" not in repr(TlsOptions(key_password="secret"))


# Handshakes


@pytest.mark.parametrize("mode", ["prefer", "require"])
def test_unverified(server: ssl.SSLContext, mode: str) -> None:
    link = handshake(tls_policy(mode, TlsOptions()), server, "another.example.org")
    assert link.selected_alpn_protocol() == "postgresql"


def test_require_with_a_root_in_the_home_verifies(
    server: ssl.SSLContext, home: Path, authority: trustme.CA
) -> None:
    folder = home / ".postgresql"
    authority.cert_pem.write_to_path(str(folder / "root.crt"))
    handshake(tls_policy("require", TlsOptions()), server, "another.example.org")
    trustme.CA().cert_pem.write_to_path(str(folder / "root.crt"))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(tls_policy("require", TlsOptions()), server)
    handshake(tls_policy("prefer", TlsOptions()), server)


def test_verify_ca_checks_the_chain_but_not_the_name(server: ssl.SSLContext, root: str) -> None:
    policy = tls_policy("verify-ca", TlsOptions(root_certificate=root))
    handshake(policy, server, "another.example.org")


def test_verify_full_checks_the_name(server: ssl.SSLContext, root: str) -> None:
    policy = tls_policy("verify-full", TlsOptions(root_certificate=root))
    handshake(policy, server)
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(policy, server, "another.example.org")


def test_verification_against_another_authority_fails(
    server: ssl.SSLContext, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    for mode in ("prefer", "require", "verify-ca", "verify-full"):
        policy = tls_policy(mode, TlsOptions(root_certificate=str(other)))
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(policy, server)


def test_verification_needs_roots() -> None:
    for mode in ("verify-ca", "verify-full"):
        with pytest.raises(ClientConfigurationError, match="there is no root") as caught:
            tls_policy(mode, TlsOptions())
        assert "sslrootcert=system" in str(caught.value)


def test_system_roots_need_the_full_check() -> None:
    assert tls_policy("verify-full", TlsOptions(root_certificate="system")).context is not None
    with pytest.raises(ClientConfigurationError, match="needs sslmode=verify-full, not require"):
        tls_policy("require", TlsOptions(root_certificate="system"))


@pytest.mark.parametrize("mode", ["prefer", "require", "verify-full"])
def test_a_named_file_must_exist(mode: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(ClientConfigurationError, match="No such file"):
        tls_policy(mode, TlsOptions(root_certificate=missing))
    with pytest.raises(ClientConfigurationError, match="No such file"):
        tls_policy("require", TlsOptions(certificate=missing))


def test_a_revoked_certificate_is_refused(
    server: ssl.SSLContext, authority: trustme.CA, root: str, tmp_path: Path
) -> None:
    revocations = tmp_path / "root.crl"
    revocations.write_bytes(revocation_list(authority, revoked=[]))
    options = TlsOptions(root_certificate=root, revocation_list=str(revocations))
    handshake(tls_policy("verify-full", options), server)

    bad = authority.issue_cert(HOST)
    certificate = x509.load_pem_x509_certificate(bad.cert_chain_pems[0].bytes())
    revocations.write_bytes(revocation_list(authority, revoked=[certificate.serial_number]))
    revoked_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    bad.configure_cert(revoked_server)
    with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
        handshake(tls_policy("verify-full", options), revoked_server)


# Client certificates


@pytest.fixture
def client_files(authority: trustme.CA, home: Path) -> tuple[Path, Path]:
    issued = authority.issue_cert("client@example.org")
    certificate, key = home / "client.crt", home / "client.key"
    certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    key.chmod(0o600)
    return certificate, key


def asking_server(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = (
        ssl.TLSVersion.TLSv1_2
    )  # in TLS 1.2, a refusal is part of the handshake
    authority.issue_cert(HOST).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_client_certificate(authority: trustme.CA, client_files: tuple[Path, Path]) -> None:
    certificate, key = map(str, client_files)
    server = asking_server(authority)
    handshake(tls_policy("require", TlsOptions(certificate=certificate, key=key)), server)
    with pytest.raises(ssl.SSLError):
        handshake(tls_policy("require", TlsOptions()), server)


def test_client_certificate_in_the_home(
    authority: trustme.CA, client_files: tuple[Path, Path], home: Path
) -> None:
    certificate, key = client_files
    certificate.rename(home / ".postgresql" / "postgresql.crt")
    key.rename(home / ".postgresql" / "postgresql.key")
    handshake(tls_policy("require", TlsOptions()), asking_server(authority))


def test_encrypted_key(client_files: tuple[Path, Path], authority: trustme.CA) -> None:
    certificate, key = client_files
    plain = serialization.load_pem_private_key(key.read_bytes(), password=None)
    key.write_bytes(
        plain.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"open sesame"),
        )
    )
    right = TlsOptions(certificate=str(certificate), key=str(key), key_password="open sesame")
    handshake(tls_policy("require", right), asking_server(authority))
    # Without a password this must fail rather than ask on the terminal.
    with pytest.raises(ClientConfigurationError, match="sslpassword"):
        tls_policy("require", TlsOptions(certificate=str(certificate), key=str(key)))
    wrong = TlsOptions(certificate=str(certificate), key=str(key), key_password="guess")
    with pytest.raises(ClientConfigurationError) as caught:
        tls_policy("require", wrong)
    assert "guess" not in str(caught.value)


def test_a_key_open_to_others_is_warned_of(client_files: tuple[Path, Path]) -> None:
    certificate, key = client_files
    key.chmod(stat.S_IRUSR | stat.S_IWUSR | stat.S_IROTH)
    with pytest.warns(InterfaceWarning, match="other users can access"):
        tls_policy("require", TlsOptions(certificate=str(certificate), key=str(key)))


# Versions and the key log


def test_versions() -> None:
    context = tls_policy("require", TlsOptions()).context
    assert context is not None
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    options = TlsOptions(min_version="tlsv1.1", max_version="TLSv1.2")
    context = tls_policy("require", options).context
    assert context is not None
    assert context.minimum_version is ssl.TLSVersion.TLSv1_1
    assert context.maximum_version is ssl.TLSVersion.TLSv1_2
    with pytest.raises(ClientConfigurationError, match="ssl_min_protocol_version must be TLSv1"):
        tls_policy("require", TlsOptions(min_version="1.2"))
    with pytest.raises(ClientConfigurationError, match="is below"):
        tls_policy("require", TlsOptions(max_version="TLSv1"))


def test_key_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ssl.SSLContext) -> None:
    log = tmp_path / "keys.log"
    monkeypatch.setenv("SSLKEYLOGFILE", str(log))
    handshake(tls_policy("require", TlsOptions()), server)
    assert "TRAFFIC_SECRET" in log.read_text()


# Channel binding


def certificate_of(key: Any, algorithm: Any, **signing: Any) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=start,
        not_valid_after=start + dt.timedelta(days=1),
    )
    signed = builder.sign(key, algorithm, **signing)
    return signed.public_bytes(serialization.Encoding.DER)


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.mark.parametrize("name", ["sha224", "sha256", "sha384", "sha512"])
def test_binding_of_rsa(rsa_key: rsa.RSAPrivateKey, name: str) -> None:
    algorithm = getattr(hashes, name.upper())()
    certificate = certificate_of(rsa_key, algorithm)
    assert server_end_point(certificate) == hashlib.new(name, certificate).digest()
    pss = padding.PSS(padding.MGF1(algorithm), padding.PSS.DIGEST_LENGTH)
    certificate = certificate_of(rsa_key, algorithm, rsa_padding=pss)
    assert server_end_point(certificate) == hashlib.new(name, certificate).digest()


@pytest.mark.parametrize(
    ("curve", "algorithm", "name"),
    [
        (ec.SECP256R1(), hashes.SHA256(), "sha256"),
        (ec.SECP384R1(), hashes.SHA384(), "sha384"),
        (ec.SECP521R1(), hashes.SHA512(), "sha512"),
        (ec.SECP256R1(), hashes.SHA3_256(), "sha3_256"),
    ],
)
def test_binding_of_ecdsa(
    curve: ec.EllipticCurve, algorithm: hashes.HashAlgorithm, name: str
) -> None:
    certificate = certificate_of(ec.generate_private_key(curve), algorithm)
    assert server_end_point(certificate) == hashlib.new(name, certificate).digest()


@pytest.mark.parametrize("weak", [4, 5], ids=["md5", "sha1"])
def test_weak_hashes_are_replaced(rsa_key: rsa.RSAPrivateKey, weak: int) -> None:
    """Libraries do not sign with weak hashes, so the test alters the signature's identifier."""
    certificate = certificate_of(rsa_key, hashes.SHA256())
    pkcs1 = bytes.fromhex("2a864886f70d0101")
    assert certificate.count(pkcs1 + b"\x0b") == 2
    certificate = certificate.replace(pkcs1 + b"\x0b", pkcs1 + bytes([weak]))
    assert server_end_point(certificate) == hashlib.sha256(certificate).digest()


def test_binding_of_ed25519_is_undefined() -> None:
    assert server_end_point(certificate_of(ed25519.Ed25519PrivateKey.generate(), None)) is None


def test_garbage_has_no_binding(rsa_key: rsa.RSAPrivateKey) -> None:
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
    for signing in ({}, {"rsa_padding": pss}):
        certificate = certificate_of(rsa_key, hashes.SHA256(), **signing)
        for length in range(len(certificate)):
            assert server_end_point(certificate[:length]) is None
        for position in range(len(certificate)):
            damaged = bytearray(certificate)
            damaged[position] ^= 0xFF
            server_end_point(bytes(damaged))
    assert server_end_point(b"\x30\x80\x00\x00") is None


def test_a_unix_socket_asks_for_no_certificates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The environment may name those of servers elsewhere, as for libpq."""
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(tmp_path / "missing.crt"))
    options = resolve(f"postgresql://user@/database?host={tmp_path}", {}, None, TlsArguments())
    assert options.tls.mode is SslMode.DISABLE
    with pytest.raises(ClientConfigurationError, match="missing"):
        resolve("postgresql://user@server/database", {}, None, TlsArguments())
