"""The type of a bytea column that holds structs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import types as sqltypes

from colonnade._words.shown import shown

if TYPE_CHECKING:
    from colonnade.structs import Struct

S = TypeVar("S", bound="Struct")


class StructType(sqltypes.TypeDecorator[S]):
    """A bytea column of structs: ``Column("data", StructType(Facts))``.

    Values are instances of the class, and None is NULL. A value of another class raises TypeError,
    and stored bytes of another struct raise StructError when they are fetched.
    """

    impl = sqltypes.LargeBinary
    cache_ok = True

    def __init__(self, kind: type[S]) -> None:
        super().__init__()
        self.kind = kind

    def __repr__(self) -> str:
        return f"StructType({self.kind.__name__})"

    @property
    def python_type(self) -> type[S]:
        """The class of the values."""
        return self.kind

    def process_bind_param(self, value: S | None, dialect: Any) -> bytes | None:  # noqa: ARG002
        """Return the bytes of a value."""
        if value is None:
            return None
        if not isinstance(value, self.kind):
            raise TypeError(f"the column holds {self.kind.__name__}, not {shown(value)}")
        return bytes(value)

    def process_result_value(self, value: Any, dialect: Any) -> S | None:  # noqa: ARG002
        """Return the instance over fetched bytes."""
        return None if value is None else self.kind.from_bytes(value)
