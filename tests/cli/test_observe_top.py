"""`colonnade observe top` in a terminal and in a pipe, with processes that publish."""

from __future__ import annotations

import io
import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from colonnade.cli.observe.view import History, plain_lines, whole_view
from colonnade.observe.status.status import Figures, Loop, StatementFigures, Status, read_status
from tests.cli.program import run, until
from tests.cli.screen import on_screen
from tests.observe.publisher import Publisher, publishing

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough

pytest.importorskip("uvloop")


@pytest.fixture
def runtime(tmp_path: Path) -> dict[str, str]:
    """The environment of a session of its own."""
    folder = tmp_path / "run"
    folder.mkdir()
    return {"XDG_RUNTIME_DIR": str(folder), "TMPDIR": str(tmp_path)}


@pytest.fixture
def publisher(runtime: dict[str, str], dsn: str) -> Iterator[Publisher]:
    """A process that publishes, and has stalled."""
    with publishing(dsn, Path(runtime["XDG_RUNTIME_DIR"])) as publisher:
        publisher.tell("query")

        def has_stalled() -> bool:
            # On a busy machine, a stall may have another cause as well.
            publisher.tell("stall")
            return "blocked" in {one.cause for one in read_status(publisher.path).stalls}

        until(has_stalled)
        until(lambda: len(read_status(publisher.path).statements) > 0)
        yield publisher


PARTS = ["utilization", "lag", "tasks", "stalls: ", "blocked", "publishing.py:", "main", "pg_class"]


def test_it_shows_a_process_until_q(publisher: Publisher, runtime: dict[str, str]) -> None:
    with on_screen("observe", "top", env=runtime) as screen:
        for part in [f"process {publisher.process.pid}", *PARTS]:
            screen.await_text(part)
        # Each second again.
        screen.await_next("publishing.py")
        screen.type(b"q")
        assert screen.await_end() == 0
        assert screen.is_restored()


@pytest.mark.parametrize(
    ("keys", "number", "status"),
    [(b"\x03", None, 0), (b"xQ", None, 0), (b"", signal.SIGTERM, 143)],
    ids=["ctrl-c", "Q", "SIGTERM"],
)
def test_every_end_restores_the_terminal(
    keys: bytes, number: int | None, status: int, publisher: Publisher, runtime: dict[str, str]
) -> None:
    with on_screen("observe", "top", str(publisher.path), env=runtime) as screen:
        screen.await_text("q quits")
        if number is None:
            screen.type(keys)
        else:
            screen.process.send_signal(number)
        assert screen.await_end() == status
        assert screen.is_restored()
        assert "Traceback" not in screen.written


def test_it_goes_to_the_background_and_back(publisher: Publisher, runtime: dict[str, str]) -> None:
    with on_screen("observe", "top", str(publisher.process.pid), env=runtime) as screen:
        screen.await_text("q quits")
        screen.type(b"\x1a")
        screen.await_state("T")
        assert screen.is_restored()
        screen.process.send_signal(signal.SIGCONT)
        screen.await_next("q quits")
        assert not screen.is_restored()
        screen.type(b"q")
        assert screen.await_end() == 0
        assert screen.is_restored()


def test_it_follows_the_size_of_the_terminal(publisher: Publisher, runtime: dict[str, str]) -> None:
    with on_screen("observe", "top", width=40, height=8, env=runtime) as screen:
        screen.await_text("utilization")
        screen.await_next("utilization")
        # The tables below need more lines.
        assert "slowest statements" not in screen.written
        screen.resize(150, 50)
        screen.await_text("slowest statements")
        screen.resize(3, 2)
        screen.resize(1000, 1)
        screen.resize(150, 50)
        screen.await_text("slowest statements")
        assert publisher.process.poll() is None
        screen.type(b"q")
        assert screen.await_end() == 0


def test_the_newest_values_are_in_sight() -> None:
    figures = Figures(1.0, 1.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, {}, {})
    history = History()
    for second in range(60):
        idle = replace(figures, utilization=0.0)
        history.add(Loop(1, 0.0, replace(figures, wall=second), idle))
    history.add(Loop(1, 0.0, figures, figures))
    status = Status(1, "x", "3", 1.0, 0.0, Loop(1, 0.0, figures, figures), [], [], [])
    console = Console(width=60, file=io.StringIO())
    with console.capture() as shown:
        console.print(whole_view(status, history, height=24))
    bar, past = shown.get().splitlines()[2:4]
    assert bar.split()[1:3] == ["█" * 30, "100%"]
    assert past.split() == ["█"]


def test_it_says_since_when_the_loop_hangs(publisher: Publisher, runtime: dict[str, str]) -> None:
    publisher.tell("hang")
    until(lambda: (loop := read_status(publisher.path).loop) is not None and loop.stalled > 0)
    with on_screen("observe", "top", env=runtime) as screen:
        screen.await_text("the loop has not answered for")
        screen.type(b"q")
        assert screen.await_end() == 0
    done = run(None, "observe", "top", env=runtime)
    assert "the loop has not answered for" in done.stdout


