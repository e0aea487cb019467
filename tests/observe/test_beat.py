"""A beat within one process: its file, its pipe, and whatever else may be at its path."""

from __future__ import annotations

import errno
import fcntl
import math
import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from colonnade import observe
from colonnade.observe.beat import beat_file
from colonnade.observe.beat.beat_file import RECORD_BYTES, Record, boot_id, judge
from tests.support.until import until

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.every_loop

LONG = 60.0


def written(path: Path, record: Record) -> Path:
    path.write_bytes(record.encoded())
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def fresh(**facts: Any) -> Record:
    """A record of a process elsewhere, which locks nothing."""
    given: dict[str, Any] = {
        "boot": boot_id(),
        "pid": 1,
        "is_locked": False,
        "beat_ns": time.monotonic_ns(),
    }
    return Record(**(given | facts))


def test_a_loop_beats_from_inside(run: Callable[[Any], None], tmp_path: Path) -> None:
    path = tmp_path / "beat"

    async def main() -> None:
        async with observe.Beat(path, 0.01) as beat:
            assert beat.is_beating
            assert beat.is_alive(LONG)
            assert observe.is_alive(path, LONG)
            first = path.read_bytes()
            assert len(first) == RECORD_BYTES
            await until(lambda: path.read_bytes() != first)
            # Without the loop nothing beats.
            last = path.read_bytes()
            threading.Event().wait(0.1)
            assert path.read_bytes() == last
            assert beat.age >= 0.1
            assert not beat.is_alive()
            assert not observe.is_alive(path, 0.1)
            await until(lambda: observe.is_alive(path, 0.1) and beat.is_alive())
        assert not path.exists()
        assert "not started" in repr(beat)
        assert beat.age == math.inf
        assert not beat.is_alive(LONG)
        assert not observe.is_alive(path, LONG)
        beat.start()
        assert observe.is_alive(path, LONG)
        beat.stop()
        beat.stop()

    run(main())


async def test_a_beat_starts_once(tmp_path: Path) -> None:
    async with observe.Beat(tmp_path / "beat") as beat:
        with pytest.raises(RuntimeError, match="has started already"):
            beat.start()
        assert " s old" in repr(beat)
    assert "not started" in repr(beat)


async def test_a_block_may_be_of_either_kind(tmp_path: Path) -> None:
    with observe.Beat(tmp_path / "beat"):
        assert names(tmp_path) == {"beat"}
    monitor = observe.LoopMonitor()
    async with observe.publish(monitor, path=tmp_path / "report.json"):
        assert names(tmp_path) == {"report.json"}
    assert names(tmp_path) == set()


def test_a_beat_needs_a_running_loop(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        observe.Beat(tmp_path / "beat").start()


def test_a_closed_loop_gives_way(run: Callable[[Any], None], tmp_path: Path) -> None:
    path = tmp_path / "beat"
    beat = observe.Beat(path)

    async def begin() -> None:
        beat.start()

    run(begin())
    assert not beat.is_beating
    run(begin())
    assert observe.is_alive(path, LONG)
    beat.stop()
    assert not path.exists()


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, 1e-9, 1e9])
def test_a_bad_interval_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="interval must be"):
        observe.Beat("beat", value)


@pytest.mark.parametrize("value", [True, "1", None])
def test_an_interval_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="interval must be a number"):
        observe.Beat("beat", value)


def test_a_bad_path_is_refused() -> None:
    strange: list[Any] = [b"bytes", None, 3]
    for path in strange:
        with pytest.raises(TypeError, match="path must be a str or a path object"):
            observe.Beat(path)
    for name in ("", "a\0b"):
        with pytest.raises(ValueError, match="path must be a name"):
            observe.is_alive(name, 1)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_a_bad_age_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="max_age must be"):
        observe.is_alive("beat", value)
    with pytest.raises(ValueError, match="max_age must be"):
        observe.Beat("beat").is_alive(value)


async def test_a_path_that_cannot_be_written_is_told_at_start(tmp_path: Path) -> None:
    beat = observe.Beat(tmp_path / "missing" / "beat")
    with pytest.raises(FileNotFoundError, match=r"missing/beat"):
        beat.start()
    assert not beat.is_beating
    with pytest.raises(IsADirectoryError):
        observe.Beat(tmp_path).start()


