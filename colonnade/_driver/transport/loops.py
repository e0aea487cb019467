"""Connections and pools belong to the event loop in which they were created."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    import asyncio


def of_another_loop(what: str, loop: asyncio.AbstractEventLoop) -> InterfaceError:
    """The error of a call on a connection or pool in another loop than its own."""
    state = "is closed" if loop.is_closed() else "is not the one running here"
    return InterfaceError(
        f"this {what} belongs to another event loop, which {state}: "
        f"make a {what} within the loop that uses it"
    )


def close_without_loop(link: asyncio.Transport) -> None:
    """Close the socket of a loop that is closed.

    Such a loop runs no callbacks, and asyncio's transports close their sockets in a callback:
    their last step is done here. Other loops have closed their sockets themselves.
    """
    last_step: Any = getattr(link, "_call_connection_lost", None)
    if last_step is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        link.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
    last_step(None)
