"""When two arguments are the same to the server, and not only equal in Python."""

from __future__ import annotations

import datetime as dt
import decimal
import ipaddress
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

# Equal objects of these very classes are sent as the same bytes.
_PLAIN = frozenset(
    {
        *(type(None), bool, int, str, bytes, dt.date, dt.timedelta, uuid.UUID),
        *(ipaddress.IPv4Address, ipaddress.IPv4Interface, ipaddress.IPv4Network),
        *(ipaddress.IPv6Address, ipaddress.IPv6Interface, ipaddress.IPv6Network),
    }
)


class _Itself:
    """An object of an unknown class, which is the same only as itself."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def identity(value: object) -> Hashable:
    """A key that two arguments share only if the server gets the same value.

    Equality is not enough: `1 == True`, `0.0 == -0.0`, `Decimal("1.0") == Decimal("1.00")`, and
    times of one instant in two zones are equal. Raises TypeError for what cannot be hashed, which
    may change while it is compared.
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if isinstance(value, tuple) and kind is tuple:
        return kind, tuple(map(identity, value))
    if isinstance(value, float) and kind is float:
        return kind, value.hex()
    if isinstance(value, decimal.Decimal) and kind is decimal.Decimal:
        return kind, str(value)
    if isinstance(value, dt.datetime | dt.time):
        return kind, value.isoformat(), value.fold, value.tzinfo
    hash(value)
    return kind, _Itself(value)
