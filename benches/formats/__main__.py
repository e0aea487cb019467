"""Encode 500,000 rows of ten columns in each format, and in the ways that programs use today.

    python -m benches.formats

The result is fetched before, as columns and as records, so only the encoding counts. The ways take
turns; each figure is the minimum of the rounds. The processor time is that of all threads. The last
column is the processor time of the usual way, a dictionary per row from the same columns, by that
of this way.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.csv

import colonnade
from colonnade import embedded
from colonnade._core.formats import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from colonnade.columns import Columns

SQL = """
    SELECT n AS id, (random() * 1e9)::int8 AS account, (n % 1000)::int4 AS shop,
        random() AS x, round((random() * 1000)::numeric, 2)::float8 AS price,
        timestamptz '2020-01-01' + n * interval '61.234567 s' AS at, n % 3 = 0 AS is_paid,
        'customer ' || n % 10000 AS customer, md5(n::text) AS token,
        CASE WHEN n % 4 > 0 THEN (n % 100000)::int4 END AS discount
    FROM generate_series(1, $1::int8) x(n)
"""
BATCH_ROWS = 10_000
USUAL = "orjson: a dict per row, from columns"


def with_encoder(make: Callable[[], Encoder], batches: Sequence[Columns]) -> Iterator[bytes]:
    """Encode the batches one by one, as a stream does."""
    encoder = make()
    for batch in batches:
        yield from encoder.encode(batch._batch)  # noqa: SLF001 - as `serve` does
    yield from encoder.finish()


def by_rows(columns: Columns) -> bytes:
    """A dictionary per row, made from columns."""
    return orjson.dumps(columns.to_pylist())


def by_records(records: Sequence[Any]) -> bytes:
    """A dictionary per row, made from the records that a driver returns."""
    return orjson.dumps([dict(record) for record in records])


def by_arrays(columns: Columns, table: pa.Table) -> bytes:
    """NumPy's arrays where orjson reads them; text and columns with NULL as lists."""
    arrays: dict[str, Any] = {}
    for name in columns.names:
        array = columns[name]
        is_list = array.dtype.kind in "OT" or columns.null_mask(name).any()
        arrays[name] = table[name].to_pylist() if is_list else array
    document = {"columns": arrays, "rows": len(columns)}
    return orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)


def arrow_csv(table: pa.Table) -> int:
    """Return the number of bytes of CSV by pyarrow."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return len(sink.getvalue())


def ways(columns: Columns, records: Sequence[Any]) -> dict[str, Callable[[], int]]:
    """Each way, as a function that returns the number of its bytes."""
    batches = [columns[start : start + BATCH_ROWS] for start in range(0, len(columns), BATCH_ROWS)]
    table = pa.table(columns)
    encoders: dict[str, Callable[[], Encoder]] = {
        "Arrow stream": lambda: Encoder.arrow_stream("none"),
        "Arrow stream, lz4": lambda: Encoder.arrow_stream("lz4"),
        "Arrow stream, zstd": lambda: Encoder.arrow_stream("zstd"),
        "JSON columns": Encoder.json_columns,
        "NDJSON": lambda: Encoder.ndjson("javascript", end_mark=True),
        "CSV": lambda: Encoder.csv(header=True),
    }

    def size_of(make: Callable[[], Encoder]) -> Callable[[], int]:
        return lambda: sum(map(len, with_encoder(make, batches)))

    return {
        **{name: size_of(make) for name, make in encoders.items()},
        USUAL: lambda: len(by_rows(columns)),
        "orjson: a dict per row, from records": lambda: len(by_records(records)),
        "orjson: NumPy arrays and lists": lambda: len(by_arrays(columns, table)),
        "pyarrow: CSV": lambda: arrow_csv(table),
    }


def main() -> None:
    """Print a line per way."""
    parser = argparse.ArgumentParser(prog="python -m benches.formats", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with colonnade.sync.connect(embedded.ensure_dsn()) as connection:
        columns = connection.fetch_columns(SQL, options.rows)
        records = connection.fetch(SQL, options.rows)
    wall: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    sizes: dict[str, int] = {}
    for _ in range(options.rounds):
        for name, encode in ways(columns, records).items():
            wall_start, cpu_start = time.perf_counter(), time.process_time()
            sizes[name] = encode()
            cpu.setdefault(name, []).append(time.process_time() - cpu_start)
            wall.setdefault(name, []).append(time.perf_counter() - wall_start)
    print(f"{options.rows} rows of {columns.num_columns} columns, {columns.nbytes / 1e6:.1f} MB")
    print(f"{'':38} {'ms':>7} {'CPU ms':>7} {'MB':>6} {'wall x':>7} {'CPU x':>7}")
    for name, size in sizes.items():
        least_wall, least_cpu = min(wall[name]), min(cpu[name])
        print(
            f"{name:38} {least_wall * 1e3:7.0f} {least_cpu * 1e3:7.0f} {size / 1e6:6.1f}"
            f" {min(wall[USUAL]) / least_wall:7.1f} {min(cpu[USUAL]) / least_cpu:7.1f}"
        )


if __name__ == "__main__":
    main()
