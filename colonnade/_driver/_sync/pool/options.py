# Generated from colonnade/_driver/_async/pool/options.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""A pool's options, and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from colonnade._core import Record
from colonnade._driver._sync.connect import connect as open_connection
from colonnade._driver._sync.connection import Connection
from colonnade._driver._sync.reset import keep_initial
from colonnade._driver.pool_core.options import PoolOptions
from colonnade._driver.pool_core.threads import check_callback
from colonnade._words.arguments import (
    check_callable,
    check_class,
    check_count,
    check_lifetime,
    check_number,
    check_size,
)
from colonnade._words.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    Connect = Callable[..., Any]
    # Takes the connection, or in `setup` its proxy.
    Callback = Callable[[Any], object]


def checked_options(
    *,
    init_size: int | None,
    min_size: int,
    max_size: int,
    max_queries: int,
    max_inactive_connection_lifetime: float,
    max_lifetime: float | None,
    max_waiting: int | None,
    connect: Connect | None,
    setup: Callback | None,
    init: Callback | None,
    reset: Callback | None,
    connection_class: type[Connection],
    record_class: type[Record | tuple[Any, ...]],
) -> PoolOptions:
    """The options; raises ValueError or TypeError for an invalid one, and names it."""
    _check_sizes(init_size, min_size, max_size)
    check_number("max_queries", max_queries)
    if not max_queries > 0:
        raise ValueError(f"max_queries must be 1 or more, not {shown(max_queries)}")
    check_lifetime("max_inactive_connection_lifetime", max_inactive_connection_lifetime)
    if max_lifetime is not None:
        check_lifetime("max_lifetime", max_lifetime)
        if max_lifetime == 0:
            raise ValueError("max_lifetime must be more than 0 seconds, or None, not 0")
    if max_waiting is not None:
        check_size("max_waiting", max_waiting)
    for name, callback in (
        ("connect", connect),
        ("setup", setup),
        ("init", init),
        ("reset", reset),
    ):
        check_callable(name, callback)
        check_callback(name, callback)
    check_class("connection_class", connection_class, Connection)
    if record_class is not tuple:
        check_class("record_class", record_class, Record)
    return PoolOptions(
        init_size=min_size if init_size is None else init_size,
        min_size=min_size,
        max_size=max_size,
        max_queries=max_queries,
        max_inactive_connection_lifetime=max_inactive_connection_lifetime,
        max_lifetime=max_lifetime,
        max_waiting=max_waiting,
        connect=open_connection if connect is None else connect,
        setup=setup,
        init=_initializer(init),
        reset=reset,
        connection_class=connection_class,
        record_class=record_class,
    )


def _initializer(init: Callback | None) -> Callback:
    def initialize(connection: Any) -> None:
        if init is not None:
            init(connection)
        keep_initial(connection)

    return initialize


def _check_sizes(init_size: int | None, min_size: int, max_size: int) -> None:
    check_count("max_size", max_size)
    check_size("min_size", min_size)
    if min_size > max_size:
        msg = f"min_size is greater than max_size: {min_size} > {max_size} (both are 10 by default)"
        raise ValueError(msg)
    if init_size is None:
        return
    check_size("init_size", init_size)
    if not min_size <= init_size <= max_size:
        word, other = ("greater", "max") if init_size > max_size else ("smaller", "min")
        msg = f"init_size is {word} than {other}_size: {init_size}, not {min_size} to {max_size}"
        raise ValueError(msg)
