"""The order of the runs, and failing runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from benches.measure.measurement import Failure, Measurement
from benches.measure.peer import Peer
from benches.measure.runner import interleave, measure_rounds, run_peer

pytestmark = pytest.mark.thorough

COST = {"rows": 3, "wall_s": 0.5, "cpu_user_s": 0.25, "cpu_system_s": 0.125, "reads": 7}


def program(name: str, code: str) -> Peer:
    """Make a peer from a few lines of Python."""
    command = [sys.executable, "-S", "-c", textwrap.dedent(code)]
    return Peer(name, name, "floor", "", (), None, lambda dsn, sql: [*command, dsn, sql])


def printing(name: str) -> Peer:
    return program(name, f"print({json.dumps(COST)!r})")


@pytest.mark.parametrize(
    ("items", "rounds", "expected"),
    [
        ("abc", 4, ["abc", "bca", "cab", "abc"]),
        ("ab", 3, ["ab", "ba", "ab"]),
        ("a", 2, ["a", "a"]),
        ("", 2, ["", ""]),
        ("abc", 0, []),
    ],
)
def test_every_round_has_all_and_begins_with_another(
    items: str, rounds: int, expected: list[str]
) -> None:
    assert interleave(list(items), rounds) == [list(order) for order in expected]


def test_rounds_interleave_the_peers() -> None:
    peers = [printing("a"), printing("b")]
    runs = list(measure_rounds(peers, dsn="", sql="", rounds=2))
    assert [(run.round, run.peer.name) for run, _ in runs] == [
        (0, "a"),
        (0, "b"),
        (1, "b"),
        (1, "a"),
    ]
    expected = Measurement(rows=3, wall_s=0.5, cpu_user_s=0.25, cpu_system_s=0.125)
    assert all(outcome == expected for _, outcome in runs)


def test_a_peer_that_fails_is_told_once_and_dropped() -> None:
    broken = program("broken", "raise SystemExit('no such server')")
    runs = list(measure_rounds([broken, printing("sound")], dsn="", sql="", rounds=2))
    assert [run.peer.name for run, _ in runs] == ["broken", "sound", "sound"]
    assert runs[0][1] == Failure("no such server")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('print(\'{"error": "OSError: refused"}\'); raise SystemExit(1)', "OSError: refused"),
        ("raise SystemExit(3)", "ended with status 3"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_the_reason_of_a_failure(code: str, reason: str) -> None:
    assert run_peer(program("p", code), dsn="", sql="", hold=False) == Failure(reason)


def test_a_child_that_hangs_is_ended() -> None:
    start = time.monotonic()
    hanging = program("p", "import time; time.sleep(60)")
    outcome = run_peer(hanging, dsn="", sql="", hold=False, timeout_s=0.5)
    assert outcome == Failure("no answer within 0.5 s")
    assert time.monotonic() - start < 30


def test_an_interrupt_ends_the_child(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    child = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    code = f"""
        import sys
        from benches.measure.peer import Peer
        from benches.measure.runner import run_peer
        command = lambda dsn, sql: [sys.executable, "-S", "-c", {child!r}]
        try:
            run_peer(Peer("p", "p", "floor", "", (), None, command), dsn="", sql="", hold=False)
        except KeyboardInterrupt:
            sys.exit(130)
    """
    runner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    try:
        pid = wait_for_pid(told)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(timeout=30) == 130
    finally:
        runner.kill()
        runner.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def wait_for_pid(path: Path) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError("the child did not start")
