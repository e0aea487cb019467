# Generated from tests/async/test_codecs.py by tools/unasync.py.
# Never edit it: run `make sync`.
"""Custom codecs: their input, their precedence, and the types that cannot have any."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import colonnade
from colonnade.errors import InterfaceError, UnsupportedClientFeatureError

TYPES = """
    CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok');
    CREATE TYPE pg_temp.pair AS (a int4, b jsonb);
    CREATE DOMAIN pg_temp.positive AS int4 CHECK (VALUE > 0);
"""


def test_json_as_objects(connection: colonnade.sync.Connection) -> None:
    for name in ("json", "jsonb"):
        connection.set_type_codec(name, schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    document = {"a": [1, None, "é"]}
    (row,) = connection.fetch(
        "SELECT $1::jsonb AS one, $2::json AS two, NULL::jsonb AS none, $3::jsonb[] AS many",
        document,
        document,
        [document, None, 3],
    )
    assert tuple(row.values()) == (document, document, None, [document, None, 3])
    connection.reset_type_codec("jsonb", schema="pg_catalog")
    assert connection.fetchval("SELECT '[1]'::jsonb") == "[1]"
    assert connection.fetchval("SELECT '[1]'::json") == [1]


def test_a_kept_statement_is_made_anew(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT $1::int4", 3) == 3
    connection.set_type_codec(
        "int4",
        schema="pg_catalog",
        encoder=lambda value: (value * 2).to_bytes(4, "big"),
        decoder=lambda raw: -int.from_bytes(raw, "big"),
        format="binary",
    )
    assert connection.fetchval("SELECT $1::int4", 3) == -6
    assert connection.fetchval("SELECT ARRAY[[1, 2], [NULL, 4]]") == [[-1, -2], [None, -4]]
    assert connection.fetchval("SELECT '[1,5)'::int4range") == colonnade.Range(-1, -5)
    assert connection.fetchval("SELECT ROW(7, 'a'::text)") == (-7, "a")


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("interval", "1 year 2 mons -3 days 00:00:01.5", (14, -3, 1_500_000)),
        ("date", "2000-01-03", (2,)),
        ("time", "00:00:01", (1_000_000,)),
        ("timetz", "00:00:01+02", (1_000_000, -7200)),
        ("timestamp", "1999-12-31 23:59:59", (-1_000_000,)),
        ("timestamptz", "2000-01-01 00:00:01+00", (1_000_000,)),
    ],
)
def test_values_taken_apart(
    connection: colonnade.sync.Connection, name: str, text: str, parts: tuple[int, ...]
) -> None:
    connection.set_type_codec(
        name,
        schema="pg_catalog",
        encoder=lambda value: value,
        decoder=lambda value: value,
        format="tuple",
    )
    assert connection.fetchval(f"SELECT '{text}'::{name}") == parts
    assert connection.fetchval(f"SELECT $1::{name} = '{text}'", parts) is True


def test_composites_taken_apart(connection: colonnade.sync.Connection) -> None:
    connection.execute(TYPES)
    schema = connection.fetchval("SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()")
    connection.set_type_codec(
        "pair",
        schema=schema,
        encoder=lambda pair: (pair["a"], pair["b"]),
        decoder=lambda parts: {"a": parts[0], "b": parts[1]},
        format="tuple",
    )
    pair = {"a": 1, "b": "[2]"}
    assert connection.fetchval("SELECT $1::pg_temp.pair", pair) == pair
    assert connection.fetchval("SELECT $1::pg_temp.pair[]", [pair, None]) == [pair, None]


def test_enums_and_names_of_the_standard(connection: colonnade.sync.Connection) -> None:
    connection.execute(TYPES)
    schema = connection.fetchval("SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()")
    connection.set_type_codec("mood", schema=schema, encoder=str.lower, decoder=str.upper)
    assert connection.fetchval("SELECT $1::pg_temp.mood", "OK") == "OK"
    connection.set_type_codec("double precision", schema="pg_catalog", encoder=str, decoder=str)
    assert connection.fetchval("SELECT $1::float8", 1.5) == "1.5"
    # asyncpg's spelling.
    connection.set_type_codec(
        "timestamp with timezone", schema="pg_catalog", encoder=str, decoder=len
    )
    assert connection.fetchval("SELECT '2000-01-01 UTC'::timestamptz") >= len("2000-01-01")


def test_what_can_have_no_codec(connection: colonnade.sync.Connection) -> None:
    connection.execute(TYPES)
    schema = connection.fetchval("SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()")

    def refused(error: type[Exception], text: str, name: str, **options: Any) -> None:
        with pytest.raises(error, match=text):
            connection.set_type_codec(name, encoder=str, decoder=str, **options)

    refused(ValueError, r"unknown type: public\.nope", "nope")
    refused(ValueError, r"unknown type: public\.int4", "int4")
    refused(InterfaceError, "neither a scalar", "_int4", schema="pg_catalog")
    refused(InterfaceError, "neither a scalar", "int4range", schema="pg_catalog")
    refused(UnsupportedClientFeatureError, "domain", "positive", schema=schema)
    refused(UnsupportedClientFeatureError, "only tuple-format", "pair", schema=schema)
    refused(InterfaceError, "'tuple' exchange", "text", schema="pg_catalog", format="tuple")
    refused(InterfaceError, "expected 'text', 'binary' or 'tuple'", "text", format="x")
    with pytest.raises(ValueError, match="unknown type"):
        connection.reset_type_codec("nope")


def test_a_text_codec_is_not_silently_left_out(connection: colonnade.sync.Connection) -> None:
    connection.execute(TYPES)
    connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    with pytest.raises(UnsupportedClientFeatureError, match=r"jsonb reads text.*pair.*binary"):
        connection.fetchval("SELECT NULL::pg_temp.pair")
    assert connection.fetchval("SELECT 1") == 1


def test_aliases(connection: colonnade.sync.Connection) -> None:
    assert connection.fetchval("SELECT '12.50'::money") == "$12.50"
    connection.set_builtin_type_codec("money", schema="pg_catalog", codec_name="int8")
    assert connection.fetchval("SELECT '12.50'::money") == 1250
    cols = connection.fetch_columns("SELECT '12.50'::money AS m, '{1}'::money[] AS many")
    assert cols.to_pydict() == {"m": [1250], "many": [[100]]}
    connection.reset_type_codec("money", schema="pg_catalog")
    assert connection.fetchval("SELECT '12.50'::money") == "$12.50"
    with pytest.raises(InterfaceError, match="there is no such codec"):
        connection.set_builtin_type_codec("money", schema="pg_catalog", codec_name="nope")
    with pytest.raises(InterfaceError, match="cannot alias non-scalar"):
        connection.set_builtin_type_codec("_int4", schema="pg_catalog", codec_name="text")


def test_errors_of_a_codec_are_the_callers(connection: colonnade.sync.Connection) -> None:
    def fail(value: object) -> Any:
        raise ZeroDivisionError(str(value))

    connection.set_type_codec("int4", schema="pg_catalog", encoder=fail, decoder=fail)
    with pytest.raises(ZeroDivisionError):
        connection.fetchval("SELECT 1")
    with pytest.raises(colonnade.EncodeError, match=r"\$1"):
        connection.fetchval("SELECT $1::int4", 5)
    assert connection.fetchval("SELECT 'usable'") == "usable"


def test_objects_in_columns(connection: colonnade.sync.Connection) -> None:
    connection.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    query = """
        SELECT n, nullif(to_jsonb(n), '2') AS one, ARRAY[to_jsonb(n), NULL] AS many
        FROM generate_series(1, 3) AS n
    """
    rows = connection.fetch(query)
    cols = connection.fetch_columns(query)
    assert cols.to_pylist() == [dict(row.items()) for row in rows]
    assert cols["one"].tolist() == [1, None, 3]
    assert cols["one"].dtype == object
    assert cols.to_pandas()["many"].tolist() == [[1, None], [2, None], [3, None]]
    assert cols[1:].to_pydict()["one"] == [None, 3]
    # Arrow cannot hold arbitrary objects, so it gets the undecoded values.
    assert cols.to_arrow()["one"].to_pylist() == ["1", None, "3"]
    assert "one" in repr(cols)


def test_parts_in_columns(connection: colonnade.sync.Connection) -> None:
    connection.set_type_codec(
        "interval",
        schema="pg_catalog",
        encoder=lambda value: value,
        decoder=lambda parts: parts[0],
        format="tuple",
    )
    cols = connection.fetch_columns(
        "SELECT '14 mons'::interval AS i, ARRAY['1 mon', NULL]::interval[] AS many"
    )
    assert cols.to_pydict() == {"i": [14], "many": [[1, None]]}
    assert cols.to_arrow()["i"].to_pylist()[0].months == 14


def test_a_whole_column_at_once(connection: colonnade.sync.Connection) -> None:
    calls: list[int] = []

    def lengths_of_text(cols: colonnade.Columns) -> Any:
        assert cols.names == ("one",)
        texts = cols.to_arrow()["one"].to_pylist()
        calls.append(len(texts))
        return np.array([len(text or "") for text in texts])

    query = """
        SELECT CASE WHEN n <> 2 THEN to_jsonb(n * 10) END AS one FROM generate_series(1, 4) AS n
    """
    for decoder in (lengths_of_text, lambda cols: pl.Series(lengths_of_text(cols))):
        calls.clear()
        connection.set_type_codec(
            "jsonb",
            schema="pg_catalog",
            encoder=json.dumps,
            decoder=json.loads,
            column_decoder=decoder,
        )
        cols = connection.fetch_columns(query)
        assert cols["one"].tolist() == [2, 0, 2, 2]
        assert cols.to_arrow()["one"].to_pylist() == [2, 0, 2, 2]
        assert cols.fields[0].arrow_type == "int64"
        assert cols.to_pydict() == {"one": [2, 0, 2, 2]}
        assert calls == [4]
        batches = [cols for cols in connection.iter_columns(query, batch_rows=3)]
        assert [cols["one"].tolist() for cols in batches] == [[2, 0, 2], [2]]
        # Rows cannot be decoded as whole columns.
        assert [row["one"] for row in connection.fetch(query)] == [10, None, 30, 40]


def test_what_a_column_decoder_must_not_return(connection: colonnade.sync.Connection) -> None:
    def given(values: object) -> colonnade.Columns:
        connection.set_type_codec(
            "jsonb",
            schema="pg_catalog",
            encoder=json.dumps,
            decoder=json.loads,
            column_decoder=lambda _: values,
        )
        return connection.fetch_columns("SELECT '1'::jsonb AS one")

    with pytest.raises(TypeError, match="column_decoder returns"):
        given([1])
    with pytest.raises(TypeError, match="column_decoder returns"):
        given(np.array([object()], dtype=object))
    cols = given(np.array(["2024-02-29T00:00:00.000000001"], dtype="M8[ns]"))
    assert str(cols["one"][0]).endswith("000000001")
    # Python's datetime has only microseconds, and nanoseconds must not be dropped silently.
    with pytest.raises(colonnade.DecodeError, match="cannot hold nanoseconds"):
        cols.to_pydict()
    with pytest.raises(ValueError, match="1 rows, and 2 values"):
        given(np.array([1, 2]))
    assert connection.fetchval("SELECT 1") == 1
