"""Values that PostgreSQL has and Python lacks: ranges, bit strings, points and others.

A row gives these objects and a parameter takes them. They have the names and the behaviour of
`asyncpg.types`; all of them can be hashed, copied and pickled, and none can be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    Self,
    SupportsFloat,
    TypeAlias,
    TypeVar,
    overload,
)

from colonnade._shown import class_name, shown

__all__ = [
    "Attribute",
    "BitString",
    "Box",
    "Circle",
    "Line",
    "LineSegment",
    "Path",
    "Point",
    "Polygon",
    "Range",
    "ServerVersion",
    "TextValue",
    "Type",
]

Infinity: TypeAlias = Literal["raise", "null", "saturate"]
"""The fate of a value that Arrow cannot hold, such as an infinite date: an error, NULL, or the
outermost value."""

_T_co = TypeVar("_T_co", covariant=True)
_BitOrder = Literal["big", "little"]


class Type(NamedTuple):
    """A PostgreSQL type."""

    oid: int
    name: str
    #: "scalar", "array", "composite", "range" and so on.
    kind: str
    schema: str


class Attribute(NamedTuple):
    """A column of a statement, or a field of a composite."""

    name: str
    type: Type


class TextValue(str):
    """A value in PostgreSQL's text form, as a parameter of whatever type.

    The server reads it as it reads a literal: `TextValue("2024-02-30")` for a date is an error of
    the server's, and a plain `str` there one of the driver's, which asks for a `date`. In an array
    or a composite it is a `str` like any other.
    """

    __slots__ = ()


class ServerVersion(NamedTuple):
    """The server's version, as `sys.version_info` has Python's."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: int


