"""The options of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade._core import Record

    Connect = Callable[..., Any]
    # Called with the connection, or for `setup` with its proxy.
    Callback = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """The sizes, lifetimes and callbacks of a pool."""

    init_size: int
    min_size: int
    max_size: int
    max_queries: int
    max_inactive_connection_lifetime: float
    max_lifetime: float | None
    max_waiting: int | None
    connect: Connect
    setup: Callback | None
    init: Callback
    reset: Callback | None
    connection_class: type[Any]
    record_class: type[Record | tuple[Any, ...]]
