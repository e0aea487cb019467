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
from colonnade.cli.docs.command import docs
from colonnade.cli.doctor.command import doctor
from colonnade.cli.export.command import export
from colonnade.cli.failures import CommandError, of_system
from colonnade.cli.importing.command import import_
from colonnade.cli.jobs.command import jobs
from colonnade.cli.observe.command import observe
from colonnade.cli.query.command import query


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(colonnade.__version__, prog_name="colonnade")
def cli() -> None:
    """PostgreSQL in columns."""


for command in (query, export, import_, doctor, demo, observe, jobs, docs):
    cli.add_command(command)


def run() -> int:
    """Run the command line and return the exit status."""
    _replace_closed_streams()
    interrupts.install()
    output = sys.stdout
    try:
        status = cli.main(prog_name="colonnade", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except UnicodeEncodeError:
        # Its text is not shown: it may be a DSN with a password.
        return _failed(CommandError("a text that was given is not valid UTF-8"))
    except click.Abort as abort:
        left = getattr(abort.__cause__, "__notes__", None) or ["no partial output remains"]
        click.echo(f"colonnade: interrupted; {'; '.join(left)}", err=True)
        return interrupts.status_of(abort.__cause__)
    except (interrupts.ClosedPipeError, BrokenPipeError):
        _forget_output()
        return interrupts.PIPE_STATUS
    except OSError as error:
        # The commands report their own: this one is of standard output.
        error.filename = "standard output"
        _forget_output()
        return _failed(of_system(error))
    except SystemExit as ended:
        # When the reader of the output has closed it, rich exits; so does click, which replaces
        # the output first. Completion exits as well.
        if sys.stdout is output and not isinstance(ended.__context__, BrokenPipeError):
            raise
        _forget_output()
        return interrupts.PIPE_STATUS
    return status if isinstance(status, int) else 0


def _failed(error: CommandError) -> int:
    error.show()
    return error.exit_code


def _replace_closed_streams() -> None:
    """Open the null device for each standard stream that the caller closed.

    Otherwise a socket or a file would get its number. Standard output is opened for reading, so
    that a command which writes to it fails.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def _forget_output() -> None:
    """Redirect standard output to the null device.

    Otherwise the interpreter would fail at exit, when it flushes to the closed pipe.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
