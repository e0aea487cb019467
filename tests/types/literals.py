"""Parses PostgreSQL's texts of arrays, composites and ranges, without the driver's code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Read = Callable[[str], Any]


class Scanner:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def take(self, *expected: str) -> str:
        found = self.peek()
        assert found in expected, (self.text, self.place, expected)
        self.place += 1
        return found

    def word(self, stops: str) -> str | None:
        """Read up to one of the characters, without quotes and escapes; return None for no text."""
        letters: list[str] = []
        start, in_quotes = self.place, False
        while self.place < len(self.text) and (in_quotes or self.peek() not in stops):
            letter = self.peek()
            self.place += 1
            if letter == "\\":
                letters.append(self.peek())
                self.place += 1
            elif letter == '"':
                if in_quotes and self.peek() == '"':
                    letters.append('"')
                    self.place += 1
                else:
                    in_quotes = not in_quotes
            else:
                letters.append(letter)
        return None if self.place == start else "".join(letters)

    def raw_word(self, stops: str) -> tuple[str | None, bool]:
        """Read a word; return it, and whether it was quoted."""
        quoted = self.peek() == '"'
        return self.word(stops), quoted


def array(read: Read, delimiter: str = ",") -> Read:
    def items(scanner: Scanner) -> list[Any]:
        found: list[Any] = []
        scanner.take("{")
        while scanner.peek() != "}":
            if found:
                scanner.take(delimiter)
            if scanner.peek() == "{":
                found.append(items(scanner))
                continue
            word, quoted = scanner.raw_word(delimiter + "}")
            assert word is not None
            found.append(None if word == "NULL" and not quoted else read(word))
        scanner.take("}")
        return found

    def whole(text: str) -> list[Any]:
        # Lower bounds other than 1 precede the elements.
        return items(Scanner(text.partition("=")[2] if text.startswith("[") else text))

    return whole


def composite(fields: Sequence[tuple[str, Read]]) -> Read:
    def whole(text: str) -> dict[str, Any]:
        scanner = Scanner(text)
        found: dict[str, Any] = {}
        scanner.take("(")
        for index, (name, read) in enumerate(fields):
            if index:
                scanner.take(",")
            word = scanner.word(",)")
            found[name] = None if word is None else read(word)
        scanner.take(")")
        return found

    return whole


def one_range(scanner: Scanner, read: Read) -> dict[str, Any]:
    lower_inc = scanner.take("[", "(") == "["
    lower = scanner.word(",")
    scanner.take(",")
    upper = scanner.word("])")
    upper_inc = scanner.take("]", ")") == "]"
    bounds = {
        "lower": None if lower is None else read(lower),
        "upper": None if upper is None else read(upper),
    }
    return {**bounds, "lower_inc": lower_inc, "upper_inc": upper_inc, "empty": False}


EMPTY = {"lower": None, "upper": None, "lower_inc": False, "upper_inc": False, "empty": True}


def range_of(read: Read) -> Read:
    return lambda text: EMPTY if text == "empty" else one_range(Scanner(text), read)


def multirange_of(read: Read) -> Read:
    def whole(text: str) -> list[Any]:
        scanner = Scanner(text)
        found: list[Any] = []
        scanner.take("{")
        while scanner.peek() != "}":
            if found:
                scanner.take(",")
            found.append(one_range(scanner, read))
        return found

    return whole
