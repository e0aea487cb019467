"""Nodes that listen: an event loop of their own in a thread, so that both colours can be tested."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any, Self

from tests.jobs.disque.fake.node import Node
from tests.jobs.disque.fake.resp import Error, Reply, Status, encoded, read_command
from tests.jobs.disque.fake.store import Clock, Store

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tests.jobs.disque.fake.faults import Fault

NODE_IDS = tuple(prefix + "0" * 32 for prefix in ("aaaaaaaa", "bbbbbbbb", "cccccccc"))
UNREACHABLE = 100


class Served:
    """A node with its port, its connections, and the faults that it is told to make."""

    def __init__(self, cluster: FakeCluster, node_id: str) -> None:
        self.node = Node(node_id, cluster.store, cluster.told_nodes)
        self.cluster = cluster
        self.port = 0
        self.listener: socket.socket | None = None
        self.writers: set[asyncio.StreamWriter] = set()
        self.serving: set[asyncio.Task[None]] = set()
        self.faults: dict[str, list[Fault]] = {}
        self.accepted = 0
        self.refuses = False

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def id(self) -> str:
        return self.node.id

    @property
    def is_up(self) -> bool:
        return self.listener is not None

    def fail(self, command: str, *faults: Fault) -> None:
        """Make these faults the next times that the command comes."""
        self.faults.setdefault(command, []).extend(faults)

    def sent(self, command: str) -> list[list[bytes]]:
        """The calls of a command that this node has seen."""
        return [words for words in self.node.calls if words[0] == command.encode()]

    def start(self) -> None:
        self.cluster.run(self._start())

    async def _start(self) -> None:
        self.cluster.store.join(self.id)
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.cluster.loop.add_reader(self.listener, self._accept, self.listener)

    def stop(self) -> None:
        """The node dies: its port is closed, and all its connections."""
        self.cluster.run(self._stop())

    async def _stop(self) -> None:
        if self.listener is not None:
            self.cluster.loop.remove_reader(self.listener)
            self.listener.close()
            self.listener = None
            self.cluster.store.leave(self.id)
        self._drop()

    def drop_connections(self) -> None:
        self.cluster.loop.call_soon_threadsafe(self._drop)

    def _drop(self) -> None:
        for writer in list(self.writers):
            writer.transport.abort()

    # An asyncio.Server that is closed amid an accept forgets the connection and leaves it open.
    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            connection, _ = listener.accept()
            self.accepted += 1
            task = self.cluster.loop.create_task(self._serve(connection))
            self.serving.add(task)
            task.add_done_callback(self.serving.discard)

    async def _serve(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        # A connection may be accepted just before the node is stopped, and served after it.
        if self.refuses or not self.is_up:
            writer.transport.abort()
            return
        self.writers.add(writer)
        asking: asyncio.Queue[list[bytes] | None] = asyncio.Queue()
        working = asyncio.create_task(self._work(asking, writer))
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
                while (words := await read_command(reader)) is not None:
                    asking.put_nowait(words)
        finally:
            # A client that goes is not waited for: a blocked GETJOB ends, and takes no job.
            working.cancel()
            writer.close()
            # Until then it can be aborted: a client that reads nothing keeps its transport open.
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self.writers.discard(writer)

    async def _work(
        self, asking: asyncio.Queue[list[bytes] | None], writer: asyncio.StreamWriter
    ) -> None:
        is_known = self.node.password is None
        with contextlib.suppress(ConnectionError):
            while (words := await asking.get()) is not None:
                name = words[0].decode().upper()
                if name == "AUTH":
                    is_known = words[1] == self.node.password
                    reply: Reply = Status("OK") if is_known else Error("ERR invalid password")
                    writer.write(encoded(reply))
                elif not is_known:
                    writer.write(encoded(Error("NOAUTH Authentication required.")))
                elif not await self._answer(name, words, writer):
                    return
                await writer.drain()

    async def _answer(self, name: str, words: list[bytes], writer: asyncio.StreamWriter) -> bool:
        """Answer as it should be, or as the next fault says. False ends the connection."""
        faults = self.faults.get(name)
        if not faults:
            writer.write(encoded(await self.node.run(words)))
            return True
        fault = faults.pop(0)
        if not fault.is_done:
            self.node.calls.append(words)
        data = encoded(await self.node.run(words)) if fault.is_done else b""
        await asyncio.sleep(fault.stall)
        data = fault.reply if fault.reply is not None else data
        writer.write(data if fault.cut is None else data[: fault.cut])
        if fault.hangs_up:
            await writer.drain()
            writer.close()
        return not fault.hangs_up


class FakeCluster:
    """Nodes that share a store. Use it as a context manager."""

    def __init__(self, count: int = 2) -> None:
        self.clock = Clock()
        self.store = Store(self.clock)
        self.loop = asyncio.new_event_loop()
        self.nodes = [Served(self, node_id) for node_id in NODE_IDS[:count]]
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        for node in self.nodes:
            node.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _end(self) -> None:
        for node in self.nodes:
            await node._stop()
        # Connections being accepted have their transports after the next turns of the loop.
        await asyncio.sleep(0.01)
        for node in self.nodes:
            node._drop()
        mine = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The next turns of the loop close the aborted transports.
        await asyncio.sleep(0.01)

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    @property
    def addresses(self) -> str:
        return ",".join(node.address for node in self.nodes)

    def told_nodes(self) -> list[Reply]:
        """The nodes as HELLO tells them."""
        return [
            [n.id, "127.0.0.1", str(n.port), "1" if n.is_up else str(UNREACHABLE)]
            for n in self.nodes
            if n.port
        ]
