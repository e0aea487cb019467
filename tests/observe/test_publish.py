"""The report that a process publishes about itself, and how others read it."""

from __future__ import annotations

import json
import os
import signal
import stat
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import observe
from colonnade.observe.status.folder import made_folder, remove_old, reports
from colonnade.observe.status.status import StatusError, read_status
from tests.cli.program import until
from tests.observe.conftest import LOOPS
from tests.observe.publisher import publishing

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("uvloop")


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the session; each test has its own."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    # Other processes of this machine may publish in the temporary directory.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return folder


@pytest.mark.parametrize("kind", LOOPS)
def test_a_process_tells_of_its_loop_pools_and_statements(
    kind: str, runtime: Path, dsn: str
) -> None:
    with publishing(dsn, runtime, loop=kind) as publisher:
        publisher.tell("query")
        publisher.tell("query")

        def is_told() -> bool:
            publisher.tell("stall")
            told = read_status(publisher.path)
            causes = {stall.cause for stall in told.stalls}
            return "blocked" in causes and [one.count for one in told.statements] == [2]

        # On a busy machine, a stall may have another cause as well.
        until(is_told)
        status = read_status(publisher.path)
        assert status.pid == publisher.process.pid
        assert status.program == "publishing.py"
        assert status.loop is not None
        assert status.loop.tasks >= 1
        assert status.loop.whole.lag_max >= status.loop.whole.lag_p50 > 0
        assert 0 < status.loop.recent.wall < status.loop.whole.wall
        blocked = next(stall for stall in status.stalls if stall.cause == "blocked")
        # It is known to one interval on uvloop.
        assert blocked.duration >= 0.04
        assert status.loop.whole.stalls["blocked"] >= 1
        assert blocked.place is not None
        assert "publishing.py" in blocked.place
        (pool,) = status.pools
        assert (pool.name, pool.max_size, pool.busy) == ("main", 2, 0)
        (statement,) = status.statements
        assert statement.summary == "SELECT pg_class"
        assert 0 < statement.max <= statement.total
        assert "hidden" not in publisher.path.read_text()


def test_a_process_reports_while_its_loop_hangs(runtime: Path, dsn: str) -> None:
    with publishing(dsn, runtime) as publisher:
        publisher.tell("hang")
        first = publisher.path.read_bytes()
        until(lambda: publisher.path.read_bytes() != first)
        until(lambda: read_status(publisher.path).age < 1)


