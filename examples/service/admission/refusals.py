"""The answers to refused requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.service.admission.gate import Cause, Refusal

_DETAILS: Mapping[Cause, str] = {
    "pool": "the database has more work than it can do: try again later",
    "loop": "the process has more work than it can do: try again later",
    "deadline": "the answer would come too late",
    "draining": "the process ends: try again",
}


def body_of(refusal: Refusal) -> bytes:
    """A problem document (RFC 9457)."""
    detail = _DETAILS[refusal.cause]
    problem = f'{{"type":"about:blank","title":"Overloaded","status":503,"detail":"{detail}"}}'
    return problem.encode()


def headers_of(refusal: Refusal) -> dict[str, str]:
    """The headers beside its type and length."""
    headers = {"retry-after": str(refusal.retry_after), "x-shed": refusal.cause}
    if refusal.cause == "draining":
        # The next request goes to a process that does not end.
        headers["connection"] = "close"
    return headers
