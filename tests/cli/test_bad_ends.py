"""Interrupts, full disks, closed pipes, lost servers: no partial file, no query left running."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from colonnade import embedded
from tests.cli.program import APPLICATION, PROGRAM, environment, run, started, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import colonnade.sync

pytestmark = pytest.mark.thorough

ENDLESS = "SELECT generate_series(1, 1000000000) AS n, md5(random()::text) AS t"
ENDINGS = ["csv", "ndjson", "parquet", "arrow"]
FILE_BYTES_MAX = 300_000


def running(connection: colonnade.sync.Connection) -> int:
    """The number of the program's queries that the server runs."""
    count: int = connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND state = 'active'",
        APPLICATION,
    )
    return count


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_file_and_no_query(
    ending: str,
    number: signal.Signals,
    dsn: str,
    connection: colonnade.sync.Connection,
    tmp_path: Path,
) -> None:
    words = ("export", ENDLESS, "-o", str(tmp_path / f"out.{ending}"), "--max-file-size", "1MB")
    with started(dsn, *words) as process:
        # In the middle of the export: at least one part is done, and none has its final name.
        until(lambda: len(list(tmp_path.iterdir())) > 1)
        assert all(path.name.startswith(".") for path in tmp_path.iterdir())
        assert running(connection) == 1
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert told.strip() == "colonnade: interrupted; no partial output remains"
    assert list(tmp_path.iterdir()) == []
    until(lambda: running(connection) == 0)


def test_an_interrupt_while_the_server_thinks(
    dsn: str, connection: colonnade.sync.Connection
) -> None:
    with started(dsn, "query", "SELECT pg_sleep(600)") as process:
        until(lambda: running(connection) == 1)
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in told
    until(lambda: running(connection) == 0)


@pytest.mark.parametrize("form", ["csv", "ndjson", "arrow", "parquet"])
def test_a_closed_pipe_is_no_failure_to_talk_about(
    form: str, dsn: str, connection: colonnade.sync.Connection
) -> None:
    with started(dsn, "query", ENDLESS, "--format", form) as process:
        assert process.stdout is not None
        os.read(process.stdout.fileno(), 100)
        process.stdout.close()
        process.wait(timeout=30)
        assert process.stderr is not None
        assert process.stderr.read() == ""
    # The exit status of every tool that SIGPIPE ends.
    assert process.returncode == 128 + signal.SIGPIPE
    until(lambda: running(connection) == 0)


def test_a_table_in_a_closed_pipe(dsn: str) -> None:
    line = f"{' '.join(PROGRAM)} query 'SELECT generate_series(1, 100000)' --format table"
    done = subprocess.run(
        ["bash", "-c", f"{line} --max-rows 0 | head -1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(dsn),
    )
    assert done.stdout.split() == ["generate_series", "141"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_may_not_grow(
    ending: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))

    path = tmp_path / f"out.{ending}"
    done = run(dsn, "export", ENDLESS, "-o", str(path), preexec_fn=limited)
    assert done.returncode == 1
    assert f"the file would exceed the size limit ({path}): nothing was kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert list(tmp_path.iterdir()) == []
    until(lambda: running(connection) == 0)


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet", "arrow"])
def test_a_device_that_is_full(form: str, dsn: str) -> None:
    done = run(dsn, "export", ENDLESS, "-o", "/dev/full", "--format", form)
    assert done.returncode == 1
    assert "the disk is full (/dev/full): nothing was kept" in done.stderr
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk(ending: str, dsn: str, small_disk: Path) -> None:
    words = ("--max-file-size", "500kB", "--fsync")
    done = run(dsn, "export", ENDLESS, "-o", str(small_disk / f"out.{ending}"), *words)
    assert done.returncode == 1
    assert "the disk is full" in done.stderr
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_server_that_dies(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    with (
        embedded.start(tcp=True) as server,
        started(server.dsn, "export", ENDLESS, "-o", str(path)) as process,
    ):
        until(lambda: written(tmp_path) > 0)
        server.stop()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told.startswith("colonnade: ")
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_dies_while_it_takes_rows(tmp_path: Path) -> None:
    path = tmp_path / "endless.csv"
    os.mkfifo(path)
    with embedded.start(tcp=True) as server:
        words = ("import", str(path), "t", "--format", "csv", "--no-header")
        assert run(server.dsn, "query", "CREATE TABLE t (a int)").returncode == 0
        with started(server.dsn, *words) as process:
            with path.open("wb", buffering=0) as feed, contextlib.suppress(BrokenPipeError):
                for number in range(1000):
                    feed.write(b"1\n" * 100_000)
                    if number == 100:
                        server.stop()
            _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert told.startswith("colonnade: ")
    assert "Traceback" not in told


def test_a_place_that_cannot_be_written_to(dsn: str, tmp_path: Path) -> None:
    done = run(dsn, "export", "SELECT 1", "-o", str(tmp_path / "none" / "out.csv"))
    assert done.returncode == 1
    assert "there is no such directory" in done.stderr
    taken = tmp_path / "out-0002.csv"
    taken.mkdir()
    (taken / "something").touch()
    sql = "SELECT generate_series(1, 30)"
    words = ("-o", str(tmp_path / "out.csv"), "--max-rows-per-file", "10", "--overwrite")
    done = run(dsn, "export", sql, *words)
    assert done.returncode == 1
    # The second of three parts could not be renamed, so the first was removed again.
    assert list(tmp_path.iterdir()) == [taken]


def written(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, if the tests may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this needs the right to mount a file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_file_that_cannot_be_made_has_its_own_name(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 300}.csv"
    done = run(dsn, "export", "SELECT 1", "-o", str(path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"colonnade: {path}: ")
    assert list(tmp_path.iterdir()) == []
