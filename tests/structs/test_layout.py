"""The bytes of structs, as docs/data/structs.md describes them, and bytes that are none."""

from __future__ import annotations

import random
from typing import Annotated, Any

import pytest

from colonnade.errors import StructError
from colonnade.structs import Ascii, Fixed, Struct, struct


@struct
class Small(Struct):
    number: Annotated[int, "int32"]
    truth: bool


@struct
class Wide(Struct):
    truth: bool
    number: int | None
    small: Annotated[int, "int16"]
    name: str | None
    numbers: list[int]
    maybe: list[int | None]
    words: list[str]
    inner: Small | None
    code: Annotated[str, Ascii(2)]
    raw: Annotated[bytes, Fixed(3)]


def spaced(text: str) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))


def fnv(*fields: str) -> bytes:
    """The hash of `name:type` fields, written as another language would."""
    found = 0xCBF29CE484222325
    for field in fields:
        name, kind = field.split(":")
        for byte in f"{name}\0{kind}\0".encode():
            found = (found ^ byte) * 0x100000001B3 % 2**64
    return found.to_bytes(8, "little")


SMALL = (
    spaced("c5 53 54 52  01  00  02 00")
    + fnv("number:int32", "truth:bool")
    + spaced(
        """
        20 00 00 00  # the total length
        20 00 00 00  # the end of the fixed part
        fe ff ff ff  # number, at 24
        01           # truth, at 28
        00 00 00     # the fixed part ends at a multiple of four
        """
    )
)
WIDE_FIELDS = (
    *("truth:bool", "number:int64?", "small:int16", "name:str?", "numbers:list<int64>"),
    *("maybe:list<int64?>", "words:list<str>", "inner:struct?", "code:ascii[2]", "raw:S3"),
)
WIDE = (
    spaced("c5 53 54 52  01  00  0a 00")
    + fnv(*WIDE_FIELDS)
    + spaced(
        """
        a0 00 00 00  # the total length
        40 00 00 00  # the end of the fixed part
        01           # 24: truth
        07           # 25: flags of number, name and inner
        05 00        # 26: small, in the free place before number
        43 00 00 00  # 28: the end of name, in another free place
        07 00 00 00 00 00 00 00  # 32: number
        58 00 00 00  # 40: the end of numbers
        69 00 00 00  # 44: the end of maybe
        7f 00 00 00  # 48: the end of words
        a0 00 00 00  # 52: the end of inner
        61 62        # 56: code
        00 78 00     # 58: raw
        00 00 00     # the fixed part ends at a multiple of four
        61 6e 6e     # 64: name
        00 00 00 00 00  # numbers start at a multiple of eight
        01 00 00 00 00 00 00 00  # 72
        ff ff ff ff ff ff ff ff  # 80
        01 00 00 00 00 00 00 00  # 88: maybe
        00 00 00 00 00 00 00 00  # 96
        01           # 104: its flags
        00 00 00     # words start at a multiple of four
        03 00 00 00  # 108: their number
        11 00 00 00 11 00 00 00 13 00 00 00  # 112: their ends, counted from 108
        61 62 63     # 124
        00           # inner starts at a multiple of eight
        """
    )
    + SMALL
)
MADE = Wide(
    truth=True,
    number=7,
    small=5,
    name="ann",
    numbers=[1, -1],
    maybe=[1, None],
    words=["a", "", "bc"],
    inner=Small(-2, truth=True),
    code="ab",
    raw=b"\0x",
)


def test_golden_bytes_of_a_small_struct() -> None:
    assert bytes(Small(-2, truth=True)) == SMALL
    assert Small.from_bytes(SMALL) == Small(-2, truth=True)


def test_golden_bytes_of_a_wide_struct() -> None:
    assert bytes(MADE).hex(" ", 4) == WIDE.hex(" ", 4)
    assert Wide.from_bytes(WIDE) == MADE


def test_an_added_field_leaves_the_others_in_place() -> None:
    @struct
    class Later(Struct):
        number: Annotated[int, "int32"]
        truth: bool
        name: str | None = None
        count: int = 5

    first, later = Small(1, truth=True), Later(1, True, "x", 6)
    assert bytes(later)[24:29] == bytes(first)[24:29]
    assert Later.from_bytes(bytes(first)).to_dict() == {
        "number": 1,
        "truth": True,
        "name": None,
        "count": 5,
    }
    assert Small.from_bytes(bytes(later)) == first
    assert hash(Small.from_bytes(bytes(later))) == hash(first)
    assert Later.from_bytes(bytes(first)) == Later(1, True)
    assert Small.unpack([bytes(later), first]).to_pydict() == {
        "number": [1, 1],
        "truth": [True, True],
    }


def test_a_required_field_cannot_be_added() -> None:
    @struct
    class Later(Struct):
        number: Annotated[int, "int32"]
        truth: bool
        name: str

    with pytest.raises(StructError, match="older version") as info:
        Later.from_bytes(SMALL)
    assert info.value.field == "name"
    with pytest.raises(StructError, match="of another struct"):
        Small.from_bytes(bytes(Later(1, True, "x")))


@pytest.mark.parametrize(
    "annotations",
    [
        {"number": "int64", "truth": "bool"},
        {"number": "int32", "truth": "int8"},
        {"truth": "bool", "number": "int32"},
    ],
)
def test_another_struct_is_refused(annotations: dict[str, str]) -> None:
    other: Any = struct(type("Other", (), {"__annotations__": annotations}))
    with pytest.raises(StructError, match="of another struct, with 2 fields"):
        other.from_bytes(SMALL)


def everything_read(data: bytes) -> bool:
    """Reads all of the bytes by each way; whether they are a struct."""
    try:
        found = Wide.from_bytes(data)
        repr(found)
        hash(found)
    except StructError:
        is_struct = False
    else:
        is_struct = True
    try:
        Wide.unpack([data]).to_pydict()
    except StructError:
        return False
    assert is_struct
    return True


def test_every_cut_is_an_error() -> None:
    for length in range(len(WIDE)):
        with pytest.raises(StructError):
            Wide.from_bytes(WIDE[:length])
        with pytest.raises(StructError, match="row 1"):
            Wide.unpack([None, WIDE[:length]])
    with pytest.raises(StructError):
        Wide.from_bytes(WIDE + b"\0")


def test_no_changed_byte_crashes() -> None:
    assert everything_read(WIDE)
    random.seed(5)
    for position in range(len(WIDE)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)):
            everything_read(WIDE[:position] + bytes([value]) + WIDE[position + 1 :])
    for _ in range(2000):
        data = bytearray(WIDE)
        for _ in range(random.randrange(1, 6)):
            position = 16 + 4 * random.randrange(len(WIDE) // 4 - 4)
            data[position : position + 4] = random.choice(
                [b"\xff" * 4, b"\0" * 4, bytes([random.randrange(180), 0, 0, 0])]
            )
        everything_read(bytes(data))


def test_text_that_is_not_utf_8_names_its_field() -> None:
    data = WIDE[:64] + b"\xff\xfe\xfd" + WIDE[67:]
    found = Wide.from_bytes(data)
    assert found.number == 7
    with pytest.raises(StructError, match=r'field "name": its bytes are not UTF-8') as info:
        _ = found.name
    assert info.value.field == "name"
    with pytest.raises(StructError, match='row 2, field "name"'):
        Wide.unpack([WIDE, None, data])
    assert Wide["number"].unpack([WIDE, data]).to_pydict() == {"number": [7, 7]}
