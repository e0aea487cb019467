"""Measures structs beside pickle, msgspec, columns and arrays of composites.

    python -m benches.structs                  # 300,000 objects of six fields, and single objects

All figures are the client's processor time, the least of several rounds in which the ways take
turns, in one process. So they are compared with each other, not with other machines.
"""

from __future__ import annotations

import argparse
import asyncio
import pickle
import statistics
import time
import timeit
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benches.structs.objects import (
    SIX,
    Facts,
    FactsData,
    FactsMessage,
    Wide,
    WideData,
    WideMessage,
    six_columns,
    wide_values,
)
from colonnade import embedded, sync

if TYPE_CHECKING:
    from collections.abc import Callable

    Ways = dict[str, Callable[[], object]]

_TABLES = """
CREATE TABLE plain (number int8, repository int4, created int8, closed int8, size float8,
    author text);
CREATE TYPE six AS (number int8, repository int4, created int8, closed int8, size float8,
    author text);
CREATE TABLE composites (part int, objects six[]);
CREATE TABLE structs (data bytea);
CREATE TABLE pickles (data bytea);
CREATE TABLE messages (data bytea);
"""
_COMPOSITES = """
INSERT INTO composites SELECT number / 1000, array_agg(ROW(number, repository, created, closed,
    size, author)::six ORDER BY number) FROM plain GROUP BY 1
"""


