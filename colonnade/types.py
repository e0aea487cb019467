"""Classes for PostgreSQL values that Python lacks: ranges, bit strings, points and others.

Rows contain these objects, and parameters accept them. They have the names and the behaviour of
`asyncpg.types`. All are immutable, and can be hashed, copied and pickled.
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

from colonnade._words.arguments import check_choice, check_size
from colonnade._words.shown import class_name, shown

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
"""The treatment of a value that Arrow cannot hold, such as an infinite date: "raise" raises
DecodeError, "null" makes it NULL, and "saturate" the largest or smallest value of the type."""

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
    """A parameter of any type, in PostgreSQL's text format.

    The server parses it like a literal. For a `date` parameter, `TextValue("2024-02-30")` is an
    error of the server, while a plain `str` is an error of the driver, which asks for a
    `datetime.date`. Within an array or a composite value, it is an ordinary `str`.
    """

    __slots__ = ()


class ServerVersion(NamedTuple):
    """The server's version, in the form of `sys.version_info`."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: int


class BitString:
    """A value of `bit` or `varbit`: a sequence of bits, from left to right.

    `BitString("1010 1")` ignores spaces. Raises TypeError for an argument that is not a str, and
    ValueError for a character other than 0 and 1.
    """

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
            raise TypeError(f"a BitString needs a str, not {kind}; see frombytes and from_int")
        for position, bit in enumerate(text):
            if bit not in "01" and not bit.isspace():
                raise ValueError(f"a bit must be 0 or 1, not {shown(bit)} at position {position}")
        bits = "".join(text.split())
        self._length = len(bits)
        self._bytes = _left_aligned(int(bits, 2) if bits else 0, self._length)

    @classmethod
    def frombytes(cls, bytes_: bytes | None = None, bitlength: int | None = None) -> BitString:
        """Make a BitString of the first `bitlength` bits, by default all, most significant first.

        Raises ValueError if `bitlength` bits do not need exactly that many bytes.
        """
        data = bytes(bytes_ or b"")
        length = len(data) * 8 if bitlength is None else bitlength
        if (length + 7) // 8 != len(data) or length < 0:
            raise ValueError(f"bitlength={bitlength} does not match {len(data)} bytes")
        self = cls()
        self._length = length
        # Bits past the end are zero, so that equal values have equal bytes.
        self._bytes = _left_aligned(int.from_bytes(data, "big") >> (-length % 8), length)
        return self

    @classmethod
    def from_int(
        cls, x: int, length: int, bitorder: _BitOrder = "big", *, signed: bool = False
    ) -> BitString:
        """Convert an integer to `length` bits; `signed` uses two's complement.

        Raises OverflowError if it does not fit, as `int.to_bytes` does, and ValueError for a
        negative `length` or an unknown `bitorder`.
        """
        check_size("length", length)
        if x < 0 and not signed:
            raise OverflowError(f"{shown(x)} is negative and has no unsigned bits")
        least, limit = (-(1 << length) // 2, (1 << length) // 2) if signed else (0, 1 << length)
        # Zero bits can hold 0.
        if not least <= x < limit and (x or length):
            raise OverflowError(f"{shown(x)} does not fit in {length} bits")
        bits = format(x & ((1 << length) - 1), f"0{length}b") if length else ""
        return cls(bits if _checked(bitorder) == "big" else bits[::-1])

    def to_int(self, bitorder: _BitOrder = "big", *, signed: bool = False) -> int:
        """Convert the bits to an integer; the inverse of `from_int`."""
        bits = self._digits()
        bits = bits if _checked(bitorder) == "big" else bits[::-1]
        number = int(bits, 2) if bits else 0
        negative = signed and bits.startswith("1")
        return number - (1 << self._length) if negative else number

    def as_string(self) -> str:
        """Return the bits in groups of four, such as "1010 1"."""
        bits = self._digits()
        return " ".join(bits[start : start + 4] for start in range(0, len(bits), 4))

    @property
    def bytes(self) -> bytes:
        """The bits as bytes, most significant bit first; unused bits of the last byte are 0."""
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
    """Convert `length` bits to bytes, most significant bit first."""
    return (number << (-length % 8)).to_bytes((length + 7) // 8, "big")


def _checked(bitorder: str) -> str:
    check_choice("bitorder", bitorder, ("big", "little"))
    return bitorder


class Range(Generic[_T_co]):
    """A value of a range type. A bound of None means that the range is unbounded on that side."""

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
        # A missing bound is never inclusive.
        self._lower_inc = bool(lower_inc) and self._lower is not None
        self._upper_inc = bool(upper_inc) and self._upper is not None

    @property
    def lower(self) -> _T_co | None:
        """The lower bound; None if the range is unbounded below or empty."""
        return self._lower

    @property
    def lower_inc(self) -> bool:
        """Whether the lower bound is inclusive."""
        return self._lower_inc

    @property
    def lower_inf(self) -> bool:
        """Whether the range has no lower bound."""
        return self._lower is None and not self._empty

    @property
    def upper(self) -> _T_co | None:
        """The upper bound; None if the range is unbounded above or empty."""
        return self._upper

    @property
    def upper_inc(self) -> bool:
        """Whether the upper bound is inclusive."""
        return self._upper_inc

    @property
    def upper_inf(self) -> bool:
        """Whether the range has no upper bound."""
        return self._upper is None and not self._empty

    @property
    def isempty(self) -> bool:
        """Whether the range was made with `empty=True`; bounds are not compared."""
        return self._empty

    def issubset(self, other: Range[Any]) -> bool:
        """Return whether `other` contains this range. Raises TypeError if it is not a Range."""
        if not isinstance(other, Range):
            raise TypeError(f"a Range is compared with a Range, not with {class_name(other)}")
        if self._empty or other._empty:
            return self._empty
        return self._begins_within(other) and self._ends_within(other)

    def issuperset(self, other: Range[Any]) -> bool:
        """Return whether this range contains `other`. Raises TypeError if it is not a Range."""
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


class _Geometry(tuple[Any, ...]):
    """The base of geometric values that are tuples of their parts."""

    __slots__ = ()

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"colonnade.{type(self).__name__}({tuple.__repr__(self)})"


_Pair = Sequence[SupportsFloat]


class Point(_Geometry):
    """A value of `point`: the tuple (x, y)."""

    __slots__ = ()

    def __new__(cls, x: SupportsFloat | str, y: SupportsFloat | str) -> Self:
        """Make a point of its coordinates."""
        return super().__new__(cls, (float(x), float(y)))

    @property
    def x(self) -> float:
        """The first coordinate."""
        return float(self[0])

    @property
    def y(self) -> float:
        """The second coordinate."""
        return float(self[1])


class Box(_Geometry):
    """A value of `box`: the tuple of two opposite corners."""

    __slots__ = ()

    def __new__(cls, high: _Pair, low: _Pair) -> Self:
        """Make a box of two opposite corners."""
        return super().__new__(cls, (Point(*high), Point(*low)))

    @property
    def high(self) -> Point:
        """The first corner; for a box from the server, the upper right one."""
        return _point(self[0])

    @property
    def low(self) -> Point:
        """The second corner; for a box from the server, the lower left one."""
        return _point(self[1])


class Line(_Geometry):
    """A value of `line`: the tuple (A, B, C) of the line Ax + By + C = 0."""

    __slots__ = ()

    def __new__(cls, A: SupportsFloat, B: SupportsFloat, C: SupportsFloat) -> Self:  # noqa: N803
        """Make a line of the coefficients of its equation."""
        return super().__new__(cls, (float(A), float(B), float(C)))

    @property
    def A(self) -> float:  # noqa: N802
        """The coefficient of x."""
        return float(self[0])

    @property
    def B(self) -> float:  # noqa: N802
        """The coefficient of y."""
        return float(self[1])

    @property
    def C(self) -> float:  # noqa: N802
        """The constant term."""
        return float(self[2])


class LineSegment(_Geometry):
    """A value of `lseg`: the tuple of its two end points."""

    __slots__ = ()

    def __new__(cls, p1: _Pair, p2: _Pair) -> Self:
        """Make a line segment of its end points."""
        return super().__new__(cls, (Point(*p1), Point(*p2)))

    @property
    def p1(self) -> Point:
        """The first end point."""
        return _point(self[0])

    @property
    def p2(self) -> Point:
        """The second end point."""
        return _point(self[1])


class Circle(_Geometry):
    """A value of `circle`: the tuple (center, radius)."""

    __slots__ = ()

    def __new__(cls, center: _Pair, radius: SupportsFloat) -> Self:
        """Make a circle of its center and its radius."""
        return super().__new__(cls, (Point(*center), float(radius)))

    @property
    def center(self) -> Point:
        """The center."""
        return _point(self[0])

    @property
    def radius(self) -> float:
        """The radius."""
        return float(self[1])


def _point(part: Any) -> Point:
    """Return `part` as a Point, for the type checker: every constructor converts it to one."""
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
