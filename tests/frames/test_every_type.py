"""Every type of the core's table, read as a frame and written from the frame to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import colonnade
from colonnade import read_sql, write_table
from colonnade.errors import EncodeError
from tests.columns.every_type import EVERY, MADE_TYPES, query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

FRAMES: dict[str, Callable[[str, Connection], Any]] = {
    "numpy": lambda sql, link: read_sql(sql, link, into="numpy"),
    "pandas-numpy": lambda sql, link: read_sql(sql, link, decimals="decimal"),
    "pandas-nullable": lambda sql, link: read_sql(sql, link, dtypes="nullable", decimals="object"),
    "pandas-arrow": lambda sql, link: read_sql(sql, link, dtypes="arrow", decimals="decimal"),
    "polars": lambda sql, link: read_sql(sql, link, into="polars"),
    "arrow": lambda sql, link: read_sql(sql, link, into="arrow"),
    "columns": lambda sql, link: link.fetch_columns(sql),
}
# NumPy gives a text, or an array of rows within a row, instead of an object.
NOT_FROM_NUMPY = {'"char"', "txid_snapshot", "pg_snapshot", "timetz[]"}
NOT_FROM_NUMPY |= {"int4range[]", "int4multirange", "tstzmultirange", "int4multirange[]"}
# Within NumPy's lists and structs, a NULL float is NaN.
NAN_IN_NUMPY = {"float8[]", "every_numbers"}


@pytest.fixture(scope="module")
def typed(dsn: str) -> Iterator[Connection]:
    with colonnade.sync.connect(dsn, server_settings={"timezone": "UTC"}) as connection:
        connection.execute("CREATE SCHEMA frames_every_type")
        connection.execute("SET search_path TO frames_every_type, public")
        connection.execute(MADE_TYPES)
        yield connection
        connection.execute("DROP SCHEMA frames_every_type CASCADE")


def texts(link: Connection, sql: str) -> list[str | None]:
    return [row[0] for row in link.fetch(f"SELECT v::text FROM ({sql}) q")]


def are_equal(link: Connection, sql: str) -> bool:
    """Whether the server considers the values equal, like 1.5 and 1.50, or a day and 24 hours."""
    both = f"({query_rows(sql)}) a JOIN ({query_rows('SELECT v FROM again')}) b USING (nr)"
    return link.fetchval(f"SELECT bool_and(a.v IS NOT DISTINCT FROM b.v) FROM {both}") is True


def query_rows(sql: str) -> str:
    return f"SELECT row_number() OVER () AS nr, v FROM ({sql}) q"


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("sql_type", EVERY)
@pytest.mark.filterwarnings("ignore:converted to text for Polars")
def test_out_and_in_again(typed: Connection, sql_type: str, library: str) -> None:
    sql = query(sql_type)
    frame = FRAMES[library](sql, typed)
    typed.execute(f"DROP TABLE IF EXISTS again; CREATE TABLE again (v {sql_type})")
    if library == "numpy" and sql_type in NOT_FROM_NUMPY:
        with pytest.raises(EncodeError, match='column "v"'):
            write_table(frame, "again", typed, if_exists="append")
        assert texts(typed, "SELECT v FROM again") == []
        return
    assert write_table(frame, "again", typed, if_exists="append") == 5
    want, given = texts(typed, sql), texts(typed, "SELECT v FROM again")
    if library == "numpy" and sql_type in NAN_IN_NUMPY:
        assert [text and text.replace("NaN", "").replace("NULL", "") for text in given] == [
            text and text.replace("NULL", "") for text in want
        ]
    else:
        assert given == want or are_equal(typed, sql)


def test_a_uuid_of_other_bytes(typed: Connection) -> None:
    typed.execute("DROP TABLE IF EXISTS again; CREATE TABLE again (v uuid)")
    frame = pl.DataFrame({"v": [b"0123456789abcdef", b"short"]})
    with pytest.raises(
        EncodeError, match=r'column "v", row 1, .* to uuid: expected 16 bytes, not fewer or more'
    ):
        write_table(frame, "again", typed, if_exists="append")


def test_structured_arrays_hide_rows_and_fields(typed: Connection) -> None:
    typed.execute("DROP TABLE IF EXISTS again; CREATE TABLE again (v int4range)")
    rows = np.array(
        [(1, 5, True, False, False), (0, 7, True, False, False), (0, 0, False, False, False)],
        [("lower", "i4"), ("upper", "i4"), ("lower_inc", "?"), ("upper_inc", "?"), ("empty", "?")],
    )
    mask = np.zeros(3, [(name, "?") for name in rows.dtype.names or ()])
    mask["lower"][1] = True
    mask[2] = True
    masked = np.ma.MaskedArray(rows, mask)
    assert write_table({"v": masked}, "again", typed, if_exists="append") == 3
    assert texts(typed, "SELECT v FROM again") == ["[1,5)", "(,7)", None]
    objects = np.array([(None,)], [("lower", "O")])
    with pytest.raises(EncodeError, match=r'field "lower" holds objects'):
        write_table({"v": objects}, "again", typed, if_exists="append")
