"""The command `colonnade` and its exit statuses: 0 done, 1 failed, 2 misused, 130 interrupted."""

from __future__ import annotations

import signal
from typing import Any

import click

import colonnade
from colonnade.cli.demo.command import demo

FAILED = 1
SIGNAL_STATUS = 128


class TerminatedError(KeyboardInterrupt):
    """A request to end, which unwinds just as an interrupt does."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(colonnade.__version__, prog_name="colonnade")
def cli() -> None:
    """PostgreSQL in columns."""


cli.add_command(demo)


def run() -> int:
    """Run the command line and return the exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status = cli.main(prog_name="colonnade", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as abort:
        click.echo("colonnade: interrupted, nothing is left behind", err=True)
        terminated = isinstance(abort.__cause__, TerminatedError)
        return SIGNAL_STATUS + (signal.SIGTERM if terminated else signal.SIGINT)
    return status if isinstance(status, int) else 0


def _terminate(*_: Any) -> None:
    raise TerminatedError
