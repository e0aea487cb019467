"""The command itself."""

from __future__ import annotations

import asyncio
import importlib.util
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from colonnade import embedded, errors
from colonnade.cli.demo import data, flights
from colonnade.cli.demo.server import demo_server
from colonnade.cli.measure import machine
from colonnade.cli.measure.choice import BASE, choose_peers
from colonnade.cli.measure.figure import Panel
from colonnade.cli.measure.report import Measured, Report, versions
from colonnade.cli.measure.shapes import SEED
from colonnade.cli.measure.table import cost_table
from colonnade.cli.measure.terminal import Terminal
from colonnade.cli.measure.watch import measure_all, progress_bar

if TYPE_CHECKING:
    from collections.abc import Generator

    from colonnade.cli.demo.server import DemoServer
    from colonnade.cli.measure.peers import Peer

INSTALL = 'pip install "colonnade[demo]"'
PANELS = (
    Panel("wall time, ms", "wall_s", factor=1e3),
    Panel("client CPU, ms", "cpu_s", factor=1e3),
    Panel("peak memory, MB", "peak_memory_bytes", factor=1e-6),
    Panel("event loop held, ms", "loop_gap_s", factor=1e3),
)
_EXTRAS = ("matplotlib", flights.PACKAGE)


@dataclass(frozen=True)
class Query:
    """A result of the demo."""

    name: str
    title: str
    sql: str
    #: Fetch it with every peer; a query that is mostly the server's work is only shown.
    measured: bool = True


@dataclass(frozen=True)
class Plan:
    """What the command was asked to do."""

    rows: int
    rounds: int
    peers: list[Peer]
    #: Peers that cannot run here, and why.
    skipped: dict[str, str]
    #: The files of the flights.
    directory: Path


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=SEED.rows,
    show_default=True,
    help=f"Rows of the generated table {data.ROWS_TABLE}.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Turns of each peer; medians are shown. More take longer and say more.",
)
@click.option("--peers", "peer_names", help="Only these, by name: colonnade-rows,asyncpg-rows")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("colonnade-demo"),
    show_default=True,
    help="Directory of the pictures.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all figures to this file.",
)
def demo(
    rows: int, rounds: int, peer_names: str | None, output: Path, json_path: Path | None
) -> int:
    """Load flights and generated rows, fetch them as columns and as rows, and compare.

    Uses the server that COLONNADE_DSN or the PG* variables name, in a schema of its own that is
    dropped at the end. Without them a private server is started and removed.
    """
    directory = _require()
    chosen, skipped = choose_peers(peer_names)
    plan = Plan(rows, rounds, chosen, skipped, directory)
    terminal = Terminal.open()
    try:
        with demo_server() as server:
            report = _demonstrate(server, plan, terminal)
    except embedded.EmbeddedServerError as error:
        raise click.ClickException(f"{error}\n\n{INSTALL}") from error
    except (OSError, errors.PostgresError, errors.InterfaceError) as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from error
    written = report.write_pictures(output, PANELS)
    if json_path is not None:
        written.append(report.write_json(json_path))
    for path in written:
        terminal.note(f"wrote {path}")
    return 1 if report.failed else 0


def _require() -> Path:
    """Return the directory of the flights, or say what is to be installed."""
    missing = [name for name in _EXTRAS if importlib.util.find_spec(name) is None]
    directory = flights.data_directory()
    if missing or directory is None:
        names = " and ".join(missing or [flights.PACKAGE])
        raise click.ClickException(f"the demo needs {names}. Install the extras:\n    {INSTALL}")
    return directory


def _demonstrate(server: DemoServer, plan: Plan, terminal: Terminal) -> Report:
    terminal.say(f"Server: {server.description}")
    with _schema(server) as schema:
        version = asyncio.run(data.server_version(server.dsn))
        terminal.say(version)
        _load(server.dsn, schema, plan, terminal)
        for name, reason in plan.skipped.items():
            terminal.note(f"not compared: {name} ({reason})")
        report = Report(
            machine=machine.describe(),
            server=version,
            transport=server.description,
            rounds=plan.rounds,
            base=BASE,
            versions=versions(plan.peers),
            skipped=plan.skipped,
            load_before=machine.load(),
        )
        queries = _queries(schema)
        counts = asyncio.run(_show(server.dsn, queries, terminal))
        for query in queries:
            if not query.measured:
                continue
            summaries = measure_all(
                query.name,
                plan.peers,
                terminal.err,
                dsn=server.dsn,
                sql=query.sql,
                rounds=plan.rounds,
            )
            result = Measured(query.name, query.title, query.sql, counts[query.name], summaries)
            report.results.append(result)
            terminal.out.print(cost_table(result.heading, summaries, base=BASE))
        report.load_after = machine.load()
    terminal.say(report.note())
    return report


def _queries(schema: str) -> list[Query]:
    return [
        Query("flights", "New York City 2013", f"SELECT * FROM {schema}.flights"),
        Query("delays", "five tables joined", flights.delays_sql(schema), measured=False),
        Query(data.ROWS_TABLE, SEED.title, f"SELECT * FROM {schema}.{data.ROWS_TABLE}"),
    ]


@contextmanager
def _schema(server: DemoServer) -> Generator[str, None, None]:
    """Make a schema and drop it at the end, however the end comes."""
    schema = asyncio.run(data.create_schema(server.dsn))
    try:
        yield schema
    finally:
        if not server.private:
            asyncio.run(data.drop_schema(server.dsn, schema))


def _load(dsn: str, schema: str, plan: Plan, terminal: Terminal) -> None:
    with progress_bar(terminal.err) as progress:
        task = progress.add_task("loading", total=len(flights.DATA_FILES) + 1)
        started = False

        def report(table: str) -> None:
            nonlocal started
            progress.update(task, advance=int(started), description=f"loading {table}")
            started = True

        asyncio.run(data.load(dsn, schema, plan.rows, plan.directory, report))


async def _show(dsn: str, queries: list[Query], terminal: Terminal) -> dict[str, int]:
    """Print the frame of each result and, of one, a few rows; return how many rows there are."""
    counts = {}
    async with data.connected(dsn) as connection:
        for query in queries:
            async with data.plain_words(connection):
                columns = await connection.fetch_columns(query.sql)
            counts[query.name] = columns.num_rows
            terminal.say(f"\n{query.name}: {query.title}\n{columns!r}")
        async with data.plain_words(connection):
            records = await connection.fetch(f"{queries[1].sql} LIMIT 2")
        terminal.say("\nthe same as rows")
        for record in records:
            terminal.say(repr(record))
    terminal.say("")
    return counts
