"""Certificates of every kind and revocation lists, made when the tests run."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY = dt.timedelta(days=1)
SERVERS = ExtendedKeyUsageOID.SERVER_AUTH
CLIENTS = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, and the certificates between it and the root."""

    certificate: x509.Certificate
    key: Key
    chain: tuple[x509.Certificate, ...] = ()

    def pem(self) -> bytes:
        """The certificate, its chain and its key in one PEM file, as a server uses them."""
        certificates = (self.certificate, *self.chain)
        chain = b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)
        return self.key_pem() + chain

    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def without_chain(self) -> Issued:
        """The same without the intermediate certificates, like a misconfigured server."""
        return Issued(self.certificate, self.key)

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["postgresql"])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "server.pem")
            file.write_bytes(self.pem())
            context.load_cert_chain(file)
        return context


class Authority:
    """A certificate authority: a root, or an intermediate issued by another authority."""

    def __init__(self, name: str, parent: Authority | None = None) -> None:
        self.key: Key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, name)])
        issuer = parent or self
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = (
            _certificate(self.name, issuer.name, self.key, (-DAY, 30 * DAY))
            .add_extension(constraints, critical=True)
            .sign(issuer.key, hashes.SHA256())
        )
        self.chain: tuple[x509.Certificate, ...] = (
            () if parent is None else (self.certificate, *parent.chain)
        )

    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        *names: str,
        common_name: str = "a test",
        valid: tuple[dt.timedelta, dt.timedelta] = (-DAY, 30 * DAY),
        purpose: x509.ObjectIdentifier = SERVERS,
    ) -> Issued:
        """Issue a certificate for hosts and addresses; its validity is relative to now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        builder = _certificate(subject, self.name, key, valid).add_extension(
            x509.ExtendedKeyUsage([purpose]), critical=False
        )
        if names:
            alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
            builder = builder.add_extension(alternatives, critical=False)
        assert isinstance(self.key, ec.EllipticCurvePrivateKey)
        return Issued(builder.sign(self.key, hashes.SHA256()), key, self.chain)

    def revocations(self, *revoked: Issued, due: dt.timedelta = DAY) -> bytes:
        """The authority's revocation list, with this time of its next update."""
        builder = x509.CertificateRevocationListBuilder(
            issuer_name=self.name, last_update=NOW - 2 * DAY, next_update=NOW + due
        )
        for each in revoked:
            serial = each.certificate.serial_number
            entry = x509.RevokedCertificateBuilder(serial, NOW - DAY).build()
            builder = builder.add_revoked_certificate(entry)
        assert isinstance(self.key, ec.EllipticCurvePrivateKey)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    @property
    def hashed_name(self) -> str:
        """The file name of its list in a directory of lists, as `openssl rehash` creates it.

        The hash covers the parts of the subject in lower case, without the sequence around them.
        """
        lower = x509.Name(
            [
                x509.NameAttribute(part.oid, " ".join(str(part.value).lower().split()))
                for part in self.name
            ]
        )
        content = lower.public_bytes()[2:]
        digest = hashlib.sha1(content, usedforsecurity=False).digest()
        return f"{int.from_bytes(digest[:4], 'little'):08x}.r0"


def self_signed(*names: str, key: Key, digest: hashes.HashAlgorithm | None) -> Issued:
    """A self-signed certificate with this hash (None if the key's algorithm includes one)."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "self")])
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    builder = _certificate(subject, subject, key, (-DAY, DAY)).add_extension(
        alternatives, critical=False
    )
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return Issued(builder.sign(key, None), key)
    assert isinstance(digest, hashes.SHA224 | hashes.SHA256 | hashes.SHA384 | hashes.SHA512)
    return Issued(builder.sign(key, digest), key)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Key, valid: Sequence[dt.timedelta]
) -> x509.CertificateBuilder:
    begin, end = valid
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=NOW + begin,
        not_valid_after=NOW + end,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
