"""The settings of the service: environment variables, checked when it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "SERVICE_"
LEVELS = ("debug", "info", "warning", "error")


class SettingsError(ValueError):
    """A setting that cannot be used; the message names its variable and what it may be."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of an operator. Times are in seconds.

    The variable of each field is its name in capitals after ``SERVICE_``. Numbers must be positive.
    """

    dsn: str
    """The database."""
    suppliers: tuple[str, ...]
    """The addresses of the suppliers, separated by commas: ``http://127.0.0.1:4001,...``."""
    deadline: float = 0.8
    """How long a search may take."""
    pool_size: int = 4
    """The most connections of a process."""
    stall_timeout: float = 30.0
    """After how long a client of `/export` that takes nothing is cut off."""
    cache_seconds: float = 30.0
    """How long the answer of a search is kept; an incomplete one a tenth of it."""
    cache_entries: int = 2_000
    """The most answers that are kept."""
    grace: float = 10.0
    """How long a process that was asked to stop may take."""
    pool_aim: float = 0.05
    """How long the wait for a connection may be for a while, before requests are refused."""
    loop_aim: float = 0.02
    """The same for the lag of the event loop."""
    log_level: str = "info"
    """Of the logs: ``warning`` leaves out the line of each request."""
    beat_folder: str = ""
    """The folder of the files in which each process says that its loop is alive; empty: none."""
    live_folder: str = ""
    """The folder in which each process says what it does, for the page; empty: the page shows only
    the process that answers."""
    flechette: str = ""
    """The file ``flechette.mjs`` for the page; empty: the one that npm has put beside the page."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings, from `os.environ` by default; raise SettingsError for a wrong one."""
        environment = os.environ if environment is None else environment
        given = {field.name: environment.get(PREFIX + field.name.upper()) for field in fields(cls)}
        known = {PREFIX + name.upper() for name in given}
        for name in sorted(set(environment) - known):
            if name.startswith(PREFIX):
                raise SettingsError(f"{name} is no setting; there are {', '.join(sorted(known))}")
        for name in ("dsn", "suppliers"):
            if not given[name]:
                raise SettingsError(f"{PREFIX}{name.upper()} is missing: `make service` sets it")
        defaults = {field.name: field.default for field in fields(cls)}
        values: dict[str, Any] = {
            name: _read(PREFIX + name.upper(), text, defaults[name])
            for name, text in given.items()
            if text is not None
        }
        if values.get("log_level", "info") not in LEVELS:
            raise SettingsError(f"{PREFIX}LOG_LEVEL must be one of {', '.join(LEVELS)}")
        values["suppliers"] = _addresses(str(given["suppliers"]))
        return cls(**values)


def _read(variable: str, text: str, default: object) -> object:
    if not isinstance(default, int | float):
        return text
    try:
        number = type(default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise SettingsError(f"{variable} must be {kind} such as {default}, not {text!r}") from None
    if not 0 < number < float("inf"):
        raise SettingsError(f"{variable} must be more than 0, not {text!r}")
    return number


def _addresses(text: str) -> tuple[str, ...]:
    addresses = tuple(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(
                f"{PREFIX}SUPPLIERS has {address!r}, which is no address such as"
                " http://127.0.0.1:4001"
            )
    return addresses
