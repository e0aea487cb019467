"""Each `sslmode` against each kind of certificate: the table is part of the documentation."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import colonnade
from colonnade import embedded
from tests.support.authority import CLIENTS, DAY, Authority, Issued
from tests.support.tls_shim import TlsShim, TlsVariant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.tls_shim import Certificates

pytestmark = pytest.mark.every_loop

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "start" / "connecting.md"

MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
DIRECT = ("require", "verify-full")

PLAIN, TLS = "plain", "TLS"
# The outcome of each mode: without TLS, over TLS, or the text of the error. `allow` begins without
# TLS, which the test server accepts; `prefer` continues without TLS if the handshake fails.
ALWAYS_GOOD = (PLAIN, PLAIN, TLS, TLS, TLS, TLS)


def refused(words: str) -> tuple[str, ...]:
    return (PLAIN, PLAIN, PLAIN, words, words, words)


def refused_by_name(words: str) -> tuple[str, ...]:
    return (PLAIN, PLAIN, TLS, TLS, TLS, words)


NO_ISSUER = "unable to get local issuer certificate"
OTHER_NAME = "Hostname mismatch"
OTHER_ADDRESS = "IP address mismatch"
# The server's certificate or demand -> the outcome of each mode.
TABLE: dict[str, tuple[str, ...]] = {
    "for the host": ALWAYS_GOOD,
    "for another host": refused_by_name(OTHER_NAME),
    "for the address that is asked for": ALWAYS_GOOD,
    "for another address": refused_by_name(OTHER_ADDRESS),
    "for the name, asked for by address": refused_by_name(OTHER_ADDRESS),
    "`*.example.org`, for `db.example.org`": ALWAYS_GOOD,
    "`*.example.org`, for `a.db.example.org`": refused_by_name(OTHER_NAME),
    "`*.example.org`, for `example.org`": refused_by_name(OTHER_NAME),
    "the host as common name, no other names": ALWAYS_GOOD,
    "the host as common name, another name besides": refused_by_name(OTHER_NAME),
    "expired": refused("certificate has expired"),
    "not yet valid": refused("certificate is not yet valid"),
    "self-signed": refused("self-signed certificate"),
    "of an authority that is not trusted": refused(NO_ISSUER),
    "of an authority between, which is sent": ALWAYS_GOOD,
    "of an authority between, which is not sent": refused(NO_ISSUER),
    "made for clients only": refused("unsuitable certificate purpose"),
    "revoked, by `sslcrl`": refused("certificate revoked"),
    "revoked, by `sslcrldir`": refused("certificate revoked"),
    "authority between revoked": refused("certificate revoked"),
    "not revoked, by `sslcrl`": ALWAYS_GOOD,
    "not revoked, by `sslcrldir`": ALWAYS_GOOD,
    "`sslcrl` of another authority": refused("unable to get certificate CRL"),
    "`sslcrl` that is out of date": refused("CRL has expired"),
    "server demands a certificate of ours, which it gets": ALWAYS_GOOD,
    "server demands a certificate of ours, there is none": refused("certificate required"),
    "server demands a certificate of ours, it is another authority's": refused("unknown ca"),
}


@dataclass(frozen=True)
class Case:
    """A server's certificate, and the client's options for it."""

    served: Issued
    host: str = "localhost"
    words: dict[str, object] = field(default_factory=dict)
    #: The CA whose clients the server accepts; None if it requires no certificate.
    clients_of: Authority | None = None


@dataclass(frozen=True)
class World:
    """The trusted CA, and the cases of the table."""

    ca_file: Path
    cases: dict[str, Case]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    root, stranger = Authority("A root"), Authority("A stranger")
    between = Authority("Between", root)
    good = root.issue("localhost")
    below = between.issue("localhost")
    ca_file = folder / "root.pem"
    ca_file.write_bytes(root.pem())
    cases = {
        "for the host": Case(good),
        "for another host": Case(root.issue("elsewhere.example.org")),
        "for the address that is asked for": Case(root.issue("127.0.0.1"), "127.0.0.1"),
        "for another address": Case(root.issue("127.0.0.2"), "127.0.0.1"),
        "for the name, asked for by address": Case(good, "127.0.0.1"),
        **_by_wildcard(root),
        "the host as common name, no other names": Case(root.issue(common_name="localhost")),
        "the host as common name, another name besides": Case(
            root.issue("elsewhere.example.org", common_name="localhost")
        ),
        "expired": Case(root.issue("localhost", valid=(-3 * DAY, -DAY))),
        "not yet valid": Case(root.issue("localhost", valid=(DAY, 3 * DAY))),
        "self-signed": Case(Issued(stranger.certificate, stranger.key)),
        "of an authority that is not trusted": Case(stranger.issue("localhost")),
        "of an authority between, which is sent": Case(below),
        "of an authority between, which is not sent": Case(below.without_chain()),
        "made for clients only": Case(root.issue("localhost", purpose=CLIENTS)),
        **_by_lists(folder, root, between, stranger),
        **_by_our_certificate(folder, root, stranger),
    }
    return World(ca_file, cases)


def _by_wildcard(root: Authority) -> dict[str, Case]:
    served = root.issue("*.example.org")
    return {
        f"`*.example.org`, for `{host}`": Case(served, host, {"hostaddr": "127.0.0.1"})
        for host in ("db.example.org", "a.db.example.org", "example.org")
    }


def _by_lists(
    folder: Path, root: Authority, between: Authority, stranger: Authority
) -> dict[str, Case]:
    good, below = root.issue("localhost"), between.issue("localhost")
    as_issued = Issued(between.certificate, between.key)

    def listed(name: str, *lists: bytes) -> dict[str, object]:
        (folder / name).write_bytes(b"".join(lists))
        return {"sslcrl": folder / name}

    def directory(name: str, listing: bytes) -> dict[str, object]:
        (folder / name).mkdir()
        (folder / name / root.hashed_name).write_bytes(listing)
        return {"sslcrldir": folder / name}

    return {
        "revoked, by `sslcrl`": Case(good, words=listed("revoked.crl", root.revocations(good))),
        "revoked, by `sslcrldir`": Case(good, words=directory("revoked", root.revocations(good))),
        "authority between revoked": Case(
            below, words=listed("between.crl", root.revocations(as_issued), between.revocations())
        ),
        "not revoked, by `sslcrl`": Case(good, words=listed("none.crl", root.revocations())),
        "not revoked, by `sslcrldir`": Case(good, words=directory("none", root.revocations())),
        "`sslcrl` of another authority": Case(
            good, words=listed("other.crl", stranger.revocations())
        ),
        "`sslcrl` that is out of date": Case(
            good, words=listed("old.crl", root.revocations(due=-DAY))
        ),
    }


def _by_our_certificate(folder: Path, root: Authority, stranger: Authority) -> dict[str, Case]:
    demanding = Case(root.issue("localhost"), clients_of=root)

    def holding(authority: Authority) -> dict[str, object]:
        ours = authority.issue(common_name="postgres", purpose=CLIENTS)
        file = folder / f"client-{ours.certificate.serial_number}.pem"
        file.touch(0o600)
        file.write_bytes(ours.pem())
        return {"sslcert": file, "sslkey": file}

    demands = "server demands a certificate of ours"
    return {
        f"{demands}, which it gets": replace(demanding, words=holding(root)),
        f"{demands}, there is none": demanding,
        f"{demands}, it is another authority's": replace(demanding, words=holding(stranger)),
    }


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the certificates in the caller's home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def shim(
    password_server: embedded.Server, certificates: Certificates, nothing_left: None
) -> Iterator[TlsShim]:
    del nothing_left
    socket = password_server.socket_dir / f".s.PGSQL.{password_server.port}"
    with TlsShim(socket, certificates, TlsVariant.GOOD) as shim:
        yield shim


async def outcome(dsn: str) -> str:
    """The outcome of connecting: the kind of connection, or the error's text."""
    try:
        async with await colonnade.connect(dsn, timeout=20) as connection:
            assert await connection.fetchval("SELECT 1") == 1
            return TLS if connection.conversation.transport.is_tls else PLAIN
    except ssl.SSLError as error:
        refusal = error
    # Either side's error says whose certificate was rejected.
    is_ours = isinstance(refusal, ssl.SSLCertVerificationError)
    assert is_ours != ("alert" in str(refusal).lower())
    assert any("while connecting to" in note for note in refusal.__notes__)
    return str(refusal)


