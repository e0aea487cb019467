"""The options that choose the server, the same for every command."""

from __future__ import annotations

import functools
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

import colonnade.sync
from colonnade.cli.failures import say, unreachable
from colonnade.cli.resolved_options import ResolvedOptions, resolved_options

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

F = TypeVar("F", bound="Callable[..., Any]")

ENVIRONMENT = "COLONNADE_DSN"


@dataclass(frozen=True)
class Target:
    """The server as the user's options name it. Its `repr` shows no password."""

    dsn: str | None = field(default=None, repr=False)
    service: str | None = None
    password: str | None = field(default=None, repr=False)

    def connect(
        self, *, server_settings: dict[str, str] | None = None
    ) -> colonnade.sync.Connection:
        """Connect; missing options come from the environment.

        No prepared statement stays on the server, so poolers work in every mode.
        Raises CommandError if no server can be reached.
        """
        try:
            return colonnade.sync.connect(
                self.dsn,
                service=self.service,
                password=self.password,
                server_settings=server_settings,
                statement_cache_size=0,
            )
        except OSError as error:
            raise unreachable(self.resolved_options().places, error) from error

    @contextmanager
    def pool(self) -> Generator[colonnade.sync.Pool, None, None]:
        """A pool of one connection, which replaces a lost one; it connects as `connect` does.

        Raises CommandError if no server can be reached.
        """

        def connect(*_: object, **_classes: object) -> colonnade.sync.Connection:
            return self.connect()

        with colonnade.sync.create_pool(min_size=1, max_size=1, connect=connect) as pool:
            yield pool

    def resolved_options(self) -> ResolvedOptions:
        """Resolve the options as the driver does, without connecting.

        Raises ClientConfigurationError for invalid options.
        """
        return resolved_options(self.dsn, {"service": self.service, "password": self.password})


def connection_options(function: F) -> F:
    """Add the options to a command and pass them to it as the argument `target`."""

    @click.option(
        "-d",
        "--dsn",
        envvar=ENVIRONMENT,
        show_envvar=True,
        help="postgresql://user@host:5432/database, or host=... dbname=...",
    )
    @click.option("--service", help="Section of the service file (PGSERVICE).")
    @click.option("-W", "--password", "asks", is_flag=True, help="Ask for the password.")
    @functools.wraps(function)
    def with_target(
        *args: Any, dsn: str | None, service: str | None, asks: bool, **options: Any
    ) -> Any:
        password = _asked_password() if asks else None
        warnings.showwarning = _show_warning
        return function(*args, target=Target(dsn or None, service, password), **options)

    return with_target  # type: ignore[return-value]


def _asked_password() -> str:
    given: str = click.prompt("Password", hide_input=True, err=True, default="", show_default=False)
    return given


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print the warning on one line, without a source location that means nothing to users."""
    say(f"colonnade: warning: {message}")
