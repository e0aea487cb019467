"""Whether the running functions are the package's own, or the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


def is_ours(frame: FrameType) -> bool:
    """Whether a function of the package runs in it."""
    return str(frame.f_globals.get("__name__", "")).startswith("colonnade.")


def is_beneath(transport: object) -> bool:
    """Whether the caller is a user's function that runs during a call on this connection.

    Such a function is a source of rows, a sink, a callback, a codec, a signal handler or a
    finalizer: the outer call continues when it returns, and still uses the connection.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no other name for it
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    while frame is not None and not (is_ours(frame) and _is_about(frame, transport)):
        frame = frame.f_back
    return frame is not None


def _is_about(frame: FrameType, transport: object) -> bool:
    """Whether a frame runs a function of the connection, or of an object that belongs to it."""
    names = frame.f_locals
    who = names.get("self", names.get("conversation"))
    conversation = getattr(who, "conversation", getattr(who, "_conversation", who))
    return getattr(conversation, "transport", None) is transport
