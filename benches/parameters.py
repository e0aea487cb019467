"""Client processor time of sending an array as a parameter: `python -m benches.parameters DSN`."""

from __future__ import annotations

import asyncio
import resource
import sys
from typing import TYPE_CHECKING, Any

import asyncpg
import numpy as np
import polars as pl
import psycopg
import pyarrow as pa

import colonnade.sync

if TYPE_CHECKING:
    from collections.abc import Callable

MILLION = 1_000_000
ROUNDS = 5


def main(dsn: str) -> None:
    """Print the minimum of a few rounds for each source and driver."""
    integers = np.arange(MILLION, dtype=np.int64) * 7919
    moments = np.datetime64("2024-01-01", "us") + np.arange(MILLION)
    floats = integers / 3
    texts = [f"instrument {number}" for number in range(100_000)]
    with (
        colonnade.sync.connect(dsn) as connection,
        psycopg.connect(dsn, autocommit=True) as of_psycopg,
        asyncio.Runner() as runner,
    ):
        of_asyncpg = runner.run(asyncpg.connect(dsn))

        def colonnade_sends(element: str, values: Any) -> None:
            connection.fetchval(f"SELECT cardinality($1::{element}[])", values)

        def asyncpg_sends(element: str, values: Any) -> None:
            runner.run(of_asyncpg.fetchval(f"SELECT cardinality($1::{element}[])", values))

        def psycopg_sends(element: str, values: Any) -> None:
            of_psycopg.execute(f"SELECT cardinality(%b::{element}[])", (values,))

        for element, array in (("int8", integers), ("float8", floats), ("timestamp", moments)):
            values = array.tolist()
            show(f"{element}, ndarray of 1 M", colonnade_sends, element, array)
            show(f"{element}, pyarrow array of 1 M", colonnade_sends, element, pa.array(array))
            show(f"{element}, Polars series of 1 M", colonnade_sends, element, pl.Series(array))
            show(f"{element}, list of 1 M", colonnade_sends, element, values)
            show(f"{element}, list of 1 M", asyncpg_sends, element, values)
            show(f"{element}, list of 1 M", psycopg_sends, element, values)
        show("text, list of 100 k", colonnade_sends, "text", texts)
        show("text, pyarrow array of 100 k", colonnade_sends, "text", pa.array(texts))
        show("text, list of 100 k", asyncpg_sends, "text", texts)
        show("text, list of 100 k", psycopg_sends, "text", texts)
        runner.run(of_asyncpg.close())


def show(what: str, sends: Callable[[str, Any], None], element: str, values: Any) -> None:
    """Print one line: the minimum processor time, user and system, of sending the values."""
    least = min(measured(sends, element, values) for _ in range(ROUNDS))
    driver = sends.__name__.removesuffix("_sends")
    print(f"{what:<32} {driver:<10} {least * 1e3:8.1f} ms")


def measured(sends: Callable[[str, Any], None], element: str, values: Any) -> float:
    """Seconds of processor time of this process for sending the values once."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    sends(element, values)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(sys.argv[1])
