"""A program that passes objects that must not be printed, in every way, one at a time.

Calling such an object's `repr` or `str` ends the process; so does that of its container.
"""

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import enum
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

import colonnade
import colonnade.sync
from colonnade import dbapi, rows, types

if TYPE_CHECKING:
    from collections.abc import Callable

PRINTED = 99


class Unprintable:
    """Ends the process if its text is requested."""

    def __repr__(self) -> str:
        os._exit(PRINTED)

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        os._exit(PRINTED)


class UnprintableText(str):
    """The same, for places that accept strings."""

    __slots__ = ()
    __repr__ = Unprintable.__repr__
    __str__ = Unprintable.__repr__
    __format__ = Unprintable.__format__


class UnprintableList(list[Any]):
    """The same, as a sequence."""

    __repr__ = Unprintable.__repr__
    __format__ = Unprintable.__format__


class UnprintableNumber(int):
    """The same, as a number."""

    __repr__ = Unprintable.__repr__
    __str__ = Unprintable.__repr__
    __format__ = Unprintable.__format__


class UnprintableFrame(pd.DataFrame):  # type: ignore[misc]
    """The same, of a library's class; its values are plain, or pandas itself requests texts."""

    __repr__ = Unprintable.__repr__
    __str__ = Unprintable.__repr__
    __format__ = Unprintable.__format__


class Zone(dt.tzinfo):
    """A zone that cannot be printed."""

    __repr__ = Unprintable.__repr__

    def utcoffset(self, moment: dt.datetime | None) -> dt.timedelta:
        """UTC."""
        del moment
        return dt.timedelta(0)

    dst = utcoffset

    def tzname(self, moment: dt.datetime | None) -> str:
        """No name."""
        del moment
        return ""


