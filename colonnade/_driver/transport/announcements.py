"""Delivery of the server's unsolicited messages to a listener."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from colonnade import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    Announcement = _core.Notice | _core.Notification
    Listener = Callable[[Announcement], None]

_log = logging.getLogger("colonnade")


def hand_out(session: _core.Session, listener: Listener | None) -> None:
    """Hand a session's announcements to the listener; without one they are dropped.

    An exception of the listener is logged: the exchange in progress is not its own.
    """
    while (announcement := session.next_announcement()) is not None:
        if listener is None:
            continue
        try:
            listener(announcement)
        except Exception:  # noqa: BLE001 - whatever a listener does wrong
            _log.exception("a listener failed on %r", announcement)
