"""Connections for threads."""

from __future__ import annotations

import contextlib
import math
import threading
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

# A socket takes a timeout of 0 for "do not wait", and not for "too late".
_LEAST_S = 0.001


class Transport:
    """A connection to a node, as `Transport` for tasks.

    The deadline bounds each wait for bytes: a node that sends them one by one can exceed it.
    """

    def __init__(self, address: str, options: Options) -> None:
        self.address = address
        self._connection: Any = library("redis.connection").Connection(
            **connection_options(address, options), socket_timeout=options.timeout
        )
        self._error_classes = error_classes()
        self._timeout_class: type[Exception] = library("redis.exceptions").TimeoutError

    def open(self, deadline: float) -> None:
        """Connect, and give the password."""
        try:
            self._connection.socket_connect_timeout = _left(deadline)
            self._connection.connect()
        except self._timeout_class:
            self.close()
            raise NoNodeError(f"{self.address} did not accept a connection in time") from None
        except Exception as error:
            self.close()
            if isinstance(error, self._error_classes):
                raise refused(error, self.address) from error
            raise NoNodeError(f"cannot connect to {self.address}: {error}") from error
        except BaseException:
            self.close()
            raise

    def exchange(self, commands: Sequence[Command], deadline: float) -> list[Any | DisqueError]:
        """Send commands in one flight, and return their answers; errors are among them.

        Raises UnansweredError if not all came. After any failure, also Ctrl-C, the connection is
        closed.
        """
        answers: list[Any | DisqueError] = []
        packed = self._connection.pack_commands(commands)
        try:
            self._connection.send_packed_command(packed, check_health=False)
            for command in commands:
                # The answers that came are known, even if a later one fails.
                answers.append(self._answer(str(command[0]), deadline))  # noqa: PERF401
        except self._timeout_class:
            self.close()
            raise UnansweredError("it did not answer in time", answers, is_late=True) from None
        except Exception as error:
            self.close()
            raise UnansweredError(str(error), answers, is_late=False) from error
        except BaseException:
            self.close()
            raise
        return answers

    def _answer(self, command: str, deadline: float) -> Any | DisqueError:
        try:
            return self._connection.read_response(
                timeout=_left(deadline), disconnect_on_error=False
            )
        except self._error_classes as error:
            return translated(error, command, self.address)

    def has_ended(self) -> bool:
        """Return whether an idle connection cannot be used: it is closed, or has unasked bytes."""
        try:
            return bool(self._connection.can_read())
        except Exception:  # noqa: BLE001 - whatever it is, the connection is not used
            return True

    def close(self) -> None:
        """Close the connection at once."""
        with contextlib.suppress(Exception):
            self._connection.disconnect()


class Places:
    """The bound of connections to a node."""

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    def take(self, deadline: float) -> bool:
        """Wait for a place. Returns False if the deadline passes first."""
        return self._free.acquire(timeout=_left(deadline))

    def give_back(self) -> None:
        """Let the next caller have the place."""
        self._free.release()


#: Threads see the same nodes.
Guard = threading.RLock


def _left(deadline: float) -> float | None:
    return None if deadline == math.inf else max(_LEAST_S, deadline - time.monotonic())
