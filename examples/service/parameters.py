"""Values of a query string, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.service.answers import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_WORDS_LENGTH_MAX = 1000


def number(
    parameters: Mapping[str, str], name: str, default: float, least: float, most: float
) -> float:
    """A number from `least` to `most`; raises BadRequestError for anything else."""
    text = parameters.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise BadRequestError(f"{name} must be a number from {least:g} to {most:g}")
    return value


def whole(parameters: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A whole number from `least` to `most`; raises BadRequestError for anything else."""
    value = number(parameters, name, default, least, most)
    if value != int(value):
        raise BadRequestError(f"{name} must be a whole number")
    return int(value)


def span(parameters: Mapping[str, str], name: str, default: tuple[int, int]) -> tuple[int, int]:
    """Two whole numbers such as ``3-11``; raises BadRequestError for anything else."""
    text = parameters.get(name)
    if text is None:
        return default
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal()) or len(text) > 9:
        raise BadRequestError(f"{name} must be two whole numbers such as 3-11")
    return int(first), int(last)


def text(parameters: Mapping[str, str], name: str, default: str, length_max: int) -> str:
    """A text that can be printed; raises BadRequestError for anything else.

    PostgreSQL stores no NUL, and refuses all rows that are sent together because of one.
    """
    value = parameters.get(name, default)
    if len(value) > length_max or not value.isprintable():
        raise BadRequestError(f"{name} must be at most {length_max} characters that print")
    return value


def words(parameters: Mapping[str, str], name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """Words separated by commas; raises BadRequestError for those that `text` refuses."""
    if name not in parameters:
        return default
    return tuple(text(parameters, name, "", _WORDS_LENGTH_MAX).split(","))


def one_of(parameters: Mapping[str, str], name: str, default: str, known: Collection[str]) -> str:
    """A word that is known; raises BadRequestError for another one."""
    word = parameters.get(name, default)
    if word not in known:
        raise BadRequestError(f"{name} must be one of {', '.join(sorted(known))}")
    return word


def refuse_unknown(parameters: Mapping[str, str], known: Collection[str]) -> None:
    """Raise BadRequestError for a parameter that the route does not have."""
    if not parameters.keys() <= set(known):
        raise BadRequestError(f"this route has the parameters {', '.join(sorted(known))}")
