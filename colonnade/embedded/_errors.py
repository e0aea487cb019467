"""What goes wrong before there is a server to talk to."""

from __future__ import annotations


class EmbeddedServerError(RuntimeError):
    """A private server cannot be found, made or started; the text says what to do about it."""
