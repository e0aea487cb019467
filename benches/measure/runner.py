"""Starts the measuring programs, round by round, and ends them when interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benches.measure.child import Job
from benches.measure.measurement import Failure, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benches.measure.peer import Peer

T = TypeVar("T")

TIMEOUT_S = 300.0
#: The directory that holds `benches` and the package.
_PLACE = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Run:
    """One peer's turn in one round."""

    round: int
    peer: Peer


def interleave(items: Sequence[T], rounds: int) -> list[list[T]]:
    """Order the items of each round: each round has all of them and starts with the next one.

    A disturbance of the machine then affects all peers alike.
    """
    if not items:
        return [[] for _ in range(rounds)]
    starts = (number % len(items) for number in range(rounds))
    return [[*items[start:], *items[:start]] for start in starts]


def measure_rounds(
    peers: Sequence[Peer],
    *,
    dsn: str,
    sql: str,
    rounds: int,
    hold: bool = True,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[tuple[Run, Measurement | Failure]]:
    """Run each peer once per round, each time in a fresh process; drop a peer that fails."""
    failed: set[str] = set()
    for number, order in enumerate(interleave(peers, rounds)):
        for peer in order:
            if peer.name in failed:
                continue
            outcome = run_peer(peer, dsn=dsn, sql=sql, hold=hold, timeout_s=timeout_s)
            if isinstance(outcome, Failure):
                failed.add(peer.name)
            yield Run(number, peer), outcome


def run_peer(
    peer: Peer, *, dsn: str, sql: str, hold: bool, timeout_s: float = TIMEOUT_S
) -> Measurement | Failure:
    """Measure one peer in a fresh process."""
    if peer.command is None:
        command = [peer.python or sys.executable, "-m", "benches.measure.child"]
        job = json.dumps(asdict(Job(peer.module, dsn, sql, hold=hold)))
    else:
        try:
            command, job = peer.command(dsn, sql), ""
        except ValueError as error:
            return Failure(str(error))
    try:
        status, out, err = _run(command, job, timeout_s)
    except subprocess.TimeoutExpired:
        return Failure(f"no answer within {timeout_s:g} s")
    if status != 0:
        return Failure(_reason(status, out, err))
    return Measurement.from_json(out)


def _run(command: list[str], job: str, timeout_s: float) -> tuple[int, str, str]:
    # In a separate session, the child gets no interrupt from the terminal. This process gets it
    # and ends the child, so none is left running and none prints a traceback.
    process = subprocess.Popen(
        command,
        # A child in a separate environment needs the path to import `benches`.
        env={**os.environ, "PYTHONPATH": _PLACE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(job, timeout=timeout_s)
    except BaseException:
        _kill(process)
        raise
    return process.returncode, out, err


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _reason(status: int, out: str, err: str) -> str:
    try:
        return str(json.loads(out)["error"])
    except (ValueError, KeyError, TypeError):
        pass
    lines = err.strip().splitlines()
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return lines[-1] if lines else f"ended with status {status}"
