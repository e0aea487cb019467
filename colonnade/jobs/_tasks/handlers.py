"""What a handler must be."""

from __future__ import annotations


class WrongHandlerError(TypeError):
    """The handler of a consumer cannot do any job. It ends the consumer: no retry mends it."""
