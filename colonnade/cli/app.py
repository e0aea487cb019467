"""The command `colonnade`.

Its exit status is 0 for success, 1 for a failure, 2 for wrong usage and 130 for an interrupt.
"""

from __future__ import annotations

import importlib
import os
import sys

import click

import colonnade
from colonnade.cli import interrupts
from colonnade.cli.failures import CommandError, of_system, say, without_addresses

#: The commands in the order of the help text, and their folders where the name is not the folder's.
COMMANDS = ("query", "export", "import", "doctor", "demo", "observe", "jobs", "docs")
_FOLDERS = {"import": "importing"}


class _Commands(click.Group):
    """A group that imports a command once it is asked for: all of them take half a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = f"colonnade.cli.{_FOLDERS.get(cmd_name, cmd_name)}.command"
        found = vars(importlib.import_module(module)).values()
        return next(
            each for each in found if isinstance(each, click.Command) and each.name == cmd_name
        )


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(colonnade.__version__, prog_name="colonnade")
def cli() -> None:
    """PostgreSQL in columns."""


def run() -> int:
    """Run the command line and return the exit status."""
    _replace_closed_streams()
    interrupts.install()
    output = sys.stdout
    try:
        status = cli.main(prog_name="colonnade", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        # click declares it as final, and the class of the error decides how it is shown.
        vars(error)["message"] = without_addresses(error.message, sys.argv[1:])
        error.show()
        return error.exit_code
    except UnicodeEncodeError:
        # Its text is not shown: it may be a DSN with a password.
        return _failed(CommandError("a text that was given is not valid UTF-8"))
    except click.Abort as abort:
        left = getattr(abort.__cause__, "__notes__", None) or ["no partial output remains"]
        say(f"colonnade: interrupted; {'; '.join(left)}")
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
