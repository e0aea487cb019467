"""Faults of one message on its way, and their effects on its bytes."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Final

HEADER_BYTES = 5
_RECORD_HEADER_BYTES = 5
SSL_REQUEST: Final = struct.pack("!ii", 8, 80877103)
CANCEL_CODE: Final = struct.pack("!i", 80877102)

# Tags of servers and clients, each with a tag under which the same bytes are another message.
_OTHER_TAGS = dict(zip(b"RSKZ12CDTtnsEANGHdcIvV", b"SKZCnD3TDEs1NECHGcdnRZ", strict=True))
_OTHER_CLIENT_TAGS = dict(zip(b"PBEDSQCXdcfpH", b"BPDESXQCcdpfS", strict=True))


class Way(enum.Enum):
    """The sender of the messages."""

    SERVER = "from the server"
    CLIENT = "from the client"


class Kind(enum.Enum):
    """A fault that strikes at one message."""

    CUT = "cut before it"
    CUT_INSIDE = "cut inside it"
    RESET = "reset before it"
    RESET_INSIDE = "reset inside it"
    DELAY = "delayed"
    DELAY_IN_HEADER = "delayed inside its header"
    DELAY_IN_BODY = "delayed inside its body"
    DROP = "dropped"
    TRUNCATE = "without its last byte"
    TRUNCATE_HALF = "without its second half"
    DUPLICATE = "sent twice"
    DUPLICATE_LATE = "sent again when the client goes on"
    LENGTH_MORE = "length one more"
    LENGTH_LESS = "length one less"
    LENGTH_HUGE = "length of 2 GiB"
    LENGTH_ZERO = "length 0"
    TAG_UNKNOWN = "unknown tag"
    TAG_OTHER = "tag of another message"
    BODY_FIRST = "first byte of the body flipped"
    BODY_MIDDLE = "middle byte of the body flipped"
    BODY_LAST = "last byte of the body flipped"
    SILENCE = "nothing is sent on from here"
    STALL = "nothing is read from here"


class Chunks(enum.Enum):
    """The ways to cut all bytes of a connection into pieces."""

    AS_SENT = "as they were sent"
    BYTES = "byte by byte"
    HEADERS = "cut within each header"
    LUMPS = "as much as there is at once"


NEUTRAL: Final = frozenset({Kind.DELAY, Kind.DELAY_IN_HEADER, Kind.DELAY_IN_BODY})
"""Faults that change no bytes."""

BREAKING: Final = frozenset({Kind.CUT, Kind.CUT_INSIDE, Kind.RESET, Kind.RESET_INSIDE})
"""Faults that end the connection."""

REPEATED: Final = frozenset({Kind.DUPLICATE, Kind.DUPLICATE_LATE})
"""Faults that repeat a message."""


@dataclass(frozen=True)
class Fault:
    """One fault, at the message `at` of one side, counted from 0 since the proxy was armed."""

    kind: Kind
    way: Way
    at: int

    def __str__(self) -> str:
        return f"message {self.at} {self.way.value} {self.kind.value}"


@dataclass(frozen=True)
class Message:
    """One message on the wire, one answer to the TLS request, or one TLS record."""

    data: bytes
    has_tag: bool = True
    is_record: bool = False

    @property
    def tag(self) -> str:
        """The letter, `-` for a message without one, `tls` for a TLS record."""
        if self.is_record:
            return "tls"
        return chr(self.data[0]) if self.has_tag else "-"

    @property
    def header_bytes(self) -> int:
        """The length of the header."""
        if self.is_record:
            return _RECORD_HEADER_BYTES
        return HEADER_BYTES if self.has_tag else min(4, len(self.data))

    def with_length(self, change: int | None, value: int = 0) -> bytes:
        """The message with a wrong length in its header: `change` added, or set to `value`."""
        size, at = (2, 3) if self.is_record else (4, 1 if self.has_tag else 0)
        if len(self.data) < at + size:
            return self.data
        length = int.from_bytes(self.data[at : at + size])
        length = value if change is None else length + change
        length &= (1 << 8 * size) - 1
        return self.data[:at] + length.to_bytes(size) + self.data[at + size :]

    def with_tag(self, way: Way, *, known: bool) -> bytes:
        """The message with a different tag: a valid or an unknown one."""
        first = self.data[0]
        others = _OTHER_TAGS if way is Way.SERVER else _OTHER_CLIENT_TAGS
        other = others.get(first, first ^ 1) if known and self.has_tag else first ^ 0x80
        return bytes([other]) + self.data[1:]

    def with_flipped(self, part: Kind) -> bytes:
        """The message with one byte of its body inverted; unchanged if it has no body."""
        start, end = self.header_bytes, len(self.data)
        if start >= end:
            return self.data
        places = {Kind.BODY_FIRST: start, Kind.BODY_LAST: end - 1}
        place = places.get(part, (start + end) // 2)
        return self.data[:place] + bytes([self.data[place] ^ 0xFF]) + self.data[place + 1 :]


def corrupted(message: Message, fault: Fault) -> bytes | None:
    """The message as changed by a fault of content; None for other faults."""
    match fault.kind:
        case Kind.DROP:
            return b""
        case Kind.TRUNCATE:
            return message.data[:-1]
        case Kind.TRUNCATE_HALF:
            return message.data[: len(message.data) // 2]
        case Kind.DUPLICATE:
            return message.data * 2
        case Kind.LENGTH_MORE:
            return message.with_length(1)
        case Kind.LENGTH_LESS:
            return message.with_length(-1)
        case Kind.LENGTH_HUGE:
            return message.with_length(None, 0x7FFFFFFF)
        case Kind.LENGTH_ZERO:
            return message.with_length(None, 0)
        case Kind.TAG_UNKNOWN:
            return message.with_tag(fault.way, known=False)
        case Kind.TAG_OTHER:
            return message.with_tag(fault.way, known=True)
        case Kind.BODY_FIRST | Kind.BODY_MIDDLE | Kind.BODY_LAST:
            return message.with_flipped(fault.kind)
        case _:
            return None
