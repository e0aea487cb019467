"""The commands of `colonnade observe`."""

from __future__ import annotations

import click

from colonnade.cli.observe import check as checking, top as viewing


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

    If PATH is a folder, at least one process must beat in it, and all must be alive, except for
    ended ones. The exit status is 0 if it is alive, 1 if not, 2 for wrong usage.
    """
    try:
        return checking.run(path, max_age)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@observe.command(short_help="Show what a process does, live.")
@click.argument("target", required=False, metavar="[PID|PATH]")
@click.option("--once", is_flag=True, help="Print plain text once, as in a pipe.")
def top(*, target: str | None, once: bool) -> int:
    """Show what processes that call observe.publish do: their event loop, pools and statements.

    The view is drawn each second; q and Ctrl-C end it. Without PID or PATH, the only process of
    this user that publishes is shown, or a list of all. The exit status is 1 if there is no report,
    or, printed once, if the process has stopped reporting.
    """
    return viewing.run(target, once=once)
