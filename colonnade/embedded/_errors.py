"""Errors before there is a server to talk to."""

from __future__ import annotations


class EmbeddedServerError(RuntimeError):
    """A private server cannot be found, created or started; the message says what to do."""
