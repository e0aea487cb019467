"""pandas: `read_sql` and `to_sql` with every dtype of pandas, and with their options."""

from __future__ import annotations

import datetime as dt
import decimal
import functools
import uuid
import warnings
from typing import Any

import numpy as np
import pandas as pd
import sqlalchemy as sa

from tests.libraries.answers import DRIVER, answer, answer_error, engine_url

warnings.simplefilter("ignore", FutureWarning)

AT = pd.Timestamp("2024-02-29 01:02:03.000004")
SERIES = {
    **{kind: pd.Series([0, 1, 100], dtype=kind) for kind in ("int8", "int16", "int32", "int64")},
    **{kind: pd.Series([0, 1, 200], dtype=kind) for kind in ("uint8", "uint16", "uint32")},
    "uint64": pd.Series([0, 2**63 - 1, 1], dtype="uint64"),
    "too large": pd.Series([2**64 - 1], dtype="uint64"),
    **{kind: pd.Series([1, None, -3], dtype=kind) for kind in ("Int8", "Int16", "Int32", "Int64")},
    **{kind: pd.Series([1, None, 3], dtype=kind) for kind in ("UInt8", "UInt16", "UInt32")},
    **{kind: pd.Series([0.1, None, -2.5], dtype=kind) for kind in ("float32", "float64")},
    **{kind: pd.Series([0.5, None, -2.5], dtype=kind) for kind in ("Float32", "Float64")},
    "infinite": pd.Series([np.inf, -np.inf, 0.0]),
    "complex": pd.Series([1j]),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "str": pd.Series(["a", None, "ünï 'quoted'"], dtype="str"),
    "object": pd.Series(["a", None, "b"], dtype="object"),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "category": pd.Series(["a", "b", "a"], dtype="category"),
    "category of ints": pd.Series([1, 2, 1], dtype="category"),
    "datetime": pd.Series([AT, pd.NaT, AT]),
    "datetime of seconds": pd.Series([AT.floor("s"), pd.NaT]).astype("datetime64[s]"),
    "datetime with a zone": pd.Series([AT.tz_localize("Asia/Tokyo"), pd.NaT]),
    "timedelta": pd.Series(pd.to_timedelta([1, None, 3], unit="s")),
    "date": pd.Series([dt.date(2024, 2, 29), None]),
    "time": pd.Series([dt.time(1, 2, 3, 4), None]),
    "python datetimes": pd.Series([dt.datetime(2024, 2, 29), None], dtype="object"),
    "bytes": pd.Series([b"\0\xff", None]),
    "decimals": pd.Series([decimal.Decimal("1.10"), None]),
    "uuids": pd.Series([uuid.UUID(int=7), None]),
    "arrow ints": pd.Series([1, None], dtype="int64[pyarrow]"),
    "arrow strings": pd.Series(["a", None], dtype="string[pyarrow]"),
    "arrow moments": pd.Series([AT, None], dtype="timestamp[us][pyarrow]"),
    "nothing": pd.Series([None, None], dtype="object"),
}
VALUES = {
    "bool": "true, null",
    "int2": "1, null",
    "int4": "1, 2",
    "int8": "9007199254740993, 1",
    "float4": "0.1, null",
    "float8": "'NaN', 0.1, null",
    "numeric": "1.10, null, 12345678901234567890.5",
    "numeric(8,2)": "1.10, 2",
    "text": "'a', null",
    "bytea": "'\\x00ff', null",
    "date": "'2024-02-29', null",
    "time": "'01:02:03.000004', null",
    "timestamp": "'2024-02-29 01:02:03.000004', null",
    "timestamptz": "'2024-02-29 01:02:03.000004+09', null",
    "interval": "'1 day 2 hours', null",
    "uuid": "'00000000-0000-0000-0000-000000000007', null",
    "jsonb": """'{"k": [1, null]}', null""",
    "int4[]": "'{1,2}', null",
}


def told(frame: pd.DataFrame) -> list[object]:
    """Names, dtypes and rows."""
    kinds = {str(name): str(kind) for name, kind in frame.dtypes.items()}
    return [kinds, [list(row) for row in frame.itertuples(index=False)]]


def write(connection: sa.Connection, table: str, frame: pd.DataFrame, **options: Any) -> None:
    """`to_sql`, whose row count is -1 with psycopg for lists of parameters."""
    with connection.begin_nested():
        counted = frame.to_sql(table, connection, **options)
    assert counted in {-1, len(frame)}


def dtypes(connection: sa.Connection) -> None:
    """Every dtype, written and read back."""
    for number, (name, series) in enumerate(SERIES.items()):
        frame = pd.DataFrame({"v": series})
        for method in (None, "multi"):
            table = f"t{number}_{method}"

            writing = functools.partial(write, connection, table, frame, index=False, method=method)
            answer_error(f"write {name} {method}", writing)
            if sa.inspect(connection).has_table(table):
                answer(f"read {name} {method}", told(pd.read_sql_table(table, connection)))


def types(connection: sa.Connection) -> None:
    """Every type of a query's columns."""
    for name, values in VALUES.items():
        query = f"SELECT unnest(ARRAY[{values}]::{name}[]) AS v"
        if name == "int4[]":
            query = "SELECT ARRAY[1,2] AS v UNION ALL SELECT null"
        answer(f"query of {name}", told(pd.read_sql_query(sa.text(query), connection)))


def ways(connection: sa.Connection) -> None:
    """Options of reading and writing."""
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]}, index=[7, 8, 9])
    write(connection, "ways", frame, index_label="i")
    write(connection, "ways", frame, index_label="i", if_exists="append")
    answer_error("there already", lambda: write(connection, "ways", frame))
    answer("table", told(pd.read_sql("ways", connection)))
    answer("columns", told(pd.read_sql_table("ways", connection, columns=["b"], index_col="i")))
    found = pd.read_sql_query(
        sa.text("SELECT a FROM ways WHERE a > :a ORDER BY a"), connection, params={"a": 1}
    )
    answer("parameters", told(found))
    chunks = pd.read_sql_query(sa.text("SELECT a FROM ways"), connection, chunksize=4)
    answer("chunks", [len(chunk) for chunk in chunks])
    answer_error("as text", lambda: write(connection, "texts", frame, dtype={"a": sa.Text()}))
    if sa.inspect(connection).has_table("texts"):
        answer("texts", told(pd.read_sql("texts", connection)))
    connection.exec_driver_sql("CREATE TABLE by_cursor (i int, a int, b text)")
    answer_error("own cursor", lambda: frame.to_sql(
        "by_cursor", connection, if_exists="append", index_label="i", method=insert_by_cursor
    ))  # fmt: skip
    parsed = pd.read_sql_query(
        sa.text("SELECT '2024-02-29' AS d"), connection, parse_dates=["d"], dtype_backend="pyarrow"
    )
    answer("parsed", told(parsed))


def insert_by_cursor(table: Any, connection: Any, keys: list[str], rows: Any) -> int:
    """An insert method from pandas' documentation, on the driver's own cursor."""
    mark = "%s" if DRIVER == "usual" else "$1"
    marks = ", ".join(mark.replace("1", str(n)) for n in range(1, len(keys) + 1))
    with connection.connection.cursor() as cursor:
        for row in rows:
            cursor.execute(f"INSERT INTO {table.name} VALUES ({marks})", row)
    return 3


engine = sa.create_engine(engine_url("postgresql+psycopg"))
for part in (dtypes, types, ways):
    with engine.connect() as connection:
        part(connection)
        connection.rollback()
engine.dispose()
