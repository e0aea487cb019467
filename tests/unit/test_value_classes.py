"""Colonnade's own value classes: equality, contents and errors."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any, Literal

import pytest
from asyncpg import types as peer

import colonnade
from colonnade.types import (
    BitString,
    Box,
    Circle,
    Line,
    LineSegment,
    Path,
    Point,
    Polygon,
    Range,
    ServerVersion,
)

ORDERS: tuple[Literal["big", "little"], ...] = ("big", "little")

ANY: Any = "x"

EACH: tuple[Any, ...] = (
    BitString(),
    BitString("10101"),
    Range(),
    Range(1, 5),
    Range("a", None, lower_inc=False),
    Range(empty=True),
    Point(1, 2),
    Box((1, 2), (3, 4)),
    Line(1, 2, 3),
    LineSegment((1, 2), (3, 4)),
    Circle((1, 2), 3),
    Path((1, 2), (3, 4)),
    Path((1, 2), (3, 4), is_closed=True),
    Polygon((1, 2), (3, 4)),
    ServerVersion(18, 6, 0, "final", 0),
)


@pytest.mark.parametrize("value", EACH, ids=repr)
def test_copies_are_equal_and_hash_alike(value: Any) -> None:
    pickled = pickle.loads(pickle.dumps(value))  # noqa: S301
    for other in (copy.copy(value), copy.deepcopy(value), pickled):
        assert other == value
        assert type(other) is type(value)
        assert hash(other) == hash(value)
        assert repr(other) == repr(value)


@pytest.mark.parametrize("value", EACH, ids=repr)
def test_they_cannot_be_changed(value: Any) -> None:
    names = [name for name in dir(value) if not name.startswith("_") and name not in {"A", "B"}]
    for name in [*names, "anything"]:
        with pytest.raises(AttributeError):
            setattr(value, name, None)


def test_the_names_are_those_of_asyncpg() -> None:
    # The text form for the server is ours.
    assert set(colonnade.types.__all__) == {*peer.__all__, "TextValue"}
    for name in peer.__all__:
        assert getattr(colonnade, name) is getattr(colonnade.types, name)
        assert name not in colonnade.__all__
        ours, theirs = getattr(colonnade.types, name), getattr(peer, name)
        assert {n for n in dir(theirs) if not n.startswith("_")} <= set(dir(ours)), name
    assert colonnade.Type._fields == peer.Type._fields
    assert colonnade.Attribute._fields == peer.Attribute._fields
    assert ServerVersion._fields == peer.ServerVersion._fields


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (BitString("1010 1"), "<BitString 1010 1>"),
        (Range(), "<Range (, )>"),
        (Range(1, 5), "<Range [1, 5)>"),
        (Range("a", "b", lower_inc=False, upper_inc=True), "<Range ('a', 'b']>"),
        (Range(1, 2, empty=True), "<Range empty>"),
        (Point(1, 2), "colonnade.Point((1.0, 2.0))"),
        (Path((1, 2), is_closed=True), "colonnade.Path((1.0, 2.0), is_closed=True)"),
        (Polygon((1, 2)), "colonnade.Polygon((1.0, 2.0))"),
        (Circle((1, 2), 3), "colonnade.Circle((colonnade.Point((1.0, 2.0)), 3.0))"),
    ],
)
def test_representations(value: object, text: str) -> None:
    assert repr(value) == text


def ranges(make: Any) -> list[Any]:
    """All ranges over three bounds or none, of one library's class."""
    bounds = (None, 0, 1, 2)
    flags = (True, False)
    found = [
        make(lower, upper, lower_inc=lower_inc, upper_inc=upper_inc)
        for lower in bounds
        for upper in bounds
        for lower_inc in flags
        for upper_inc in flags
        if lower is None or upper is None or lower <= upper
    ]
    return [*found, make(empty=True)]


def test_ranges_behave_as_those_of_asyncpg() -> None:
    ours, theirs = ranges(Range), ranges(peer.Range)
    attributes = ("lower", "upper", "lower_inc", "upper_inc", "lower_inf", "upper_inf", "isempty")
    for our, their in zip(ours, theirs, strict=True):
        for name in attributes:
            assert getattr(our, name) == getattr(their, name), (our, name)
        assert bool(our) == bool(their)
        assert repr(our) == repr(their)
        for our_other, their_other in zip(ours, theirs, strict=True):
            assert (our == our_other) == (their == their_other)
            assert our.issubset(our_other) == their.issubset(their_other), (our, our_other)
            assert our.issuperset(our_other) == their.issuperset(their_other)


