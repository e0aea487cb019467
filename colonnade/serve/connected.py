"""Work that ends when the client goes away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
    from typing import Any


class _Gone(Exception):
    """The client has closed the connection."""


async def while_connected(
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]], work: Coroutine[Any, Any, None]
) -> None:
    """Do the work of one request; cancel it when the client goes away, and return.

    An error of the work is raised as it is.
    """
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(_watch(receive))
            try:
                await work
            except Exception as error:  # noqa: BLE001 - raised outside of the group
                failure = error
            finally:
                work.close()
                watch.cancel()
    except ExceptionGroup as failures:
        # Only the watch fails within the group.
        (of_watch,) = failures.exceptions
        if not isinstance(of_watch, _Gone):
            raise of_watch from None
    if failure is not None:
        raise failure


async def _watch(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
    while (await receive())["type"] != "http.disconnect":  # noqa: ASYNC110 - waits for messages
        # A `receive` that never waits, as in tests of applications, must not stop the loop.
        await asyncio.sleep(0)
    raise _Gone
