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
from colonnade._words.arguments import check_callable, check_number, check_whole
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
    for name, number in (
        ("max_queries", max_queries),
        ("max_inactive_connection_lifetime", max_inactive_connection_lifetime),
        ("max_lifetime", 1 if max_lifetime is None else max_lifetime),
    ):
        check_number(name, number)
    if max_queries <= 0:
        raise ValueError("max_queries is expected to be greater than zero")
    if max_inactive_connection_lifetime < 0:
        raise ValueError(
            "max_inactive_connection_lifetime is expected to be greater or equal to zero"
        )
    if max_lifetime is not None and max_lifetime <= 0:
        raise ValueError("max_lifetime is expected to be greater than zero, or None")
    if max_waiting is not None:
        check_whole("max_waiting", max_waiting)
        if max_waiting < 0:
            raise ValueError("max_waiting is expected to be greater or equal to zero, or None")
    for name, callback in (
        ("connect", connect),
        ("setup", setup),
        ("init", init),
        ("reset", reset),
    ):
        check_callable(name, callback)
        check_callback(name, callback)
    _check_class("connection_class", connection_class, Connection)
    if record_class is not tuple:
        _check_class("record_class", record_class, Record)
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
    sizes = {"min_size": min_size, "max_size": max_size}
    if init_size is not None:
        sizes["init_size"] = init_size
    for name, size in sizes.items():
        check_number(name, size)
        if isinstance(size, float):
            check_whole(name, size)
    if max_size <= 0:
        raise ValueError("max_size is expected to be greater than zero")
    if min_size < 0:
        raise ValueError("min_size is expected to be greater or equal to zero")
    if min_size > max_size:
        msg = f"min_size is greater than max_size: {min_size} > {max_size} (both are 10 by default)"
        raise ValueError(msg)
    if init_size is None:
        return
    if init_size < 0:
        raise ValueError("init_size is expected to be greater or equal to zero")
    if init_size > max_size:
        raise ValueError("init_size is greater than max_size")
    if init_size < min_size:
        raise ValueError("init_size is smaller than min_size")


def _check_class(name: str, given: object, base: type) -> None:
    if not isinstance(given, type) or not issubclass(given, base):
        raise TypeError(
            f"{name} is expected to be a subclass of colonnade.{base.__name__}, got {shown(given)}"
        )
