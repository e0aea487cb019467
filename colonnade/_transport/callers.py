"""Whose functions are under way: the package's own, or the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def is_ours(frame: FrameType) -> bool:
    """Whether a function of the package runs in it."""
    return str(frame.f_globals.get("__name__", "")).startswith("colonnade.")


def is_beneath(transport: object) -> bool:
    """Whether a function of the user's asks that a call on this transport's connection has called.

    Such a function is a source of rows, a sink, a callback, a codec, a signal's handler or a
    finalizer: the call goes on when it returns, and has not left the connection.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other name for it
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    while frame is not None and not (is_ours(frame) and _is_about(frame, transport)):
        frame = frame.f_back
    return frame is not None


def _is_about(frame: FrameType, transport: object) -> bool:
    """Whether a function runs in it of a connection, or of what belongs to the connection."""
    names = frame.f_locals
    who = names.get("self", names.get("conversation"))
    conversation = getattr(who, "conversation", getattr(who, "_conversation", who))
    return getattr(conversation, "transport", None) is transport
