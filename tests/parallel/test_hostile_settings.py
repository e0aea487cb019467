"""A plan's conditions mean the same for workers with other settings."""

from __future__ import annotations

from typing import Any

import pytest

from colonnade import parallel, sync

KEYS = {
    "date": "make_date(2024, 1, 1) + i",
    "timestamp": "make_timestamp(2024, 1, 1, 0, 0, 0) + i * interval '1 day'",
    "timestamptz": "make_timestamptz(2024, 1, 1, 0, 0, 0, 'UTC') + i * interval '7 hours'",
    "interval": "make_interval(days => i, months => -1)",
    "float8": "i * 0.1::float8",
    "bytea": "decode(lpad(to_hex(i), 4, '0'), 'hex')",
    "text": "'it''s \\ ' || lpad(i::text, 4, '0')",
}
PLANNER = {"datestyle": "SQL, DMY", "intervalstyle": "sql_standard", "timezone": "Asia/Kathmandu"}
PLANNER |= {"extra_float_digits": "-15", "bytea_output": "escape"}
WORKER = {"datestyle": "Postgres, MDY", "intervalstyle": "iso_8601", "timezone": "Europe/Dublin"}


WAYS = [(kind, "quantile") for kind in KEYS]
WAYS += [(kind, "range") for kind in ("date", "timestamp", "timestamptz", "float8")]


@pytest.mark.parametrize(("kind", "cuts"), WAYS)
def test_conditions(kind: str, cuts: str, dsn: str) -> None:
    query = f"SELECT i, {KEYS[kind]} AS k FROM generate_series(1, 200) AS g (i)"
    options = {"server_settings": PLANNER}
    asked: dict[str, Any] = {"parts": 7, "partition_by": "k", "cuts": cuts, "snapshot": None}
    with parallel.sync.plan(query, dsn, connect_options=options, **asked) as plan:
        conditions = [partition.where for partition in plan]
        queries = [partition.sql for partition in plan]
    with parallel.sync.plan(query, dsn, **asked) as usual:
        assert [partition.where for partition in usual] == conditions
    with sync.connect(dsn, server_settings=WORKER) as worker:
        counts = [len(worker.fetch_columns(sql)) for sql in queries]
        found = sorted(n for sql in queries for n in worker.fetch_columns(sql).to_pydict()["i"])
    assert found == list(range(1, 201))
    assert len(counts) == 7
    assert max(counts) - min(counts) < 5
