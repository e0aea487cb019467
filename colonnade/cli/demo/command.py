"""The command `colonnade demo`."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

import click

import colonnade.sync
from colonnade.cli.demo import flights
from colonnade.cli.demo.data import loaded
from colonnade.cli.demo.server import demo_server
from colonnade.cli.failures import CommandError, failures_told, missing_library
from colonnade.embedded import EmbeddedServerError

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Number of fetches as columns and as rows; the shortest times are shown.",
)
def demo(rounds: int) -> None:
    """Load real flights, show them as columns and as rows, and time both.

    The demo uses the server that COLONNADE_DSN or the PG* variables name, and creates a schema that
    is dropped at the end. Without these variables, it starts and removes a private server.
    """
    directory = flights.data_directory()
    if directory is None:
        raise missing_library(flights.PACKAGE, "demo", "the demo")
    try:
        with failures_told(), demo_server() as server:
            click.echo(f"Server: {server.description}")
            with colonnade.sync.connect(server.dsn) as connection:
                click.echo(connection.fetchval("SELECT pg_catalog.version()"))
            click.echo("\nLoading the flights from New York City in 2013")
            with loaded(server.dsn, directory) as connection:
                _show(connection)
                _time(connection, rounds)
    except EmbeddedServerError as error:
        raise CommandError(str(error)) from error


def _show(connection: colonnade.sync.Connection) -> None:
    """Print two results as columns, and a few rows of the second."""
    for name, sql in (("flights", flights.ALL), ("delays, five tables joined", flights.DELAYS)):
        click.echo(f"\n{name}\n{connection.fetch_columns(sql)!r}")
    click.echo("\nthe same as rows")
    for record in connection.fetch(f"{flights.DELAYS} LIMIT 2"):
        click.echo(repr(record))


def _time(connection: colonnade.sync.Connection, rounds: int) -> None:
    """Fetch all flights alternately as columns and as rows, and print the shortest times."""
    fetches = {
        "fetch_columns": functools.partial(connection.fetch_columns, flights.ALL),
        "fetch": functools.partial(connection.fetch, flights.ALL),
    }
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in fetches}
    for _ in range(rounds):
        for name, fetch in fetches.items():
            costs[name].append(_cost(fetch))
    click.echo(f"\nall flights: {flights.ALL}, the shortest times of {rounds}")
    for name, of_rounds in costs.items():
        wall, cpu = (min(figures) * 1000 for figures in zip(*of_rounds, strict=True))
        click.echo(f"{name:<13} {wall:8,.1f} ms wall time, {cpu:8,.1f} ms CPU time of the client")
    if colonnade.__build_profile__ != "release":
        click.echo(f"measured with a {colonnade.__build_profile__} build; a release is faster")


def _cost(fetch: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall time and of this process's processor time for one fetch."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = fetch()
    cost = time.perf_counter() - wall, time.process_time() - cpu
    # The time to free the result is not measured.
    del result
    return cost
