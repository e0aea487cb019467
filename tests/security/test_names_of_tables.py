"""A table whose name is a keyword, or a function within FROM, is the table in every door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from colonnade import connect, datasets, incremental, parallel, sync
from colonnade.errors import UndefinedTableError
from tests.cli.program import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Within FROM, the first two are functions; `order` is a syntax error; the last folds otherwise.
NAMES = ["user", "current_date", "order", "Ärger"]


@pytest.fixture(params=NAMES)
def table(request: pytest.FixtureRequest, dsn: str) -> Iterator[str]:
    name = str(request.param)
    with sync.connect(dsn) as conn:
        conn.execute(
            f'DROP TABLE IF EXISTS "{name}"; '
            f'CREATE TABLE "{name}" AS SELECT g AS id FROM generate_series(1, 7) AS g; '
            f'ALTER TABLE "{name}" ADD changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()'
        )
        yield name
        conn.execute(f'DROP TABLE "{name}"')


def test_export(dsn: str, table: str, tmp_path: Path) -> None:
    place = tmp_path / "out.ndjson"
    done = run(dsn, "export", table, "-o", str(place))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in place.read_text().splitlines()] == [*range(1, 8)]
    folder = tmp_path / "out"
    done = run(dsn, "export", table, "-o", str(folder), "--order-by", "id")
    assert done.returncode == 0, done.stderr
    assert pq.read_table(folder / "part-0001.parquet")["id"].to_pylist() == [*range(1, 8)]


def test_datasets(dsn: str, table: str, tmp_path: Path) -> None:
    assert datasets.write(table, dsn, tmp_path / "out", order_by="id").rows == 7


async def test_parallel(dsn: str, table: str) -> None:
    for options in ({}, {"partition_by": "id"}, {"partition_by": "id", "cuts": "range"}):
        columns = parallel.sync.read(table, dsn, **options)  # type: ignore[arg-type]
        assert columns["id"].tolist() == [*range(1, 8)]
    assert len(await parallel.read(table, dsn)) == 7


async def test_incremental(dsn: str, table: str) -> None:
    assert len(incremental.sync.read_new(table, dsn, by="changed_in").rows) == 7
    conn = await connect(dsn)
    assert len((await incremental.read_new(table, conn, by="changed_in")).rows) == 7
    await conn.close()


def test_the_hint_of_a_query(dsn: str, table: str) -> None:
    done = run(dsn, "query", table)
    assert f"""'SELECT * FROM "{table}"'""" in done.stderr


def test_names_with_parts(dsn: str, tmp_path: Path) -> None:
    with sync.connect(dsn) as conn:
        conn.execute('DROP SCHEMA IF EXISTS "user" CASCADE; CREATE SCHEMA "user"')
        conn.execute('CREATE TABLE "user"."a.b" AS SELECT 1 AS id')
        for name in ('user."a.b"', ' "user" . "a.b" ', 'postgres.user."a.b"'):
            assert len(parallel.sync.read(name, dsn)) == 1
            assert run(dsn, "export", name, "-o", str(tmp_path / "x.csv")).returncode == 0
        with pytest.raises(UndefinedTableError, match=r'"user\.b" does not exist'):
            parallel.sync.read("User.B", dsn)
        conn.execute('DROP SCHEMA "user" CASCADE')
