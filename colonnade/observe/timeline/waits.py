"""Why a task waited: read from its coroutine's awaits, after a wait that was not short."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from colonnade.observe.timeline.await_chain import Suspended, attribute_of, suspended_functions
from colonnade.observe.timeline.kinds import (
    LOCK,
    NETWORK,
    POOL,
    SERVER,
    SLEEP,
    TASK,
    THREAD,
    UNKNOWN,
)
from colonnade.observe.timeline.native import end_of_sleep

if TYPE_CHECKING:
    from collections.abc import Callable

    # When the lane of a task ended, in nanoseconds; None if it did not or has no lane.
    EndOf = Callable[[Any], int | None]

_DRIVER = (
    "colonnade._driver._async.",
    "colonnade._driver.transport.",
    "colonnade._driver.pool_core.",
)
# The driver's function in which a caller waits for a free connection.
_POOL_WAIT = "PoolCore.wait"
# Here the caller of a gather waits for its workers, which have lanes of their own.
_GATHER = "colonnade._driver.gather."

# Functions that await a bare future, by module and the first part of their qualified names, the
# more precise ones first.
_FUNCTIONS: tuple[tuple[str, str, int], ...] = (
    ("asyncio.tasks", "sleep", SLEEP),
    ("asyncio.tasks", "", TASK),
    ("asyncio.taskgroups", "", TASK),
    ("asyncio.threads", "", THREAD),
    ("asyncio.locks", "", LOCK),
    ("asyncio.queues", "", LOCK),
    ("asyncio.mixins", "", LOCK),
    ("asyncio.streams", "", NETWORK),
    ("asyncio.base_events", "Server.", NETWORK),
    ("asyncio.base_events", "BaseEventLoop.sock", NETWORK),
    ("asyncio.base_events", "BaseEventLoop.create", NETWORK),
    ("asyncio.base_events", "BaseEventLoop._", NETWORK),
    ("asyncio.selector_events", "", NETWORK),
    ("asyncio.sslproto", "", NETWORK),
    ("asyncio.unix_events", "", NETWORK),
    ("uvloop", "", NETWORK),
    ("anyio._backends._asyncio", "run_sync_in_worker_thread", THREAD),
    ("anyio._backends._asyncio", "AsyncIOBackend.run_sync_in_worker_thread", THREAD),
    ("anyio._backends._asyncio", "TaskGroup", TASK),
    ("anyio._backends._asyncio", "Lock", LOCK),
    ("anyio._backends._asyncio", "Semaphore", LOCK),
    ("anyio._backends._asyncio", "CapacityLimiter", LOCK),
    ("anyio._backends._asyncio", "Event", LOCK),
    ("anyio._backends._asyncio", "", NETWORK),
)

# Packages whose own futures, events and queues stand for bytes of a network.
_NETWORK_PACKAGES = {
    *("aiohttp", "aiokafka", "asyncpg", "granian", "grpc", "h11", "httpcore", "hypercorn"),
    *("nats", "psycopg", "redis", "uvicorn", "websockets"),
}
# These are between a program and the future that it waits for.
_CARRIERS = ("asyncio", "uvloop", "anyio", "_asyncio")

# The first callbacks of futures that are made for another one.
_CALLBACKS: dict[str | None, int] = {
    "_chain_future.<locals>._call_check_cancel": THREAD,
    "shield.<locals>._outer_done_callback": TASK,
}


def explain_wait(
    coroutine: Any, future: Any, callback: str | None, since: int, now: int, *, end_of: EndOf
) -> tuple[int, int, bool]:
    """The kind of a wait that ends now, and when what the task waited for was there.

    The last value tells whether each wait at this place of the program has this kind, and ends when
    the awaited thing is there, or is a sleep.
    The coroutine is still suspended. Times are in nanoseconds.
    """
    chain = list(suspended_functions(coroutine))
    sleep = chain[-1] if chain and _kind_of(chain[-1]) == SLEEP else None
    kind = _driver_kind(chain)
    if kind is not None:
        return kind, now, True
    if sleep is not None:
        return SLEEP, end_of_sleep(sleep.frame, since, now), True
    if _CALLBACKS.get(callback) == THREAD:
        return THREAD, now, True
    kind = _kind_of_innermost(chain)
    if kind in (None, LOCK, NETWORK) and _is_for_network(chain):
        return NETWORK, now, True
    if kind is None:
        kind = _CALLBACKS.get(callback)
    if kind is not None:
        return kind, now, True
    return _kind_of_future(future, now, end_of)


def _kind_of_innermost(chain: list[Suspended]) -> int | None:
    """The kind of the innermost function that is known, inside of the program's own."""
    for function in reversed(chain):
        kind = _kind_of(function)
        if kind is not None:
            return kind
        if not _is_carrier(function):
            break
    return None


def _driver_kind(chain: list[Suspended]) -> int | None:
    for function in reversed(chain):
        if function.module.startswith(_GATHER):
            return TASK
        if function.module.startswith(_DRIVER):
            return POOL if function.name == _POOL_WAIT else SERVER
    return None


def _kind_of(function: Suspended) -> int | None:
    for module, prefix, kind in _FUNCTIONS:
        is_module = function.module == module or function.module.startswith(f"{module}.")
        if is_module and function.name.startswith(prefix):
            return kind
    return None


def _is_carrier(function: Suspended) -> bool:
    return function.module.partition(".")[0] in _CARRIERS


def _is_for_network(chain: list[Suspended]) -> bool:
    """Whether the innermost function of a program or library is of a network library."""
    for function in reversed(chain):
        if not _is_carrier(function):
            return function.module.partition(".")[0] in _NETWORK_PACKAGES
    return False


def _kind_of_future(future: Any, now: int, end_of: EndOf) -> tuple[int, int, bool]:
    if isinstance(future, asyncio.Task):
        return TASK, end_of(future) or now, False
    # The future that `gather` returns.
    children = attribute_of(future, "_children")
    if isinstance(future, asyncio.Future) and isinstance(children, list):
        ends = [end_of(child) for child in children]
        is_known = bool(ends) and None not in ends and not future.cancelled()
        return TASK, max(end for end in ends if end is not None) if is_known else now, False
    return UNKNOWN, now, True
