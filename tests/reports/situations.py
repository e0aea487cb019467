"""The form of the situations: the reports of others, in our words, and the right value.

A situation runs by each of our doors and by each peer. `but` has what a door or a peer gives
instead: another value, or `REFUSED`. So "as psycopg" and "as asyncpg" are measured here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import adbc_driver_postgresql.dbapi
import asyncpg
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import sqlalchemy as sa

import colonnade
import colonnade.sync
from colonnade import adbc, dbapi

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

    Read = Callable[[str], Any]


class _Refused:
    def __repr__(self) -> str:
        return "REFUSED"


REFUSED = _Refused()
SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    # A door that leaves a transaction open is not waited for.
    "lock_timeout": "5s",
}
SCHEMA = "reports"
NUMBERS = itertools.count(1)
TYPES = f"""
    CREATE TYPE {SCHEMA}.mood AS ENUM ('sad', 'ok');
    CREATE TYPE {SCHEMA}.pair AS (id int, label text);
    CREATE DOMAIN {SCHEMA}.digit AS int;
    CREATE DOMAIN {SCHEMA}.digits AS {SCHEMA}.digit[];
"""

#: Our doors, and after them the peers.
OURS = ("core", "columns", "DB-API", "text()", "ADBC")
PEERS = ("psycopg", "asyncpg", "genuine ADBC")


@dataclass(frozen=True)
class Reading:
    """A query, and the value of its only row and column."""

    reports: str
    """The public numbers, such as psycopg/psycopg#719."""
    words: str
    query: str
    right: Any
    but: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Writing:
    """A value for a column of a type, and the server's text of what is stored."""

    reports: str
    words: str
    sql_type: str
    value: Any
    right: Any
    but: Mapping[str, Any] = field(default_factory=dict)
    setup: str = ""


@contextlib.asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[colonnade.Connection]:
    """A connection that is closed at the end."""
    conn = await colonnade.connect(dsn)
    try:
        yield conn
    finally:
        await conn.close()


class Doors:
    """Connections of ours and of the peers, a function for each door."""

    def __init__(self, dsn: str) -> None:
        self._ends = contextlib.ExitStack()
        enter = self._ends.enter_context
        options = " ".join(
            f"-c {name}={text.replace(' ', chr(92) + ' ')}" for name, text in SETTINGS.items()
        )
        self.core = enter(colonnade.sync.connect(dsn, server_settings=SETTINGS))
        forget = f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"
        self.core.execute(f"{forget}; CREATE SCHEMA {SCHEMA}; {TYPES}")
        self._ends.callback(lambda: self.core.execute(forget))
        with_options = f"{dsn}{'&' if '?' in dsn else '?'}options={quote(options)}"
        self.dbapi = enter(dbapi.connect(with_options, autocommit=True))
        address = with_options.replace("postgresql:", "postgresql+colonnade:", 1)
        self.engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
        self._ends.callback(self.engine.dispose)
        self.sqlalchemy = enter(self.engine.connect())
        self.adbc = enter(adbc.connect(with_options, autocommit=True))
        self.psycopg = enter(psycopg.connect(dsn, autocommit=True, options=options))
        self.loop = enter(asyncio.Runner())
        self.asyncpg = self.loop.run(asyncpg.connect(dsn, server_settings=SETTINGS))
        self._ends.callback(lambda: self.loop.run(self.asyncpg.close()))
        self.genuine_adbc = enter(
            adbc_driver_postgresql.dbapi.connect(with_options, autocommit=True)
        )

    def close(self) -> None:
        self._ends.close()

    def readers(self) -> dict[str, Read]:
        """How each door reads the value of a query."""

        def by_adbc(connection: Any, query: str) -> Any:
            with connection.cursor() as cursor:
                cursor.execute(query)
                return cursor.fetch_arrow_table()[0].to_pylist()[0]

        return {
            "core": self.core.fetchval,
            "columns": lambda query: next(
                iter(self.core.fetch_columns(query).to_pydict().values())
            )[0],
            "DB-API": lambda query: first(self.dbapi.execute(query).fetchone()),
            "text()": lambda query: self.sqlalchemy.exec_driver_sql(query).scalar(),
            "ADBC": functools.partial(by_adbc, self.adbc),
            "psycopg": lambda query: first(self.psycopg.execute(query.encode()).fetchone()),
            "asyncpg": lambda query: self.loop.run(self.asyncpg.fetchval(query)),
            "genuine ADBC": functools.partial(by_adbc, self.genuine_adbc),
        }

    def writers(self, table: str) -> dict[str, Callable[[Any], Any]]:
        """How each door writes a value into the only column of a table."""
        insert = f"INSERT INTO {SCHEMA}.{table} VALUES"

        def by_columns(make: Callable[[list[Any]], Any], value: Any) -> None:
            self.core.copy_columns_to_table(table, {"v": make([value])}, schema_name=SCHEMA)

        def by_adbc(connection: Any, value: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"{insert} ($1)", (value,))

        return {
            "core": lambda value: self.core.execute(f"{insert} ($1)", value),
            "executemany": lambda value: self.core.executemany(f"{insert} ($1)", [(value,)]),
            "records": lambda value: self.core.copy_records_to_table(
                table, records=[(value,)], schema_name=SCHEMA
            ),
            "pandas": functools.partial(by_columns, lambda values: pd.Series(values, dtype=object)),
            "Polars": functools.partial(by_columns, lambda values: pl.Series("v", values)),
            "Arrow": functools.partial(by_columns, pa.array),
            "DB-API": lambda value: self.dbapi.execute(f"{insert} (%s)", [value]),
            "text()": lambda value: self.sqlalchemy.execute(
                sa.text(f"{insert} (:v)"), {"v": value}
            ),
            "ADBC": functools.partial(by_adbc, self.adbc),
            "psycopg": lambda value: self.psycopg.execute(f"{insert} (%s)".encode(), [value]),
            "genuine ADBC": functools.partial(by_adbc, self.genuine_adbc),
            # The last: after a value that it refuses, its backend keeps the lock for a while.
            "asyncpg": lambda value: self.loop.run(self.asyncpg.execute(f"{insert} ($1)", value)),
        }


