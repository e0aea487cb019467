"""Beats of real processes: hung, stopped, killed, forked, and served by uvicorn and gunicorn."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from colonnade import observe
from colonnade.observe.beat.beat_file import judge
from tests.cli.program import PROGRAM, until
from tests.observe.conftest import LOOPS
from tests.support.processes import is_alive as exists

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough

pytest.importorskip("uvloop")
LONG = 60.0
# Far above the interval of the beats, so that a busy machine is not taken for a hung loop.
SOON = 2.0
ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def beating(path: Path, loop: str) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-m", "tests.observe.beating", str(path), "0.02", loop]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[str], order: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{order}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_that_hangs_is_not_alive(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "beat"
    with beating(path, loop) as process:
        assert observe.is_alive(path, LONG)
        # A thread of the process still writes this answer.
        assert tell(process, "hang") == "hangs"
        until(lambda: not observe.is_alive(path, SOON))
        assert process.poll() is None
        assert "its event loop hangs, or it is stopped" in judge(path, SOON)[1]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_stopped_process_is_not_alive_until_it_goes_on(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "beat"
    with beating(path, loop) as process:
        process.send_signal(signal.SIGSTOP)
        until(lambda: not observe.is_alive(path, SOON))
        process.send_signal(signal.SIGCONT)
        until(lambda: observe.is_alive(path, SOON))


def test_a_killed_process_is_not_alive_at_once(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    with beating(path, "asyncio") as process:
        child = int(tell(process, "fork"))
        process.kill()
        process.wait()
        # At any age, and though its child lives.
        assert exists(child)
        is_alive, said = judge(path, LONG)
        os.kill(child, signal.SIGKILL)
        assert not is_alive
        assert f"process {process.pid} has ended" in said
    # Its successor takes the file over.
    with beating(path, "asyncio") as process:
        assert f"process {process.pid} beat" in judge(path, LONG)[1]


def test_the_file_is_read_across_containers(tmp_path: Path) -> None:
    """In a namespace of process ids of its own, where those of the file mean other processes."""
    elsewhere = ["unshare", "--pid", "--fork", "--mount-proc"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*elsewhere, "true"], check=False).returncode
    ):
        pytest.skip("namespaces of process ids cannot be made here")
    path = tmp_path / "beat"
    check = [*elsewhere, *PROGRAM, "observe", "check", str(path), "--max-age", "60"]
    with beating(path, "asyncio") as process:
        assert subprocess.run(check, check=False).returncode == 0
        process.kill()
        process.wait()
        told = subprocess.run(check, check=False, capture_output=True, text=True)
        assert told.returncode == 1
        assert "has ended" in told.stderr


def test_a_process_that_ends_removes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    with beating(path, "asyncio") as process:
        assert path.exists()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    assert not path.exists()


SERVERS = {
    "uvicorn": "uvicorn --loop asyncio --uds SOCKET",
    "uvicorn-uvloop": "uvicorn --loop uvloop --uds SOCKET",
    "uvicorn-workers": "uvicorn --workers 2 --uds SOCKET",
    "gunicorn-uvicorn": "gunicorn --worker-class uvicorn_worker.UvicornWorker --workers 2 "
    "--timeout 600 --no-control-socket --bind unix:SOCKET",
    "gunicorn-asgi": "gunicorn --worker-class asgi --workers 2 --timeout 600 --no-control-socket "
    "--bind unix:SOCKET",
    "gunicorn-asgi-uvloop": "gunicorn --worker-class asgi --asgi-loop uvloop --workers 2 "
    "--timeout 600 --no-control-socket --bind unix:SOCKET",
}


@contextlib.contextmanager
def served(command: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = command.replace("SOCKET", str(folder / "socket")).split()
    with subprocess.Popen(
        [sys.executable, "-m", *words, "tests.observe.beating_app:app"],
        cwd=ROOT,
        env={**os.environ, "BEAT_PATH": str(folder / "beats" / "{pid}.beat")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            # The workers that hang as well.
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def request(folder: Path, route: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(folder / "socket"))
        client.sendall(f"GET {route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        yield client


def answer(folder: Path, route: str) -> str:
    with request(folder, route) as client, client.makefile("rb") as reader:
        return reader.read().decode()


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_workers_beat_for_themselves(server: str, tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    beats.mkdir()
    workers = 2 if "workers" in SERVERS[server] else 1
    with served(SERVERS[server], tmp_path) as process:
        until(lambda: len(list(beats.iterdir())) == workers)
        until(lambda: observe.is_alive(beats, SOON))
        # uvicorn starts the application, and with it the beat, before it listens.
        until((tmp_path / "socket").exists)
        assert "True" in answer(tmp_path, "/health")
        if workers == 2:
            _one_killed(beats)
        with request(tmp_path, "/hang"):
            # One worker hangs; the others, and the supervisor, are well.
            until(lambda: "hangs" in judge(beats, SOON)[1])
        assert process.poll() is None


def _one_killed(beats: Path) -> None:
    """Kill a worker: the supervisor starts another, and what the dead one left does not count."""
    before = {int(path.stem) for path in beats.iterdir()}
    os.kill(min(before), signal.SIGKILL)
    until(lambda: len({int(path.stem) for path in beats.iterdir()} - before) == 1)
    until(lambda: observe.is_alive(beats, SOON))
    assert f"process {min(before)}" not in judge(beats, SOON)[1]