def test_one_is_no_plural() -> None:
    one = StatementFigures("SELECT orders", 1, 1, 0.01, 0.01)
    status = Status(1, "x", "3", 1.0, 0.0, None, [], [], [one])
    assert plain_lines(status)[-1].startswith("statement: SELECT orders: 1 time, 1 error, ")


def test_it_says_when_reports_stop(publisher: Publisher, runtime: dict[str, str]) -> None:
    pid = str(publisher.process.pid)
    with on_screen("observe", "top", pid, env=runtime) as screen:
        screen.await_text("utilization")
        publisher.process.send_signal(signal.SIGSTOP)
        screen.await_text("the process is stopped or gone")
        for named in ([pid], []):
            done = run(None, "observe", "top", *named, env=runtime)
            assert done.returncode == 1
            assert "no report for" in done.stdout
        publisher.process.send_signal(signal.SIGCONT)
        publisher.end()
        screen.await_text(f"process {pid} publishes nothing, or has ended")
        # The last report stays.
        screen.await_next("blocked")
        screen.type(b"q")
        assert screen.await_end() == 0


@pytest.mark.parametrize("words", [[], ["--once"], ["PID"], ["PATH", "--once"]], ids=str)
def test_a_pipe_gets_plain_text_once(
    words: list[str], publisher: Publisher, runtime: dict[str, str]
) -> None:
    named = {"PID": str(publisher.process.pid), "PATH": str(publisher.path)}
    done = run(None, "observe", "top", *(named.get(word, word) for word in words), env=runtime)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    first, *rest = done.stdout.splitlines()
    assert first.startswith(f"publishing.py  process {publisher.process.pid}  Python 3.")
    for part in (
        "now: ",
        "whole: ",
        "tasks: ",
        "stalls: ",
        "stall: ",
        "pool main: ",
        "statement: ",
    ):
        assert any(line.startswith(part) for line in rest), part


def test_once_is_plain_on_a_terminal(publisher: Publisher, runtime: dict[str, str]) -> None:
    with on_screen("observe", "top", "--once", env=runtime) as screen:
        assert screen.await_end() == 0
        assert f"process {publisher.process.pid}" in screen.written
        assert "\x1b" not in screen.written


@pytest.mark.parametrize("how", [{"TERM": "dumb"}, {"PYTHONIOENCODING": "latin-1"}], ids=str)
def test_it_is_plain_where_nothing_can_be_drawn(
    how: dict[str, str], publisher: Publisher, runtime: dict[str, str]
) -> None:
    with on_screen("observe", "top", env={**runtime, **how}) as screen:
        assert screen.await_end() == 0
        assert f"process {publisher.process.pid}" in screen.written
        assert "\x1b" not in screen.written


def test_several_processes_are_a_list(
    publisher: Publisher, runtime: dict[str, str], dsn: str
) -> None:
    with publishing(dsn, Path(runtime["XDG_RUNTIME_DIR"])) as other:
        pids = {str(publisher.process.pid), str(other.process.pid)}
        done = run(None, "observe", "top", env=runtime)
        assert done.returncode == 0
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"PID", *pids}
        with on_screen("observe", "top", env=runtime) as screen:
            for pid in sorted(pids):
                screen.await_text(pid)
            screen.await_text("observe top PID shows one of them")
            screen.type(b"q")
            assert screen.await_end() == 0


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ([], "no process of this user publishes anything"),
        (["1"], "process 1 publishes nothing, or has ended"),
        (["/missing"], "/missing: No such file or directory"),
        (["/etc/passwd"], "/etc/passwd is not the report of a process"),
        (["/dev/zero"], "/dev/zero is not a regular file"),
        (["9" * 5000], "File name too long"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_nothing_to_show_is_a_failure(
    target: list[str], said: str, runtime: dict[str, str]
) -> None:
    done = run(None, "observe", "top", *target, env=runtime)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hostile_report_drives_no_terminal(
    publisher: Publisher, runtime: dict[str, str], tmp_path: Path
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J[bold red]\r\n\u202e\u0007"
    report: dict[str, Any] = json.loads(publisher.path.read_text())
    report["program"] = report["pools"][0]["name"] = report["stalls"][0]["place"] = evil
    report["stalls"][0]["task"] = report["statements"][0]["summary"] = evil
    report["stalls"][0]["started"] = evil
    report["loop"]["whole"]["stalls"][evil] = 10**15
    path = tmp_path / "report"
    path.write_text(json.dumps(report))
    with on_screen("observe", "top", str(path), width=400, env=runtime) as screen:
        screen.await_text("slowest statements")
        screen.await_text("q quits")
        screen.type(b"q")
        assert screen.await_end() == 0
        for sequence in ("\x1b]0", "\x07", "\x1b[2J[", "\u202e"):
            assert sequence not in screen.written
        assert "[bold red]" in screen.written
    assert "\x1b" not in run(None, "observe", "top", str(path), env=runtime).stdout
