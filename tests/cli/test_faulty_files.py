"""Corrupt files: each import ends with one line that names the file, without a partial load."""

from __future__ import annotations

import csv
import json
import random
import re
import select
import struct
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.program import TIMEOUT_S, environment, run
from tests.support.faulty_arrays import FAULTS, faulty_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import colonnade.sync

pytestmark = pytest.mark.thorough

TABLE = "cli_faulty"
COLUMNS = "id int8, t text, b bytea, l int4[], d text, v text, w bytea, f float8"
KINDS = ["arrow", "arrows", "packed.arrow", "parquet", "csv", "ndjson"]
FILES_PER_KIND = 350
ROWS = 40
SEED = 20_240_229
NUMBERS = (0, 1, 5, 255, 1300, 10**6, 10**9, 2**31 - 1, -1, -(2**31))


@pytest.fixture
def table(connection: colonnade.sync.Connection) -> Iterator[str]:
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE} ({COLUMNS})")
    yield TABLE
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def whole() -> pa.Table:
    """A table with every kind of offsets, views, lengths and counts."""
    some = range(ROWS)
    return pa.table(
        {
            "id": pa.array(some, pa.int64()),
            "t": pa.array([None if i % 7 == 3 else f"größe {i}" for i in some]),
            "b": pa.array([b"%06d" % i for i in some], pa.binary()),
            "l": pa.array([[i, None, i + 1][: i % 4] for i in some], pa.list_(pa.int32())),
            "d": pa.array([f"word {i % 3}" for i in some]).dictionary_encode(),
            "v": pa.array(
                [f"a text of more than twelve bytes, {i}" for i in some], pa.string_view()
            ),
            "w": pa.array([b"x" * i for i in some], pa.binary_view()),
            "f": pa.array([i / 8 for i in some]),
        }
    )


def written(kind: str, directory: Path) -> bytes:
    """A valid file of a format."""
    path = directory / f"good.{kind}"
    table = whole()
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=16)
    elif kind == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(table.column_names)
            for i in range(ROWS):
                lines.writerow([i, f"größe {i}", "\\x01", f"{{{i},1}}", 'a, "b"', "", "\\x", i / 8])
    elif kind == "ndjson":
        rows = ({"id": i, "t": f"größe {i}", "l": [i, None], "f": i / 8} for i in range(ROWS))
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd" if "packed" in kind else None)
        make = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
        with make(str(path), table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=16)
    return path.read_bytes()


def altered(good: bytes, chance: random.Random) -> bytes:
    """The file with one to three random faults."""
    content = bytearray(good)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(max(len(content), 1))
        match chance.randrange(6):
            case 0:
                content[place] ^= 1 << chance.randrange(8)
            case 1:
                aligned = place & ~3
                content[aligned : aligned + 4] = struct.pack("<i", chance.choice(NUMBERS))
            case 2:
                del content[place:]
            case 3:
                del content[place : place + chance.randint(1, 64)]
            case 4:
                piece = content[place : place + chance.randint(1, 64)]
                content[place:place] = piece
            case _:
                size = min(chance.randint(1, 16), len(content) - place)
                content[place : place + size] = chance.randbytes(size)
    return bytes(content)


class Answer(NamedTuple):
    """The outcome of an import."""

    status: int
    told: str
    escaped: str | None


