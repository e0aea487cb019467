"""TLS: libpq's options as an `ssl.SSLContext`, and the channel binding of a certificate.

The options are ``sslmode`` and its companions; the rules are libpq's, with these safer differences:

* a file that is named must exist and load, whatever the mode;
* ``allow`` and ``prefer`` verify only against a named root certificate: an existing
  ``~/.postgresql/root.crt`` would turn an unverified TLS connection into one without TLS.

A caller's `ssl.SSLContext` is used unchanged; for ``direct`` negotiation the caller must call
``set_alpn_protocols(["postgresql"])``, which the server requires.

Creating a context takes milliseconds (it reads files): create a policy once and use it for all
connections of a pool.
"""

from __future__ import annotations

import enum
import os
import ssl
import stat
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from colonnade._shown import shown
from colonnade._transport.address import UnixAddress
from colonnade.errors import ClientConfigurationError, InterfaceWarning, RemoteProtocolError

if TYPE_CHECKING:
    from colonnade._transport.address import Address

Negotiation = Literal["postgres", "direct"]

# The name of the protocol inside TLS; servers since PostgreSQL 17 check it.
ALPN = "postgresql"
# The value of `sslrootcert` for the certificates that the operating system trusts.
SYSTEM_ROOTS = "system"


class TlsRefusedError(ConnectionError):
    """The server answered the TLS request with an error: no further attempt is made."""


class SslMode(enum.StrEnum):
    """The values of ``sslmode``, in order of strictness."""

    DISABLE = "disable"
    ALLOW = "allow"
    PREFER = "prefer"
    REQUIRE = "require"
    VERIFY_CA = "verify-ca"
    VERIFY_FULL = "verify-full"

    @property
    def is_required(self) -> bool:
        """Whether the connection must not continue without TLS."""
        return self in {SslMode.REQUIRE, SslMode.VERIFY_CA, SslMode.VERIFY_FULL}

    @property
    def is_verified(self) -> bool:
        """Whether the server's certificate must lead to a trusted root."""
        return self in {SslMode.VERIFY_CA, SslMode.VERIFY_FULL}


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The TLS part of the connection options, as text; None means "not given"."""

    mode: SslMode = SslMode.PREFER
    root_certificate: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = None
    revocation_list: str | None = None
    revocation_directory: str | None = None
    min_version: str | None = None
    max_version: str | None = None
    negotiation: Negotiation = "postgres"
    sends_server_name: bool = True

    def __repr__(self) -> str:
        """Without the key's password."""
        return f"TlsOptions(mode={self.mode.value!r}, negotiation={self.negotiation!r}, ...)"


class TlsPolicy(NamedTuple):
    """Whether and how one attempt to connect uses TLS, and the meaning of a refusal."""

    mode: SslMode
    context: ssl.SSLContext | None
    """None: this attempt is without TLS."""
    negotiation: Negotiation = "postgres"
    sends_server_name: bool = True

    @property
    def is_direct(self) -> bool:
        """Whether the handshake begins at once, without asking the server first."""
        return self.context is not None and self.negotiation == "direct"

    def server_hostname(self, host: str) -> str | None:
        """The name that the handshake sends, and that the certificate must carry if checked."""
        if self.context is None:
            return None
        return host if self.sends_server_name or self.context.check_hostname else None

    def accepts(self, answer: bytes) -> bool:
        """Whether the handshake may begin after the server's answer to the TLS request.

        False: the server refused, and the connection may continue without TLS.
        """
        if answer == b"S":
            return True
        if answer == b"N":
            if self.mode.is_required:
                raise ConnectionError(
                    "the server rejected SSL upgrade: it does not offer TLS, which "
                    f"sslmode={self.mode.value} requires"
                )
            return False
        if not answer:
            raise ConnectionError("the server closed the connection when asked for TLS")
        if answer[:1] in {b"S", b"N"}:
            # Bytes before the handshake may come from an attacker on the network; reading them as
            # if they had arrived under TLS would let the attacker speak for the server.
            raise RemoteProtocolError("the server sent unencrypted data after its answer for TLS")
        if answer[:1] == b"E":
            # Its text is not shown: the sender has not yet proved to be the server.
            raise TlsRefusedError(
                "the server sent an error response during SSL exchange; check the server logs"
            )
        raise RemoteProtocolError(
            "the answer to the TLS request is not PostgreSQL's: is it the right port?"
        )

    def check_protocol(self, selected: str | None) -> None:
        """Refuse a server that began TLS at once but did not select PostgreSQL's protocol.

        Other kinds of servers select another protocol or none; the client must not send them more.
        """
        if self.is_direct and selected != ALPN:
            raise ConnectionError(
                f"the server did not select the protocol {ALPN!r} in the TLS handshake (ALPN): "
                "it is not a PostgreSQL server, or the ssl.SSLContext does not offer the protocol "
                '(context.set_alpn_protocols(["postgresql"]))'
            )

    def attempts(self, address: Address) -> tuple[TlsPolicy, ...]:
        """The attempts, in order, until one passes the server's authentication.

        Unix sockets use no TLS. ``allow`` begins without TLS, ``prefer`` ends without; all other
        modes have only one attempt. The second attempt follows if the server rejects the first (an
        error before authentication has ended), and for ``prefer`` also if the handshake fails.
        """
        if self.context is None:
            return (self,)
        plain = self._replace(context=None)
        if isinstance(address, UnixAddress):
            return (plain,)
        if self.mode is SslMode.ALLOW:
            return plain, self
        if self.mode is SslMode.PREFER:
            return self, plain
        return (self,)


