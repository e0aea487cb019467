"""Restarts under load, the drain, and a supervisor that kills what hangs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from benches.service.restarts.requests import steady
from benches.service.restarts.rolling import beating, restart
from examples.service import supervisor
from examples.service.drain import Drain
from tests.service.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

HANGING = """
import asyncio, os, sys, time
from colonnade import observe

async def main():
    async with observe.Beat(os.path.join(sys.argv[1], f"{os.getpid()}.beat"), interval=0.05):
        await asyncio.sleep(0.2)
        if sys.argv[2] == "hang":
            time.sleep(3600)
        await asyncio.sleep(3600)

asyncio.run(main())
"""
BRIEF = """
import asyncio, os, sys
from colonnade import observe

async def main():
    async with observe.Beat(os.path.join(sys.argv[1], f"{os.getpid()}.beat")):
        await asyncio.sleep(0.1)

asyncio.run(main())
"""


@pytest.mark.parametrize("server", ["gunicorn", "granian"])
def test_no_request_fails_while_processes_are_replaced(
    server: str, service_dsn: str, quick_suppliers: list[str], tmp_path: Path
) -> None:
    async def under_load(address: str, process: int) -> Any:
        stop = asyncio.Event()
        load = asyncio.create_task(steady(address, 30, stop))
        try:
            await restart(server, process, tmp_path, 1)
        finally:
            stop.set()
        return await load

    # Other tests may hold the processors: a queue that this makes is no reason to refuse here.
    settings = {"SERVICE_LOOP_AIM": "60", "SERVICE_POOL_AIM": "60", "SERVICE_DEADLINE": "20"}
    with serving(
        server, "starlette", service_dsn, quick_suppliers, tmp_path, **settings
    ) as service:
        outcome = asyncio.run(under_load(service.address, service.process.pid))
    assert outcome.failed == 0, outcome


def test_a_supervisor_finds_a_loop_that_hangs_and_no_other(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        children = {}
        for what in ("hang", "live"):
            words = [sys.executable, "-c", HANGING, str(tmp_path), what]
            children[what] = stack.enter_context(subprocess.Popen(words))
            stack.callback(children[what].kill)
        hanging: list[int] = []
        while not hanging:
            assert all(child.poll() is None for child in children.values())
            hanging = supervisor.hanging(os.getpid(), tmp_path, max_age=2)
        assert hanging == [children["hang"].pid]
        # Nobody else's children are killed.
        assert supervisor.hanging(1, tmp_path, max_age=2) == []


def test_a_supervisor_finds_nobody_who_begins_or_ends(tmp_path: Path) -> None:
    """For a moment, the file of such a process is there, and has no beat."""
    words = [sys.executable, "-c", BRIEF, str(tmp_path)]
    for _ in range(20):
        with subprocess.Popen(words) as child:
            while child.poll() is None:
                assert supervisor.hanging(os.getpid(), tmp_path, max_age=2) == []


async def test_a_drain_finishes_refuses_and_cancels_in_this_order() -> None:
    events: list[str] = []
    release = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del receive
        try:
            await (release.wait() if scope["path"] == "/short" else asyncio.Event().wait())
        except asyncio.CancelledError:
            events.append("cancelled")
            raise
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    drain = Drain(app)
    drain.on_begin(lambda: events.append("begun"))
    drain.on_refuse(lambda: events.append("refuses"))

    async def ask(path: str) -> tuple[int, dict[bytes, bytes]]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope: Any = {"type": "http", "path": path}
        receive: Any = None
        await drain(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"])

    short, long = (asyncio.ensure_future(ask(path)) for path in ("/short", "/long"))
    await asyncio.sleep(0)
    drain.begin(0.2)
    drain.begin(0.2)
    release.set()
    assert await short == (200, {b"connection": b"close"})
    status, headers = await long
    assert status == 503
    assert headers[b"connection"] == b"close"
    assert events == ["begun", "refuses", "cancelled"]


async def test_a_client_that_goes_away_cancels_its_request_in_a_drain() -> None:
    ended = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive, send
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    scope: Any = {"type": "http"}
    nobody: Any = None
    request = asyncio.ensure_future(Drain(app)(scope, nobody, nobody))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended.is_set()


def test_processes_are_told_apart_by_their_beats(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HANGING, str(tmp_path), "live"]
    with subprocess.Popen(words) as child:
        while not beating(tmp_path):
            assert child.poll() is None
        assert beating(tmp_path) == {str(child.pid)}
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert not beating(tmp_path)
