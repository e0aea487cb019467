"""TLS in front of a server without it, correct or with one chosen fault.

A shim answers SSLRequest as PostgreSQL does, speaks TLS with the client and plain bytes with the
server. Certificates are made when the tests run. One thread per connection moves the bytes, with
the TLS state in memory and bounded buffers, so that neither side can block the other.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import select
import selectors
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_GSSENC_REQUEST = struct.pack("!ii", 8, 80877104)
_TLS_HANDSHAKE = 0x16
_CHUNK_BYTES = 1 << 16
_BUFFERED_BYTES_MAX = 1 << 20
_POLL_SECONDS = 0.01
# A record of application data that no key can decrypt.
_TORN_RECORD = b"\x17\x03\x03\x00\x20" + bytes(32)


class TlsVariant(enum.Enum):
    """The shim's answer to a client that requests TLS."""

    GOOD = "good"
    WRONG_HOST = "wrong-host"
    EXPIRED = "expired"
    SELF_SIGNED = "self-signed"
    REFUSED = "refused"
    """Answers N: TLS is not available."""
    INJECTED = "injected"
    """Sends plain bytes right after the S, like an attacker."""
    CUT = "cut"
    """Closes instead of answering."""
    GARBAGE = "garbage"
    """Answers S, then with something that is not TLS."""
    TORN = "torn"
    """Sends a record that cannot be decrypted together with its last handshake message."""


@dataclass(frozen=True)
class Certificates:
    """The certificate authority to trust, and the certificate of each kind of server."""

    ca_file: Path
    good_file: Path
    """Key and certificate of the good server."""
    contexts: Mapping[TlsVariant, ssl.SSLContext]
    authority: trustme.CA

    def client_context(self) -> ssl.SSLContext:
        """Return a client's context that trusts the authority and checks the host's name."""
        return ssl.create_default_context(cafile=str(self.ca_file))


def make_certificates(directory: Path) -> Certificates:
    """Create an authority with its certificate in `directory`, and servers' certificates."""
    authority = trustme.CA()
    ca_file = directory / "ca.pem"
    authority.cert_pem.write_to_path(str(ca_file))
    long_ago = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
    day = dt.timedelta(days=1)
    good_certificate = authority.issue_cert("localhost", "127.0.0.1")
    good_file = directory / "good.pem"
    good_certificate.private_key_and_cert_chain_pem.write_to_path(str(good_file))
    good = _server_context(good_certificate)
    return Certificates(
        ca_file,
        good_file,
        {
            TlsVariant.GOOD: good,
            TlsVariant.WRONG_HOST: _server_context(authority.issue_cert("elsewhere.test")),
            TlsVariant.EXPIRED: _server_context(
                authority.issue_cert(
                    "localhost", "127.0.0.1", not_before=long_ago, not_after=long_ago + day
                )
            ),
            TlsVariant.SELF_SIGNED: _self_signed_context(directory),
            TlsVariant.INJECTED: good,
            TlsVariant.TORN: good,
        },
        authority,
    )


