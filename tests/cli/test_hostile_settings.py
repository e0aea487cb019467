"""Exports of a role whose settings all change how the server prints; also by the environment."""

from __future__ import annotations

import csv
import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest

import colonnade.sync
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SETTINGS = {
    "datestyle": "SQL, DMY",
    "intervalstyle": "sql_standard",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "timezone": "Asia/Kathmandu",
}
TABLE = """
DROP TABLE IF EXISTS of_settings;
CREATE TABLE of_settings AS SELECT 1 AS n, make_date(2024, 2, 3) AS d,
    make_timestamp(2024, 2, 3, 4, 5, 6.5) AS s, make_timestamptz(2024, 2, 3, 4, 5, 6, 'UTC') AS z,
    0.1::float8 + 0.2 AS f, make_interval(months => 1, days => -2) AS i, '\\xff00'::bytea AS b,
    ARRAY[0.1::float8 + 0.2] AS fs, ARRAY[make_interval(days => 1)] AS intervals,
    ARRAY[make_date(2024, 2, 3)] AS ds, ARRAY['\\xff'::bytea] AS bs;
GRANT SELECT ON of_settings TO PUBLIC;
"""
CSV = (
    "1,2024-02-03,2024-02-03 04:05:06.5,2024-02-03 04:05:06+00,0.30000000000000004,"
    "1 mon -2 days,\\xff00,{0.30000000000000004},"
    '"{""1 day""}",{2024-02-03},"{""\\\\xff""}"'
)
JSON = {
    "n": 1,
    "d": "2024-02-03",
    "s": "2024-02-03T04:05:06.5",
    "z": "2024-02-03T04:05:06+00:00",
    "f": 0.1 + 0.2,
    "i": "1 mon -2 days",
    "b": "\\xff00",
    "fs": [0.1 + 0.2],
    "intervals": ["1 day"],
    "ds": ["2024-02-03"],
    "bs": ["\\xff"],
}


@pytest.fixture
def hostile(dsn: str, connection: colonnade.sync.Connection) -> Iterator[str]:
    """The address of the server for a role with these settings, with a table."""
    connection.execute("DROP ROLE IF EXISTS of_settings; CREATE ROLE of_settings LOGIN SUPERUSER")
    for name, value in SETTINGS.items():
        connection.execute(f"ALTER ROLE of_settings SET {name} = '{value}'")
    connection.execute(TABLE)
    yield f"{dsn}{'&' if '?' in dsn else '?'}user=of_settings"
    connection.execute("DROP TABLE of_settings; DROP ROLE of_settings")


BY_ENVIRONMENT = {
    "PGDATESTYLE": "German, DMY",
    "PGTZ": "Asia/Kathmandu",
    "PGOPTIONS": "-c intervalstyle=iso_8601 -c extra_float_digits=0 -c bytea_output=escape",
}


@pytest.mark.parametrize("by", ["role", "environment"])
@pytest.mark.parametrize("command", [("export", "of_settings"), ("query", "TABLE of_settings")])
def test_text_formats(by: str, command: tuple[str, ...], dsn: str, hostile: str) -> None:
    address, variables = (hostile, {}) if by == "role" else (dsn, BY_ENVIRONMENT)
    done = run(address, *command, "--format", "csv", "-o", "-", env=variables)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == CSV
    done = run(address, *command, "--format", "ndjson", "-o", "-", env=variables)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == JSON


def test_a_file_goes_to_another_server_unchanged(
    dsn: str, hostile: str, connection: colonnade.sync.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "of_settings.csv"
    assert run(hostile, "export", "of_settings", "-o", str(path)).returncode == 0
    connection.execute("DROP TABLE IF EXISTS of_settings_2")
    connection.execute("CREATE TABLE of_settings_2 (LIKE of_settings)")
    try:
        done = run(dsn, "import", str(path), "of_settings_2")
        assert done.returncode == 0, done.stderr
        same = "SELECT count(*) FROM (TABLE of_settings EXCEPT TABLE of_settings_2) AS q"
        assert connection.fetchval(same) == 0
    finally:
        connection.execute("DROP TABLE of_settings_2")


def test_ndjson_of_a_changing_statement(hostile: str) -> None:
    sql = "UPDATE of_settings SET n = 2 RETURNING n, fs"
    done = run(hostile, "query", sql, "--format", "ndjson")
    assert json.loads(done.stdout) == {"n": 2, "fs": [0.1 + 0.2]}, done.stderr


def test_a_querys_own_casts_keep_the_roles_meaning(hostile: str) -> None:
    sql = "SELECT '03/02/2024'::date AS d, z::date AS day FROM of_settings"
    done = run(hostile, "query", sql, "--format", "csv")
    assert done.stdout == "d,day\n2024-02-03,2024-02-03\n"


def test_moments_within_arrays_in_ndjson(hostile: str) -> None:
    """They have the offset of the session's zone, and so are the same moments."""
    sql = "SELECT ARRAY[z] AS many, ROW(z) AS one, z FROM of_settings"
    found = json.loads(run(hostile, "query", sql, "--format", "ndjson").stdout)
    assert found["many"] == ["2024-02-03T09:50:06+05:45"]
    assert found["one"] == {"f1": "2024-02-03T09:50:06+05:45"}
    assert found["z"] == "2024-02-03T04:05:06+00:00"
    moments = {dt.datetime.fromisoformat(text) for text in (*found["many"], found["z"])}
    assert len(moments) == 1


def test_casts_beside_arrays_in_ndjson(hostile: str) -> None:
    """The server's settings for the conversion of arrays hold for the whole statement."""
    for columns, text in (("f::text AS t", "0.3"), ("f::text AS t, fs", "0.30000000000000004")):
        done = run(hostile, "query", f"SELECT {columns} FROM of_settings", "--format", "ndjson")
        assert json.loads(done.stdout)["t"] == text


def test_what_only_the_server_prints(hostile: str) -> None:
    """Records and types that have text alone follow the session's settings, as the page says."""
    sql = "SELECT ROW(d, f) AS record, '12.34'::money AS price, 'pg_class'::regclass AS name"
    done = run(hostile, "query", f"{sql} FROM of_settings", "--format", "csv")
    record, price, name = next(csv.reader([done.stdout.splitlines()[1]]))
    assert record == "(03/02/2024,0.3)"
    assert price.endswith("12.34")
    assert name == "pg_class"
