"""`colonnade.datasets.write`: folders by values, files by size, and how others read them."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from colonnade import datasets, sync
from colonnade.errors import DivisionByZeroError, InterfaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 12_000
# Values that a path cannot have as they are, or that look like something else.
ODD = [
    *("a b", "x/y", "k=v", "50%", "größe", ".", "..", "a+b", "a:b", "#?&", "it's", '"q"', "\\"),
    *("\n", "~", "a%20b", "null", "NULL", "None", "1", "01", "true", " lead", "trail ", "*"),
    *("[a]", "{x}", "__HIVE_DEFAULT_PARTITION__x", "🐘", "A", "a", "$1", "\t"),
]

_RUN = """
import sys
from colonnade import datasets

dsn, table, place, keys, order = sys.argv[1:]
datasets.write(
    table, dsn, place, partition_by=keys.split(), order_by=order.split(), max_rows=40,
    resume=True, batch_rows=500,
)
"""


@pytest.fixture
def conn(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        yield connection


@pytest.fixture
def table(conn: sync.Connection) -> Iterator[str]:
    name = "dataset_rows"
    conn.execute(f"DROP TABLE IF EXISTS {name}; DROP TYPE IF EXISTS dataset_mood")
    conn.execute("CREATE TYPE dataset_mood AS ENUM ('zest', 'bore')")
    conn.execute(
        f"""
        CREATE TABLE {name} AS SELECT
            i::int8 AS id, date '2026-01-01' + (i % 5)::int AS day,
            CASE WHEN i % 6 > 0 THEN 'carrier ' || i % 6 END AS carrier,
            ('{{zest,bore}}'::dataset_mood[])[1 + i % 2] AS mood,
            i % 3 = 0 AS flag, md5((i % 4)::text)::uuid AS key,
            (i * 1.25)::numeric(12, 2) AS price, md5(i::text) AS label
        FROM generate_series(1, {ROWS}) AS i
        """
    )
    yield name
    conn.execute(f"DROP TABLE {name}; DROP TYPE dataset_mood")


def by_pyarrow(place: Path, schema: pa.Schema) -> list[dict[str, Any]]:
    partitioning = pads.partitioning(schema, flavor="hive")
    rows: list[dict[str, Any]] = (
        pads.dataset(place, partitioning=partitioning).to_table().to_pylist()
    )
    return rows


def by_duckdb(sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def expected(conn: sync.Connection, table: str) -> list[dict[str, Any]]:
    return conn.fetch_columns(f"SELECT * FROM {table} ORDER BY id").to_pylist()


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def test_pyarrow_polars_and_duckdb_read_it_as_the_table(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    place = tmp_path / "flights"
    query = f"SELECT id, day, carrier, price, label FROM {table} WHERE id > $1"
    written = datasets.write(query, conn, place, args=[0], partition_by=["day", "carrier"])
    assert (written.path, written.rows, len(written.files)) == (place, ROWS, 30)
    assert written.is_one_moment
    assert written.nbytes == sum(path.stat().st_size for path in written.files)
    assert sorted(place.rglob("*.parquet")) == sorted(written.files)
    assert [path.name for path in tmp_path.iterdir()] == ["flights"]
    assert place / "day=2026-01-03" / "carrier=carrier%202" / "part-0001.parquet" in written.files
    null = "carrier=__HIVE_DEFAULT_PARTITION__"
    assert (place / "day=2026-01-03" / null).is_dir()
    want = conn.fetch_columns(f"{query} ORDER BY id", 0).to_pylist()

    schema = pa.schema([("day", pa.date32()), ("carrier", pa.string())])
    assert in_order(by_pyarrow(place, schema)) == want
    polars = pl.scan_parquet(place, hive_partitioning=True).collect()
    assert polars.schema["day"] == pl.Date
    assert in_order(polars.select(want[0].keys()).to_dicts()) == want
    duck = by_duckdb(
        f"SELECT {', '.join(want[0])} FROM read_parquet('{place}/**/*.parquet', "
        "hive_partitioning = true) ORDER BY id"
    )
    assert duck == [tuple(row.values()) for row in want]


def test_every_text_comes_back_through_a_folder(conn: sync.Connection, tmp_path: Path) -> None:
    query = "SELECT n, t FROM unnest($1::text[]) WITH ORDINALITY AS u (t, n)"
    values = [*ODD, None]
    place = tmp_path / "odd"
    datasets.write(query, conn, place, args=[values], partition_by="t")
    want = dict(enumerate(values, 1))
    rows = by_pyarrow(place, pa.schema([("t", pa.string())]))
    assert {row["n"]: row["t"] for row in rows} == want
    scanned = pl.scan_parquet(place, hive_schema={"t": pl.String}).collect()
    assert dict(scanned.select("n", "t").rows()) == want
    duck = f"SELECT n, t FROM read_parquet('{place}/**/*.parquet', hive_types = {{'t': VARCHAR}})"
    assert dict(by_duckdb(duck)) == want


def test_every_type_of_key(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    names = ["mood", "flag", "key", "small", "short"]
    query = f"SELECT *, (id % 2)::int2 AS small, 'ab'::char(4) AS short FROM {table}"
    place = tmp_path / "keys"
    datasets.write(query, conn, place, partition_by=names)
    kinds = [pa.string(), pa.bool_(), pa.string(), pa.int16(), pa.string()]
    rows = in_order(by_pyarrow(place, pa.schema(list(zip(names, kinds, strict=True)))))
    want = conn.fetch_columns(f"{query} ORDER BY id").to_pylist()
    assert rows == [{**row, "key": str(row["key"])} for row in want] or [
        {name: str(row[name]) for name in want[0]} for row in rows
    ] == [{name: str(value) for name, value in row.items()} for row in want]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("1.5::float8", "float8"),
        ("1.5::numeric", "numeric"),
        ("now()", "timestamptz"),
        ("ARRAY[1]", "int4"),
        ("'{}'::jsonb", "jsonb"),
    ],
)
def test_a_key_without_one_text_is_refused(
    conn: sync.Connection, tmp_path: Path, column: str, said: str
) -> None:
    with pytest.raises(InterfaceError, match=f'partition_by names the column "k" .*{said}'):
        datasets.write(f"SELECT {column} AS k, 1 AS n", conn, tmp_path / "x", partition_by="k")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["''", "'__HIVE_DEFAULT_PARTITION__'", "repeat('x', 300)"])
def test_a_value_that_readers_would_lose_is_refused(
    conn: sync.Connection, tmp_path: Path, value: str
) -> None:
    with pytest.raises(InterfaceError, match='the column "k" has'):
        datasets.write(f"SELECT {value} AS k, 1 AS n", conn, tmp_path / "x", partition_by="k")
    assert list(tmp_path.iterdir()) == []


def test_values_that_become_one_are_one_partition(conn: sync.Connection, tmp_path: Path) -> None:
    query = "SELECT day, 1 AS n FROM unnest('{-infinity,2026-01-01,infinity}'::date[]) AS day"
    written = datasets.write(
        query, conn, tmp_path / "x", partition_by="day", infinity="null", batch_rows=1
    )
    rows = by_pyarrow(written.path, pa.schema([("day", pa.date32())]))
    assert [row["day"] for row in rows].count(None) == 2


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        ("SELECT 1 AS a", {"partition_by": "b"}, 'no column "b"'),
        ("SELECT 1 AS a, 2 AS a", {"order_by": "a"}, "several columns are named"),
        ("SELECT 1 AS a", {"partition_by": "a"}, "nothing is left"),
        ("SELECT 1.5 AS a", {"order_by": "a"}, "order_by names the column"),
    ],
)
def test_columns_that_make_no_dataset(
    conn: sync.Connection, tmp_path: Path, query: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InterfaceError, match=said):
        datasets.write(query, conn, tmp_path / "x", **options)
    assert list(tmp_path.iterdir()) == []


def test_limits_of_rows_and_bytes(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    few = datasets.write(table, conn, tmp_path / "rows", max_rows=5000)
    assert [pq.read_metadata(path).num_rows for path in few.files] == [5000, 5000, 2000]
    small = datasets.write(table, conn, tmp_path / "bytes", max_bytes=100_000, batch_rows=500)
    assert len(small.files) > 2
    assert all(path.stat().st_size < 150_000 for path in small.files)
    assert in_order(pads.dataset(tmp_path / "bytes").to_table().to_pylist()) == in_order(
        pads.dataset(tmp_path / "rows").to_table().to_pylist()
    )


def test_a_file_ends_only_between_different_keys(conn: sync.Connection, tmp_path: Path) -> None:
    query = "SELECT i / 7 AS k, i AS id FROM generate_series(0, 999) AS i"
    written = datasets.write(query, conn, tmp_path / "x", order_by="k", max_rows=10, batch_rows=16)
    keys = [set(pq.read_table(path)["k"].to_pylist()) for path in written.files]
    assert len(keys) > 50
    assert sum(map(len, keys)) == 143
    assert written.rows == 1000


def test_no_rows(conn: sync.Connection, tmp_path: Path) -> None:
    query = "SELECT 1 AS n, 2 AS k WHERE false"
    plain = datasets.write(query, conn, tmp_path / "plain")
    assert [pq.read_schema(path).names for path in plain.files] == [["n", "k"]]
    folders = datasets.write(query, conn, tmp_path / "folders", partition_by="k")
    assert (folders.files, folders.rows) == ((), 0)
    assert list((tmp_path / "folders").iterdir()) == []


@pytest.mark.parametrize("keys", ["day carrier/", "mood flag key/id", "/carrier id"])
def test_a_killed_run_goes_on_to_the_same_dataset(
    dsn: str, conn: sync.Connection, table: str, tmp_path: Path, keys: str
) -> None:
    """The process is killed again and again, each time after a random number of parts."""
    partition_by, order_by = keys.split("/")
    place = tmp_path / "out"
    record = tmp_path / ".out.unfinished" / "record.ndjson"
    words = [sys.executable, "-c", _RUN, dsn, table, str(place), partition_by, order_by]
    chance = random.Random(keys)
    kills = 0
    while not place.exists():
        process = subprocess.Popen(words)
        enough = lines_of(record) + chance.randrange(1, 6)
        while process.poll() is None and (lines_of(record) < enough or kills > 3):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
    assert kills
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    names, order = partition_by.split(), order_by.split()
    once = datasets.write(
        table, conn, tmp_path / "once", partition_by=names, order_by=order, max_rows=40
    )
    files = {str(path.relative_to(tmp_path / "once")) for path in once.files}
    assert files == {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}
    schema = pa.schema([(name, pa.string()) for name in names])
    assert in_order(by_pyarrow(place, schema)) == in_order(by_pyarrow(tmp_path / "once", schema))
    want = [{name: row[name] for name in ("id", "label")} for row in expected(conn, table)]
    got = in_order(by_pyarrow(place, schema))
    assert [{name: row[name] for name in ("id", "label")} for row in got] == want


def lines_of(record: Path) -> int:
    try:
        return record.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


class Stop(Exception):
    """Raised by a progress function, in the middle of a run."""


def interrupted(conn: sync.Connection, query: str, place: Path, **options: Any) -> None:
    """Begin a dataset, and end in the middle with `Stop`."""

    def stop(rows: int) -> None:
        if rows >= 6000:
            raise Stop

    with pytest.raises(Stop):
        datasets.write(query, conn, place, batch_rows=1000, progress=stop, **options)


def test_a_continued_run_says_so(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    interrupted(conn, table, place, partition_by="day")
    assert not place.exists()
    with pytest.raises(InterfaceError, match="unfinished export"):
        datasets.write(table, conn, place, partition_by="day")
    conn.execute(f"UPDATE {table} SET label = 'late'")
    written = datasets.write(table, conn, place, partition_by="day", resume=True)
    assert not written.is_one_moment
    assert len(set(written.snapshots)) == 2
    rows = by_pyarrow(place, pa.schema([("day", pa.date32())]))
    late = {row["day"] for row in rows if row["label"] == "late"}
    # The finished parts are as they were, the others as they are.
    assert late == {dt.date(2026, 1, day) for day in (3, 4, 5)}
    assert len(rows) == ROWS


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition_by": "carrier"}, "another partition_by"),
        ({"partition_by": "day", "order_by": "id"}, "another order_by"),
        ({"partition_by": "day", "query": "SELECT * FROM dataset_rows"}, "another query"),
        ({"partition_by": "day", "schema": {"price": "float64"}}, "another columns"),
    ],
)
def test_another_dataset_is_not_continued(
    conn: sync.Connection, table: str, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    place = tmp_path / "out"
    interrupted(conn, table, place, partition_by="day")
    query = options.pop("query", table)
    with pytest.raises(InterfaceError, match=said):
        datasets.write(query, conn, place, resume=True, **options)
    # It is still there, and can be continued or discarded.
    assert lines_of(tmp_path / ".out.unfinished" / "record.ndjson") == 4
    assert datasets.write(table, conn, place, partition_by="day", overwrite=True).is_one_moment


def test_a_record_that_was_cut_and_files_that_were_changed(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    place, unfinished = tmp_path / "out", tmp_path / ".out.unfinished"
    interrupted(conn, table, place, partition_by="day")
    with (unfinished / "record.ndjson").open("ab") as record:
        record.write(b'{"folder":"day=2026')
    (unfinished / "data" / "day=2026-01-04").mkdir(parents=True)
    (unfinished / "data" / "day=2026-01-04" / "part-0001.parquet").write_bytes(b"half")
    first = unfinished / "data" / "day=2026-01-01" / "part-0001.parquet"
    whole, found = first.read_bytes(), first.stat()
    for changed in (whole[:-1], bytes([*whole[:10], whole[10] ^ 1, *whole[11:]])):
        first.write_bytes(changed)
        os.utime(first, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000_000))
        with pytest.raises(InterfaceError, match="was changed"):
            datasets.write(table, conn, place, partition_by="day", resume=True)
    first.write_bytes(whole)
    os.utime(first, ns=(found.st_atime_ns, found.st_mtime_ns))
    written = datasets.write(table, conn, place, partition_by="day", resume=True, fsync=True)
    assert written.rows == ROWS
    assert in_order(by_pyarrow(place, pa.schema([("day", pa.date32())]))) is not None


@pytest.mark.parametrize(
    "line",
    [
        b"garbage\n",
        b"\0\0\n",
        b"[1]\n",
        b"{}\n",
        b'{"folder":"../..","keys":[null],"files":[["precious",1,4]]}\n',
    ],
)
@pytest.mark.parametrize("at_end", [True, False])
def test_a_damaged_record_is_refused(
    conn: sync.Connection, table: str, tmp_path: Path, line: bytes, *, at_end: bool
) -> None:
    place, record = tmp_path / "out", tmp_path / ".out.unfinished" / "record.ndjson"
    interrupted(conn, table, place, partition_by="day")
    record.write_bytes(record.read_bytes() + line if at_end else line)
    with pytest.raises(InterfaceError, match="is damaged"):
        datasets.write(table, conn, place, partition_by="day", resume=True)
    assert datasets.write(table, conn, place, partition_by="day", overwrite=True).rows == ROWS


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a right")
@pytest.mark.parametrize("name", [".", "data", "record.ndjson", "lock"])
def test_symbolic_links_are_not_followed_to_the_files_of_others(
    conn: sync.Connection, table: str, tmp_path: Path, name: str
) -> None:
    place, unfinished = tmp_path / "out", tmp_path / ".out.unfinished"
    interrupted(conn, table, place, partition_by="day")
    moved = tmp_path / "moved"
    (unfinished / name).rename(moved)
    (unfinished / name).symlink_to(moved)
    before = sorted(moved.rglob("*"))
    for resume in (True, False):
        with pytest.raises(InterfaceError, match="symbolic link"):
            datasets.write(
                table, conn, place, partition_by="day", resume=resume, overwrite=not resume
            )
    assert sorted(moved.rglob("*")) == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_what_another_user_began_in_a_shared_directory_is_not_continued(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    place, unfinished = tmp_path / "out", tmp_path / ".out.unfinished"
    interrupted(conn, table, place, partition_by="day")
    tmp_path.chmod(0o1777)
    os.chown(unfinished, 12_345, -1)
    with pytest.raises(InterfaceError, match="another user's"):
        datasets.write(table, conn, place, partition_by="day", resume=True)
    # A directory of our own is safe, even if another user made the folder in it.
    tmp_path.chmod(0o700)
    assert datasets.write(table, conn, place, partition_by="day", resume=True).rows == ROWS


def test_what_cannot_be_continued_leaves_nothing(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    interrupted(conn, table, tmp_path / "out", max_rows=100)
    assert list(tmp_path.iterdir()) == []
    failing = f"SELECT id / (id - 5000) AS x, day FROM {table}"
    with pytest.raises(DivisionByZeroError):
        datasets.write(failing, conn, tmp_path / "out", order_by="x")
    assert list(tmp_path.iterdir()) == []
    assert conn.fetchval("SELECT 1") == 1


def test_an_older_dataset_is_replaced_only_by_a_whole_one(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    place = tmp_path / "out"
    place.mkdir()
    datasets.write(table, conn, place, partition_by="carrier")
    with pytest.raises(InterfaceError, match="there is a dataset"):
        datasets.write(table, conn, place, partition_by="day")
    interrupted(conn, table, place, partition_by="day", overwrite=True)
    assert len(list(place.glob("carrier=*"))) == 6
    datasets.write(table, conn, place, partition_by="day", overwrite=True, resume=True)
    assert min(path.name for path in place.iterdir()) == "day=2026-01-01"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (place / "notes.txt").write_text("mine")
    with pytest.raises(InterfaceError, match=r"other files than a dataset's.*notes\.txt"):
        datasets.write(table, conn, place, overwrite=True)


def test_one_process_at_a_time(dsn: str, table: str, tmp_path: Path) -> None:
    place = tmp_path / "out"
    said: list[BaseException] = []

    def second() -> None:
        try:
            datasets.write(table, dsn, place, partition_by="day", resume=True)
        except InterfaceError as error:
            said.append(error)

    def progress(_: int) -> None:
        if not said:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()

    datasets.write(table, dsn, place, partition_by="day", progress=progress)
    assert "another process is writing" in str(said[0])


def test_a_pool_and_an_open_transaction(
    dsn: str, conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    with sync.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert datasets.write(table, pool, tmp_path / "pool", partition_by="day").rows == ROWS
    with conn.transaction():
        conn.execute(f"DELETE FROM {table} WHERE id > 100")
        assert datasets.write(table, conn, tmp_path / "inside", order_by="id").rows == 100


def test_a_query_may_end_with_a_semicolon(
    conn: sync.Connection, table: str, tmp_path: Path
) -> None:
    query = f"SELECT id FROM {table} WHERE id <= 5; \n"
    assert datasets.write(query, conn, tmp_path / "out", order_by="id").rows == 5


def test_a_place_that_is_none(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such directory"):
        datasets.write(table, conn, tmp_path / "missing" / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        datasets.write(table, conn, os.fspath(tmp_path / "file"), overwrite=True)


def test_none_is_no_columns(conn: sync.Connection, table: str, tmp_path: Path) -> None:
    written = datasets.write(table, conn, tmp_path / "whole", partition_by=None, order_by=None)
    assert (written.rows, len(written.files)) == (ROWS, 1)
