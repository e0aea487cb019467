"""A TCP relay that cuts, resets, stalls or half-closes each connection at a chosen byte."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_READ_BYTES = 1 << 14
_STALL_SECONDS = 0.05
_RESET = struct.pack("ii", 1, 0)


class Harm(enum.Enum):
    """The harm to a connection."""

    NONE = "nothing"
    CUT = "cut"
    """Both sides get an orderly end."""
    RESET = "reset"
    STALL = "stall"
    """Nothing passes for a moment, and then everything."""
    STALL_AND_RESET = "stall and reset"
    HALF_CLOSE = "half-close"
    """One direction ends, the other one goes on."""


@dataclass(frozen=True)
class Plan:
    """A harm, the direction whose bytes are counted, and how many of them pass before it."""

    harm: Harm
    is_answer: bool
    after: int

    @property
    def ends_answer(self) -> bool:
        """Whether the client gets no more than `after` bytes."""
        return self.is_answer and self.harm not in {Harm.NONE, Harm.STALL}

    @classmethod
    def drawn(cls, chance: random.Random, answer_bytes: int) -> Plan:
        """Draw a plan; `answer_bytes` is about the length of a whole answer."""
        is_answer = chance.random() < 0.8
        length = answer_bytes if is_answer else 200
        after = chance.choice([chance.randrange(length + 1), chance.randrange(400)])
        return cls(chance.choice(list(Harm)), is_answer, after)


class Relay:
    """Passes each accepted connection on to a server, harmed as `plan` says."""

    def __init__(self, server_port: int) -> None:
        self.plan = Plan(Harm.NONE, is_answer=True, after=0)
        self._server_port = server_port
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    @contextlib.asynccontextmanager
    async def before(cls, server_port: int) -> AsyncGenerator[tuple[Relay, int]]:
        """Listen on a port of its own; the values are the relay and the port."""
        relay = cls(server_port)
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        accepting = asyncio.create_task(relay._accept(listener))
        try:
            yield relay, listener.getsockname()[1]
        finally:
            accepting.cancel()
            await asyncio.gather(accepting, *relay._tasks, return_exceptions=True)
            listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(listener)
            client.setblocking(False)
            task = asyncio.create_task(self._relay(client, self.plan))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _relay(self, client: socket.socket, plan: Plan) -> None:
        server = socket.socket()
        server.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(server, ("127.0.0.1", self._server_port))
            asked = asyncio.create_task(_pump(client, server, plan, is_answer=False))
            answered = asyncio.create_task(_pump(server, client, plan, is_answer=True))
            try:
                # A harmed direction raises, which ends both.
                await asyncio.gather(asked, answered)
            finally:
                asked.cancel()
                answered.cancel()
                await asyncio.gather(asked, answered, return_exceptions=True)
        except _Reset:
            for side in (client, server):
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        except (_Cut, OSError):
            pass
        finally:
            client.close()
            server.close()


class _Cut(Exception):
    pass


class _Reset(Exception):
    pass


async def _pump(
    source: socket.socket, target: socket.socket, plan: Plan, *, is_answer: bool
) -> None:
    loop = asyncio.get_running_loop()
    left = plan.after if plan.is_answer == is_answer and plan.harm is not Harm.NONE else None
    while True:
        data = await loop.sock_recv(source, _READ_BYTES)
        if not data:
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)
            return
        if left is not None and len(data) >= left:
            await loop.sock_sendall(target, data[:left])
            data = data[left:]
            left = None
            await _harm(plan.harm, target)
            if plan.harm is Harm.HALF_CLOSE:
                return
        elif left is not None:
            left -= len(data)
        await loop.sock_sendall(target, data)


async def _harm(harm: Harm, target: socket.socket) -> None:
    if harm is Harm.CUT:
        raise _Cut
    if harm is Harm.RESET:
        raise _Reset
    if harm is Harm.HALF_CLOSE:
        target.shutdown(socket.SHUT_WR)
        return
    await asyncio.sleep(_STALL_SECONDS)
    if harm is Harm.STALL_AND_RESET:
        raise _Reset
