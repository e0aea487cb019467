"""A connection, and a pool, belong to the event loop that they were made in."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any

from colonnade.errors import InterfaceError

if TYPE_CHECKING:
    import asyncio


def of_another_loop(what: str, loop: asyncio.AbstractEventLoop) -> InterfaceError:
    """The error of a call on a connection or pool in a loop that is not its own."""
    state = "is closed" if loop.is_closed() else "is not the one that runs here"
    return InterfaceError(
        f"this {what} belongs to another event loop, which {state}: "
        f"make a {what} within the loop that uses it"
    )


def close_without_loop(link: asyncio.Transport) -> None:
    """Close the socket of a loop that is closed.

    Such a loop calls nothing any more, and asyncio's transports close their sockets in a call of
    the loop: their last step is taken here. Other loops have closed their sockets themselves.
    """
    last_step: Any = getattr(link, "_call_connection_lost", None)
    if last_step is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        link.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
    last_step(None)