def tls_policy(argument: ssl.SSLContext | bool | str | None, options: TlsOptions) -> TlsPolicy:
    """The policy for ``connect(ssl=argument)`` with the options of DSN and environment.

    The argument takes precedence: a mode by name, False for ``disable``, True for TLS with the
    platform's trusted certificates and a checked host name, a context for TLS with exactly that.
    """
    if isinstance(argument, ssl.SSLContext):
        return _checked(
            TlsPolicy(SslMode.REQUIRE, argument, options.negotiation, options.sends_server_name)
        )
    if argument is True:
        options = replace(
            options,
            mode=SslMode.VERIFY_FULL,
            root_certificate=options.root_certificate or SYSTEM_ROOTS,
        )
    elif argument is False:
        options = replace(options, mode=SslMode.DISABLE, negotiation="postgres")
    elif argument is not None:
        options = replace(options, mode=_mode(argument))
    if options.mode is SslMode.DISABLE:
        return _checked(TlsPolicy(SslMode.DISABLE, None, options.negotiation))
    # Impossible combinations are reported before any file is searched for.
    _checked(TlsPolicy(options.mode, None, options.negotiation))
    return TlsPolicy(
        options.mode, _context(options), options.negotiation, options.sends_server_name
    )


def _mode(word: object) -> SslMode:
    # Not by a look-up in the enum, whose error calls the object's repr.
    for mode in SslMode:
        if isinstance(word, str) and word == mode.value:
            return mode
    words = ", ".join(mode.value for mode in SslMode)
    raise ClientConfigurationError(
        f"ssl must be True, False, an ssl.SSLContext or one of {words}, not {shown(word)}"
    )


def _checked(policy: TlsPolicy) -> TlsPolicy:
    if policy.negotiation == "direct" and not policy.mode.is_required:
        raise ClientConfigurationError(
            f"sslnegotiation=direct needs sslmode=require or stricter, not {policy.mode.value}",
            hint="With direct negotiation a server cannot refuse TLS.",
        )
    return policy


# The context


def _context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([ALPN])
    _set_versions(context, options)
    if _load_roots(context, options):
        context.verify_mode = ssl.CERT_REQUIRED
        context.check_hostname = options.mode is SslMode.VERIFY_FULL
        _load_revocation_list(context, options)
    _load_client_certificate(context, options)
    key_log = os.environ.get("SSLKEYLOGFILE")
    if key_log and not sys.flags.ignore_environment:
        context.keylog_filename = key_log
    return context


def _default_file(name: str) -> Path | None:
    """A file in libpq's own folder in the user's home, if it exists."""
    try:
        if sys.platform == "win32":
            folder = Path(os.environ["APPDATA"]) / "postgresql"
        else:
            folder = Path.home() / ".postgresql"
        path = folder / name
        return path if path.exists() else None
    except (KeyError, OSError, RuntimeError):
        # No home, or one that cannot be read: then there is no such file.
        return None


