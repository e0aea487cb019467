"""Connections for tasks."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from typing import TYPE_CHECKING, Any

from colonnade.jobs.disque._transport.library import (
    connection_options,
    error_classes,
    library,
    refused,
    translated,
)
from colonnade.jobs.disque._transport.unanswered import UnansweredError
from colonnade.jobs.disque.errors import NoNodeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from colonnade.jobs.disque.commands import Command
    from colonnade.jobs.disque.errors import DisqueError
    from colonnade.jobs.disque.options import Options


class Transport:
    """A connection to a node. A caller that does not read an answer to its end must close it.

    A `deadline` is a time of ``time.monotonic``.
    """

    def __init__(self, address: str, options: Options) -> None:
        self.address = address
        self._connection: Any = library("redis.asyncio.connection").Connection(
            **connection_options(address, options), socket_timeout=None
        )
        self._error_classes = error_classes()

    async def open(self, deadline: float) -> None:
        """Connect, and give the password."""
        try:
            async with asyncio.timeout(_left(deadline)):
                await self._connection.connect()
        except TimeoutError:
            await self.close()
            raise NoNodeError(f"{self.address} did not accept a connection in time") from None
        except Exception as error:
            await self.close()
            if isinstance(error, self._error_classes):
                raise refused(error, self.address) from error
            raise NoNodeError(f"cannot connect to {self.address}: {error}") from error
        except BaseException:
            await self.close()
            raise

    async def exchange(
        self, commands: Sequence[Command], deadline: float
    ) -> list[Any | DisqueError]:
        """Send commands in one flight, and return their answers; errors are among them.

        Raises UnansweredError if not all came. After any failure, also a cancellation, the
        connection is closed: nobody reads an answer that was meant for somebody else.
        """
        answers: list[Any | DisqueError] = []
        packed = self._connection.pack_commands(commands)
        try:
            async with asyncio.timeout(_left(deadline)):
                await self._connection.send_packed_command(packed, check_health=False)
                for command in commands:
                    # The answers that came are known, even if a later one fails.
                    answers.append(await self._answer(str(command[0])))  # noqa: PERF401
        except TimeoutError:
            await self.close()
            raise UnansweredError("it did not answer in time", answers, is_late=True) from None
        except Exception as error:
            await self.close()
            raise UnansweredError(str(error), answers, is_late=False) from error
        except BaseException:
            await self.close()
            raise
        return answers

    async def _answer(self, command: str) -> Any | DisqueError:
        try:
            return await self._connection.read_response(disconnect_on_error=False)
        except self._error_classes as error:
            return translated(error, command, self.address)

    async def has_ended(self) -> bool:
        """Return whether an idle connection cannot be used: it is closed, or has unasked bytes."""
        try:
            return bool(await self._connection.can_read())
        except Exception:  # noqa: BLE001 - whatever it is, the connection is not used
            return True

    async def close(self) -> None:
        """Close the connection at once."""
        with contextlib.suppress(Exception):
            await self._connection.disconnect(nowait=True)


class Places:
    """The bound of connections to a node."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def take(self, deadline: float) -> bool:
        """Wait for a place. Returns False if the deadline passes first."""
        try:
            async with asyncio.timeout(_left(deadline)):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def give_back(self) -> None:
        """Let the next caller have the place."""
        self._free.release()


#: Tasks take turns by themselves.
Guard = contextlib.nullcontext


def _left(deadline: float) -> float | None:
    return None if deadline == math.inf else max(0.0, deadline - time.monotonic())