def test_the_report_is_private_and_removed_at_the_end(runtime: Path, dsn: str) -> None:
    with publishing(dsn, runtime) as publisher:
        assert publisher.path.parent.parent == runtime
        assert stat.S_IMODE(publisher.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(publisher.path.parent.stat().st_mode) == 0o700
        assert reports() == {publisher.process.pid: publisher.path}
        publisher.end()
        assert list(publisher.path.parent.iterdir()) == []
        assert reports() == {}


def test_what_a_killed_process_left_is_ignored_and_cleaned(runtime: Path, dsn: str) -> None:
    with publishing(dsn, runtime) as publisher:
        publisher.process.kill()
        publisher.process.wait()
    left = publisher.path
    assert left.exists()
    # Its id may mean another process in another container, until it has not written for long.
    os.utime(left, (0, 0))
    assert reports() == {}
    with publishing(dsn, runtime) as publisher:
        assert not left.exists()
        assert reports() == {publisher.process.pid: publisher.path}


def test_a_stopped_process_grows_old(runtime: Path, dsn: str) -> None:
    with publishing(dsn, runtime) as publisher:
        publisher.process.send_signal(signal.SIGSTOP)
        until(lambda: read_status(publisher.path).age > 0.5)
        publisher.process.send_signal(signal.SIGCONT)
        until(lambda: read_status(publisher.path).age < 0.5)


def test_a_forked_child_leaves_the_report_to_its_parent(runtime: Path, dsn: str) -> None:
    with publishing(dsn, runtime) as publisher:
        assert publisher.tell("fork") == "None"
        first = publisher.path.read_bytes()
        until(lambda: publisher.path.read_bytes() != first)


async def test_it_stops_and_starts_again() -> None:
    async with observe.LoopMonitor(logger=None) as monitor:
        publication = observe.publish(monitor)
        assert "not begun" in repr(publication)
        for _ in range(2):
            with publication:
                assert publication.path is not None
                with pytest.raises(RuntimeError, match="has begun already"):
                    publication.start()
                assert read_status(Path(publication.path)).pools == []
            assert "not begun" in repr(publication)
            publication.stop()
        names = [thread.name for thread in threading.enumerate()]
        assert "colonnade-publish" not in names


def test_a_monitor_may_start_later_and_again(run: Callable[[Any], None], tmp_path: Path) -> None:
    monitor = observe.LoopMonitor(logger=None)
    path = tmp_path / "report"

    async def main() -> None:
        with observe.publish(monitor, path=path, interval=0.05):
            assert read_status(path).loop is None
            for _ in range(2):
                async with monitor:
                    until(lambda: read_status(path).loop is not None)

    run(main())
    assert not path.exists()


def test_the_folder_must_be_private(runtime: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (runtime / "colonnade-observe").symlink_to(tmp_path)
    # The temporary directory is the other place.
    folder = made_folder()
    assert folder.parent == tmp_path
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="is not a private folder"):
        made_folder()
    (folder / "1.json").write_text("{}")
    assert reports() == {}
    remove_old(folder)
    assert (folder / "1.json").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("is_link", [False, True])
async def test_a_stranger_who_has_the_name_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    taken = tmp_path / f"colonnade-observe-{os.geteuid()}"
    if is_link:
        taken.symlink_to(tmp_path)
    else:
        taken.mkdir(0o700)
    os.chown(taken, 12345, 12345, follow_symlinks=False)
    # Of one more name that strangers guess.
    (tmp_path / f"{taken.name}-mine").mkdir(0o755)
    async with observe.LoopMonitor() as monitor:
        with observe.publish(monitor) as publication:
            path = Path(publication.path or "")
            assert reports() == {os.getpid(): path}
            assert read_status(path).pid == os.getpid()
            assert path.parent.name.startswith(f"{taken.name}-")
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            # The next process has the same.
            assert made_folder() == path.parent
    assert reports() == {}


async def test_a_report_that_cannot_be_written_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monitor = observe.LoopMonitor()
    with pytest.raises(FileNotFoundError, match="missing"):
        observe.publish(monitor, path=tmp_path / "missing" / "report").start()
    folder = tmp_path / "folder"
    folder.mkdir()
    with observe.publish(monitor, path=folder / "report", interval=0.05) as publication:
        (folder / "report").unlink()
        folder.rmdir()
        until(lambda: bool(caplog.records))
        folder.mkdir()
        until(lambda: publication.path is not None and Path(publication.path).exists())
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_a_start_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    path = tmp_path / "report"
    publication = observe.publish(observe.LoopMonitor(logger=None), path=path)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            publication.start()
    assert not path.exists()
    publication.stop()
    with publication:
        read_status(path)


async def test_only_a_report_is_replaced(tmp_path: Path) -> None:
    monitor = observe.LoopMonitor(logger=None)
    (tmp_path / "letter").write_text("precious")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "letter")
    (tmp_path / "folder").mkdir()
    for name in ("letter", "pipe", "link", "folder"):
        with pytest.raises(FileExistsError, match="is not replaced"):
            observe.publish(monitor, path=tmp_path / name).start()
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "letter").read_text() == "precious"
    old = tmp_path / "old"
    with observe.publish(monitor, path=old):
        left = old.read_bytes()
    for content in (left, b""):
        old.write_bytes(content)
        with observe.publish(monitor, path=old):
            read_status(old)
        assert not old.exists()