def _load_roots(context: ssl.SSLContext, options: TlsOptions) -> bool:
    """Load the certificates to verify against; False if the mode does not verify."""
    named = options.root_certificate
    if named == SYSTEM_ROOTS:
        if options.mode is not SslMode.VERIFY_FULL:
            raise ClientConfigurationError(
                f"sslrootcert=system needs sslmode=verify-full, not {options.mode.value}",
                hint="A public authority issues certificates to anyone, for their own host names.",
            )
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return True
    if named:
        path: Path | None = Path(named)
    else:
        path = _default_file("root.crt") if options.mode.is_required else None
    if path is None:
        if options.mode.is_verified:
            raise ClientConfigurationError(
                f"sslmode={options.mode.value} needs root certificates, and there is no "
                "root.crt in ~/.postgresql",
                hint="Give sslrootcert=<file>, or sslrootcert=system for those that the "
                "operating system trusts.",
            )
        return False
    try:
        context.load_verify_locations(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        raise _unusable("root certificates", path, error) from error
    return True


def _load_revocation_list(context: ssl.SSLContext, options: TlsOptions) -> None:
    directory = options.revocation_directory
    path = Path(options.revocation_list) if options.revocation_list else None
    if path is None and not directory:
        path = _default_file("root.crl")
    if path is not None:
        try:
            context.load_verify_locations(cafile=path)
        except OSError as error:
            raise _unusable("certificate revocation list", path, error) from error
    if directory:
        # OpenSSL reads it during handshakes, and treats a missing one as empty.
        if not Path(directory).is_dir():
            raise ClientConfigurationError(f"sslcrldir is not a directory: {shown(directory)}")
        context.load_verify_locations(capath=directory)
    if path is not None or directory:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN


def _load_client_certificate(context: ssl.SSLContext, options: TlsOptions) -> None:
    named = options.certificate
    certificate = Path(named) if named else _default_file("postgresql.crt")
    if certificate is None:
        return
    key = Path(options.key) if options.key else _default_file("postgresql.key")
    if key is not None:
        _warn_of_open_key(key)
    password = options.key_password or ""
    try:
        # A callable, even for "no password": without one OpenSSL asks on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: password)
    except ssl.SSLError as error:
        hint = None if options.key_password else "If the key is encrypted, give sslpassword."
        raise _unusable("client certificate and key", certificate, error, hint) from error
    except OSError as error:
        missing = certificate if key is None or not certificate.exists() else key
        raise _unusable("client certificate and key", missing, error) from error


def _warn_of_open_key(key: Path) -> None:
    try:
        mode = key.stat().st_mode
    except OSError:
        return  # loading it reports the error
    if sys.platform != "win32" and mode & (stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP):
        message = f"other users can access the private key {str(key)!r}"
        warnings.warn(InterfaceWarning(message, hint="Use chmod 600."), stacklevel=2)


def _unusable(
    what: str, path: Path, error: OSError, hint: str | None = None
) -> ClientConfigurationError:
    reason = error.strerror or str(error)
    return ClientConfigurationError(f"the {what} {str(path)!r} cannot be used: {reason}", hint=hint)


_VERSIONS = {
    "tlsv1": ssl.TLSVersion.TLSv1,
    "tlsv1.1": ssl.TLSVersion.TLSv1_1,
    "tlsv1.2": ssl.TLSVersion.TLSv1_2,
    "tlsv1.3": ssl.TLSVersion.TLSv1_3,
}


def _version(option: str, word: str) -> ssl.TLSVersion:
    version = _VERSIONS.get(word.lower())
    if version is None:
        raise ClientConfigurationError(
            f"{option} must be TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3, not {shown(word)}"
        )
    return version


def _set_versions(context: ssl.SSLContext, options: TlsOptions) -> None:
    lowest = _version("ssl_min_protocol_version", options.min_version or "TLSv1.2")
    highest = options.max_version and _version("ssl_max_protocol_version", options.max_version)
    if highest and highest < lowest:
        raise ClientConfigurationError(
            f"ssl_max_protocol_version={options.max_version} is below "
            f"ssl_min_protocol_version={options.min_version or 'TLSv1.2'}"
        )
    with warnings.catch_warnings():
        # A caller who names an old version knows that it is old.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = lowest
        if highest:
            context.maximum_version = highest


# Channel binding (RFC 5929, section 4)

# ASN.1 tags in DER.
_SEQUENCE = 0x30
_OBJECT_IDENTIFIER = 0x06
_FIRST_TAGGED = 0xA0

_RSASSA_PSS = "1.2.840.113549.1.1.10"

# Signature algorithms with one hash function, and (for RSASSA-PSS, which names it in its
# parameters) the hash functions themselves.
_HASHES = {
    "1.2.840.113549.1.1.4": "md5",
    "1.2.840.113549.1.1.5": "sha1",
    "1.2.840.113549.1.1.14": "sha224",
    "1.2.840.113549.1.1.11": "sha256",
    "1.2.840.113549.1.1.12": "sha384",
    "1.2.840.113549.1.1.13": "sha512",
    "1.2.840.10040.4.3": "sha1",
    "1.2.840.10045.4.1": "sha1",
    "1.2.840.10045.4.3.1": "sha224",
    "1.2.840.10045.4.3.2": "sha256",
    "1.2.840.10045.4.3.3": "sha384",
    "1.2.840.10045.4.3.4": "sha512",
    "2.16.840.1.101.3.4.3.1": "sha224",
    "2.16.840.1.101.3.4.3.2": "sha256",
    "2.16.840.1.101.3.4.3.3": "sha384",
    "2.16.840.1.101.3.4.3.4": "sha512",
    "2.16.840.1.101.3.4.3.9": "sha3_224",
    "2.16.840.1.101.3.4.3.10": "sha3_256",
    "2.16.840.1.101.3.4.3.11": "sha3_384",
    "2.16.840.1.101.3.4.3.12": "sha3_512",
    "2.16.840.1.101.3.4.3.13": "sha3_224",
    "2.16.840.1.101.3.4.3.14": "sha3_256",
    "2.16.840.1.101.3.4.3.15": "sha3_384",
    "2.16.840.1.101.3.4.3.16": "sha3_512",
    "1.2.840.113549.2.5": "md5",
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
    "2.16.840.1.101.3.4.2.4": "sha224",
}


def server_end_point(der_certificate: bytes) -> bytes | None:
    """The channel-binding data of a server certificate: its hash as tls-server-end-point.

    The hash function is the one of the certificate's signature; MD5 and SHA-1 are replaced by
    SHA-256. None where the binding is undefined: a signature without a hash function of its own
    (Ed25519, Ed448), or an unknown one.
    """
    try:
        name = _signature_hash(der_certificate)
    except ValueError:
        return None
    if name is None:
        return None
    # Here, for one connection in many needs it.
    import hashlib

    return hashlib.new("sha256" if name in {"md5", "sha1"} else name, der_certificate).digest()


def _signature_hash(certificate: bytes) -> str | None:
    body, _ = _element(certificate, _SEQUENCE)
    _, after_signed_part = _element(body, _SEQUENCE)
    algorithm, _ = _element(after_signed_part, _SEQUENCE)
    identifier, parameters = _element(algorithm, _OBJECT_IDENTIFIER)
    signature = _dotted(identifier)
    if signature != _RSASSA_PSS:
        return _HASHES.get(signature)
    fields, _ = _element(parameters, _SEQUENCE)
    if fields[:1] != bytes([_FIRST_TAGGED]):
        return "sha1"  # the field's default
    tagged, _ = _element(fields, _FIRST_TAGGED)
    hash_algorithm, _ = _element(tagged, _SEQUENCE)
    identifier, _ = _element(hash_algorithm, _OBJECT_IDENTIFIER)
    return _HASHES.get(_dotted(identifier))


def _element(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the first DER element, which must have this tag, and the bytes after it.

    ValueError for another tag, or a length that is missing or not definite.
    """
    if len(data) < 2 or data[0] != tag:  # noqa: PLR2004 - a tag and a length
        raise ValueError("not the expected element")
    length, start = data[1], 2
    if length & 0x80:
        length_bytes = length & 0x7F
        start += length_bytes
        if not 1 <= length_bytes <= 4 or len(data) < start:  # noqa: PLR2004 - 4 GiB are enough
            raise ValueError("not a definite length")
        length = int.from_bytes(data[2:start], "big")
    if len(data) - start < length:
        raise ValueError("cut off")
    return data[start : start + length], data[start + length :]


def _dotted(identifier: bytes) -> str:
    """An object identifier's content in the usual notation."""
    if not identifier or identifier[-1] & 0x80:
        raise ValueError("cut off")
    numbers, number = [], 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    top = min(numbers[0] // 40, 2)
    return ".".join(str(number) for number in (top, numbers[0] - 40 * top, *numbers[1:]))
