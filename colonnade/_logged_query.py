"""What a query logger is told, in both colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colonnade._connection_options import ConnectionParameters
    from colonnade._core import QueryTiming


class LoggedQuery(NamedTuple):
    """A query that has ended, well or not."""

    query: str
    args: tuple[object, ...]
    """The query's parameters, as they were passed."""
    timeout: float | None
    """The limit in seconds that counted: the call's own, or the connection's."""
    elapsed: float
    """Seconds from the call to its end."""
    exception: BaseException | None
    """What the call raised; None where it succeeded."""
    conn_addr: str | tuple[str, int]
    """The path of a Unix socket, or a host and a port."""
    conn_params: ConnectionParameters
    timing: QueryTiming | None = None
    """Where the time went; None where nothing was sent yet on this connection."""
