"""The channel binding of a server certificate, tls-server-end-point (RFC 5929, section 4)."""

from __future__ import annotations

import hashlib

# ASN.1 tags in DER.
_SEQUENCE = 0x30
_OBJECT_IDENTIFIER = 0x06
_FIRST_TAGGED = 0xA0

_RSASSA_PSS = "1.2.840.113549.1.1.10"

# Signature algorithms with one hash function, and (for RSASSA-PSS, which names it in its
# parameters) the hash functions themselves.
_HASHES = {
    "1.2.840.113549.1.1.4": "md5",
    "1.2.840.113549.1.1.5": "sha1",
    "1.2.840.113549.1.1.14": "sha224",
    "1.2.840.113549.1.1.11": "sha256",
    "1.2.840.113549.1.1.12": "sha384",
    "1.2.840.113549.1.1.13": "sha512",
    "1.2.840.10040.4.3": "sha1",
    "1.2.840.10045.4.1": "sha1",
    "1.2.840.10045.4.3.1": "sha224",
    "1.2.840.10045.4.3.2": "sha256",
    "1.2.840.10045.4.3.3": "sha384",
    "1.2.840.10045.4.3.4": "sha512",
    "2.16.840.1.101.3.4.3.1": "sha224",
    "2.16.840.1.101.3.4.3.2": "sha256",
    "2.16.840.1.101.3.4.3.3": "sha384",
    "2.16.840.1.101.3.4.3.4": "sha512",
    "2.16.840.1.101.3.4.3.9": "sha3_224",
    "2.16.840.1.101.3.4.3.10": "sha3_256",
    "2.16.840.1.101.3.4.3.11": "sha3_384",
    "2.16.840.1.101.3.4.3.12": "sha3_512",
    "2.16.840.1.101.3.4.3.13": "sha3_224",
    "2.16.840.1.101.3.4.3.14": "sha3_256",
    "2.16.840.1.101.3.4.3.15": "sha3_384",
    "2.16.840.1.101.3.4.3.16": "sha3_512",
    "1.2.840.113549.2.5": "md5",
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
    "2.16.840.1.101.3.4.2.4": "sha224",
}


def server_end_point(der_certificate: bytes) -> bytes | None:
    """The channel-binding data of a server certificate: its hash as tls-server-end-point.

    The hash function is the one of the certificate's signature; MD5 and SHA-1 are replaced by
    SHA-256. None where the binding is undefined: a signature without a hash function of its own
    (Ed25519, Ed448), or an unknown one.
    """
    try:
        name = _signature_hash(der_certificate)
    except ValueError:
        return None
    if name is None:
        return None
    return hashlib.new("sha256" if name in {"md5", "sha1"} else name, der_certificate).digest()


def _signature_hash(certificate: bytes) -> str | None:
    body, _ = _element(certificate, _SEQUENCE)
    _, after_signed_part = _element(body, _SEQUENCE)
    algorithm, _ = _element(after_signed_part, _SEQUENCE)
    identifier, parameters = _element(algorithm, _OBJECT_IDENTIFIER)
    signature = _dotted(identifier)
    if signature != _RSASSA_PSS:
        return _HASHES.get(signature)
    fields, _ = _element(parameters, _SEQUENCE)
    if fields[:1] != bytes([_FIRST_TAGGED]):
        return "sha1"  # the field's default
    tagged, _ = _element(fields, _FIRST_TAGGED)
    hash_algorithm, _ = _element(tagged, _SEQUENCE)
    identifier, _ = _element(hash_algorithm, _OBJECT_IDENTIFIER)
    return _HASHES.get(_dotted(identifier))


def _element(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the first DER element, which must have this tag, and the bytes after it.

    ValueError for another tag, or a length that is missing or not definite.
    """
    if len(data) < 2 or data[0] != tag:  # noqa: PLR2004 - a tag and a length
        raise ValueError("not the expected element")
    length, start = data[1], 2
    if length & 0x80:
        length_bytes = length & 0x7F
        start += length_bytes
        if not 1 <= length_bytes <= 4 or len(data) < start:  # noqa: PLR2004 - 4 GiB are enough
            raise ValueError("not a definite length")
        length = int.from_bytes(data[2:start], "big")
    if len(data) - start < length:
        raise ValueError("cut off")
    return data[start : start + length], data[start + length :]


def _dotted(identifier: bytes) -> str:
    """An object identifier's content in the usual notation."""
    if not identifier or identifier[-1] & 0x80:
        raise ValueError("cut off")
    numbers, number = [], 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    top = min(numbers[0] // 40, 2)
    return ".".join(str(number) for number in (top, numbers[0] - 40 * top, *numbers[1:]))
