"""`colonnade export --partition-by`: datasets, and how they end."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pyarrow.dataset as pads
import pytest

from tests.cli.program import run, started, until

if TYPE_CHECKING:
    from pathlib import Path

MANY = "SELECT i AS id, i % 1500 AS k, md5(i::text) AS t FROM generate_series(1, 30000) AS i"


def ids(place: Path) -> list[int]:
    found: list[int] = pads.dataset(place, partitioning="hive").to_table()["id"].to_pylist()
    return sorted(found)


def test_a_table_by_a_column(dsn: str, mixed: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    words = ("--partition-by", "flag", "--order-by", "id", "--max-rows-per-file", "500", "--fsync")
    done = run(dsn, "export", mixed, "-o", str(place), *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("2,500 rows, ")
    assert f"6 files in {place}" in done.stderr
    assert sorted(path.name for path in place.iterdir()) == ["flag=false", "flag=true"]
    assert ids(place) == list(range(1, 2501))
    again = run(dsn, "export", mixed, "-o", str(place), *words)
    assert again.returncode == 1
    assert "--overwrite replaces it" in again.stderr
    assert run(dsn, "export", mixed, "-o", str(place), *words, "--overwrite").returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_dataset_goes_on(dsn: str, tmp_path: Path, number: signal.Signals) -> None:
    place, record = tmp_path / "out", tmp_path / ".out.unfinished" / "record.ndjson"
    words = ("export", MANY, "-o", str(place), "--partition-by", "k")
    with started(dsn, *words) as process:
        until(lambda: record.exists() and record.read_bytes().count(b"\n") > 20)
        process.send_signal(number)
        _, told = process.communicate(timeout=30)
    assert not place.exists()
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert told.lstrip().startswith("colonnade: interrupted; ")
        assert told.rstrip().endswith("--resume goes on from there")
    refused = run(dsn, *words)
    assert refused.returncode == 1
    assert "--resume goes on after its finished parts, --overwrite begins anew" in refused.stderr
    done = run(dsn, *words, "--resume")
    assert done.returncode == 0, done.stderr
    assert "at 2 moments, by as many runs" in done.stderr
    assert ids(place) == list(range(1, 30_001))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interrupt_before_the_first_part(dsn: str, tmp_path: Path) -> None:
    sql = "SELECT i AS id, 1 AS k FROM generate_series(1, 1000000000) AS i"
    words = ("export", sql, "-o", str(tmp_path / "out"), "--partition-by", "k")
    with started(dsn, *words) as process:
        until((tmp_path / ".out.unfinished" / "record.ndjson").exists)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert told.strip() == "colonnade: interrupted; no partial output remains"
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_what_is_finished(dsn: str, tmp_path: Path) -> None:
    sql = "SELECT 1 / (2000 - i) AS x, i AS id FROM generate_series(1, 3000) AS i"
    place = str(tmp_path / "out")
    words = ("--partition-by", "day", "--order-by", "id")
    done = run(dsn, "export", sql, "-o", place, *words)
    assert done.returncode == 1
    assert 'no column "day"' in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "-", "--resume"), "a dataset is a folder"),
        (("-o", "out", "--order-by", "id", "--format", "csv"), "has Parquet files"),
        (("-o", "."), "is a directory"),
        (("-o", "x.csv", "--order-by", "id"), "without an ending (-o x), or for one sorted file"),
        (("-o", "x.Parquet", "--partition-by", "id"), "x.Parquet is the name of a file"),
        (("-o", "x.csv.gz", "--resume"), "without an ending (-o x)"),
    ],
)
def test_wrong_words(dsn: str, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = run(dsn, "export", "SELECT 1 AS id", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
