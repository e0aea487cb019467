"""`colonnade export`: files with the server's data, whole or in parts."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from colonnade._words.extras import how_to_install
from tests.cli.program import PROGRAM, environment, run, run_on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    import colonnade.sync

NUMBERS = "SELECT i AS n, md5(i::text) AS t FROM generate_series(1, {rows}) AS i"


@pytest.mark.parametrize("codec", ["zstd", "snappy", "none"])
def test_a_table_becomes_a_parquet_file(
    codec: str, dsn: str, connection: colonnade.sync.Connection, mixed: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    done = run(dsn, "export", mixed, "-o", str(path), "--compression", codec, "--fsync")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("2,500 rows, ")
    assert list(tmp_path.iterdir()) == [path]
    expected = pa.table(connection.fetch_columns(f"SELECT * FROM {mixed}"))
    assert pq.read_table(path).equals(expected)
    stored = pq.ParquetFile(path).metadata.row_group(0).column(0).compression
    assert stored.lower() == {"none": "uncompressed"}.get(codec, codec)


def test_names_of_tables_are_read_as_sql_has_them(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    connection.execute('CREATE TABLE "odd ""name""" AS SELECT 1 AS one')
    try:
        for number, name in enumerate(('"odd ""name"""', 'public."odd ""name"""')):
            path = tmp_path / f"{number}.csv"
            done = run(dsn, "export", name, "-o", str(path))
            assert done.returncode == 0, done.stderr
            assert path.read_text() == "one\n1\n"
    finally:
        connection.execute('DROP TABLE "odd ""name"""')


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet", "arrow", "arrows"])
def test_parts_of_a_size_hold_all_rows(ending: str, dsn: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    words = ("--max-file-size", "300kB")
    done = run(dsn, "export", NUMBERS.format(rows=40_000), "-o", str(path), *words)
    assert done.returncode == 0, done.stderr
    parts = sorted(tmp_path.iterdir())
    assert [part.name for part in parts] == [
        f"out-{number:04}.{ending}" for number in range(1, len(parts) + 1)
    ]
    assert len(parts) > 2
    assert [n for part in parts for n in numbers_of(part)] == list(range(1, 40_001))
    # A footer may follow the measured bytes.
    assert all(part.stat().st_size < 320_000 for part in parts)


@pytest.mark.parametrize("ending", ["csv", "ndjson", "parquet"])
def test_parts_of_a_number_of_rows(ending: str, dsn: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"
    words = ("--max-rows-per-file", "300")
    done = run(dsn, "export", NUMBERS.format(rows=900), "-o", str(path), *words)
    assert done.returncode == 0, done.stderr
    parts = sorted(tmp_path.iterdir())
    assert done.stderr.endswith(f": 3 files, {parts[0]} to {parts[2].name}\n")
    assert [len(numbers_of(part)) for part in parts] == [300, 300, 300]


def test_line_breaks_within_values_end_no_row(dsn: str, tmp_path: Path) -> None:
    sql = "SELECT i AS n, E'a\nb \"c\"\n' AS t FROM generate_series(1, 10) AS i"
    words = ("--max-rows-per-file", "3", "-q")
    done = run(dsn, "export", sql, "-o", str(tmp_path / "out.csv"), *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    texts = [part.read_text() for part in sorted(tmp_path.iterdir())]
    parts = [list(csv.reader(io.StringIO(text))) for text in texts]
    assert [len(part) - 1 for part in parts] == [3, 3, 3, 1]
    assert parts[3][1] == ["10", 'a\nb "c"\n']


def test_no_rows_are_one_part(dsn: str, tmp_path: Path) -> None:
    words = ("--max-rows-per-file", "3")
    for ending in ("csv", "parquet"):
        path = tmp_path / f"e.{ending}"
        done = run(dsn, "export", "SELECT 1 AS n WHERE false", "-o", str(path), *words)
        assert done.returncode == 0, done.stderr
        assert done.stderr.endswith(f": 1 file, {tmp_path / f'e-0001.{ending}'}\n")
    assert {path.name for path in tmp_path.iterdir()} == {"e-0001.csv", "e-0001.parquet"}
    assert pq.read_table(tmp_path / "e-0001.parquet").schema.names == ["n"]


def test_parts_do_not_mix_with_older_ones(dsn: str, tmp_path: Path) -> None:
    path = str(tmp_path / "out.csv")
    sql = NUMBERS.format(rows=100)
    assert run(dsn, "export", sql, "-o", path, "--max-rows-per-file", "20").returncode == 0
    before = {part: part.read_text() for part in tmp_path.iterdir()}
    assert len(before) == 5
    done = run(dsn, "export", sql, "-o", path, "--max-rows-per-file", "50")
    assert done.returncode == 1
    assert "parts of an earlier export" in done.stderr
    assert {part: part.read_text() for part in tmp_path.iterdir()} == before
    again = (*("export", sql, "-o", path, "--max-rows-per-file", "50"), "--overwrite")
    assert run(dsn, *again).returncode == 0
    assert sorted(part.name for part in tmp_path.iterdir()) == ["out-0001.csv", "out-0002.csv"]


def test_a_file_is_replaced_by_a_whole_one_only(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")
    done = run(dsn, "export", "SELECT 1 / (5 - i) FROM generate_series(1, 9) i", "-o", str(path))
    assert done.returncode == 1
    assert "division by zero" in done.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert run(dsn, "export", "SELECT 1 AS one", "-o", str(path)).returncode == 0
    assert path.read_text() == "one\n1\n"


def test_types_that_parquet_lacks_are_named(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sql = "SELECT interval '1 mon' AS span"
    done = run(dsn, "export", sql, "-o", str(path))
    assert done.returncode == 1
    assert '"span"' in done.stderr
    assert "--schema span=utf8" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert run(dsn, "export", sql, "-o", str(path), "--schema", "span=utf8").returncode == 0
    assert pq.read_table(path).to_pylist() == [{"span": "1 mon"}]


def test_numerics_without_a_scale(
    dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    """The first batch has only whole numbers, and later ones have fractions."""
    path = tmp_path / "out.parquet"
    sql = 'SELECT {} AS "an amount" FROM generate_series(1, 200000) AS g'
    whole = sql.format("(CASE WHEN g <= 150000 THEN g ELSE g / 8.0 END)::numeric")
    assert run(dsn, "export", whole, "-o", str(path)).returncode == 0
    total = connection.fetchval(f'SELECT sum("an amount") FROM ({whole}) AS x')
    assert pc.sum(pq.read_table(path)["an amount"]).as_py() == total

    fine = sql.format("CASE WHEN g <= 150000 THEN 1 ELSE 1e-22 END")
    done = run(dsn, "export", fine, "-o", str(path), "--overwrite")
    assert done.returncode == 1
    assert "row 150000: the value has more digits after the point than the 18" in done.stderr
    offered = ["an amount=decimal128(38, 22)", "an amount=float64"]
    assert f"pass --schema '{offered[0]}' or --schema '{offered[1]}' to get it" in done.stderr
    for schema in offered:
        words = ("-o", str(path), "--overwrite", "--schema", schema)
        assert run(dsn, "export", fine, *words).returncode == 0


def test_values_that_have_no_place_are_named(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sql = "SELECT 'infinity'::timestamp AS moment"
    done = run(dsn, "export", sql, "-o", str(path))
    assert done.returncode == 1
    assert '"moment"' in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert run(dsn, "export", sql, "-o", str(path), "--infinity", "null").returncode == 0
    assert pq.read_table(path).to_pylist() == [{"moment": None}]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("export", "t"), "--output"),
        (("export", "t", "-o", "x.what"), 'the name "x.what" does not end'),
        (("export", "t", "-o", "-"), "choose a --format"),
        (("export", "t", "-o", "x.csv", "--max-file-size", "big"), "256MB"),
        (("export", "-o", "x.csv"), "no query was given"),
        (("export", "t", "-o", "x.csv", "-p", "novalue"), "NAME=VALUE"),
        (("query", "SELECT 1", "--delimiter", "ab"), "not one character"),
    ],
)
def test_misuse_ends_with_2(words: tuple[str, ...], told: str, dsn: str, tmp_path: Path) -> None:
    done = run(dsn, *words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_bar_is_for_terminals(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    sql = NUMBERS.format(rows=300_000)
    shown = run_on_terminal(dsn, "export", sql, "-o", str(path), width=120)
    assert shown.status == 0, shown.err
    assert "exporting" in shown.err
    assert "of about 300,000 rows" in shown.err
    assert "300,000 rows, " in shown.err
    assert "exporting" not in run(dsn, "export", sql, "-o", str(path)).stderr
    quiet = run_on_terminal(dsn, "export", sql, "-o", str(path), "-q")
    assert quiet.err == ""


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "ndjson"])
def test_memory_does_not_grow_with_the_result(ending: str, dsn: str, tmp_path: Path) -> None:
    # Two kilobytes per row: 40 and 240 megabytes in total.
    sql = "SELECT generate_series(1, {rows}) AS n, repeat(md5(random()::text), 64) AS t"
    peaks = [
        peak_memory(dsn, "export", sql.format(rows=rows), "-o", str(tmp_path / f"out.{ending}"))
        for rows in (20_000, 120_000)
    ]
    # A row group of Parquet has 64 MiB, more than the smaller result.
    assert peaks[1] - peaks[0] < (120 << 20 if ending == "parquet" else 32 << 20)


def peak_memory(dsn: str, *words: str) -> int:
    """The peak memory of a run in bytes."""
    process = subprocess.Popen([*PROGRAM, *words], env=environment(dsn), stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


def test_pyarrow_is_asked_for_where_it_is_needed(dsn: str, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    # A module found before site-packages, in place of the package.
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'pyarrow' else find(n, *a)\n"
    )
    env = {"PYTHONPATH": str(hidden)}
    done = run(dsn, "export", "SELECT 1", "-o", str(tmp_path / "x.parquet"), env=env)
    assert done.returncode == 1
    assert how_to_install("pyarrow") in done.stderr
    assert run(dsn, "export", "SELECT 1", "-o", str(tmp_path / "x.csv"), env=env).returncode == 0


def numbers_of(part: Path) -> list[int]:
    """The first column of a part."""
    if part.suffix == ".csv":
        with part.open(newline="") as file:
            return [int(row["n"]) for row in csv.DictReader(file)]
    if part.suffix == ".ndjson":
        return [json.loads(line)["n"] for line in part.read_text().splitlines()]
    if part.suffix == ".parquet":
        return list(pq.read_table(part)["n"].to_pylist())
    opened = pa.ipc.open_file if part.suffix == ".arrow" else pa.ipc.open_stream
    with pa.memory_map(str(part)) as source:
        return list(opened(source).read_all()["n"].to_pylist())


def test_control_characters_of_the_path_are_shown_as_escapes(dsn: str, tmp_path: Path) -> None:
    name = "a\x1b[2Jb\x07\u202ec"
    for place, words in (
        (tmp_path / f"{name}.csv", ()),
        (tmp_path / name, ("--order-by", "n")),
    ):
        done = run_on_terminal(dsn, "export", NUMBERS.format(rows=5), "-o", str(place), *words)
        assert done.status == 0, done.err
        assert place.exists()
        assert r"a\x1b[2Jb\x07\u202ec" in done.err
        assert "\x1b[2J" not in done.err
        assert "\u202e" not in done.err


def test_marks_of_direction_in_a_query_are_shown_as_escapes(dsn: str, tmp_path: Path) -> None:
    path = tmp_path / "query.sql"
    path.write_text("SELECT 1 AS \u202enoitceted\u2066 FROM", encoding="utf-8")
    done = run(dsn, "query", "-f", str(path))
    assert done.returncode == 1
    assert r"\u202enoitceted\u2066" in done.stderr
