"""The parts of a request that a response reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Request(NamedTuple):
    """The parts of an ASGI scope that choose a format and avoid an answer."""

    query: str
    accept: str | None
    if_none_match: str | None
    method: str

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Self:
        """Read a scope of type "http"."""
        headers = scope["headers"]
        return cls(
            bytes(scope.get("query_string", b"")).decode("latin-1"),
            _joined(headers, b"accept"),
            _joined(headers, b"if-none-match"),
            scope["method"],
        )

    @property
    def is_head(self) -> bool:
        """Whether the answer has no body."""
        return self.method == "HEAD"

    def knows(self, tag: bytes) -> bool:
        """Whether the client has the table of this weak tag (RFC 9110, section 13.1.2).

        304 answers GET and HEAD alone. A kept table does not answer another method, so the
        condition is not about it.
        """
        if self.if_none_match is None or self.method not in {"GET", "HEAD"}:
            return False
        known = {each.strip().removeprefix("W/") for each in self.if_none_match.split(",")}
        return "*" in known or tag.decode().removeprefix("W/") in known


def _joined(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """The values of all headers of this name, as one list."""
    values = [
        bytes(value).decode("latin-1") for key, value in headers if bytes(key).lower() == name
    ]
    return ", ".join(values) if values else None