def address(case: Case, shim: TlsShim, ca_file: object, **words: object) -> str:
    options = {"sslrootcert": ca_file, **case.words, **words}
    query = "&".join(f"{name}={value}" for name, value in options.items())
    return f"postgresql://postgres@{case.host}:{shim.port}/postgres?{query}"


def assert_outcome(found: str, expected: str) -> None:
    if expected in {PLAIN, TLS}:
        assert found == expected
    else:
        # OpenSSL before 3 words some errors differently.
        assert re.search(expected.replace("-", "."), found, re.IGNORECASE), found


@pytest.mark.parametrize("kind", TABLE)
async def test_modes(kind: str, world: World, shim: TlsShim) -> None:
    """The root certificate is given, so every mode that uses TLS verifies."""
    case = world.cases[kind]
    shim.context = case.served.server_context()
    if case.clients_of is not None:
        shim.context.verify_mode = ssl.CERT_REQUIRED
        shim.context.load_verify_locations(cadata=case.clients_of.pem().decode())
    for mode, expected in zip(MODES, TABLE[kind], strict=True):
        dsn = address(case, shim, world.ca_file, sslmode=mode)
        assert_outcome(await outcome(dsn), expected)
        if mode in DIRECT:
            # The outcome is the same with direct TLS.
            assert_outcome(await outcome(f"{dsn}&sslnegotiation=direct"), expected)


@pytest.mark.parametrize(
    "kind",
    ["for the host", "for another host", "expired", "of an authority that is not trusted"],
)
async def test_the_roots_of_the_system(
    kind: str, world: World, shim: TlsShim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place comes from OpenSSL's variable; the mode must be verify-full, the default here."""
    case = world.cases[kind]
    monkeypatch.setenv("SSL_CERT_FILE", str(world.ca_file))
    monkeypatch.setenv("SSL_CERT_DIR", str(world.ca_file.parent / "nothing"))
    shim.context = case.served.server_context()
    assert_outcome(await outcome(address(case, shim, "system")), TABLE[kind][-1])
    for mode in MODES[:-1]:
        with pytest.raises(colonnade.ClientConfigurationError, match="needs sslmode=verify-full"):
            await colonnade.connect(address(case, shim, "system", sslmode=mode))


async def test_a_directory_of_lists_that_is_not_there(world: World, shim: TlsShim) -> None:
    words = {"sslmode": "require", "sslcrldir": "/nowhere/at/all"}
    dsn = address(world.cases["for the host"], shim, world.ca_file, **words)
    with pytest.raises(colonnade.ClientConfigurationError, match="sslcrldir is not a directory"):
        await colonnade.connect(dsn)


def test_the_documentation_has_this_table() -> None:
    text = DOCUMENT.read_text("utf-8")
    for kind, outcomes in TABLE.items():
        assert f"| {kind} | {' | '.join(outcomes)} |\n" in text, kind
