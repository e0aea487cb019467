"""The function that a pickled struct names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colonnade.structs.base import Struct

S = TypeVar("S", bound="Struct")


def open_struct(kind: type[S], data: bytes) -> S:
    """Return an instance over these bytes, which are checked."""
    return kind.from_bytes(data)
