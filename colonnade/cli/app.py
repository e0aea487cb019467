"""The command `colonnade`.

Its exit status is 0 for success, 1 for a failure, 2 for wrong usage and 130 for an interrupt.
"""

from __future__ import annotations

import os
import sys

import click

import colonnade
from colonnade.cli import interrupts
from colonnade.cli.demo.command import demo
from colonnade.cli.doctor.command import doctor
from colonnade.cli.export.command import export
from colonnade.cli.importing.command import import_
from colonnade.cli.query.command import query


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(colonnade.__version__, prog_name="colonnade")
def cli() -> None:
    """PostgreSQL in columns."""


for command in (query, export, import_, doctor, demo):
    cli.add_command(command)


def run() -> int:
    """Run the command line and return the exit status."""
    interrupts.install()
    try:
        status = cli.main(prog_name="colonnade", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as abort:
        click.echo("colonnade: interrupted, nothing is left behind", err=True)
        return interrupts.status_of(abort.__cause__)
    except (interrupts.ClosedPipeError, BrokenPipeError):
        _forget_output()
        return interrupts.PIPE_STATUS
    return status if isinstance(status, int) else 0


def _forget_output() -> None:
    """Redirect standard output to the null device.

    Otherwise the interpreter would fail at exit, when it flushes to the closed pipe.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
