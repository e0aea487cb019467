# Generated from colonnade/_driver/_async/owners.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Owners of a connection that are not an `Operation`."""

from __future__ import annotations


class CallOwner:
    """Stands for a call that owns the connection for one exchange; calls follow each other."""

    def __init__(self) -> None:
        self.thread = 0


class StreamOwner:
    """Stands for a stream that owns the connection, without keeping that stream alive."""

    hint = "A stream of columns is open: read it to its end, or close it."

    def __init__(self) -> None:
        self.is_waiting = False

    def is_at_work(self) -> bool:
        """Whether a call is inside the stream at this moment."""
        return self.is_waiting
