"""The commands of `colonnade observe`."""

from __future__ import annotations

import click

from colonnade.cli.observe import check as checking


@click.group(short_help="Look at the event loop of a running process.")
def observe() -> None:
    """Look at the event loop of a running process that uses colonnade.observe."""


@observe.command(short_help="Tell whether an event loop is alive.")
@click.argument("path")
@click.option(
    "--max-age",
    type=float,
    default=checking.MAX_AGE,
    show_default=True,
    metavar="SECONDS",
    help="The longest time since the last beat.",
)
def check(*, path: str, max_age: float) -> int:
    """Tell whether the loop that beats in the file PATH (observe.Beat) did so recently.

    If PATH is a folder, all processes that beat in it and have not ended must be alive, and at
    least one. The exit status is 0 if it is alive, 1 if not, 2 for wrong usage.
    """
    try:
        return checking.run(path, max_age)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
