"""The processes of a run: workers at their posts, and producers of jobs."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.jobs.chaos.plan import Assignment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from tests.jobs.chaos.plan import Plan, Post

_TALK_S = 1.0
_AGAIN_S = 0.05
_ROOT = Path(__file__).resolve().parents[3]


class Station:
    """A worker's post: whenever its process has ended, a new one takes over."""

    def __init__(
        self,
        number: int,
        post: Post,
        plan: Plan,
        *,
        dsn: str,
        directory: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._number = number
        self.post = post
        self._plan = plan
        self._dsn = dsn
        self._directory = directory
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._name = ""
        self._generation = 0
        self._thaws_at: float | None = None
        self.killed: set[str] = set()
        self.failed: list[str] = []

    def keep_manned(self, random: Random) -> None:
        """Start a process if there is none; let one go on whose pause is over."""
        if self._thaws_at is not None and time.monotonic() >= self._thaws_at:
            self.thaw()
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._note_end()
        self._generation += 1
        self._name = f"worker-{self._number}-{self._generation}"
        assignment = Assignment(
            self._name,
            self.post.kind.name,
            self._dsn,
            self.post.road.name == "POOLER",
            self._plan.mode,
            random.randrange(1 << 32),
            str(self._directory / f"{self._name}.ledger"),
            self._plan.lease,
            self._plan.limit,
            self.post.settings,
            self.post.is_hostile,
            self._plan.layout,
        )
        with (self._directory / f"{self._name}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.jobs.chaos.worker", assignment.to_json()],
                cwd=_ROOT,
                env=self._environment,
                # Its end tells the worker that the conductor has ended, whatever way.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """Kill it, wherever it is."""
        if self._process is not None and self._process.poll() is None:
            self.killed.add(self._name)
            self._process.kill()
            self._process.wait()
            self._thaws_at = None

    def freeze(self, seconds: float) -> None:
        """Stop it for a while: it does not notice that its leases end."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
            self._thaws_at = time.monotonic() + seconds

    def thaw(self) -> None:
        """Let it go on."""
        self._thaws_at = None
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def tell_to_end(self) -> None:
        """Ask it to end."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()

    def wait(self, give_up: float) -> None:
        """Wait until it has ended as it was asked to."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, give_up - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(_TALK_S)
            self.failed.append(f"{self._name} did not end after SIGTERM{self._said()}")
            self.kill()
        else:
            self._note_end()

    def _note_end(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        told = (0, -signal.SIGTERM)
        if self._process.returncode not in told and self._name not in self.killed:
            self.failed.append(f"{self._name} ended with {self._process.returncode}{self._said()}")

    def _said(self) -> str:
        text = (self._directory / f"{self._name}.log").read_text(errors="replace")
        return f": {text[-6_000:]}" if text else ""


class Producer:
    """A process that adds chunks, and the thread that asks it to."""

    def __init__(self, plan: Plan, dsn: str, chunks: queue.Queue[int | None]) -> None:
        self._command = [
            *(sys.executable, "-m", "tests.jobs.chaos.producer"),
            *(dsn, str(plan.chunk), str(plan.jobs)),
        ]
        self._chunks = chunks
        self._process: subprocess.Popen[str] | None = None
        self.added = 0
        self.repeated = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """Kill it, amid an `add` if there is one."""
        process = self._process
        if process is not None and process.poll() is None:
            process.kill()

    def close(self) -> None:
        """End it; what it has not added is not added."""
        self._is_closed = True
        self._chunks.put(None)
        self.kill()
        self._thread.join()

    def _run(self) -> None:
        while (number := self._chunks.get()) is not None:
            while not self._is_closed and not self._added(number):
                self.repeated += 1
            self.added += 1
        self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _added(self, number: int) -> bool:
        if self._process is None or self._process.poll() is not None:
            self._end_process()
            self._process = subprocess.Popen(
                self._command,
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{number}\n")
            self._process.stdin.flush()
        except OSError:
            return False
        answer = self._process.stdout.readline()
        if not answer.startswith("added"):
            time.sleep(_AGAIN_S)
        return answer.startswith("added")
