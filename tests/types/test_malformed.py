"""Invalid bytes of values give a DecodeError that names column, type and row, and nothing worse.

The tests cut, lengthen and alter a real server's binary forms of every type, and of arrays, ranges
and records of them; a scripted server sends the results.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Self

import pytest

import colonnade
from colonnade import _core
from colonnade.errors import DecodeError
from samples import SAMPLES, Sample
from tests.support.scripted_server import (
    GREETING,
    READ_STARTUP,
    ReadMessage,
    ScriptedServer,
    Send,
    command_complete,
    data_row,
    message,
    ready,
    row_description,
)
from tests.types import oracle
from tests.types.test_every_type import PSEUDO_TYPES, TEXT_ONLY, VECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from colonnade.sync import Connection
    from tests.support.scripted_server import Connection as Accepted, Step

OIDS = {line.name: line.oid for line in _core.TYPES}
ARRAYS = {line.oid: line.array_oid for line in _core.TYPES}
INT4, TEXT, RECORD = 23, 25, 2249
#: Any bytes, or any text, are valid: a cut gives a different value.
WITHOUT_LENGTH = {
    *(
        "bpchar",
        "bytea",
        "json",
        "jsonb",
        "jsonpath",
        "name",
        "refcursor",
        "text",
        "varchar",
        "xml",
    ),
    "cstring",
}
# Texts, which must be UTF-8.
WITH_CHARACTERS = WITHOUT_LENGTH - {"bytea"} | TEXT_ONLY
POSITIONS_MAX = 24
SETTLED = command_complete("SELECT 2") + ready()


def spread(length: int) -> list[int]:
    """Positions in this many bytes: all if few, else the first ones and some others."""
    if length <= POSITIONS_MAX:
        return list(range(length))
    half = POSITIONS_MAX // 2
    return [*range(half), *range(half, length, max(1, (length - half) // half))]


def cut_and_lengthened(good: bytes) -> Iterator[bytes]:
    yield from (good[:length] for length in spread(len(good)))
    yield good + b"\0"
    yield good + b"\xff\xff\xff\xff"


def altered(good: bytes) -> Iterator[bytes]:
    for position in spread(len(good)):
        for byte in (0x00, 0x7F, 0x80, 0xFF):
            if good[position] != byte:
                yield good[:position] + bytes([byte]) + good[position + 1 :]
    # Values for counts and lengths at any place.
    for position in range(0, max(0, min(len(good), 24) - 3), 4):
        for count in (-2, 2**31 - 1, 7):
            yield good[:position] + struct.pack("!i", count) + good[position + 4 :]
    yield b""
    yield good[::-1]
    yield good * 2


class Answers:
    """Answers statements with a valid value, and with the altered one in the next row.

    It answers the client's catalog queries with no rows.
    """

    def __init__(self, type_oid: int, good: bytes) -> None:
        self.described = message(b"t", struct.pack("!h", 0)) + row_description(("v", type_oid))
        self.first = data_row(good)
        self.other = b""
        self.is_of_catalogs = False

    def run(self, connection: Accepted) -> None:
        asked: list[bytes] = []
        while True:
            tag = connection.read(1)
            (length,) = struct.unpack("!i", connection.read(4))
            asked.append(tag + connection.read(length - 4))
            if tag == b"S":
                self.is_of_catalogs = any(b"colonnade_introspect" in part for part in asked)
                connection.write(b"".join(map(self.answer, asked)))
                asked.clear()

    def answer(self, asked: bytes) -> bytes:
        if asked[:1] == b"E":
            return command_complete("SELECT 0" if self.is_of_catalogs else "SELECT 2")
        if asked[:1] == b"B" and not self.is_of_catalogs:
            return message(b"2") + self.first + data_row(self.other)
        return {
            b"P": message(b"1"),
            b"B": message(b"2"),
            b"C": message(b"3"),
            b"D": self.described,
            b"S": ready(),
        }.get(asked[:1], b"")


class Told:
    """A connection to a server that sends two rows of one column, and the connection's results."""

    def __init__(self, type_oid: int, name: str, good: bytes) -> None:
        self.name = name
        self.answers = Answers(type_oid, good)
        script: list[Any] = [READ_STARTUP, Send(GREETING), self.answers]
        self.server = ScriptedServer(script)
        self.connection = colonnade.sync.connect(f"{self.server.dsn}?sslmode=disable", timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.terminate()
        self.server.close()

    def errors(self, other: bytes) -> list[DecodeError | None]:
        """The errors for a value, in columns and in rows."""
        self.answers.other = other
        return [self.error_of(self.as_columns), self.error_of(self.as_rows)]

    def as_columns(self) -> None:
        oracle.arrow_table(self.connection.fetch_columns("SELECT v"))

    def as_rows(self) -> None:
        self.connection.fetch("SELECT v")

    def error_of(self, fetch: Callable[[], None]) -> DecodeError | None:
        found = None
        try:
            fetch()
        except DecodeError as error:
            found = error
        if found is not None:
            place = (found.column, found.type_name, found.row)
            assert place == ("v", self.name, 1), str(found)
        return found


def binary_form(link: Connection, sample: Sample, expression: str) -> bytes:
    """The bytes of a value, from COPY: after the header of 19 bytes, a count and a length."""
    text = sample.values[-1].replace("'", "''")
    chunks: list[bytes] = []
    link.copy_from_query(
        f"SELECT {expression} FROM (SELECT '{text}'::text::{sample.sql_type} AS v) s",
        output=chunks.append,
        format="binary",
    )
    row = b"".join(chunks)[19:]
    (length,) = struct.unpack_from("!i", row, 2)
    return row[6 : 6 + length]


every_sample = pytest.mark.parametrize(
    "sample",
    [s for s in SAMPLES if "(" not in s.sql_type and s.base not in PSEUDO_TYPES | {"xml"}],
    ids=lambda sample: sample.sql_type,
)


def assert_told(type_oid: int, name: str, good: bytes, *, is_strict: bool) -> None:
    with Told(type_oid, name, good) as told:
        assert told.errors(good) == [None, None]
        for bad in cut_and_lengthened(good):
            errors = told.errors(bad)
            assert not is_strict or all(errors), (bad.hex(), errors)
        for bad in altered(good):
            told.errors(bad)


@every_sample
def test_alone(link: Connection, sample: Sample) -> None:
    name = sample.base.strip('"')
    type_oid = OIDS.get(name) or {"int2vector": 22, "oidvector": 30}[name]
    if name in TEXT_ONLY:
        assert_told(type_oid, name, sample.values[-1].encode(), is_strict=False)
        return
    good = binary_form(link, sample, "v")
    assert_told(type_oid, name, good, is_strict=name not in WITHOUT_LENGTH)


@every_sample
def test_in_arrays(link: Connection, sample: Sample) -> None:
    name = sample.base.strip('"')
    if name in VECTORS | TEXT_ONLY:
        pytest.skip("its arrays have no binary form, or are tested alone")
    good = binary_form(link, sample, "ARRAY[v, NULL, v]")
    array_oid = ARRAYS[OIDS[name]]
    # A text at the end of a value could end anywhere, but its length tells where.
    assert_told(array_oid, f"{name}[]", good, is_strict=True)


@every_sample
def test_in_records(link: Connection, sample: Sample) -> None:
    if sample.base.strip('"') in TEXT_ONLY:
        pytest.skip("a record of it is of no use")
    good = binary_form(link, sample, "ROW(v, 7)")
    assert_told(RECORD, "record", good, is_strict=True)


@pytest.mark.parametrize("line", _core.RANGES, ids=lambda line: line[0])
def test_ranges(link: Connection, line: tuple[str, str, int, tuple[int, int, int, int]]) -> None:
    name, many, subtype, oids = line
    (sub_name,) = [known for known, oid in OIDS.items() if oid == subtype]
    (sample,) = [sample for sample in SAMPLES if sample.sql_type == sub_name]
    both = f"{name}(v, v, '[]')"
    values = {
        (oids[0], name): both,
        (oids[1], f"{name}[]"): f"ARRAY[{both}, NULL, 'empty']",
        (oids[2], many): f"{many}({name}(NULL, v))",
        (oids[3], f"{many}[]"): f"ARRAY[{many}({name}(NULL, v))]",
    }
    safe = type(sample)(sample.sql_type, sample.arrow, sample.values[:2])
    for (type_oid, type_name), expression in values.items():
        good = binary_form(link, safe, expression)
        assert_told(type_oid, type_name, good, is_strict=True)


@pytest.mark.parametrize("name", sorted(WITH_CHARACTERS - {"cstring", "jsonb", "jsonpath", "xml"}))
def test_text_that_is_not_utf8(name: str) -> None:
    others = [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"ab\x80"]
    good = "\u00e9".encode()
    with Told(OIDS[name], name, good) as told:
        for bad in others:
            errors = told.errors(bad)
            assert all("UTF-8" in str(error) for error in errors), (bad, errors)


def test_numbers_of_columns_that_differ() -> None:
    """The row's count of columns belongs to the protocol, whose errors end the connection."""
    described = message(b"1") + message(b"t", struct.pack("!h", 0))
    described += row_description(("v", INT4), ("w", TEXT)) + ready()
    good = data_row(b"\0\0\0\1", b"a")
    sent = message(b"2") + good + data_row(b"\0\0\0\1") + SETTLED
    script: list[Step] = [READ_STARTUP, Send(GREETING), ReadMessage(b"S"), Send(described)]
    script += [ReadMessage(b"S"), Send(sent)]
    with (
        ScriptedServer(script) as server,
        colonnade.sync.connect(f"{server.dsn}?sslmode=disable", timeout=20) as connection,
        pytest.raises(colonnade.errors.ProtocolError),
    ):
        connection.fetch_columns("SELECT v, w")
