"""`LoggedQuery`, the argument of query loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from colonnade._core import QueryTiming
    from colonnade._driver.connection_options import ConnectionParameters


class LoggedQuery(NamedTuple):
    """A query that has ended, successfully or not."""

    query: str
    args: tuple[object, ...]
    """The query's parameters, as they were passed."""
    timeout: float | None
    """The timeout in seconds that applied: the call's, or the connection's; None for no limit."""
    elapsed: float
    """The duration of the call in seconds."""
    exception: BaseException | None
    """The exception that the call raised; None if it succeeded."""
    conn_addr: str | tuple[str, int]
    """The path of a Unix socket, or a host and a port."""
    conn_params: ConnectionParameters
    timing: QueryTiming | None = None
    """The phases of the query's time; None if the connection has sent nothing yet."""