async def test_a_report_that_was_replaced_by_a_folder_is_left(tmp_path: Path) -> None:
    path = tmp_path / "report"
    with observe.publish(observe.LoopMonitor(logger=None), path=path, interval=60):
        path.unlink()
        path.mkdir()
    assert path.is_dir()


def test_bad_arguments_are_refused() -> None:
    monitor = observe.LoopMonitor()
    strange: Any = object()
    with pytest.raises(TypeError, match="monitor must be a LoopMonitor, not object"):
        observe.publish(strange)
    for pools in (3, [strange], {"main": strange}, {3: strange}):
        with pytest.raises(TypeError, match="pool"):
            observe.publish(monitor, pools)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path must be"):
        observe.publish(monitor, path=b"x")  # type: ignore[arg-type]
    for interval in (0, -1, 1e9, float("nan")):
        with pytest.raises(ValueError, match="interval must be"):
            observe.publish(monitor, interval=interval)


def example() -> dict[str, Any]:
    """A report of nothing in particular."""
    figures = dict.fromkeys(
        ("wall", "utilization", "lag_p50", "lag_p99", "lag_max", "gc_pauses", "gc_time"), 0
    ) | {"gc_longest": 0.0, "stalls": {"code": 1}, "stall_time": {"code": 0.1}}
    return {
        "version": 2,
        "pid": 1,
        "program": "x",
        "python": "3",
        "boot": "b",
        "monotonic": 1,
        "interval": 1,
        "loop": {"tasks": 1, "stalled": 0.0, "whole": figures, "recent": figures},
        "stalls": [],
        "pools": [],
        "statements": [],
    }


def test_the_example_is_a_report(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text(json.dumps(example()))
    assert read_status(path).pid == 1


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"pid": "1"},
        {"pid": True},
        {"pid": -1},
        {"pid": 10**4000},
        {"program": 3},
        {"program": None},
        {"monotonic": [1]},
        {"loop": 3},
        {"loop": {}},
        {"stalls": {}},
        {"stalls": [[]]},
        {"pools": [{}]},
        {"statements": ["x"]},
    ],
    ids=str,
)
def test_wrong_values_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text(json.dumps(example() | change))
    with pytest.raises(StatusError):
        read_status(path)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"\xff", b"[" * 200_000, b" " * 300_000, b"9" * 200_000),
        *(b"1e999", b'{"version": NaN}', b'{"version": 1e999}'),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_strange_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mreport"
    path.write_bytes(content)
    with pytest.raises(StatusError) as refused:
        read_status(path)
    assert str(refused.value).isprintable()


def test_other_than_regular_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    for path in (*tmp_path.iterdir(), tmp_path, Path("/dev/zero"), tmp_path / "missing"):
        with pytest.raises(StatusError):
            read_status(path)


def test_texts_cannot_drive_a_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\r\n\u202e[bold]" + "x" * 10_000
    change = {
        "program": evil,
        "statements": [{"summary": evil, "count": 1, "errors": 0, "total": 1, "max": 1}] * 1000,
    }
    path = tmp_path / "report"
    path.write_text(json.dumps(example() | change)[:250_000])
    with pytest.raises(StatusError):
        read_status(path)
    change["statements"] = change["statements"][:12]
    path.write_text(json.dumps(example() | change))
    status = read_status(path)
    texts = [status.program, *(one.summary for one in status.statements)]
    assert len(texts) == 11
    assert all(text.isprintable() and len(text) < 400 for text in texts)


def test_names_in_a_refusal_cannot_drive_a_terminal(tmp_path: Path) -> None:
    report = example()
    report["loop"]["whole"]["stalls"] = {"\x1b[2J": "many"}
    path = tmp_path / "report"
    path.write_text(json.dumps(report))
    with pytest.raises(StatusError, match="is not a number") as refused:
        read_status(path)
    assert str(refused.value).isprintable()
