"""redis-py, loaded at the first connection, and its errors as ours."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from colonnade._words.extras import how_to_install
from colonnade.errors import InterfaceError
from colonnade.jobs.disque.errors import AuthenticationError, DisqueError, server_error
from colonnade.jobs.disque.options import split

if TYPE_CHECKING:
    from colonnade.jobs.disque.options import Options

# redis-py takes these codes off the text, and has a class for each instead.
_CODES = {"AuthenticationError": "NOAUTH", "BusyLoadingError": "LOADING", "OutOfMemoryError": "OOM"}


def library(name: str) -> Any:
    """Import a module of redis-py. Raises InterfaceError where it is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "redis":
            raise
        raise InterfaceError(
            "the Disque client needs redis-py",
            hint=f"install it with: {how_to_install('disque')}",
        ) from None


def connection_options(address: str, options: Options) -> dict[str, Any]:
    """Return the arguments of redis-py's connections."""
    host, port = split(address)
    return {
        "host": host,
        "port": port,
        "password": options.password,
        "protocol": 2,
        # Names come from servers as any bytes, and go back as they were.
        "encoding_errors": "surrogateescape",
        # Disque has no CLIENT SETINFO.
        "driver_info": None,
        # Nothing is sent twice that the caller did not send twice.
        "retry": library("redis.retry").Retry(library("redis.backoff").NoBackoff(), 0),
    }


def error_classes() -> tuple[type[Exception], ...]:
    """Return redis-py's classes for what a server answers; two of them are no ResponseError."""
    errors = library("redis.exceptions")
    return errors.ResponseError, errors.AuthenticationError, errors.BusyLoadingError


def translated(error: Exception, command: str, address: str) -> DisqueError:
    """Return our error for an answer that redis-py raised."""
    code = _CODES.get(type(error).__name__, "")
    text = str(error)
    if code and not text.startswith(code):
        text = f"{code} {text}"
    return server_error(text, command, address)


def refused(error: Exception, address: str) -> DisqueError:
    """Return our error for a node that does not let this client in."""
    code = _CODES.get(type(error).__name__, "")
    if code == "NOAUTH" or "password" in str(error).lower():
        return AuthenticationError(
            f"{address} refused the password ({error}): `password=` is its `requirepass`",
            command="AUTH",
            node=address,
        )
    return translated(error, "AUTH", address)
