"""Error messages for the terminal: the error, and a hint that says what to do."""

from __future__ import annotations

import errno
import re
import shlex
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from colonnade import errors
from colonnade._words.extras import how_to_install
from colonnade.errors._place import character_number, place_in

if TYPE_CHECKING:
    from collections.abc import Generator

#: The exit status of a command that failed.
FAILED = 1
# Python arguments that the driver's messages suggest; the options below replace them.
_SCHEMA = re.compile(r'schema=\{"((?:[^"\\]|\\.)*)": "([^"]*)"\}')
_INFINITY = re.compile(r'infinity="(\w+)"')
# All control characters except newline and tab; marks that turn the direction of the text or are
# not seen; and halves of surrogate pairs, as which Python has bytes of paths that are not UTF-8.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_CREDENTIALS = re.compile(r":[^@]*@|password=")
_HINTS: tuple[tuple[type[BaseException], str], ...] = (
    (
        errors.InvalidPasswordError,
        "-W asks for the password; PGPASSWORD and the password file are read as well",
    ),
    (errors.InvalidCatalogNameError, "the database's name is the last part of the DSN's path"),
    (errors.TooManyConnectionsError, "the server has no connection left; try again later"),
    (errors.CannotConnectNowError, "the server is starting up or shutting down; try again"),
    (errors.QueryCanceledError, "another session or statement_timeout cancelled the query"),
)


class CommandError(click.ClickException):
    """The command failed: a message, and a hint that may be None."""

    exit_code = FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def show(self, file: Any = None) -> None:
        """Print the message and the hint to standard error."""
        out = file or sys.stderr
        click.echo(f"colonnade: {visible(self.format_message())}", file=out)
        if self.hint:
            click.echo(f"  hint: {visible(self.hint)}", file=out)


def visible(text: str) -> str:
    """Escape the control characters, so that the text cannot drive the terminal.

    Names of files, and names and values from files and servers, may contain any character.
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str) -> None:
    """Print a line about the command's work to standard error."""
    click.echo(visible(text), err=True)


def without_addresses(message: str, words: list[str]) -> str:
    """Hide the user's words that may be addresses with a password, in a complaint about them."""
    for word in words:
        # An option may stand before it: --dns=postgresql://...
        value = word.partition("=")[2] if word.startswith("-") else word
        if "postgres" in value or _CREDENTIALS.search(value):
            for written in (value, repr(value)[1:-1]):
                message = message.replace(written, "(an address, not shown)")
    return message


def missing_library(name: str, extra: str, purpose: str) -> CommandError:
    """Return an error that names the missing library and the extra that installs it."""
    return CommandError(f"{purpose} needs {name}", f"install it: {how_to_install(extra)}")


@contextmanager
def failures_told(sql: str | None = None) -> Generator[None, None, None]:
    """Turn errors of the driver and of the system into a `CommandError`.

    `sql` is the user's own text; the message then shows the position of the server's error in it.
    """
    try:
        yield
    except errors.PostgresError as error:
        raise of_server(error, sql) from error
    except (errors.InterfaceError, errors.InternalClientError) as error:
        hint = _hint(error)
        said = error.args[0] if error.args else str(error)
        raise CommandError(said, None if hint is None else _in_options(hint)) from error
    except OSError as error:
        raise of_system(error) from error


@contextmanager
def failures_of(name: str) -> Generator[None, None, None]:
    """Put the file's name in front of errors that its content causes.

    Files may contain any names and values; if the driver refuses one, the message blames the file.
    """
    try:
        yield
    except errors.PostgresError as error:
        told = of_server(error, None)
        raise CommandError(f"{name}: {told.message}", told.hint) from error
    except (errors.InterfaceError, ValueError, TypeError) as error:
        raise CommandError(f"{name}: {error}", _hint(error)) from error


def of_server(error: errors.PostgresError, sql: str | None) -> CommandError:
    """Return the server's message, its SQLSTATE, and the position of the error in `sql`."""
    if isinstance(error, errors.DecodeError):
        return CommandError(_in_options(str(error)))
    if isinstance(error, errors.EncodeError):
        return CommandError(str(error), _hint(error))
    lines = [error.message or type(error).__name__]
    if error.sqlstate:
        lines[0] += f" (SQLSTATE {error.sqlstate})"
    if sql is not None and error.query in {None, sql}:
        place = place_in(sql, character_number(error.position)) or ""
        lines += [f"  {line}" for line in place.splitlines()]
    if error.detail:
        lines.append(f"  detail: {error.detail}")
    return CommandError("\n".join(lines), error.hint or _known_hint(error))


def _in_options(text: str) -> str:
    """Replace the Python arguments in the driver's message by command-line options."""
    text = _SCHEMA.sub(lambda found: _option("schema", f"{found[1]}={found[2]}"), text)
    return _INFINITY.sub(lambda found: _option("infinity", found[1]), text)


def _option(name: str, value: str) -> str:
    return f"--{name} {shlex.quote(value)}"


def unreachable(places: str, error: OSError) -> CommandError:
    """Return an error that says why no server could be reached, with a hint."""
    said = error.strerror or str(error) or "no answer"
    return CommandError(f"no connection to {places}: {said}", connection_hint(places, error))


def connection_hint(places: str, error: BaseException) -> str | None:
    """Return a hint for a server that cannot be reached; None if the error suggests none."""
    if isinstance(error, ConnectionRefusedError):
        return f"no program listens there: is the server running on {places}?"
    if isinstance(error, FileNotFoundError):
        return f"there is no such socket: is the server running, and does it listen at {places}?"
    # socket.gaierror; only the transports may import socket.
    if type(error).__name__ == "gaierror":
        return "the host name is unknown: is it spelled right, and is the network up?"
    if isinstance(error, TimeoutError):
        return "no answer: a firewall may drop the packets, or the address may be wrong"
    return None


def _hint(error: BaseException) -> str | None:
    return getattr(error, "hint", None) or _known_hint(error)


def _known_hint(error: BaseException) -> str | None:
    return next((hint for kind, hint in _HINTS if isinstance(error, kind)), None)


def of_system(error: OSError) -> CommandError:
    """Return the operating system's error, with the file's name if it has one."""
    return CommandError(_system_text(error))


def _system_text(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"the disk is full{_place(error)}: nothing was kept"
    if error.errno == errno.EFBIG:
        return f"the file would exceed the size limit{_place(error)}: nothing was kept"
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _place(error: OSError) -> str:
    return f" ({error.filename})" if error.filename else ""
