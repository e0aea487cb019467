"""The error of a client that has no password, where the server wants one."""

from __future__ import annotations

from colonnade.errors._client import AuthenticationError
from colonnade.errors._sqlstate import InvalidPasswordError


class MissingPasswordError(  # pyright: ignore[reportIncompatibleVariableOverride]
    AuthenticationError, InvalidPasswordError
):
    """The server asks for a password, and none was given.

    The client says so itself, and sends nothing. It is an ``InvalidPasswordError``, too, with its
    SQLSTATE: who handles a wrong password handles a missing one.
    """
