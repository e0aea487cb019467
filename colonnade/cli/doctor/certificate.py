"""Reads a certificate's subject, issuer and validity from its DER encoding.

Python's ssl module decodes verified certificates only, but the doctor must also describe
certificates that failed verification.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SEQUENCE, _SET, _OBJECT_ID, _UTC_TIME, _VERSION = 0x30, 0x31, 0x06, 0x17, 0xA0
_COMMON_NAME = bytes.fromhex("550403")
_ORGANIZATION = bytes.fromhex("55040a")
_LONG_LENGTH, _LENGTH_BITS = 0x80, 0x7F
#: Two-digit years from 50 on are in the 20th century (RFC 5280).
_CENTURY_ENDS = 50


class CertificateError(Exception):
    """The bytes are not a certificate."""


@dataclass(frozen=True)
class Certificate:
    """The subject, the issuer, and the period of validity."""

    subject: str
    issuer: str
    begins: dt.datetime
    ends: dt.datetime


def read_certificate(data: bytes) -> Certificate:
    """Read a DER certificate.

    Raises CertificateError if the bytes cannot be decoded.
    """
    try:
        (certificate,) = _parts(data, _SEQUENCE)
        signed = next(_values(certificate))[1]
        parts = list(_values(signed))
        if parts[0][0] == _VERSION:
            parts = parts[1:]
        # Serial number, algorithm, issuer, validity, subject.
        _, _, issuer, validity, subject = parts[:5]
        begins, ends = (_moment(tag, value) for tag, value in _values(validity[1]))
        return Certificate(_name(subject[1]), _name(issuer[1]), begins, ends)
    except (ValueError, IndexError, StopIteration, RuntimeError) as error:
        raise CertificateError("the server's certificate cannot be read") from error


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and the content of each DER element, in order."""
    position = 0
    while position < len(data):
        tag, length = data[position], data[position + 1]
        position += 2
        if length & _LONG_LENGTH:
            size = length & _LENGTH_BITS
            length = int.from_bytes(data[position : position + size])
            position += size
        if position + length > len(data):
            raise ValueError("cut short")
        yield tag, data[position : position + length]
        position += length


def _parts(data: bytes, wanted: int) -> list[bytes]:
    return [value for tag, value in _values(data) if tag == wanted]


def _name(data: bytes) -> str:
    """Return the common name, else the organization."""
    found: dict[bytes, str] = {}
    for attributes in _parts(data, _SET):
        for attribute in _parts(attributes, _SEQUENCE):
            (_, kind), (_, value) = _values(attribute)
            found[kind] = value.decode("utf-8", "replace")
    return found.get(_COMMON_NAME) or found.get(_ORGANIZATION) or "(no name)"


def _moment(tag: int, value: bytes) -> dt.datetime:
    text = value.decode("ascii")
    if tag == _UTC_TIME:
        text = ("19" if int(text[:2]) >= _CENTURY_ENDS else "20") + text
    return dt.datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=dt.UTC)
