"""Opens the sockets of blocking connections, and secures them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from colonnade import _core
from colonnade._driver.transport.address import UnixAddress

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from colonnade._driver.transport.address import Address
    from colonnade._driver.transport.tls import TlsPolicy

# Room for more than the one byte that answers the TLS request.
_ANSWER_BYTES_MAX = 16


def open_socket(
    address: Address, tls: TlsPolicy, remaining: Callable[[], float | None]
) -> socket.socket:
    """Connect, with TLS if the policy requires it; `remaining` are the seconds that each step has.

    Raises OSError if the address cannot be reached or refuses required TLS.
    """
    if isinstance(address, UnixAddress):
        return _open_unix(address, remaining())
    link = socket.create_connection(address.target, timeout=remaining())
    try:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if tls.context is None:
            return link
        if not tls.is_direct:
            link.sendall(_core.ssl_request())
            link.settimeout(remaining())
            # Exactly one byte may arrive before the handshake; further bytes do not come from the
            # server, and are refused, as in the other transport.
            if not tls.accepts(link.recv(_ANSWER_BYTES_MAX)):
                return link
        link.settimeout(remaining())
        # It takes over the socket; any later failure closes it.
        context: Any = tls.context
        secured: ssl.SSLSocket = context.wrap_socket(
            link, server_hostname=tls.server_hostname(address.host)
        )
        link = secured
        tls.check_protocol(secured.selected_alpn_protocol())
    except BaseException:
        link.close()
        raise
    return secured


def _open_unix(address: UnixAddress, timeout: float | None) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(timeout)
        link.connect(address.path)
    except BaseException:
        link.close()
        raise
    return link
