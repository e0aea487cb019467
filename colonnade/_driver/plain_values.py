"""Copies into tables of the package's own, whose values no codec of the connection's owner sees."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["plain_values"]


@contextlib.contextmanager
def plain_values(connection: Any) -> Generator[None, None, None]:
    """Make a `with` block in which `copy_columns_to_table` is as plain as `fetch_plain`."""
    conversation = connection.conversation
    before, conversation.are_values_plain = conversation.are_values_plain, True
    try:
        yield
    finally:
        conversation.are_values_plain = before