@contextmanager
def worker(dsn: str) -> Iterator[Callable[..., Answer]]:
    """A process that imports one file after another."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.import_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(dsn),
    )
    answers = process.stdout
    assert answers is not None

    def ask(*words: str) -> Answer:
        print(json.dumps(words), file=process.stdin, flush=True)
        assert select.select([answers], [], [], TIMEOUT_S)[0], f"{words} does not end"
        line = answers.readline()
        assert line, f"{words} ended the process: {process.wait()}"
        return Answer(*json.loads(line))

    try:
        yield ask
    finally:
        process.kill()
        process.communicate()


def assert_told(
    answer: Answer, path: Path, connection: colonnade.sync.Connection, *, may_succeed: bool
) -> None:
    """Check that a file is loaded completely, or not at all with its name and the reason."""
    rows = connection.fetchval(f"SELECT count(*) FROM {TABLE}")
    assert answer.escaped is None, f"{answer.escaped}"
    if answer.status == 0:
        assert may_succeed, answer
        found = re.match(r"([\d,]+) rows? into", answer.told)
        assert found is not None, answer
        assert int(found[1].replace(",", "")) == rows
        connection.execute(f"DELETE FROM {TABLE}")
        return
    assert answer.status == 1, answer
    assert rows == 0, answer
    assert answer.told.startswith(f"colonnade: {path}"), answer
    assert "Traceback" not in answer.told


@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(
    kind: str, dsn: str, connection: colonnade.sync.Connection, table: str, tmp_path: Path
) -> None:
    chance = random.Random(f"{SEED} {kind}")
    path = tmp_path / f"bad.{kind}"
    good = written(kind, tmp_path)
    refused = 0
    with worker(dsn) as ask:
        path.write_bytes(good)
        answer = ask("import", str(path), table)
        assert answer.status == 0, answer
        assert_told(answer, path, connection, may_succeed=True)
        for _ in range(FILES_PER_KIND):
            path.write_bytes(altered(good, chance))
            answer = ask("import", str(path), table)
            refused += answer.status != 0
            assert_told(answer, path, connection, may_succeed=True)
    # Most of the faults must have an effect.
    assert refused > FILES_PER_KIND // 3


@pytest.mark.parametrize("wanted", [1300, 10**6, 10**9])
@pytest.mark.usefixtures("table")
def test_a_last_offset_that_lies(
    wanted: int, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    values = pa.table(
        {"b": pa.array([b"%06d" % i for i in range(50)], pa.binary()), "t": ["NEIGHBOUR" * 20] * 50}
    )
    path = tmp_path / "bad.arrow"
    with pa.ipc.new_file(str(path), values.schema) as writer:
        writer.write_table(values)
    content = bytearray(path.read_bytes())
    place = content.index(struct.pack("<5i", 0, 6, 12, 18, 24)) + 50 * 4
    content[place : place + 4] = struct.pack("<i", wanted)
    path.write_bytes(content)
    done = run(dsn, "import", str(path), TABLE)
    answer = Answer(done.returncode, done.stderr, None)
    assert_told(answer, path, connection, may_succeed=False)
    assert "faulty" in done.stderr


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_faults_of_arrays_in_files(
    kind: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / f"bad.{kind}"
    make = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
    connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    with worker(dsn) as ask:
        for fault in FAULTS:
            path.write_bytes(faulty_file(fault, make))
            answer = ask("import", str(path), TABLE, "--create", "--type", "x=text")
            assert answer.escaped is None, (fault, answer.escaped)
            assert answer.status == 1, (fault, answer)
            assert answer.told.startswith(f"colonnade: {path}"), (fault, answer)
            assert connection.fetchval("SELECT to_regclass($1)", TABLE) is None, fault


HEADERS = {
    "a NUL": b"id\0,t\n1,x\n",
    "no UTF-8": b"\xff\xfe,t\n1,x\n",
    "a long name": b"i" * 200_000 + b",t\n1,x\n",
    "an open quote": b'"id,t\n1,x\n',
    "no name": b",\n1,x\n",
    "a name twice": b"id,id\n1,x\n",
    "nothing": b"",
    "a line end": b"\n",
}


@pytest.mark.parametrize("fault", HEADERS)
@pytest.mark.usefixtures("table")
def test_faulty_headers(
    fault: str, dsn: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(HEADERS[fault])
    with worker(dsn) as ask:
        for words in ((), ("--skip", "t"), ("--create",)):
            if "--create" in words:
                connection.execute(f"DROP TABLE {TABLE}")
            answer = ask("import", str(path), TABLE, *words)
            assert answer.escaped is None, answer.escaped
            if "--create" in words and answer.status == 0:
                # With `--create`, any text is a valid column name.
                assert fault in {"a long name", "no UTF-8", "an open quote"}, answer
            else:
                assert answer.status == 1, answer
                assert answer.told.startswith(f"colonnade: {path}"), answer