text: Any = UnprintableText("x")
Held = enum.Enum("Held", {"ONE": Unprintable()})
thing: Any = Unprintable()
objects = np.empty(2, object)
objects[:] = [thing, thing]
TYPES = ["int4", "text", "bool", "float8", "numeric", "date", "timestamptz", "uuid", "bytea"]
TYPES += ["jsonb", "interval", "inet", "int4range", "point", "bit(3)", "tid", "int4[]", "text[]"]
TYPES += ["float8[]", "int4multirange", "unprintable_pair", "unprintable_pair[]", "time"]
GIVEN: dict[str, Any] = {
    "an object": thing,
    "a list": [thing],
    "a tuple": (thing, thing),
    "lists": [[thing], [thing]],
    "a dict": {"a": thing, thing: 1},
    "a list of its own": UnprintableList([thing]),
    "a deque": collections.deque([thing]),
    "an array": objects,
    "a series": pd.Series(objects),
    "a frame": UnprintableFrame({"a": [1]}),
    "a member": Held.ONE,
    "a moment": dt.datetime(2024, 2, 29, tzinfo=Zone()),
    "a range": types.Range(thing, thing),
    "a number": UnprintableNumber(2**70),
}
OPTIONS: dict[str, Callable[[colonnade.sync.Connection], Any]] = {
    "timeout": lambda c: c.fetch("SELECT 1", timeout=thing),
    "record_class": lambda c: c.fetch("SELECT 1", record_class=thing),
    "schema": lambda c: c.fetch_columns("SELECT 1 AS a", schema=thing),
    "schema of a column": lambda c: c.fetch_columns("SELECT 1 AS a", schema={"a": thing}),
    "schema of a name": lambda c: c.fetch_columns("SELECT 1 AS a", schema={thing: "int4"}),
    "schema of an array": lambda c: c.fetch_columns("SELECT 1 AS a", schema={"a": objects}),
    "schema of Arrow": lambda c: c.fetch_columns("SELECT 1 AS a", schema={"a": pa.array([1])}),
    "infinity": lambda c: c.fetch_columns("SELECT 1 AS a", infinity=thing),
    "isolation": lambda c: c.transaction(isolation=thing),
    "listener": lambda c: c.add_listener(thing, print),
    "callback": lambda c: c.add_listener("a", thing),
    "log listener": lambda c: c.add_log_listener(thing),
    "query logger": lambda c: c.add_query_logger(thing),
    "table": lambda c: c.copy_columns_to_table(thing, {"a": [1]}),
    "source": lambda c: c.copy_columns_to_table("unprintable", thing),
    "columns": lambda c: c.copy_columns_to_table("unprintable", {"a": [1]}, columns=[thing]),
    "mapped": lambda c: c.copy_columns_to_table("unprintable", {"a": [1]}, columns={thing: "a"}),
    "mapped to": lambda c: c.copy_columns_to_table("unprintable", {"a": [1]}, columns={"a": thing}),
    "conflict": lambda c: c.copy_columns_to_table("unprintable", {"a": [1]}, on_conflict=thing),
    "keys": lambda c: c.copy_columns_to_table(
        "unprintable", {"a": [1]}, on_conflict="update", conflict_columns=[thing]
    ),
    "values": lambda c: c.copy_columns_to_table("unprintable", {"a": thing}),
    "objects": lambda c: c.copy_columns_to_table("unprintable", {"a": [thing]}),
    "arrays": lambda c: c.copy_columns_to_table("unprintable", {"a": objects}),
    "frame": lambda c: c.copy_columns_to_table("unprintable", pd.DataFrame({"a": objects})),
    "created": lambda c: c.copy_columns_to_table("made", {"a": [thing]}, create=True),
    "records": lambda c: c.copy_records_to_table("unprintable", records=thing),
    "record": lambda c: c.copy_records_to_table("unprintable", records=[thing]),
    "value": lambda c: c.copy_records_to_table("unprintable", records=[(thing, None)]),
    "mapping": lambda c: c.copy_records_to_table("unprintable", records=[{thing: 1, "b": 1}]),
    "list": lambda c: c.copy_records_to_table("unprintable", records=[(1, [thing])]),
    "bytes": lambda c: c.copy_to_table("unprintable", source=thing),
    "chunk": lambda c: c.copy_to_table("unprintable", source=[thing]),
    "sink": lambda c: c.copy_from_table("unprintable", output=thing),
    "many": lambda c: c.executemany("SELECT $1::int4", [(thing,)]),
    "set": lambda c: c.executemany("SELECT $1::int4", [thing]),
    "sets": lambda c: c.executemany("SELECT $1::int4", thing),
    "query": lambda c: c.fetch(thing),
    "named": lambda c: c.fetch(*colonnade.named("SELECT :a", {thing: 1, "a": 2})),
    "codec": lambda c: c.set_type_codec("int4", encoder=thing, decoder=thing, format=thing),
    "factory": lambda c: c.fetch("SELECT 1", row_factory=rows.class_row(thing)),
    "write_table": lambda c: colonnade.write_table({"a": [thing]}, "made", c),
    "write_table name": lambda c: colonnade.write_table({"a": [1]}, thing, c),
    "if_exists": lambda c: colonnade.write_table({"a": [1]}, "made", c, if_exists=thing),
    "into": lambda c: colonnade.read_sql("SELECT 1", c, into=thing),
    "con": lambda _: colonnade.read_sql("SELECT 1", thing),
    "index": lambda c: colonnade.read_sql("SELECT 1 AS a", c, index_col=thing),
    "dtypes": lambda c: c.fetch_columns("SELECT 1 AS a").to_pandas(dtypes=thing),
    "null": lambda c: c.fetch_columns("SELECT 1 AS a").to_structured(null={"a": thing}),
    "bits": lambda _: types.BitString(thing),
    "bit order": lambda _: types.BitString.from_int(1, 8, bitorder=thing),
    "dsn": lambda _: colonnade.sync.connect(thing),
    "host": lambda _: colonnade.sync.connect(host=thing),
    "user": lambda _: colonnade.sync.connect(user=thing),
    "ssl": lambda _: colonnade.sync.connect(ssl=thing),
    "command_timeout": lambda _: colonnade.sync.connect(command_timeout=thing),
    "cache": lambda _: colonnade.sync.connect(statement_cache_size=thing),
    "connection_class": lambda _: colonnade.sync.connect(connection_class=thing),
    "row_factory": lambda _: colonnade.sync.connect(row_factory=text),
    "pool": lambda _: colonnade.sync.create_pool(min_size=thing),
    "pool's class": lambda _: colonnade.sync.create_pool(connection_class=thing),
}
DBAPI: dict[str, Callable[[Any], Any]] = {
    "parameter": lambda c: c.execute("SELECT %s::int4", [thing]),
    "parameters": lambda c: c.execute("SELECT %s::int4", thing),
    "text": lambda c: c.execute("SELECT %s", [thing]),
    "mapping": lambda c: c.execute("SELECT %(a)s", {"a": thing}),
    "isolation": lambda c: setattr(c.connection, "isolation_level", thing),
    "many": lambda c: c.executemany("SELECT %s::int4", [[thing]]),
    "mode": lambda c: c.scroll(0, mode=thing),
    "operation": lambda c: c.execute(thing),
    "ingest": lambda c: c.adbc_ingest("made", thing, mode="create"),
    "ingest mode": lambda c: c.adbc_ingest("made", {"a": [1]}, mode=thing),
}


def told(road: str, call: Callable[[], Any]) -> None:
    """Print the way before it is tried, and its outcome."""
    sys.stdout.write(f"{road}: ")
    sys.stdout.flush()
    try:
        call()
    except Exception as error:  # noqa: BLE001 - every error is reported
        text = f"{type(error).__name__} {error}"
    else:
        text = "nothing"
    sys.stdout.write(text.replace("\n", " ") + "\n")


def main() -> None:
    """Try every way."""
    dsn = sys.argv[1]
    with colonnade.sync.connect(dsn) as connection:
        connection.execute("CREATE TEMPORARY TABLE unprintable (a int4 PRIMARY KEY, b int4[])")
        connection.execute("CREATE TYPE pg_temp.unprintable_pair AS (a int4, b text)")
        for kind in TYPES:
            name = f"pg_temp.{kind}" if kind.startswith("unprintable") else kind
            for what, given in GIVEN.items():
                query = f"SELECT $1::{name}"
                told(f"{kind} {what}", partial(connection.fetchval, query, given))
        for what, call in OPTIONS.items():
            told(f"option {what}", partial(call, connection))
    for what, call in DBAPI.items():
        with contextlib.closing(dbapi.connect(dsn)) as other:
            told(f"dbapi {what}", partial(call, other.cursor()))


if __name__ == "__main__":
    main()