class BitString:
    """A value of `bit` or `varbit`: bits by position, the first one on the left."""

    __slots__ = ("_bytes", "_length")
    _bytes: bytes
    _length: int

    def __init__(self, bitstring: str | BitString | None = None) -> None:
        if isinstance(bitstring, BitString):
            self._bytes, self._length = bitstring._bytes, bitstring._length  # noqa: SLF001
            return
        text: object = "" if bitstring is None else bitstring
        if not isinstance(text, str):
            kind = class_name(text)
            raise TypeError(f"a BitString is made of a str, not of {kind}; see frombytes, from_int")
        for position, bit in enumerate(text):
            if bit not in "01" and not bit.isspace():
                raise ValueError(
                    f"a bit is 0 or 1, not {shown(bit)}, which is at position {position}"
                )
        bits = "".join(text.split())
        self._length = len(bits)
        self._bytes = _left_aligned(int(bits, 2) if bits else 0, self._length)

    @classmethod
    def frombytes(cls, bytes_: bytes | None = None, bitlength: int | None = None) -> BitString:
        """The first `bitlength` bits of the bytes, most significant first; all without it."""
        data = bytes(bytes_ or b"")
        length = len(data) * 8 if bitlength is None else bitlength
        if (length + 7) // 8 != len(data) or length < 0:
            raise ValueError(f"{len(data)} bytes do not hold {bitlength} bits, no more and no less")
        self = cls()
        self._length = length
        # Bits past the end are zero, so that equal values have equal bytes.
        self._bytes = _left_aligned(int.from_bytes(data, "big") >> (-length % 8), length)
        return self

    @classmethod
    def from_int(
        cls, x: int, length: int, bitorder: _BitOrder = "big", *, signed: bool = False
    ) -> BitString:
        """An integer as `length` bits; of a signed one, its two's complement.

        Raises OverflowError when it does not fit, as `int.to_bytes` does.
        """
        if length < 0:
            raise ValueError(f"a length is 0 or more, not {shown(length)}")
        if x < 0 and not signed:
            raise OverflowError(f"{shown(x)} is negative and has no unsigned bits")
        least, limit = (-(1 << length) // 2, (1 << length) // 2) if signed else (0, 1 << length)
        # No bits at all are 0.
        if not least <= x < limit and (x or length):
            raise OverflowError(f"{shown(x)} does not fit in {length} bits")
        bits = format(x & ((1 << length) - 1), f"0{length}b") if length else ""
        return cls(bits if _checked(bitorder) == "big" else bits[::-1])

    def to_int(self, bitorder: _BitOrder = "big", *, signed: bool = False) -> int:
        """The bits as an integer; the inverse of `from_int`."""
        bits = self._digits()
        bits = bits if _checked(bitorder) == "big" else bits[::-1]
        number = int(bits, 2) if bits else 0
        negative = signed and bits.startswith("1")
        return number - (1 << self._length) if negative else number

    def as_string(self) -> str:
        """The bits in groups of four, such as "1010 1"."""
        bits = self._digits()
        return " ".join(bits[start : start + 4] for start in range(0, len(bits), 4))

    @property
    def bytes(self) -> bytes:
        """The bits, the first as the most significant of the first byte; 0 past the end."""
        return self._bytes

    def _digits(self) -> str:
        number = int.from_bytes(self._bytes, "big") >> (-self._length % 8)
        return format(number, f"0{self._length}b") if self._length else ""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> BitString: ...
    def __getitem__(self, index: int | slice) -> int | BitString:
        if isinstance(index, slice):
            return BitString(self._digits()[index])
        position = index + self._length if index < 0 else index
        if not 0 <= position < self._length:
            raise IndexError("index out of range")
        return self._bytes[position // 8] >> (7 - position % 8) & 1

    def __iter__(self) -> Iterator[int]:
        return map(int, self._digits())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BitString):
            return NotImplemented
        return self._length == other._length and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash((self._bytes, self._length))

    def __repr__(self) -> str:
        return f"<BitString {self.as_string()}>"


def _left_aligned(number: int, length: int) -> bytes:
    """`length` bits as bytes, the first bit as the most significant one of the first byte."""
    return (number << (-length % 8)).to_bytes((length + 7) // 8, "big")


def _checked(bitorder: str) -> str:
    if bitorder not in {"big", "little"}:
        raise ValueError(f"bitorder is 'big' or 'little', not {shown(bitorder)}")
    return bitorder


class Range(Generic[_T_co]):
    """A value of a range type. None is a missing bound."""

    __slots__ = ("_empty", "_lower", "_lower_inc", "_upper", "_upper_inc")

    def __init__(
        self,
        lower: _T_co | None = None,
        upper: _T_co | None = None,
        *,
        lower_inc: bool = True,
        upper_inc: bool = False,
        empty: bool = False,
    ) -> None:
        self._empty = empty
        self._lower = None if empty else lower
        self._upper = None if empty else upper
        # A bound that is not there is not in the range.
        self._lower_inc = bool(lower_inc) and self._lower is not None
        self._upper_inc = bool(upper_inc) and self._upper is not None

    @property
    def lower(self) -> _T_co | None:
        """The lower bound, or None where there is none."""
        return self._lower

    @property
    def lower_inc(self) -> bool:
        """Whether the lower bound is in the range."""
        return self._lower_inc

    @property
    def lower_inf(self) -> bool:
        """Whether the range has no lower bound."""
        return self._lower is None and not self._empty

    @property
    def upper(self) -> _T_co | None:
        """The upper bound, or None where there is none."""
        return self._upper

    @property
    def upper_inc(self) -> bool:
        """Whether the upper bound is in the range."""
        return self._upper_inc

    @property
    def upper_inf(self) -> bool:
        """Whether the range has no upper bound."""
        return self._upper is None and not self._empty

    @property
    def isempty(self) -> bool:
        """Whether it was made as the empty range."""
        return self._empty

    def issubset(self, other: Range[Any]) -> bool:
        """Whether the other range has everything that this one has."""
        if not isinstance(other, Range):
            raise TypeError(f"a Range is compared with a Range, not with {class_name(other)}")
        if self._empty or other._empty:
            return self._empty
        return self._begins_within(other) and self._ends_within(other)

    def issuperset(self, other: Range[Any]) -> bool:
        """Whether this range has everything that the other one has."""
        if not isinstance(other, Range):
            raise TypeError(f"a Range is compared with a Range, not with {class_name(other)}")
        return other.issubset(self)

    def _begins_within(self, other: Range[Any]) -> bool:
        mine: Any = self._lower
        if mine is None or other._lower is None:
            return other._lower is None
        if mine == other._lower:
            return other._lower_inc or not self._lower_inc
        return bool(mine > other._lower)

    def _ends_within(self, other: Range[Any]) -> bool:
        mine: Any = self._upper
        if mine is None or other._upper is None:
            return other._upper is None
        if mine == other._upper:
            return other._upper_inc or not self._upper_inc
        return bool(mine < other._upper)

    def _key(self) -> tuple[object, ...]:
        return (self._lower, self._upper, self._lower_inc, self._upper_inc, self._empty)

    def __bool__(self) -> bool:
        return not self._empty

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Range):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        if self._empty:
            return "<Range empty>"
        lower = "" if self._lower is None else repr(self._lower)
        upper = "" if self._upper is None else repr(self._upper)
        left, right = "[" if self._lower_inc else "(", "]" if self._upper_inc else ")"
        return f"<Range {left}{lower}, {upper}{right}>"


class _Figure(tuple[Any, ...]):
    """A figure is the tuple of its parts, and shows its name."""

    __slots__ = ()

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"colonnade.{type(self).__name__}({tuple.__repr__(self)})"


_Pair = Sequence[SupportsFloat]


class Point(_Figure):
    """A value of `point`: the tuple (x, y)."""

    __slots__ = ()

    def __new__(cls, x: SupportsFloat | str, y: SupportsFloat | str) -> Self:
        """From its coordinates."""
        return super().__new__(cls, (float(x), float(y)))

    @property
    def x(self) -> float:
        """The first coordinate."""
        return float(self[0])

    @property
    def y(self) -> float:
        """The second coordinate."""
        return float(self[1])


class Box(_Figure):
    """A value of `box`: the tuple of two opposite corners."""

    __slots__ = ()

    def __new__(cls, high: _Pair, low: _Pair) -> Self:
        """From two opposite corners."""
        return super().__new__(cls, (Point(*high), Point(*low)))

    @property
    def high(self) -> Point:
        """The upper right corner of a box from the server."""
        return _point(self[0])

    @property
    def low(self) -> Point:
        """The lower left corner of a box from the server."""
        return _point(self[1])


class Line(_Figure):
    """A value of `line`: the tuple (A, B, C) of the line Ax + By + C = 0."""

    __slots__ = ()

    def __new__(cls, A: SupportsFloat, B: SupportsFloat, C: SupportsFloat) -> Self:  # noqa: N803
        """From the factors of its equation."""
        return super().__new__(cls, (float(A), float(B), float(C)))

    @property
    def A(self) -> float:  # noqa: N802
        """The factor of x."""
        return float(self[0])

    @property
    def B(self) -> float:  # noqa: N802
        """The factor of y."""
        return float(self[1])

    @property
    def C(self) -> float:  # noqa: N802
        """What is added."""
        return float(self[2])


class LineSegment(_Figure):
    """A value of `lseg`: the tuple of its two ends."""

    __slots__ = ()

    def __new__(cls, p1: _Pair, p2: _Pair) -> Self:
        """From its ends."""
        return super().__new__(cls, (Point(*p1), Point(*p2)))

    @property
    def p1(self) -> Point:
        """One end."""
        return _point(self[0])

    @property
    def p2(self) -> Point:
        """The other end."""
        return _point(self[1])


class Circle(_Figure):
    """A value of `circle`: the tuple (center, radius)."""

    __slots__ = ()

    def __new__(cls, center: _Pair, radius: SupportsFloat) -> Self:
        """From the point in its middle and its radius."""
        return super().__new__(cls, (Point(*center), float(radius)))

    @property
    def center(self) -> Point:
        """The point in its middle."""
        return _point(self[0])

    @property
    def radius(self) -> float:
        """The distance from its middle."""
        return float(self[1])


def _point(part: Any) -> Point:
    """A part of a figure, for the type checker: every constructor has made a Point of it."""
    point: Point = part
    return point


class Path(Sequence[Point]):
    """A value of `path`: the sequence of its points."""

    __slots__ = ("_is_closed", "_points")

    def __init__(self, *points: _Pair, is_closed: bool = False) -> None:
        self._points = tuple(Point(*point) for point in points)
        self._is_closed = bool(is_closed)

    @property
    def points(self) -> tuple[Point, ...]:
        """The points in their order."""
        return self._points

    @property
    def is_closed(self) -> bool:
        """Whether the last point is joined to the first."""
        return self._is_closed

    def __len__(self) -> int:
        return len(self._points)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Point, ...]: ...
    def __getitem__(self, index: int | slice) -> Point | tuple[Point, ...]:
        return self._points[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Path) or type(self) is not type(other):
            return NotImplemented
        return (self._points, self._is_closed) == (other._points, other._is_closed)

    def __hash__(self) -> int:
        return hash((self._points, self._is_closed))

    def __repr__(self) -> str:
        closed = ", is_closed=True" if self._is_closed else ""
        return f"colonnade.Path({', '.join(map(repr, map(tuple, self._points)))}{closed})"


class Polygon(Path):
    """A value of `polygon`: the closed sequence of its corners."""

    __slots__ = ()

    def __init__(self, *points: _Pair) -> None:
        super().__init__(*points, is_closed=True)

    def __repr__(self) -> str:
        return f"colonnade.Polygon({', '.join(map(repr, map(tuple, self._points)))})"
