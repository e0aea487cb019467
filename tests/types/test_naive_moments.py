"""Datetimes without a time zone as timestamptz: their meaning, and their refusal, in every way.

The client is in Tokyo and the server in New York, so no two meanings give the same moment.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlalchemy as sa

import colonnade
from colonnade import dbapi
from colonnade.errors import EncodeError, InterfaceError
from colonnade.types import Range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection

    Road = Callable[[Connection, Any], object]

NAIVE = dt.datetime(2024, 7, 1, 12)
TOKYO = dt.datetime(2024, 7, 1, 3, tzinfo=dt.UTC)
UTC = NAIVE.replace(tzinfo=dt.UTC)
NEW_YORK = dt.datetime(2024, 7, 1, 16, tzinfo=dt.UTC)
SETTINGS = {"timezone": "America/New_York"}

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be changed")


@pytest.fixture(autouse=True)
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def connected(dsn: str, meaning: Any) -> Connection:
    connection = colonnade.sync.connect(dsn, server_settings=SETTINGS, naive_datetimes=meaning)
    connection.execute("CREATE DOMAIN pg_temp.instant AS timestamptz")
    connection.execute("CREATE TYPE pg_temp.visit AS (name text, at timestamptz)")
    connection.execute("CREATE TYPE pg_temp.diary AS (name text, at timestamptz[])")
    connection.execute("CREATE TEMP TABLE moments (at timestamptz)")
    connection.execute("CREATE TEMP TABLE lists (at timestamptz[])")
    return connection


@pytest.fixture
def local(dsn: str) -> Iterator[Connection]:
    with connected(dsn, "local") as connection:
        yield connection


@pytest.fixture
def strict(dsn: str) -> Iterator[Connection]:
    with connected(dsn, "refuse") as connection:
        yield connection


def stored(link: Connection, table: str = "moments") -> Any:
    return link.fetchval(f"SELECT at FROM {table} WHERE at IS NOT NULL")


def parameter(kind: str, wrapped: Callable[[Any], Any], picked: str = "$1") -> Road:
    query = f"SELECT {picked.replace('$1', f'$1::{kind}')}"
    return lambda link, moment: link.fetchval(query, wrapped(moment))


def prepared(link: Connection, moment: Any) -> object:
    return link.prepare("SELECT $1::timestamptz").fetchval(moment)


def columns(link: Connection, moment: Any) -> object:
    return link.fetch_columns("SELECT $1::timestamptz AS at", moment).to_pylist()[0]["at"]


def executemany(link: Connection, moment: Any) -> object:
    link.executemany("INSERT INTO moments VALUES ($1)", [(None,), (moment,)])
    return stored(link)


def fetchmany(link: Connection, moment: Any) -> object:
    rows = link.fetchmany("SELECT $1::timestamptz", [(None,), (moment,)])
    return rows[1][0]


def records(link: Connection, moment: Any) -> object:
    link.copy_records_to_table("moments", records=[(None,), (moment,)])
    return stored(link)


def object_column(link: Connection, moment: Any) -> object:
    link.copy_columns_to_table("moments", {"at": np.array([None, moment], dtype=object)})
    return stored(link)


def list_column(link: Connection, moment: Any) -> object:
    link.copy_columns_to_table("moments", {"at": [None, moment]})
    return stored(link)


def pandas_objects(link: Connection, moment: Any) -> object:
    frame = pd.DataFrame({"at": pd.Series([None, moment], dtype=object)})
    link.copy_columns_to_table("moments", frame)
    return stored(link)


def list_in_a_column(link: Connection, moment: Any) -> object:
    link.copy_columns_to_table("lists", {"at": [[moment]]})
    return stored(link, "lists")[0]


def with_a_codec(link: Connection, moment: Any) -> object:
    link.set_type_codec("int4", schema="pg_catalog", encoder=str, decoder=int)
    return link.fetchval("SELECT $1::timestamptz", moment)


ROADS: dict[str, Road] = {
    "parameter": parameter("timestamptz", lambda moment: moment),
    "domain": parameter("instant", lambda moment: moment),
    "list": parameter("timestamptz[]", lambda moment: [moment], "($1)[1]"),
    "objects": parameter("timestamptz[]", lambda it: np.array([it], dtype=object), "($1)[1]"),
    "series": parameter("timestamptz[]", lambda it: pd.Series([it], dtype=object), "($1)[1]"),
    "composite": parameter("visit", lambda moment: ("a", moment), "($1).at"),
    "mapping": parameter("visit", lambda moment: {"at": moment}, "($1).at"),
    "range": parameter("tstzrange", lambda moment: Range(moment, None), "lower($1)"),
    "multirange": parameter("tstzmultirange", lambda moment: [Range(moment, None)], "lower($1)"),
    "prepared": prepared,
    "columns": columns,
    "executemany": executemany,
    "fetchmany": fetchmany,
    "records": records,
    "object_column": object_column,
    "list_column": list_column,
    "pandas_objects": pandas_objects,
    "list_in_a_column": list_in_a_column,
    "with_a_codec": with_a_codec,
}
SCALARS = {
    "datetime": NAIVE,
    "Timestamp": pd.Timestamp(NAIVE),
}
NUMPY_SCALARS = [np.datetime64(NAIVE, "us"), np.datetime64(NAIVE, "ns")]
roads = pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)


@roads
@pytest.mark.parametrize("moment", SCALARS.values(), ids=SCALARS)
def test_a_naive_moment_is_local(local: Connection, road: Road, moment: dt.datetime) -> None:
    assert road(local, moment) == TOKYO


@roads
@pytest.mark.parametrize("moment", SCALARS.values(), ids=SCALARS)
def test_a_naive_moment_is_refused(strict: Connection, road: Road, moment: dt.datetime) -> None:
    with pytest.raises(EncodeError, match=r"\.replace\(tzinfo=.*\.astimezone\(\)"):
        road(strict, moment)
    assert strict.fetchval("SELECT 1") == 1


@roads
def test_a_date_is_local_midnight(local: Connection, road: Road) -> None:
    assert road(local, NAIVE.date()) == dt.datetime(2024, 6, 30, 15, tzinfo=dt.UTC)


@roads
def test_a_date_is_refused(strict: Connection, road: Road) -> None:
    with pytest.raises(EncodeError, match="a date names no moment"):
        road(strict, NAIVE.date())


@roads
def test_a_zone_is_taken_by_both(local: Connection, strict: Connection, road: Road) -> None:
    here = NAIVE.astimezone()
    for link in (local, strict):
        assert road(link, here) == TOKYO


def test_a_zone_without_an_offset_is_none(strict: Connection) -> None:
    class Nowhere(dt.tzinfo):
        def utcoffset(self, _moment: dt.datetime | None) -> None:
            return None

        dst = tzname = utcoffset

    with pytest.raises(EncodeError, match="names no moment"):
        strict.fetchval("SELECT $1::timestamptz", NAIVE.replace(tzinfo=Nowhere()))


@roads
def test_numpy_is_utc_for_both(local: Connection, strict: Connection, road: Road) -> None:
    for link in (local, strict):
        assert road(link, np.datetime64(NAIVE, "us")) == UTC


@pytest.mark.parametrize("moment", [dt.datetime.max, dt.datetime.min])
def test_infinities_need_no_zone(strict: Connection, moment: dt.datetime) -> None:
    sign = "infinity" if moment == dt.datetime.max else "-infinity"
    assert strict.fetchval("SELECT $1::timestamptz = $2::text::timestamptz", moment, sign)
    strict.copy_records_to_table("moments", records=[(moment,)])
    assert strict.fetchval("SELECT at::text FROM moments") == sign


def test_types_without_a_zone_take_naive(strict: Connection) -> None:
    assert strict.fetchval("SELECT $1::timestamp", NAIVE) == NAIVE
    assert strict.fetchval("SELECT $1::date", NAIVE.date()) == NAIVE.date()


def array(link: Connection, values: Any) -> object:
    return link.fetchval("SELECT ($1::timestamptz[])[1]", values)


def arrays(link: Connection, values: Any) -> object:
    link.executemany("INSERT INTO lists VALUES ($1)", [(values,)])
    return stored(link, "lists")[0]


def array_in_records(link: Connection, values: Any) -> object:
    link.copy_records_to_table("lists", records=[(values,)])
    return stored(link, "lists")[0]


def array_of_a_domain(link: Connection, values: Any) -> object:
    return link.fetchval("SELECT ($1::instant[])[1]", values)


def array_of_arrays(link: Connection, values: Any) -> object:
    return link.fetchval("SELECT ($1::timestamptz[])[1][1]", [values])


def array_in_a_composite(link: Connection, values: Any) -> object:
    return link.fetchval("SELECT (($1::diary).at)[1]", ("a", values))


def column(link: Connection, values: Any) -> object:
    link.copy_columns_to_table("moments", {"at": values})
    return stored(link)


def table(link: Connection, values: Any) -> object:
    colonnade.write_table({"at": values}, "moments", link, if_exists="append")
    return stored(link)


SERIES_ROADS = {
    each.__name__: each
    for each in (array, arrays, array_in_records, array_of_a_domain, column, table)
}
NESTED_ROADS = (array_of_arrays, array_in_a_composite)
PANDAS = pd.Series([NAIVE], dtype="datetime64[us]")
NAIVE_SERIES: dict[str, tuple[Any, str]] = {
    "pandas": (PANDAS, 'dt.tz_localize("UTC")'),
    "pandas index": (pd.DatetimeIndex(PANDAS), 'tz_localize("UTC")'),
    "pandas over pyarrow": (
        PANDAS.astype(pd.ArrowDtype(pa.timestamp("us"))),
        'dt.tz_localize("UTC")',
    ),
    "polars": (pl.Series([NAIVE]), 'dt.replace_time_zone("UTC")'),
    "pyarrow": (pa.array([NAIVE]), 'cast(pa.timestamp("us", "UTC"))'),
    "pyarrow chunks": (pa.chunked_array([[NAIVE]]), 'cast(pa.timestamp("us", "UTC"))'),
}
series_roads = pytest.mark.parametrize("road", SERIES_ROADS.values(), ids=SERIES_ROADS)


@series_roads
@pytest.mark.parametrize(("values", "advice"), NAIVE_SERIES.values(), ids=NAIVE_SERIES)
def test_a_naive_series_is_refused_by_both(
    local: Connection, strict: Connection, road: Road, values: Any, advice: str
) -> None:
    for link in (local, strict):
        with pytest.raises(EncodeError) as caught:
            road(link, values)
        assert advice in str(caught.value)
        assert link.fetchval("SELECT 1") == 1


ZONED_SERIES = {
    "pandas": PANDAS.dt.tz_localize("UTC"),
    "pandas over pyarrow": PANDAS.astype(pd.ArrowDtype(pa.timestamp("us"))).dt.tz_localize("UTC"),
    "polars": pl.Series([NAIVE]).dt.replace_time_zone("UTC"),
    "pyarrow": pa.array([NAIVE]).cast(pa.timestamp("us", "UTC")),
    "numpy": np.array([NAIVE], dtype="M8[us]"),
}


@series_roads
@pytest.mark.parametrize("values", ZONED_SERIES.values(), ids=ZONED_SERIES)
def test_the_advice_is_right(
    local: Connection, strict: Connection, road: Road, values: Any
) -> None:
    for link in (local, strict):
        assert road(link, values) == UTC


@series_roads
def test_another_zone(strict: Connection, road: Road) -> None:
    assert road(strict, PANDAS.dt.tz_localize("Asia/Tokyo")) == TOKYO


@pytest.mark.parametrize("road", NESTED_ROADS)
@pytest.mark.parametrize("library", ["pandas", "pandas index", "pandas over pyarrow", "polars"])
def test_a_naive_series_within_another_value(
    local: Connection, strict: Connection, road: Road, library: str
) -> None:
    values, advice = NAIVE_SERIES[library]
    for link in (local, strict):
        with pytest.raises(EncodeError) as caught:
            road(link, values)
        assert advice in str(caught.value)


@pytest.mark.parametrize("road", NESTED_ROADS)
@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_a_series_with_a_zone_within_another_value(
    strict: Connection, road: Road, library: str
) -> None:
    assert road(strict, ZONED_SERIES[library]) == UTC


def test_a_dbapi_parameter(dsn: str) -> None:
    # As in psycopg, a naive datetime is a timestamp, which the server converts by its time zone.
    words = "-c timezone=America/New_York"
    with dbapi.connect(dsn, options=words) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", (NAIVE,))
        assert cursor.fetchone() == (NEW_YORK,)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_dbapi_scalar_of_numpy(dsn: str, unit: Any) -> None:
    moment, duration = np.datetime64(NAIVE, unit), np.timedelta64(5, "s").astype(f"m8[{unit}]")
    with dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT %s, %s", (moment, duration))
        assert cursor.fetchone() == (NAIVE, dt.timedelta(seconds=5))


@pytest.mark.parametrize("moment", NUMPY_SCALARS)
def test_a_dbapi_scalar_of_numpy_is_utc_where_the_type_is_asked_for(dsn: str, moment: Any) -> None:
    with dbapi.connect(dsn, naive_datetimes="refuse") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT %s::timestamptz", (moment,))
        assert cursor.fetchone() == (UTC,)


def by_execute(cursor: dbapi.Cursor, moment: Any) -> None:
    cursor.execute("INSERT INTO moments VALUES (%s)", (moment,))


def by_executemany(cursor: dbapi.Cursor, moment: Any) -> None:
    cursor.executemany("INSERT INTO moments VALUES (%s)", [(None,), (moment,)])


def by_list(cursor: dbapi.Cursor, moment: Any) -> None:
    cursor.execute("INSERT INTO moments SELECT unnest(%s::timestamptz[])", ([moment],))


def by_function(cursor: dbapi.Cursor, moment: Any) -> None:
    cursor.callproc("date_bin", ["1 s", moment, UTC])


@pytest.mark.parametrize("road", [by_execute, by_executemany, by_list, by_function])
@pytest.mark.parametrize("moment", SCALARS.values(), ids=SCALARS)
def test_dbapi_refuses(dsn: str, road: Any, moment: Any) -> None:
    with dbapi.connect(dsn, naive_datetimes="refuse") as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TEMP TABLE moments (at timestamptz)")
        connection.commit()
        with pytest.raises(dbapi.DataError, match="names no moment"):
            road(cursor, moment)
        connection.rollback()
        road(cursor, UTC)
        cursor.execute("SELECT %s::timestamp", (moment,))
        assert cursor.fetchone() == (NAIVE,)


moments = sa.Table(
    "moments",
    sa.MetaData(),
    sa.Column("at", sa.DateTime(timezone=True)),
    sa.Column("local", sa.DateTime()),
    prefixes=["TEMPORARY"],
)


@pytest.mark.parametrize("by_url", [True, False])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("mixed", [[], [{"at": "2024-01-01 00:00+00", "local": None}]])
def test_sqlalchemy_refuses(
    dsn: str, by_url: bool, count: int, mixed: list[dict[str, Any]]
) -> None:
    url = sa.make_url(dsn).set(drivername="postgresql+colonnade")
    words: dict[str, Any] = {} if by_url else {"naive_datetimes": "refuse"}
    if by_url:
        url = url.update_query_dict({"naive_datetimes": "refuse"})
    engine = sa.create_engine(url, connect_args=words)
    with engine.connect() as connection:
        moments.create(connection)
        connection.commit()
        with pytest.raises(sa.exc.DBAPIError, match="names no moment"):
            connection.execute(moments.insert(), mixed + [{"at": NAIVE, "local": NAIVE}] * count)
        connection.rollback()
        with pytest.raises(sa.exc.DBAPIError, match="names no moment"):
            connection.execute(sa.text("SELECT CAST(:at AS timestamptz)"), {"at": NAIVE})
        connection.rollback()
        connection.execute(moments.insert(), [{"at": UTC, "local": NAIVE}] * count)
        assert set(connection.execute(sa.select(moments))) == {(UTC, NAIVE)}
    engine.dispose()


def test_sqlalchemy_is_local(dsn: str) -> None:
    url = sa.make_url(dsn).set(drivername="postgresql+colonnade")
    engine = sa.create_engine(url, connect_args={"server_settings": SETTINGS})
    with engine.connect() as connection:
        moments.create(connection)
        for count in (1, 3):
            connection.execute(moments.insert(), [{"at": NAIVE}] * count)
        assert set(connection.scalars(sa.select(moments.c.at))) == {TOKYO}
    engine.dispose()


@pytest.mark.parametrize("meaning", ["utc", True, None, ["refuse"]])
def test_another_meaning_is_refused(dsn: str, meaning: Any) -> None:
    with pytest.raises(InterfaceError, match='naive_datetimes must be "local" or "refuse"'):
        colonnade.sync.connect(dsn, naive_datetimes=meaning)


async def test_asyncio_and_pools(dsn: str) -> None:
    connection = await colonnade.connect(dsn, naive_datetimes="refuse")
    assert connection.naive_datetimes == "refuse"
    with pytest.raises(EncodeError, match="names no moment"):
        await connection.fetchval("SELECT $1::timestamptz", NAIVE)
    await connection.close()
    async with colonnade.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert await pool.fetchval("SELECT $1::timestamptz", NAIVE) == TOKYO
    strict_pool = colonnade.create_pool(dsn, min_size=1, max_size=1, naive_datetimes="refuse")
    async with strict_pool as pool:
        with pytest.raises(EncodeError, match="names no moment"):
            await pool.fetchval("SELECT $1::timestamptz", NAIVE)
        with pytest.raises(EncodeError, match="names no moment"):
            await pool.executemany("SELECT $1::timestamptz", [(NAIVE,)])


def test_blocking_pools(dsn: str) -> None:
    with (
        colonnade.sync.create_pool(dsn, min_size=1, max_size=1, naive_datetimes="refuse") as pool,
        pytest.raises(EncodeError, match="names no moment"),
    ):
        pool.fetchval("SELECT $1::timestamptz", NAIVE)
