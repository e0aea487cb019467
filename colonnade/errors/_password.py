"""The error of a client without the password that the server requires."""

from __future__ import annotations

from colonnade.errors._client import AuthenticationError
from colonnade.errors._sqlstate import InvalidPasswordError


class MissingPasswordError(  # pyright: ignore[reportIncompatibleVariableOverride]
    AuthenticationError, InvalidPasswordError
):
    """The server asks for a password, and none was given.

    The client raises it and sends nothing. It is also an ``InvalidPasswordError``, with its
    SQLSTATE, so code that handles a wrong password also handles a missing one.
    """
