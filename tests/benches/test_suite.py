"""The suite as a whole, on a thousand rows."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from benches import tables
from benches.shapes import SHAPES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.thorough

ROWS = 1000


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benches", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_two_peers_on_two_shapes(dsn: str, tmp_path: Path) -> None:
    done = run(
        *("--dsn", dsn, "--rows", str(ROWS), "--rounds", "2", "--shapes", "seed,narrow"),
        *("--peers", "drain,asyncpg-rows", "--output", str(tmp_path), "--date", "2000-01-02"),
    )
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["date"] == "2000-01-02"
    assert results["server"].startswith("PostgreSQL")
    assert {"asyncpg", "colonnade"} <= set(results["versions"])
    assert len(results["load"]["before"]) == len(results["load"]["after"]) == 3
    assert list(results["results"]) == ["seed", "narrow"]
    for shape in results["results"].values():
        assert shape["rows"] == ROWS
        check_peers(shape["peers"])
    pictures = {path.name for path in tmp_path.iterdir()} - {"results.json"}
    assert pictures == {"seed.svg", "seed.png", "narrow.svg", "narrow.png"}


def check_peers(peers: dict[str, Any]) -> None:
    assert list(peers) == ["drain", "asyncpg-rows"]
    drain, rows = peers["drain"], peers["asyncpg-rows"]
    assert [run["rows"] for run in (*drain["runs"], *rows["runs"])] == [ROWS] * 4
    assert drain["median"]["wire_bytes"] > ROWS * 24
    assert rows["median"]["loop_gap_s"] is not None
    ratio = rows["ratios"]["drain"]["cpu_s"]["median"]
    assert ratio == pytest.approx(rows["median"]["cpu_s"] / drain["median"]["cpu_s"])
    assert rows["ratios"]["asyncpg-rows"]["wall_s"] == {"median": 1.0, "minimum": 1.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--shapes", "square"), "'square'"),
        (("--peers", "nobody"), "'nobody'"),
    ],
)
def test_unknown_names_are_refused(dsn: str, words: tuple[str, ...], message: str) -> None:
    done = run("--dsn", dsn, *words)
    assert done.returncode == 1
    assert message in done.stderr


SEED_TYPES = {"bool": 2, "int8": 5, "float4": 1, "bytea": 2, "text": 2, "timestamp": 4, "time": 2}


@pytest.mark.parametrize("name", SHAPES)
async def test_a_table_is_made_once_and_has_its_columns(name: str, dsn: str) -> None:
    table = tables.Table(SHAPES[name], ROWS)
    await tables.ensure(dsn, table)
    connection = await colonnade.connect(dsn)
    try:
        file_node = await connection.fetchval(f"SELECT pg_relation_filenode('{table.name}')")
        await tables.ensure(dsn, table)
        again = await connection.fetchval(f"SELECT pg_relation_filenode('{table.name}')")
        assert file_node == again
        assert await connection.fetchval(f"SELECT count(*) FROM {table.name}") == ROWS
        found = await connection.fetch(
            "SELECT typname, count(*) FROM pg_attribute JOIN pg_type t ON t.oid = atttypid"
            f" WHERE attrelid = '{table.name}'::regclass AND attnum > 0 GROUP BY 1"
        )
    finally:
        await connection.close()
    types = {row[0]: row[1] for row in found}
    assert sum(types.values()) == len(table.shape.columns)
    if name == "seed":
        assert types == SEED_TYPES


async def test_a_row_of_the_seed_has_the_published_size(dsn: str) -> None:
    table = tables.Table(SHAPES["seed"], ROWS)
    await tables.ensure(dsn, table)
    connection = await colonnade.connect(dsn)
    try:
        texts = await connection.fetchval(
            "SELECT max(octet_length(label_a) + octet_length(label_b)"
            f" + octet_length(digest_a) + octet_length(digest_b)) FROM {table.name}"
        )
    finally:
        await connection.close()
    fixed = 2 * 1 + 5 * 8 + 1 * 4 + 4 * 8 + 2 * 8
    assert fixed + texts == 136
