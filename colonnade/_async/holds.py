"""Who has a connection, where that is no `Operation`."""

from __future__ import annotations


class CallHold:
    """Stands for a call that has the connection for one exchange; the calls' own, one by one."""

    def __init__(self) -> None:
        self.thread = 0


class StreamHold:
    """Stands for a stream that has the connection, and does not keep that stream alive."""

    hint = "A stream of columns is open: read it to its end, or close it."

    def __init__(self) -> None:
        self.is_waiting = False

    def is_at_work(self) -> bool:
        """Whether a call is inside the stream at this moment."""
        return self.is_waiting