def test_a_range_is_compared_with_a_range() -> None:
    assert Range(1, 5) != (1, 5)
    for method in (Range(1, 5).issubset, Range(1, 5).issuperset):
        with pytest.raises(TypeError, match="compared with a Range, not with tuple"):
            method((1, 5))  # type: ignore[arg-type]


def test_bit_strings_behave_as_those_of_asyncpg() -> None:
    chance = random.Random(3)
    for length in range(40):
        text = "".join(chance.choice("01") for _ in range(length))
        ours, theirs = BitString(text), peer.BitString(text)
        assert (len(ours), bool(ours), ours.bytes) == (len(theirs), bool(theirs), theirs.bytes)
        assert list(ours) == list(theirs) == [int(bit) for bit in text]
        assert ours.as_string() == theirs.as_string()
        for order in ORDERS:
            for signed in (False, True):
                number = ours.to_int(order, signed=signed)
                assert number == theirs.to_int(order, signed=signed)
                assert BitString.from_int(number, length, order, signed=signed) == ours
        assert BitString.frombytes(ours.bytes, length) == ours


def test_bits_by_position() -> None:
    bits = BitString("10 01")
    assert [bits[index] for index in range(-4, 4)] == [1, 0, 0, 1, 1, 0, 0, 1]
    assert bits[1:] == BitString("001")
    for index in (4, -5):
        with pytest.raises(IndexError):
            bits[index]
    assert BitString.frombytes(b"\xaf", 4) == BitString("1010")
    assert BitString.frombytes(b"\xaf") == BitString("1010 1111")


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: BitString("102"), ValueError, "a bit must be 0 or 1, not '2' at position 2"),
        (lambda: BitString(5), TypeError, "needs a str, not int"),  # type: ignore[arg-type]
        (lambda: BitString.frombytes(b"a", 9), ValueError, "bitlength=9 does not match 1 byte"),
        (lambda: BitString.frombytes(b"ab", 8), ValueError, "bitlength=8 does not match 2 bytes"),
        (lambda: BitString.frombytes(b"", -1), ValueError, "bitlength=-1 does not match 0 bytes"),
        (lambda: BitString.from_int(16, 4), OverflowError, "16 does not fit in 4 bits"),
        (lambda: BitString.from_int(-9, 4, signed=True), OverflowError, "-9 does not fit"),
        (lambda: BitString.from_int(8, 4, signed=True), OverflowError, "8 does not fit"),
        (lambda: BitString.from_int(-1, 4), OverflowError, "-1 is negative"),
        (lambda: BitString.from_int(1, -1), ValueError, "length must be 0 or more"),
        (lambda: BitString("1").to_int(ANY), ValueError, 'bitorder must be "big" or "little"'),
        (lambda: Point("a", 1), ValueError, "could not convert"),
        (lambda: Box((1, 2), 3), TypeError, "after \\*"),  # type: ignore[arg-type]
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


def test_figures_are_tuples_of_their_parts() -> None:
    assert Point(1, 2) == (1.0, 2.0)
    assert hash(Point(1, 2)) == hash((1.0, 2.0))
    assert Box((3, 4), (1, 2)) == ((3.0, 4.0), (1.0, 2.0))
    assert (Box((3, 4), (1, 2)).high, Box((3, 4), (1, 2)).low) == ((3.0, 4.0), (1.0, 2.0))
    assert (Line(1, 2, 3).A, Line(1, 2, 3).B, Line(1, 2, 3).C) == Line(1, 2, 3) == (1, 2, 3)
    assert (LineSegment((1, 2), (3, 4)).p1, LineSegment((1, 2), (3, 4)).p2.x) == ((1, 2), 3.0)
    assert (Circle((1, 2), 3).center.y, Circle((1, 2), 3).radius) == (2.0, 3.0)
    assert Point(1, 2) < Point(1, 3)


def test_paths_are_sequences_of_points() -> None:
    path = Path((1, 2), (3, 4))
    assert path.points == ((1, 2), (3, 4)) == tuple(path)
    assert (len(path), path[1].x, path[:1]) == (2, 3.0, ((1, 2),))
    assert (3, 4) in path
    assert not path.is_closed
    assert Polygon((1, 2), (3, 4)).is_closed
    assert Polygon((1, 2), (3, 4)) != Path((1, 2), (3, 4), is_closed=True)
    assert path != ((1, 2), (3, 4))
