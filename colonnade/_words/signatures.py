"""Signatures of functions that pass `**options` on."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

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


def check_options(
    function: Callable[..., object],
    options: Collection[str],
    *takers: Callable[..., object],
    other_words: Mapping[str, str] | None = None,
) -> None:
    """Raise TypeError, in the name of a public function, for options that no taker has.

    Python's own error would name the function that the options are passed to. Of `other_words`,
    each is the name that another library gives to an option.
    """
    if not options:
        return
    known: list[str] = []
    for taker in (function, *takers):
        for one in inspect.signature(taker).parameters.values():
            if one.kind is one.VAR_KEYWORD and taker is not function:
                return
            if one.kind is one.KEYWORD_ONLY:
                known.append(one.name)
    for name in options:
        if name not in known:
            import difflib

            close = [other_words[name]] if other_words and name in other_words else []
            close += difflib.get_close_matches(name, known, 1)
            hint = f". Did you mean '{close[0]}'?" if close else ""
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}"
            )
