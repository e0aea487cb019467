"""The schema of queues that a command is about."""

from __future__ import annotations

import difflib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from colonnade.cli.connecting import Target, connection_options
from colonnade.cli.failures import CommandError, failures_told
from colonnade.errors import InsufficientPrivilegeError
from colonnade.jobs import sync as jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import colonnade.sync

F = TypeVar("F", bound="Callable[..., Any]")

_RIGHTS = "jobs.grant_queue gives a role what a worker needs; see `colonnade docs jobs`"
_NONE = "make one with jobs.create_queue, or name another schema with --schema"


@dataclass(frozen=True)
class Place:
    """A pool, and the schema whose queues are meant."""

    pool: colonnade.sync.Pool
    schema: str

    def all(self) -> list[jobs.QueueInfo]:
        """The schema's queues, by name."""
        return jobs.list_queues(self.pool, schema=self.schema)

    def queue(self, name: str) -> jobs.Queue:
        """Open a queue. Raises CommandError, with the names that there are, if it is missing."""
        known = [info.name for info in self.all()]
        if name in known:
            return self.known_queue(name)
        close = difflib.get_close_matches(name, known, 1)
        meant = f' Did you mean "{close[0]}"?' if close else ""
        listed = ", ".join(f'"{other}"' for other in known)
        raise CommandError(
            f'there is no queue "{name}" in the schema "{self.schema}".{meant}',
            f"the queues are {listed}" if known else _NONE,
        )

    def known_queue(self, name: str) -> jobs.Queue:
        """Open one of the queues of `all`."""
        return jobs.open_queue(self.pool, name, schema=self.schema)


@contextmanager
def opened(target: Target, schema: str) -> Generator[Place, None, None]:
    """Connect, and turn errors of queues, of the driver and of the system into CommandError."""
    with jobs_failures_told(), target.pool() as pool:
        yield Place(pool, schema)


@contextmanager
def jobs_failures_told() -> Generator[None, None, None]:
    """Turn errors of queues, of the driver and of the system into CommandError."""
    with failures_told():
        try:
            yield
        except InsufficientPrivilegeError as error:
            said = f"{error.message} (SQLSTATE {error.sqlstate})"
            raise CommandError(said, error.hint or _RIGHTS) from error
        except jobs.JobsError as error:
            raise CommandError(str(error)) from error


def place_options(function: F) -> F:
    """Add --schema and the options that choose the server."""
    schema = click.option(
        "--schema",
        default="jobs",
        show_default=True,
        callback=_checked_schema,
        help="The schema of the queues.",
    )
    return schema(connection_options(function))


def json_option(function: F) -> F:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")(
        function
    )


def _checked_schema(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value or "\0" in value:
        raise click.BadParameter("a schema needs a name")
    return value
