"""The tables of the service, which the server itself generates: flights and what they refer to."""

from __future__ import annotations

import colonnade
from examples.service.jobs import create_jobs

FLIGHTS = 300_000
# fmt: off
CARRIERS = [
    "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "NK", "OO", "UA", "US", "VX", "WN", "YV",
]
# fmt: on
ORIGINS = ["EWR", "JFK", "LGA"]

TABLES = """
    CREATE TABLE airlines AS
    SELECT carrier, 'Airline ' || carrier AS name
    FROM unnest($carriers$) AS carrier;

    CREATE TABLE airports AS
    SELECT faa, 'Airport ' || faa AS name,
           (ARRAY['America/New_York', 'America/Chicago', 'America/Denver', 'America/Los_Angeles'])
               [(row_number() OVER (ORDER BY faa))::int % 4 + 1] AS tzone
    FROM (
        SELECT unnest($origins$) AS faa
        UNION ALL
        SELECT 'D' || to_char(n, 'FM00') FROM generate_series(0, 99) AS n
    ) AS names;

    CREATE TABLE planes AS
    SELECT 'N' || to_char(n, 'FM0000') AS tailnum,
           (ARRAY['BOEING', 'AIRBUS', 'EMBRAER', 'CANADAIR', 'AIRBUS INDUSTRIE'])[n % 5 + 1]
               AS manufacturer,
           50 + n * 7 % 300 AS seats,
           1985 + n * 3 % 28 AS year
    FROM generate_series(0, 2999) AS n;

    CREATE TABLE weather AS
    SELECT origin, time_hour, (n * 13 % 40)::float8 AS wind_speed, (n % 11)::float8 AS visib
    FROM generate_series(0, 8759) AS n,
         LATERAL (
             SELECT timestamp '2026-01-01 00:00' + n * interval '1 hour' AS time_hour
         ) AS h,
         unnest($origins$) AS origin;

    CREATE TABLE flights AS
    SELECT extract(month FROM h.time_hour)::int4 AS month,
           extract(day FROM h.time_hour)::int4 AS day,
           extract(hour FROM h.time_hour)::int4 AS hour,
           ($carriers$)[n * 7 % cardinality($carriers$) + 1] AS carrier,
           n % 9000 AS flight,
           'N' || to_char(n * 11 % 3100, 'FM0000') AS tailnum,
           ($origins$)[n % 3 + 1] AS origin,
           'D' || to_char(n * 17 % 100, 'FM00') AS dest,
           h.time_hour,
           (100 + n * 31 % 2600)::float8 AS distance,
           (n * 37 % 200 - 30)::float8 AS dep_delay,
           CASE WHEN n % 40 <> 0 THEN (n * 41 % 220 - 40)::float8 END AS arr_delay
    FROM generate_series(0, $flights$ - 1) AS n,
         LATERAL (
             SELECT timestamp '2026-01-01 00:00' + n::int8 * 7919 % 8760 * interval '1 hour'
                    AS time_hour
         ) AS h;

    CREATE INDEX ON flights (origin, dest, month, day);
    ANALYZE;
"""


async def prepared(dsn: str, flights: int = FLIGHTS) -> None:
    """Generate the tables in a database that does not have them."""
    connection = await colonnade.connect(dsn)
    try:
        await create_tables(connection, flights)
    finally:
        await connection.close()
    await create_jobs(dsn)


async def create_tables(connection: colonnade.Connection, flights: int) -> None:
    """Generate the tables, with `flights` rows in the largest one; takes about two seconds."""
    script = TABLES
    for name, value in {
        "$carriers$": _array(CARRIERS),
        "$origins$": _array(ORIGINS),
        "$flights$": str(int(flights)),
    }.items():
        script = script.replace(name, value)
    await connection.execute(script)


def _array(words: list[str]) -> str:
    return "ARRAY[" + ", ".join(f"'{word}'" for word in words) + "]"
