"""The line and the caret below an SQL error."""

from __future__ import annotations

import pytest

from colonnade.errors._place import character_number, place_in


@pytest.mark.parametrize(
    ("sql", "position", "expected"),
    [
        ("SELECT x", 8, "LINE 1: SELECT x\n               ^"),
        ("SELECT 1 +", 11, "LINE 1: SELECT 1 +\n                  ^"),
        ("a\nb\r\nc d", 8, "LINE 3: c d\n          ^"),
        ("a\n\tb", 4, "LINE 2:  b\n         ^"),
        ("a\n", 3, "LINE 2: \n        ^"),
        # Positions count characters, whatever their bytes and display columns.
        ("SELECT '密码', x", 14, "LINE 1: SELECT '密码', x\n                       ^"),
        ("SELECT 'e\u0301', x", 14, "LINE 1: SELECT 'e\u0301', x\n                    ^"),
    ],
)
def test_the_place(sql: str, position: int, expected: str) -> None:
    assert place_in(sql, position) == expected


@pytest.mark.parametrize("position", [0, -1, 10])
def test_a_place_beyond_the_text_is_none(position: int) -> None:
    assert place_in("SELECT x", position) is None


@pytest.mark.parametrize("letter", ["a", "密"])
@pytest.mark.parametrize("position", [1, 30, 300, 999, 1000])
def test_a_long_line_is_cut_to_a_window(letter: str, position: int) -> None:
    place = place_in(letter * (position - 1) + "X" + letter * (1000 - position), position)
    assert place is not None
    line, caret = place.split("\n")
    assert line.count("X") == 1
    columns = sum(2 if one == "密" else 1 for one in line[: line.index("X")])
    assert caret == " " * columns + "^"
    assert len(line) < 90


def test_a_line_of_many_characters_without_width() -> None:
    # Each character is measured once; measuring all of them for each would take minutes.
    marks = "\u0301" * 100_000
    place = place_in("x" * 200 + marks + "Y" + marks, 200 + len(marks) + 1)
    assert place is not None
    line, caret = place.split("\n")
    assert line.index("Y") > len(marks)
    assert caret == " " * (len("LINE 1: ...") + 44) + "^"


@pytest.mark.parametrize(
    ("said", "number"),
    [(None, 0), ("", 0), ("abc", 0), ("-5", 0), ("1_0", 0), ("٣", 0), ("9" * 5000, 0), ("12", 12)],
)
def test_the_number_of_a_position(said: str | None, number: int) -> None:
    assert character_number(said) == number
