"""pandas over ADBC: `read_sql` and `to_sql` on connections of the driver manager."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from tests.libraries.answers import DRIVER, DSN, answer, answer_error

QUERIES = {
    "whole": "SELECT * FROM (VALUES (1::int2, 2::int4, 3::int8), (NULL, 5, -6)) t (a, b, c)",
    "floats": "SELECT 0.1::float4 AS a, 0.1::float8 AS b UNION ALL SELECT NULL, 'NaN'",
    "texts": "SELECT 'ünï' AS a, 'x'::varchar AS b UNION ALL SELECT NULL, ''",
    "bools": "SELECT true AS a UNION ALL SELECT NULL",
    "bytes": "SELECT '\\x00ff'::bytea AS a",
    "dates": "SELECT '2024-02-29'::date AS a UNION ALL SELECT NULL",
    "moments": "SELECT '2024-02-29 01:02:03.000004'::timestamp AS a",
    "zones": "SELECT '2024-02-29 01:02:03.000004+09'::timestamptz AS a",
    "lists": "SELECT ARRAY[1, NULL, 3] AS a",
    "nothing": "SELECT 1 AS a WHERE false",
}


def connected() -> Any:
    """A connection of ADBC's driver manager."""
    if DRIVER == "colonnade":
        import colonnade.adbc

        return colonnade.adbc.connect(DSN)
    import adbc_driver_postgresql.dbapi

    return adbc_driver_postgresql.dbapi.connect(DSN)


def rows(frame: pd.DataFrame) -> list[object]:
    """Names and rows."""
    return [list(frame.columns), [list(row) for row in frame.itertuples(index=False)]]


def read(connection: Any) -> None:
    for name, query in QUERIES.items():
        for backend in ("numpy_nullable", "pyarrow"):
            frame = pd.read_sql(query, connection, dtype_backend=backend)
            kinds = [str(kind) for kind in frame.dtypes]
            answer(f"{name} as {backend}", [kinds, rows(frame)])


def write(connection: Any) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, None, -1.5]})
    answer("written", frame.to_sql("written", connection, index=False))
    answer("appended", frame.to_sql("written", connection, index=False, if_exists="append"))
    answer_error("there already", lambda: frame.to_sql("written", connection, index=False))
    connection.rollback()
    frame.to_sql("written", connection, index=False, if_exists="replace")
    answer("read", rows(pd.read_sql("SELECT * FROM written ORDER BY a", connection)))
    connection.commit()
    answer("table", rows(pd.read_sql_table("written", connection)))


def ingest(connection: Any) -> None:
    table = pa.table({"n": pa.array([1, None], pa.int64()), "t": ["a", "b"]})
    with connection.cursor() as cursor:
        answer("ingested", cursor.adbc_ingest("ingested", table, mode="create"))
        cursor.execute("SELECT n, t FROM ingested ORDER BY t")
        answer("back", cursor.fetch_arrow_table().to_pylist())
        cursor.execute("SELECT n FROM ingested WHERE t = $1", parameters=("a",))
        answer("parameter", cursor.fetchall())
    connection.commit()


with connected() as _connection:
    for part in (read, write, ingest):
        part(_connection)