def first(row: Any) -> Any:
    """The first value of a row."""
    return row[0]


def attempted(read: Callable[[], Any]) -> Any:
    """The value that a door gives, or `REFUSED`."""
    try:
        return read()
    except Exception:  # noqa: BLE001
        return REFUSED


def alike(found: Any, right: Any) -> bool:
    """Whether values are equal; NaN equals NaN, and a Decimal has its zeros."""
    if isinstance(right, float) and isinstance(found, float):
        return (math.isnan(found) and math.isnan(right)) or found == right
    if isinstance(right, Decimal):
        return isinstance(found, Decimal) and str(found) == str(right)
    if isinstance(found, colonnade.Record | asyncpg.Record):
        found = tuple(found)
    if isinstance(right, list | tuple) and isinstance(found, list | tuple):
        return len(found) == len(right) and all(map(alike, found, right))
    of_class = isinstance(found, type(right)) and not isinstance(found, bool) | isinstance(
        right, bool
    )
    return (of_class or type(found) is type(right)) and bool(found == right)


def differences(
    doors: Mapping[str, Callable[[], Any]], right: Any, but: Mapping[str, Any]
) -> Iterator[str]:
    """A line for each door whose value is not what the situation says."""
    for name, read in doors.items():
        found, wanted = attempted(read), but.get(name, right)
        if not (found is wanted or alike(found, wanted)):
            yield f"{name}: {found!r}, not {wanted!r}"


def stored(doors: Doors, sql_type: str) -> dict[str, Callable[[Any], Any]]:
    """For each door, a function that writes a value and returns the server's text of it."""
    table = f"written_{next(NUMBERS)}"
    doors.core.execute(f"CREATE TABLE {SCHEMA}.{table} (v {sql_type})")

    def run(write: Callable[[Any], Any], value: Any) -> Any:
        doors.core.execute(f"TRUNCATE {SCHEMA}.{table}")
        write(value)
        return doors.core.fetchval(f"SELECT coalesce(v::text, 'NULL') FROM {SCHEMA}.{table}")

    return {name: functools.partial(run, write) for name, write in doors.writers(table).items()}


def writing_differences(doors: Doors, situation: Writing) -> Iterator[str]:
    """The differences of a value that goes in by every door."""
    asked = {
        name: functools.partial(run, situation.value)
        for name, run in stored(doors, situation.sql_type).items()
    }
    return differences(asked, situation.right, situation.but)


def reading_differences(doors: Doors, situation: Reading) -> Iterator[str]:
    """The differences of a value that every door reads."""
    asked = {
        name: functools.partial(read, situation.query) for name, read in doors.readers().items()
    }
    return differences(asked, situation.right, situation.but)
