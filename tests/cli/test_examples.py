"""Every example of `--help` runs as it is printed, in a shell, against tables that exist."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colonnade.sync
from colonnade.cli.app import cli
from colonnade.cli.options import Command
from colonnade.jobs import sync as jobs
from tests.cli.program import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hosts under this name belong to nobody: it marks a line with a server of the reader's own.
SOMEBODYS_HOST = "example.com"
ROWS = {"day": ["2024-01-02", "2024-01-03"], "ticker": ["A", "B"], "quantity": [1, 2]}
CSV = "day,ticker,quantity\n2024-01-02,A,1\n2024-01-03,B,2\n"
FLIGHTS = """
CREATE TABLE flights (carrier text, month int, origin text, distance int);
INSERT INTO flights VALUES ('UA', 6, 'JFK', 2475), ('AA', 6, 'LGA', 733), ('UA', 7, 'EWR', 719);
CREATE TABLE trades (day date, ticker text, quantity int);
CREATE SCHEMA app;
CREATE TABLE app.trades (day date, ticker text, quantity int);
"""


def commands(command: click.Command, *names: str) -> Iterator[tuple[str, click.Command]]:
    """Each command below one, with its name."""
    if not isinstance(command, click.Group):
        yield " ".join(names), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, *names, name)


EXAMPLES = [
    (name, line)
    for name, command in commands(cli)
    if isinstance(command, Command)
    for line in command.examples.splitlines()
]
# Those that empty a queue come last.
RUN = sorted(
    (line for _, line in EXAMPLES if SOMEBODYS_HOST not in line), key=lambda line: " purge " in line
)


@pytest.fixture(scope="module")
def database(dsn: str) -> Iterator[str]:
    """A database with the tables and queues of the examples; each line may run alone."""
    name = "cli_examples"
    own = urlsplit(dsn)._replace(path=f"/{name}").geturl()
    with colonnade.sync.connect(dsn) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    with colonnade.sync.create_pool(own, min_size=1) as pool:
        pool.execute(FLIGHTS)
        retry = jobs.Retry(max_attempts=1, delay=0)
        jobs.create_queue(pool, "reports", {"user_id": "int8"})
        emails = jobs.create_queue(pool, "emails", {"user_id": "int8"}, retry=retry)
        emails.add({"user_id": list(range(1, 31))})
        emails.get(limit=20).nack(reason="no such user")
    yield own
    with colonnade.sync.connect(dsn) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the examples, and `jq` if the machine has none."""
    for name in ("trades.parquet", "day.parquet"):
        days = pa.array(ROWS["day"]).cast(pa.date32())
        pq.write_table(pa.table({**ROWS, "day": days}), tmp_path / name)
    pq.write_table(pa.table({"user_id": [101, 102]}), tmp_path / "new-users.parquet")
    for month in ("01", "02"):
        text = "Trade Date,ticker,quantity,comment\n2024-01-02,A,1,none\n"
        (tmp_path / f"2024-{month}.csv").write_text(text, "utf-8")
    (tmp_path / "users.csv").write_text("User Id,comment\n103,none\n", "utf-8")
    (tmp_path / "users.csv.gz").write_bytes(gzip.compress(b"user_id\n104\n"))
    (tmp_path / "trades.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "report.sql").write_text("SELECT count(*) AS total FROM flights", "utf-8")
    if shutil.which("jq") is None:
        (tmp_path / "jq").write_text("#!/bin/sh\nexec cat\n", "utf-8")
        (tmp_path / "jq").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("line", RUN)
def test_a_shell_runs_the_line(line: str, database: str, folder: Path) -> None:
    if "--create" in line:
        with colonnade.sync.connect(database) as link:
            link.execute("DROP TABLE trades")
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join([programs, os.environ["PATH"], str(folder)])
    done = subprocess.run(
        # $1 in double quotes would be a variable of the shell, which is not set.
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=folder,
        env=environment(database, PATH=path),
        input="y\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_which_lines_are_not_run() -> None:
    """Those with a server of the reader's own, and no others."""
    assert [line for _, line in EXAMPLES if line not in RUN] == [
        "colonnade doctor -d postgresql://me@db.example.com/app -W"
    ]


@pytest.mark.parametrize(("command", "line"), EXAMPLES)
def test_an_example_shows_its_command(command: str, line: str) -> None:
    assert f"colonnade {command} " in f"{line} "


def test_every_command_that_asks_a_server_has_examples() -> None:
    silent = [name for name, command in commands(cli) if not isinstance(command, Command)]
    assert sorted(silent) == ["demo", "docs", "observe check", "observe top"]
