"""Tables of a key, a value and a row number, with values of any type."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from samples import SAMPLES
from tests.columns.every_type import EVERY

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.sync import Connection

ROWS = 120

# Texts of values that are equal, and of values whose order is surprising.
EQUAL: dict[str, tuple[str, ...]] = {
    "numeric": ("1", "1.0", "1.000", "-0.00", "0", "1e10"),
    "numeric(15,2)": ("1", "1.00", "0"),
    "float4": ("0", "-0", "NaN", "Infinity", "-Infinity", "1e30", "-1e30"),
    "float8": ("0", "-0", "NaN", "Infinity", "-Infinity", "1e300", "-1e300", "-1.5"),
    "interval": ("1 month", "30 days", "720 hours", "1 day", "24 hours", "-1 day", "-24 hours"),
    "text": ("", "a", "A", "b", "a ", "ab", "seven b", "eight by", "fifteen bytes 1", "x" * 16),
    "varchar": ("", "a", "A", "zz", "\u00e9", "sixteen bytes 16"),
    "bpchar": ("a", "a ", "a  ", "", " ", "b"),
    "timestamp": ("infinity", "-infinity", "2024-02-29 12:00", "1969-12-31 23:59:59"),
    "timestamptz": ("infinity", "-infinity", "2024-02-29 12:00+00", "2024-02-29 13:00+01"),
    "date": ("infinity", "-infinity", "2024-02-29", "1969-12-31"),
    "timetz": ("12:00+00", "13:00+01", "12:00+02"),
    "float8[]": ("{0}", "{-0}", "{NaN}", "{NaN,1}", "{NULL}", "{}"),
    "numeric[]": ("{1.0}", "{1.00}", "{1,NULL}"),
    "interval[]": ("{1 month}", "{30 days}"),
    "numrange": ("[1,2)", "[1.0,2.00)", "empty", "(,)"),
    "int8": ("9223372036854775807", "-9223372036854775808", "0", "1"),
    "every_mood": ("glad", "sad"),
    "every_numbers": ("(1,0,)", "(1,-0,)", "(,NaN,)"),
}


def texts_of(sql_type: str) -> list[str]:
    """Texts of values that columns can hold."""
    texts = [*EVERY.get(sql_type, ()), *EQUAL.get(sql_type, ())]
    for sample in SAMPLES:
        if sample.sql_type == sql_type:
            texts += [text for text in sample.in_columns if len(text) < 2000]
    return list(dict.fromkeys(texts))


def moderate_texts_of(sql_type: str) -> list[str]:
    """Texts of values whose sums stay in the type."""
    return [text for text in EQUAL.get(sql_type, ()) if "e" not in text] + ["1", "2", "-3"]


def fill(link: Connection, sql_type: str, *, seed: int = 0, pool: list[str] | None = None) -> None:
    """Make the temporary table ``t`` with the columns n, g (a small integer), k and v."""
    dice = random.Random(f"{sql_type} {seed}")
    rows = ROWS
    pool = texts_of(sql_type) if pool is None else pool
    cells = [None if dice.random() < 0.15 else dice.choice(pool) for _ in range(2 * rows)]
    small = [dice.choice([None, 0, 1, 2, 3, 4]) for _ in range(rows)]
    link.execute("drop table if exists t")
    link.execute(
        f"create temp table t as select n, g, k::text::{sql_type} as k, v::text::{sql_type} as v "
        "from unnest($1::int4[], $2::int4[], $3::text[], $4::text[]) x(n, g, k, v)",
        list(range(rows)),
        small,
        cells[:rows],
        cells[rows:],
    )


def table(link: Connection) -> Columns:
    return fetch(link, "select n, g, k, v from t order by n")


def fetch(link: Connection, query: str) -> Columns:
    return link.fetch_columns(query, infinity="saturate")