async def test_only_a_beats_own_file_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    path.write_text("a letter")
    with pytest.raises(FileExistsError, match="holds something else"):
        observe.Beat(path).start()
    assert path.read_text() == "a letter"
    # The file of a dead process, damaged or not, is.
    path.write_bytes(fresh().encoded()[:50])
    async with observe.Beat(path):
        assert observe.is_alive(path, LONG)


async def test_links_are_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match="is a symbolic link"):
        observe.Beat(tmp_path / "link").start()
    assert not target.exists()
    written(target, fresh())
    assert observe.is_alive(target, LONG)
    assert "is a symbolic link" in judge(tmp_path / "link", LONG)[1]
    (tmp_path / "hard").hardlink_to(target)
    with pytest.raises(FileExistsError, match="hard links"):
        observe.Beat(target).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "beat", fresh())
    os.chown(path, 12345, 12345)
    with pytest.raises(PermissionError, match="belongs to another user"):
        observe.Beat(path).start()


async def test_processes_do_not_share_a_file(tmp_path: Path) -> None:
    async with observe.Beat(tmp_path / "beat"):
        with pytest.raises(FileExistsError, match=r"another process that runs.*\{pid\}"):
            observe.Beat(tmp_path / "beat").start()
        assert observe.is_alive(tmp_path / "beat", LONG)
    async with observe.Beat(tmp_path / "{pid}.beat") as beat:
        assert beat.path == str(tmp_path / f"{os.getpid()}.beat")


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="this system has no such locks")
async def test_a_strangers_lock_for_reading_changes_nothing(tmp_path: Path) -> None:
    """Any user that may read the file can have one, and waits for it while the process runs."""
    dead, path = tmp_path / "1.beat", tmp_path / "2.beat"
    for each in (dead, path):
        written(each, fresh(is_locked=True, beat_ns=time.monotonic_ns() - 10**12))
    with dead.open("rb") as stranger, path.open("rb") as other:
        for file in (stranger, other):
            lock = struct.pack("@hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
        assert "has ended" in judge(path, LONG)[1]
        async with observe.Beat(path):
            assert judge(tmp_path, LONG)[1].startswith(f"process {os.getpid()} beat")
            with pytest.raises(FileExistsError, match="another process that runs"):
                observe.Beat(path).start()
        async with observe.Beat(tmp_path / "{pid}.beat"):
            assert names(tmp_path) == {f"{os.getpid()}.beat"}


async def test_files_of_the_dead_are_removed_where_each_process_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("colonnade-beat ")
    written(tmp_path / "1.beat", fresh(is_locked=True))
    written(tmp_path / "2.beat", fresh())
    async with observe.Beat(tmp_path / "one"):
        assert len(names(tmp_path)) == 4
        async with observe.Beat(tmp_path / "{pid}.beat"):
            left = names(tmp_path)
            assert left == {"letter", "2.beat", "one", f"{os.getpid()}.beat"}


async def test_a_folder_that_cannot_be_listed_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    # To root, no permission is lacking.
    monkeypatch.setattr(os, "scandir", refuse)
    async with observe.Beat(tmp_path / "{pid}.beat") as beat:
        assert observe.is_alive(beat.path, LONG)


async def test_a_file_that_was_removed_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "beat"
    async with observe.Beat(path, 0.01):
        path.unlink()
        await until(lambda: observe.is_alive(path, LONG))
        path.unlink()
        folder.rmdir()
        await until(lambda: bool(caplog.records))
        folder.mkdir()
        await until(lambda: observe.is_alive(path, LONG))
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot be written" in caplog.text


async def test_a_forked_child_leaves_the_pipe_to_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    waiting, going_on = os.pipe()
    beat = observe.Beat(path)
    beat.start()
    process = os.fork()
    if not process:
        os.close(going_on)
        os.read(waiting, 1)
        os._exit(0)
    beat.stop()
    assert os.read(reader, 1000).count(b"\n") == 1

    def has_ended() -> bool:
        try:
            return os.read(reader, 1000) == b""
        except BlockingIOError:
            return False

    try:
        await until(has_ended)
    finally:
        os.close(going_on)
    os.waitpid(process, 0)  # noqa: ASYNC222 - the child ends at once
    os.close(reader)
    os.close(waiting)


async def test_a_folder_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="create the folder 'missing' first"):
        observe.Beat("missing/x.beat").start()


