# Generated from colonnade/jobs/disque/_async/nodes.py by tools/generate/unasync.py.
# Never edit it: run `make sync`.
"""Questions to a cluster: the choice of node and connection, and the way on if it breaks."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

from colonnade.jobs.disque import replies
from colonnade.jobs.disque._transport.threads import Guard, Places, Transport
from colonnade.jobs.disque._transport.unanswered import UnansweredError
from colonnade.jobs.disque.cluster import Cluster
from colonnade.jobs.disque.commands import REPEATABLE
from colonnade.jobs.disque.errors import (
    AuthenticationError,
    ClosedError,
    CommandTimeoutError,
    ConnectionLostError,
    DisqueError,
    LeavingError,
    LoadingError,
    NoNodeError,
    ReplyError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from colonnade.jobs.disque.commands import Command
    from colonnade.jobs.disque.options import Options

#: A node that has just failed may draw a pause of nothing; this keeps a loop from spinning.
_SLEEP_LEAST_S = 0.005


class Flight:
    """The answers to the commands that were sent in one write.

    `error` is the reason why there are fewer answers than commands, None if there are not.
    """

    __slots__ = ("answers", "error", "node")

    def __init__(self, node: str, answers: list[Any], error: DisqueError | None = None) -> None:
        self.node = node
        self.answers = answers
        self.error = error

    def first(self) -> Any:
        """Return the answer to the only command, or raise the error."""
        if self.error is not None:
            raise self.error
        return replies.first(self.answers)


class _Door:
    """The connections to one node."""

    __slots__ = ("idle", "places")

    def __init__(self, options: Options) -> None:
        self.places = Places(options.max_connections)
        self.idle: list[Transport] = []

    def taken(self) -> Transport | None:
        """Take the connection that was used last, None if there is none."""
        try:
            return self.idle.pop()
        except IndexError:
            return None


class Nodes:
    """The connections to the nodes of a cluster."""

    def __init__(self, options: Options) -> None:
        self.cluster = Cluster(options)
        self.guard = Guard()
        self._options = options
        self._doors: dict[str, _Door] = {}
        self._process = os.getpid()
        self._is_closed = False

    def fly(
        self,
        commands: Sequence[Command],
        *,
        again: Callable[[], Sequence[Command]] | None = None,
        node: str | None = None,
        prefer: str | None = None,
        wait: float | None = 0.0,
        for_get: bool = False,
    ) -> Flight:
        """Send commands of one kind to a node, and return their answers.

        `again` makes the commands for a further try. With `node`, no other node is asked; `prefer`
        is asked first. `wait` is the time in seconds that the server itself may take, None without
        end. A broken connection is an error in the flight, unless another node may be asked.
        """
        timeout = self._options.timeout
        deadline = math.inf if wait is None else time.monotonic() + wait + timeout
        while True:
            address = self._next(node, prefer, deadline, for_get=for_get)
            try:
                link = self._link(address, min(deadline, time.monotonic() + timeout))
            except (NoNodeError, LoadingError) as error:
                with self.guard:
                    self.cluster.failed(address, error)
                continue
            flight = self._exchange(link, commands, deadline)
            with self.guard:
                self.cluster.answered(address, for_get=for_get)
            if not self._goes_on(flight, str(commands[0][0]), node):
                return flight
            if again is not None:
                commands = again()

    def _goes_on(self, flight: Flight, command: str, node: str | None) -> bool:
        """Return whether another node should be asked, and note the state of this one."""
        first = flight.answers[0] if flight.answers else None
        with self.guard:
            if isinstance(first, LeavingError | LoadingError):
                return self.cluster.leaves(flight.node) and node is None
            if flight.error is None:
                return False
            self.cluster.failed(flight.node, flight.error)
        is_late = isinstance(flight.error, CommandTimeoutError)
        return command in REPEATABLE and not is_late and not flight.answers

    def _next(self, node: str | None, prefer: str | None, deadline: float, *, for_get: bool) -> str:
        """Return the node to ask, when there is one that is not left alone."""
        while True:
            if self._is_closed:
                raise ClosedError("the client is closed")
            with self.guard:
                if node is not None:
                    ready = [node] if self.cluster.is_ready(node) else []
                else:
                    ready = self.cluster.candidates(for_get=for_get)
                pause = self.cluster.wait_s(node)
                reasons = self.cluster.reasons()
            left = deadline - time.monotonic()
            if ready and left > 0:
                return prefer if prefer in ready else ready[0]
            if pause >= left:
                raise NoNodeError(f"no node of the cluster can be reached. {reasons}")
            time.sleep(max(pause, _SLEEP_LEAST_S))

    def _link(self, address: str, deadline: float) -> Transport:
        """Return an idle connection to a node, or a new one that knows the node."""
        door = self._door(address)
        if not door.places.take(deadline):
            raise CommandTimeoutError(
                f"all {self._options.max_connections} connections to {address} are busy:"
                " `max_connections` allows more",
                safe_to_retry=True,
            )
        try:
            while (link := door.taken()) is not None:
                if not link.has_ended():
                    return link
                link.close()
            return self._opened(address, deadline)
        except BaseException:
            door.places.give_back()
            raise

    def _opened(self, address: str, deadline: float) -> Transport:
        link = Transport(address, self._options)
        link.open(deadline)
        try:
            answers = link.exchange([("HELLO",)], deadline)
            hello = replies.hello(replies.first(answers))
        except UnansweredError as error:
            raise NoNodeError(f"{address} did not answer to HELLO: {error}") from error
        except ReplyError as error:
            link.close()
            raise ReplyError(f"{address} does not seem to be Disque: {error}") from None
        except BaseException as error:
            link.close()
            if isinstance(error, AuthenticationError) and self._options.password is None:
                error.add_note("The client was created without `password=`.")
            raise
        with self.guard:
            self.cluster.met(address, hello)
        return link

    def _exchange(self, link: Transport, commands: Sequence[Command], deadline: float) -> Flight:
        door = self._door(link.address)
        try:
            answers = link.exchange(commands, deadline)
        except UnansweredError as error:
            return Flight(link.address, error.answers, self._unanswered(error, commands, link))
        except BaseException:
            link.close()
            raise
        else:
            if self._is_closed:
                link.close()
            else:
                door.idle.append(link)
            return Flight(link.address, answers)
        finally:
            door.places.give_back()

    def _unanswered(
        self, error: UnansweredError, commands: Sequence[Command], link: Transport
    ) -> DisqueError:
        command = str(commands[0][0])
        fate = "the command may have been carried out"
        if command in REPEATABLE:
            fate = "the command may be repeated"
        if error.is_late:
            return CommandTimeoutError(
                f"{link.address} did not answer to {command} within the deadline; {fate}",
                safe_to_retry=command in REPEATABLE,
            )
        lost = ConnectionLostError(
            f"the connection to {link.address} broke before {command} was answered ({error});"
            f" {fate}"
        )
        lost.safe_to_retry = command in REPEATABLE
        return lost

    def _door(self, address: str) -> _Door:
        with self.guard:
            if self._process != os.getpid():
                # A fork shares the sockets with its parent, and must not speak on them.
                self._process = os.getpid()
                self._doors = {}
            door = self._doors.get(address)
            if door is None:
                door = self._doors[address] = _Door(self._options)
            return door

    def close(self) -> None:
        """Close all connections; those in use when their commands end."""
        self._is_closed = True
        for door in list(self._doors.values()):
            while (link := door.taken()) is not None:
                link.close()
