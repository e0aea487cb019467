"""Signatures of functions that pass `**options` on."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def options_of(taker: Callable[..., object]) -> Callable[[F], F]:
    """Let the signature of a function list the options that it passes to `taker`, for `help`.

    Type checkers read them from the annotation of `**options`, which unpacks a `TypedDict`.
    """

    def complete(function: F) -> F:
        own = inspect.signature(function)
        listed = {
            one.name: one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD
        }
        for one in inspect.signature(taker).parameters.values():
            if one.kind is one.KEYWORD_ONLY:
                listed.setdefault(one.name, one)
        completed: Any = function
        completed.__signature__ = own.replace(parameters=[*listed.values()])
        return function

    return complete