def least(ways: Ways, rounds: int) -> dict[str, float]:
    """Return the least processor time of each way, in ms; the ways take turns."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.process_time()
            kept = way()
            found[name].append(time.process_time() - began)
            del kept
    return {name: min(times) * 1e3 for name, times in found.items()}


def each(ways: Ways, repeat: int = 7) -> dict[str, float]:
    """Return the least time of one call of each way, in ns; the ways take turns."""
    timers = {name: timeit.Timer(way) for name, way in ways.items()}
    numbers = {name: max(timer.autorange()[0] // 4, 1) for name, timer in timers.items()}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeat):
        for name, timer in timers.items():
            found[name].append(timer.timeit(numbers[name]) / numbers[name])
    return {name: min(times) * 1e9 for name, times in found.items()}


def show(title: str, unit: str, found: dict[str, float], base: str) -> None:
    """Print figures, and their ratios to one of them."""
    table = Table(title=title)
    for head in ("way", unit, f"/ {base}"):
        table.add_column(head, justify="left" if head == "way" else "right")
    for name, figure in found.items():
        table.add_row(name, f"{figure:,.1f}", f"{figure / found[base]:.2f}")
    Console().print(table)


def single_objects(elements: int) -> None:
    """Measure single objects in memory."""
    values = wide_values(elements)
    record, message = WideData(**values), WideMessage(**values)
    made = Wide(**values)
    data, pickled = bytes(made), pickle.dumps(record, protocol=5)
    packed = msgspec.msgpack.encode(message)
    decoder = msgspec.msgpack.Decoder(WideMessage)
    sizes = {"struct": len(data), "pickle": len(pickled), "msgspec": len(packed)}
    show(f"bytes, 26 fields and 3 lists of {elements}", "bytes", dict(sizes), "struct")
    ways: Ways = {
        "struct": lambda: bytes(Wide(**values)),
        "pickle": lambda: pickle.dumps(WideData(**values), protocol=5),
        "msgspec": lambda: msgspec.msgpack.encode(WideMessage(**values)),
        "pickle, object made": lambda: pickle.dumps(record, protocol=5),
        "struct, object made": lambda: bytes(made),
    }
    show(f"values to bytes, lists of {elements}", "ns", each(ways), "struct")
    ways = {
        "struct": lambda: Wide.from_bytes(data),
        "struct, one field": lambda: Wide.from_bytes(data).count_5,
        "struct, all fields": lambda: Wide.from_bytes(data).to_dict(),
        "pickle": lambda: pickle.loads(pickled),  # noqa: S301 - of its own
        "msgspec": lambda: decoder.decode(packed),
    }
    show(f"bytes to an object, lists of {elements}", "ns", each(ways), "struct")


def fill(connection: sync.Connection, rows: int) -> None:
    """Store the same objects in every way."""
    columns = six_columns(rows)
    connection.execute(_TABLES)
    connection.copy_columns_to_table("plain", columns)
    connection.execute(_COMPOSITES)
    plain = connection.fetch_columns("SELECT * FROM plain ORDER BY number")
    connection.copy_columns_to_table("structs", Facts.pack(plain))
    objects = list(zip(*(columns[name].tolist() for name in SIX), strict=True))
    pickles = ((pickle.dumps(FactsData(*values), protocol=5),) for values in objects)
    connection.copy_records_to_table("pickles", records=pickles)
    messages = ((msgspec.msgpack.encode(FactsMessage(*values)),) for values in objects)
    connection.copy_records_to_table("messages", records=messages)
    connection.execute("VACUUM ANALYZE")
    sizes = connection.fetch(
        "SELECT relname, pg_total_relation_size(oid) / 1e6 FROM pg_class WHERE relname ="
        " ANY('{plain,composites,structs,pickles,messages}') ORDER BY 2"
    )
    found = {name: float(size) for name, size in sizes}
    show(f"{rows:,} objects of six fields on the server", "MB", found, "structs")


async def reading(dsn: str, rounds: int) -> None:
    """Measure all objects from the server."""
    query = "SELECT data FROM structs"
    decoder = msgspec.msgpack.Decoder(FactsMessage)
    loop = asyncio.get_running_loop()
    peer = await asyncpg.connect(dsn)
    found: dict[str, list[float]] = {}

    async def measured(name: str, way: Callable[[], Any]) -> None:
        began = time.process_time()
        kept = await way()
        found.setdefault(name, []).append((time.process_time() - began) * 1e3)
        del kept

    with sync.connect(dsn) as connection:

        def ours(query: str, schema: Any = None) -> Callable[[], Any]:
            async def way() -> Any:
                return connection.fetch_columns(query, schema=schema)

            return way

        async def instances() -> Any:
            return [Facts.from_bytes(data) for data in connection.fetch_columns(query)["data"]]

        async def theirs() -> Any:
            return [row[0] for row in await peer.fetch(query)]

        async def unpickled() -> Any:
            rows = await peer.fetch("SELECT data FROM pickles")
            return [pickle.loads(row[0]) for row in rows]  # noqa: S301 - of its own

        async def decoded() -> Any:
            rows = await peer.fetch("SELECT data FROM messages")
            return [decoder.decode(row[0]) for row in rows]

        async def rows() -> Any:
            return await peer.fetch("SELECT * FROM plain")

        ways = {
            "bytea column only": ours(query),
            "structs -> columns": ours(query, {"data": Facts}),
            "structs -> two of the columns": ours(query, {"data": Facts["created", "author"]}),
            "structs -> instances": instances,
            "one column each": ours("SELECT * FROM plain"),
            "arrays of composites": ours("SELECT objects FROM composites"),
            "asyncpg, one bytea each": theirs,
            "asyncpg, pickle": unpickled,
            "asyncpg, msgspec": decoded,
            "asyncpg, one column each": rows,
        }
        for _ in range(rounds):
            for name, way in ways.items():
                await measured(name, way)
    await peer.close()
    del loop
    least_found = {name: min(times) for name, times in found.items()}
    show("reading them: client CPU", "ms", least_found, "bytea column only")
    pairs = zip(found["structs -> columns"], found["bytea column only"], strict=True)
    added = statistics.median(whole - plain for whole, plain in pairs)
    Console().print(f"columns beyond the bytea column: median of the differences {added:.1f} ms")


def packing(connection: sync.Connection, rounds: int) -> None:
    """Measure the conversion in memory, without the server."""
    plain = connection.fetch_columns("SELECT * FROM plain")
    blobs = connection.fetch_columns("SELECT data FROM structs")
    objects = list(zip(*(plain.to_pydict()[name] for name in SIX), strict=True))
    ways: Ways = {
        "columns -> structs, natively": lambda: Facts.pack(plain),
        "structs -> columns": lambda: Facts.unpack(blobs),
        "structs -> two of the columns": lambda: Facts.unpack(blobs, "created", "author"),
        "values -> structs, one by one": lambda: [bytes(Facts(*each)) for each in objects],
        "values -> pickles": lambda: [pickle.dumps(FactsData(*each), 5) for each in objects],
        "values -> msgspec": lambda: [
            msgspec.msgpack.encode(FactsMessage(*each)) for each in objects
        ],
    }
    show("in memory", "ms", least(ways, rounds), "structs -> columns")
    assert pa.table(Facts.unpack(blobs)).num_rows == len(objects)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benches.structs", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for elements in (3, 100):
        single_objects(elements)
    with embedded.start(tcp=True) as server:
        with sync.connect(server.dsn) as connection:
            fill(connection, arguments.rows)
            packing(connection, arguments.rounds)
        asyncio.run(reading(server.dsn, arguments.rounds))


if __name__ == "__main__":
    main()
