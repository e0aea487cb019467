"""Others change the folders meanwhile, and arguments look alike: nothing is lost."""

from __future__ import annotations

import json
import threading
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from colonnade import datasets, sync
from colonnade.datasets.unfinished import Unfinished
from colonnade.errors import DivisionByZeroError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

QUERY = "SELECT g AS id, g / 100 AS k FROM generate_series(0, 999) AS g"


class Stop(Exception):
    """The run is to end here."""


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        yield connection


def write(conn: sync.Connection, place: Path, query: str = QUERY, **options: Any) -> Any:
    return datasets.write(query, conn, place, partition_by="k", batch_rows=100, **options)


def once(action: Callable[[], object]) -> Callable[[int], object]:
    """A progress function that does it in the middle."""
    return lambda rows: action() if rows == 500 else None


def stop(rows: int) -> None:
    if rows >= 500:
        raise Stop


def test_files_that_appear_meanwhile_are_not_replaced(
    conn: sync.Connection, tmp_path: Path
) -> None:
    place = tmp_path / "out"

    def put() -> None:
        place.mkdir()
        (place / "thesis.txt").write_text("years of work")

    with pytest.raises(InterfaceError, match=r"other files.*thesis"):
        write(conn, place, overwrite=True, progress=once(put))
    assert (place / "thesis.txt").read_text() == "years of work"
    (place / "thesis.txt").unlink()
    assert write(conn, place, resume=True).rows == 1000


def test_a_dataset_that_appears_meanwhile_is_not_replaced(
    conn: sync.Connection, tmp_path: Path
) -> None:
    place, other = tmp_path / "out", tmp_path / "other"
    write(conn, other)
    with pytest.raises(InterfaceError, match="there is a dataset"):
        write(conn, place, progress=once(lambda: other.rename(place)))
    assert write(conn, place, resume=True, overwrite=True).rows == 1000


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [*lines[:3], *lines[4:]],
        lambda lines: [*lines[:3], lines[2], *lines[3:]],
        lambda lines: [*lines[:-1], lines[-1].replace(b'"keys":["3"]', b'"keys":["5"]')],
    ],
)
def test_a_changed_record_is_damaged(
    conn: sync.Connection, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]]
) -> None:
    """A line is missing, is there twice, or has another value: no rows are left out for it."""
    record = tmp_path / ".out.unfinished" / "record.ndjson"
    with pytest.raises(Stop):
        write(conn, tmp_path / "out", progress=stop)
    lines = record.read_bytes().splitlines(keepends=True)
    assert change(lines) != lines
    record.write_bytes(b"".join(change(lines)))
    with pytest.raises(InterfaceError, match="is damaged"):
        write(conn, tmp_path / "out", resume=True)
    record.write_bytes(b"".join(lines))
    assert write(conn, tmp_path / "out", resume=True).rows == 1000


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/etc", "part-0001.parquet"),
        ("k=4/../../..", "part-0001.parquet"),
        ("k=4//etc", "part-0001.parquet"),
        ("k=4/", "part-0001.parquet"),
        ("k=4", "/etc/passwd"),
        ("k=4", "../part-0001.parquet"),
        ("k=4", "a/part-0001.parquet"),
        ("k=4", "part-0001.parquet\n"),
        ("k=4", ""),
    ],
)
def test_a_record_names_no_files_elsewhere(
    conn: sync.Connection, tmp_path: Path, folder: str, name: str
) -> None:
    """Anybody who writes it can compute its checksum."""
    record = tmp_path / ".out.unfinished" / "record.ndjson"
    with pytest.raises(Stop):
        write(conn, tmp_path / "out", progress=stop)
    lines = record.read_bytes()
    part = {"folder": folder, "keys": ["4"], "files": [[name, 100, 1, 1]]}
    told = json.dumps(part, separators=(",", ":"))
    checksum = zlib.crc32(told.encode(), json.loads(lines.splitlines()[-1])["checksum"])
    record.write_bytes(lines + (json.dumps({**part, "checksum": checksum}) + "\n").encode())
    with pytest.raises(InterfaceError, match="is damaged"):
        write(conn, tmp_path / "out", resume=True)


def test_links_to_folders_are_other_files(conn: sync.Connection, tmp_path: Path) -> None:
    place = tmp_path / "out"
    write(conn, place)
    (place / "link").symlink_to(tmp_path)
    with pytest.raises(InterfaceError, match="other files"):
        write(conn, place, overwrite=True)


def test_an_older_dataset_survives_a_kill_and_a_failure(
    conn: sync.Connection, tmp_path: Path
) -> None:
    """The first run was killed between the two renames, the second one fails."""
    place, unfinished = tmp_path / "out", tmp_path / ".out.unfinished"
    write(conn, place)
    files = sorted(place.rglob("*.parquet"))
    unfinished.mkdir()
    (unfinished / "data").mkdir()
    (unfinished / "record.ndjson").write_text("{}\n")
    place.rename(unfinished / "older")
    failing = "SELECT g AS id, 1 / (g - 500) AS k FROM generate_series(0, 999) AS g"
    with pytest.raises(DivisionByZeroError):
        write(conn, place, failing, overwrite=True)
    assert sorted(place.rglob("*.parquet")) == files
    assert not unfinished.exists()


@pytest.mark.parametrize("wrap", [lambda array: [array], lambda array: [array.tolist()]])
def test_arguments_are_compared_in_full(
    conn: sync.Connection, tmp_path: Path, wrap: Callable[[Any], list[Any]]
) -> None:
    """The text of an array shows its ends alone."""
    place, numbers = tmp_path / "out", np.arange(5000)
    query = "SELECT g AS id, g / 100 AS k FROM unnest($1::int8[]) AS g"
    with pytest.raises(Stop):
        write(conn, place, query, args=wrap(numbers), progress=stop)
    changed = numbers.copy()
    changed[2500] = 7
    with pytest.raises(InterfaceError, match="another query"):
        write(conn, place, query, args=wrap(changed), resume=True)
    assert write(conn, place, query, args=wrap(numbers), resume=True).rows == 5000


@pytest.mark.parametrize("name", ["_k", ".k"])
def test_keys_whose_folders_readers_skip_are_refused(
    conn: sync.Connection, tmp_path: Path, name: str
) -> None:
    query = f'SELECT 1 AS id, 2 AS "{name}"'
    with pytest.raises(InterfaceError, match="readers skip"):
        datasets.write(query, conn, tmp_path / "out", partition_by=name)


def test_a_lock_of_a_removed_folder_is_no_lock(tmp_path: Path) -> None:
    """Of processes that take and remove the folder in turn, none works in another's."""
    place = tmp_path / "out"
    begun: list[bool] = []

    def work() -> None:
        for _ in range(200):
            with suppress(Stop, InterfaceError), Unfinished(place, sync=False) as unfinished:
                unfinished.begin({})
                try:
                    (unfinished.data / "mine").write_bytes(b"")
                    begun.append([path.name for path in unfinished.data.iterdir()] == ["mine"])
                except OSError:
                    begun.append(False)
                stop(500)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert begun
    assert all(begun)