def revocation_list(authority: trustme.CA, revoked: list[int]) -> bytes:
    """Return the authority's list of revoked certificates, by their serial numbers, as PEM."""
    issuer = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    key = serialization.load_pem_private_key(authority.private_key_pem.bytes(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
    now = dt.datetime.now(dt.UTC)
    builder = x509.CertificateRevocationListBuilder(
        issuer_name=issuer.subject,
        last_update=now - dt.timedelta(days=1),
        next_update=now + dt.timedelta(days=1),
    )
    for serial in revoked:
        builder = builder.add_revoked_certificate(
            x509.RevokedCertificateBuilder(serial, now - dt.timedelta(hours=1)).build()
        )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _server_context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["postgresql"])
    certificate.configure_cert(context)
    return context


def _self_signed_context(directory: Path) -> ssl.SSLContext:
    stranger = trustme.CA()
    file = directory / "self-signed.pem"
    stranger.private_key_pem.write_to_path(str(file))
    stranger.cert_pem.write_to_path(str(file), append=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


class TlsShim:
    """A TLS listener on 127.0.0.1 in front of a server's socket; a context manager."""

    host = "127.0.0.1"

    def __init__(
        self,
        upstream: Path | tuple[str, int],
        certificates: Certificates,
        variant: TlsVariant = TlsVariant.GOOD,
    ) -> None:
        self.variant = variant
        self.context = certificates.contexts.get(variant)
        """The presented certificate, which tests may replace."""
        self._upstream = upstream
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((self.host, 0))
        self._listener.settimeout(_POLL_SECONDS)
        self.port: int = self._listener.getsockname()[1]
        self._start(self._accept_all)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def dsn(self) -> str:
        """The superuser's DSN, with the host name of the good certificate."""
        return f"postgresql://postgres@localhost:{self.port}/postgres"

    def close(self) -> None:
        """Stop listening, break every connection and wait for the threads."""
        self._closing.set()
        # The accepting thread is the first; after its end, no other is started.
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, target: object, *args: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept_all(self) -> None:
        while not self._closing.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._listener.accept()
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, _ClosingError):
            plain = self._negotiate(client)
            if plain is None:
                return
            with self._connect_upstream() as server:
                _Relay(client, server, self._channel(plain=plain), self._closing).run()

    def _channel(self, *, plain: bool) -> _Channel:
        if plain:
            return _Plain()
        assert self.context is not None, "this kind of server has no TLS"
        return _TornTls(self.context) if self.variant is TlsVariant.TORN else _Tls(self.context)

    def _negotiate(self, client: socket.socket) -> bool | None:
        """Answer the requests before a session; return whether it is plain, None without one."""
        while True:
            start = self._peek(client, 1)
            if start[0] == _TLS_HANDSHAKE:
                return False
            request = self._peek(client, 8)
            if request == _GSSENC_REQUEST:
                client.recv(8)
                client.sendall(b"N")
            elif request == _SSL_REQUEST:
                client.recv(8)
                return self._answer(client)
            else:
                return True

    def _answer(self, client: socket.socket) -> bool | None:
        match self.variant:
            case TlsVariant.REFUSED:
                client.sendall(b"N")
                return self._negotiate(client)
            case TlsVariant.CUT:
                return None
            case TlsVariant.GARBAGE:
                client.sendall(b"S")
                self._peek(client, 1)
                client.sendall(b"this is not a TLS record at all")
                return None
            case TlsVariant.INJECTED:
                # One segment, so that the client gets the extra byte together with the answer.
                client.sendall(b"SR\0\0\0\x08\0\0\0\0")
            case _:
                client.sendall(b"S")
        return False

    def _peek(self, client: socket.socket, size: int) -> bytes:
        client.settimeout(_POLL_SECONDS)
        ended = select.poll()
        ended.register(client, select.POLLRDHUP)
        while True:
            # Sent before the final bytes.
            has_ended = bool(ended.poll(0))
            try:
                seen = client.recv(size, socket.MSG_PEEK | socket.MSG_WAITALL)
            except TimeoutError:
                seen = None
            if self._closing.is_set() or seen == b"":
                raise _ClosingError
            if seen is not None and len(seen) == size:
                return seen
            if has_ended:
                raise _ClosingError
            if seen:
                time.sleep(_POLL_SECONDS)

    def _connect_upstream(self) -> socket.socket:
        if isinstance(self._upstream, tuple):
            return socket.create_connection(self._upstream)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect(str(self._upstream))
        return server


class _ClosingError(Exception):
    """The shim closes, or the client has gone."""


class _Channel(Protocol):
    """Converts the client's bytes to plain ones and back."""

    def decode(self, received: bytes) -> bytes: ...
    def encode(self, plain: bytes) -> None: ...
    def end(self) -> None: ...
    def outgoing(self) -> bytes: ...


class _Plain:
    def __init__(self) -> None:
        self._out = bytearray()

    def decode(self, received: bytes) -> bytes:
        return received

    def encode(self, plain: bytes) -> None:
        self._out += plain

    def end(self) -> None:
        """A plain connection has no message for its end."""

    def outgoing(self) -> bytes:
        taken = bytes(self._out)
        self._out.clear()
        return taken


class _Tls:
    def __init__(self, context: ssl.SSLContext) -> None:
        self._in = ssl.MemoryBIO()
        self._out = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._done = False

    def decode(self, received: bytes) -> bytes:
        self._in.write(received)
        plain = bytearray()
        with contextlib.suppress(ssl.SSLWantReadError):
            if not self._done:
                self._tls.do_handshake()
                self._done = True
            while chunk := self._tls.read(_CHUNK_BYTES):
                plain += chunk
        return bytes(plain)

    def encode(self, plain: bytes) -> None:
        self._tls.write(plain)

    def end(self) -> None:
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()

    def outgoing(self) -> bytes:
        return self._out.read()


class _TornTls(_Tls):
    """In TLS 1.3, a server's first flight is its whole side of the handshake."""

    def outgoing(self) -> bytes:
        said = super().outgoing()
        return said + _TORN_RECORD if said else said


class _Relay:
    """Moves bytes between a client and a server until either closes."""

    def __init__(
        self,
        client: socket.socket,
        server: socket.socket,
        channel: _Channel,
        closing: threading.Event,
    ) -> None:
        self._client = client
        self._server = server
        self._channel = channel
        self._closing = closing
        self._to_client = bytearray()
        self._to_server = bytearray()

    def run(self) -> None:
        for side in (self._client, self._server):
            side.setblocking(False)
        with selectors.DefaultSelector() as selector:
            for side in (self._client, self._server):
                selector.register(side, selectors.EVENT_READ)
            while not self._closing.is_set():
                for key, ready in selector.select(_POLL_SECONDS):
                    if not self._move(key.fileobj is self._client, ready):
                        return
                self._watch(selector, self._client, self._to_client, self._to_server)
                self._watch(selector, self._server, self._to_server, self._to_client)

    def _move(self, is_client: bool, ready: int) -> bool:
        """Move the bytes that one side is ready for; return False at the end of the session."""
        side, out = (
            (self._client, self._to_client) if is_client else (self._server, self._to_server)
        )
        if ready & selectors.EVENT_READ:
            received = side.recv(_CHUNK_BYTES)
            alive = self._from_client(received) if is_client else self._from_server(received)
            self._to_client += self._channel.outgoing()
            if not alive:
                self._flush_client()
                return False
        if ready & selectors.EVENT_WRITE and out:
            del out[: side.send(out)]
        return True

    def _from_client(self, received: bytes) -> bool:
        try:
            self._to_server += self._channel.decode(received)
        except ssl.SSLError:
            # The client rejected the certificate or sent no TLS: send the alert.
            return False
        return bool(received)

    def _from_server(self, received: bytes) -> bool:
        if received:
            self._channel.encode(received)
        else:
            self._channel.end()
        return bool(received)

    def _flush_client(self) -> None:
        """Send the remaining bytes at the end, with a limit for a client that does not read."""
        self._client.settimeout(1.0)
        with contextlib.suppress(OSError):
            self._client.sendall(self._to_client)

    def _watch(
        self,
        selector: selectors.BaseSelector,
        side: socket.socket,
        to_side: bytearray,
        from_side: bytearray,
    ) -> None:
        wanted = selectors.EVENT_WRITE if to_side else 0
        if len(from_side) < _BUFFERED_BYTES_MAX:
            wanted |= selectors.EVENT_READ
        # This side is not read while there are bytes to write to the other one.
        known = side in selector.get_map()
        if wanted and known:
            selector.modify(side, wanted)
        elif wanted:
            selector.register(side, wanted)
        elif known:
            selector.unregister(side)
