"""The results of handlers, answers in bytes or tables: each framework makes responses of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Answer:
    """A status, a body and its type."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """A table, whose format the client chooses: the arguments of `serve.TableResponse`."""

    source: Callable[[], Any]
    options: Mapping[str, Any] = field(default_factory=dict)


class BadRequestError(ValueError):
    """A parameter that cannot be used; its text is for the client."""


def of_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in JSON; NumPy's arrays become lists."""
    body = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return Answer(status, body, headers=headers or {})


def of_problem(status: int, title: str, detail: str) -> Answer:
    """A problem document (RFC 9457)."""
    problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Answer(status, orjson.dumps(problem), PROBLEM)