async def test_a_pipe_gets_a_line_for_each_beat(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    async with observe.Beat(path, 0.01) as beat:
        # Nobody reads yet.
        assert beat.is_alive(LONG)
        for _ in range(2):
            reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            got = bytearray()

            def has_two_lines(reader: int = reader, got: bytearray = got) -> bool:
                try:
                    got += os.read(reader, RECORD_BYTES)
                except BlockingIOError:
                    return False
                return len(got) >= 2 * RECORD_BYTES

            await until(has_two_lines)
            # The next beats find no reader, or a new one.
            os.close(reader)
            records = [beat_file.decoded(line + b"\n") for line in bytes(got).splitlines()]
            assert [record.pid for record in records if record] == [os.getpid()] * len(records)
        assert judge(path, LONG) == (
            False,
            f"{str(path)!r} is a pipe: its reader sees the beats, no one else can",
        )
    assert path.exists()


def test_age_alone_decides_where_nothing_is_locked(tmp_path: Path) -> None:
    path = written(tmp_path / "beat", fresh())
    assert judge(path, LONG)[0]
    written(path, fresh(beat_ns=time.monotonic_ns() - 10**10))
    assert judge(path, 5)[1].startswith("process 1 has not beaten for 10.0 s, more than 5 s")


def test_what_others_left_is_not_alive(tmp_path: Path) -> None:
    path = tmp_path / "beat"
    written(path, fresh(boot="00000000-0000-0000-0000-000000000000"))
    assert "another machine" in judge(path, LONG)[1]
    written(path, fresh(is_locked=True, pid=os.getpid()))
    assert f"process {os.getpid()} has ended" in judge(path, LONG)[1]
    written(path, fresh(beat_ns=time.monotonic_ns() + 10**12))
    assert "another clock" in judge(path, LONG)[1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not the file of a beat"),
        (b"{}", "is not the file of a beat"),
        (b"colonnade-beat ", "is damaged"),
        (b"\x1b]0;x\x07" * 1000, "is not the file of a beat"),
        (b"colonnade-beat 1 boot=x pid=1 lock=0 beat=1 crc=00000000".ljust(127) + b"\n", "damaged"),
        (Record("é", 1, False, 1).encoded(), "is damaged"),
        (Record("b pid", 1, False, 1).encoded(), "is damaged"),
        (fresh().encoded() + b"x", "is damaged"),
        (b"colonnade-beat " + b"9" * 10_000_000, "is damaged"),
    ],
)
def test_strange_contents_are_not_alive(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "beat"
    path.write_bytes(content)
    is_alive, text = judge(path, LONG)
    assert not is_alive
    assert said in text
    assert text.isprintable()


@pytest.mark.parametrize(
    "path",
    ["/dev/null", "/dev/tty", "/dev/full", "/proc/self/mem", "/nonexistent", "/etc/passwd/x"],
)
def test_strange_paths_are_not_alive(path: str) -> None:
    assert not observe.is_alive(path, LONG)


def test_a_folder_stands_for_all_its_processes(tmp_path: Path) -> None:
    folder = tmp_path / "beats"
    folder.mkdir()
    assert judge(folder, LONG) == (False, f"no process beats in the folder {str(folder)!r}")
    (folder / "README").write_text("other files do not count")
    (folder / "folder").mkdir()
    # A process that was killed leaves its file.
    written(folder / "1", fresh(is_locked=True))
    assert not observe.is_alive(folder, LONG)
    written(folder / "2", fresh())
    assert observe.is_alive(folder, LONG)
    written(folder / "3", fresh(beat_ns=time.monotonic_ns() - 10**12, pid=3))
    assert judge(folder, LONG)[1].startswith("process 3 has not beat")


def test_steps_of_the_wall_clock_change_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "beat", fresh())
    for wall in (0, 2**33):
        os.utime(path, (wall, wall))
        assert observe.is_alive(path, LONG)


def test_the_check_imports_little() -> None:
    listed = "import sys; from colonnade.cli.observe import check; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, check=True)
    heavy = {"asyncio", "click", "contextlib", "importlib.util", "logging", "rich", "typing"}
    assert not heavy & set(done.stdout.decode().split())
