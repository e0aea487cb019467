"""Translation of a query's placeholders to PostgreSQL's `$1`, `$2`, ...

`Pyformat` is the module's `paramstyle`: `%s` and `%(name)s`. A connection class may use another
style (`Connection.placeholders`); `Numeric` leaves `$1`, `$2`, ... unchanged.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from colonnade._driver.sql.sql_text import pieces
from colonnade._pep249.errors import ProgrammingError
from colonnade._words.shown import class_name

__all__ = ["Numeric", "Parameters", "Placeholders", "Pyformat"]

Parameters = Sequence[Any] | Mapping[str, Any]

# How many translated texts are cached: more than most programs have queries.
_KEPT_TEXTS = 1024

_PLACEHOLDER = re.compile(r"%(?:\((?P<name>[^)]*)\))?(?P<kind>.?)", re.DOTALL)
_NUMBERED = re.compile(r"(?<![\w$])\$\d+")
# Within quotes a single percent sign is literal, and a placeholder is refused.
_QUOTED_PERCENT = re.compile(r"%%|%s|%\([^)']*\)s")
_KINDS = "sbt"
_LITERALS = {"quote", "escape", "name", "dollar"}
_SHOWN = 60


class Placeholders(Protocol):
    """A style of placeholders."""

    def translated(self, query: str, parameters: Parameters) -> tuple[str, Sequence[Any]]:
        """The text with `$1`, `$2`, ... and the values in that order."""
        raise NotImplementedError

    def translated_many(
        self, query: str, sets: Sequence[Parameters]
    ) -> tuple[str, list[Sequence[Any]]]:
        """The same of one text with many sets of values."""
        raise NotImplementedError


class Numeric:
    """PostgreSQL's own placeholders: `$1`, `$2`, ... with a sequence of values."""

    def translated(self, query: str, parameters: Parameters) -> tuple[str, Sequence[Any]]:
        """Return both unchanged. Raises TypeError if `parameters` are not a sequence."""
        return query, _sequence(parameters)

    def translated_many(
        self, query: str, sets: Sequence[Parameters]
    ) -> tuple[str, list[Sequence[Any]]]:
        """Return both unchanged. Raises TypeError if a set is not a sequence."""
        return query, [_sequence(parameters) for parameters in sets]


class Pyformat:
    """`%s` with a sequence of values, or `%(name)s` with a mapping; `%%` is a percent sign.

    `%b` and `%t` mean the same as `%s`. A name that occurs several times is one parameter. Within
    literals, quoted identifiers and dollar quotes, `%%` is a percent sign, a single `%` is literal,
    and a placeholder raises an error, because the server would not replace it there. Comments are
    left unchanged.
    """

    def translated(self, query: str, parameters: Parameters) -> tuple[str, Sequence[Any]]:
        """Return the text with `$1`, `$2`, ... and the values in that order.

        Raises ProgrammingError if the placeholders and the values do not match, and TypeError if
        `parameters` are neither a sequence nor a mapping.
        """
        text = _translated(query)
        return text.sql, _values(text, parameters)

    def translated_many(
        self, query: str, sets: Sequence[Parameters]
    ) -> tuple[str, list[Sequence[Any]]]:
        """The same of one text with many sets of values."""
        text = _translated(query)
        return text.sql, [_values(text, parameters) for parameters in sets]


class _Text(NamedTuple):
    """A translated text."""

    sql: str
    #: The number of positional parameters.
    values: int
    #: The names of the parameters, in the order of their numbers; None if it has none.
    names: tuple[str, ...] | None


@functools.lru_cache(_KEPT_TEXTS)
def _translated(query: str) -> _Text:
    translation = _Translation(query)
    sql = "".join(
        translation.code(text) if kind == "code" else _outside_code(kind, text)
        for kind, text in pieces(query)
    )
    names = tuple(translation.names) if translation.names else None
    return _Text(sql, translation.count, names)


class _Translation:
    """Numbers the placeholders of one text."""

    def __init__(self, query: str) -> None:
        self.count = 0
        self.names: dict[str, int] = {}
        self._has_percent = "%" in query.replace("%%", "")

    def code(self, text: str) -> str:
        if self._has_percent and (found := _NUMBERED.search(text)) is not None:
            raise ProgrammingError(
                f"the query mixes {found[0]} with placeholders such as %s: use only one style"
            )
        return _PLACEHOLDER.sub(self._number, text) if "%" in text else text

    def _number(self, found: re.Match[str]) -> str:
        name, kind = found["name"], found["kind"]
        if kind == "%" and name is None:
            return "%"
        if kind not in _KINDS or not kind:
            raise _wrong(found[0], kind)
        if name is None:
            self.count += 1
            number = self.count
        else:
            number = self.names.setdefault(name, len(self.names) + 1)
        if self.count and self.names:
            raise ProgrammingError(
                "positional and named placeholders cannot be mixed: use %s or %(name)s"
            )
        return f"${number}"


def _wrong(placeholder: str, kind: str) -> ProgrammingError:
    if not kind or kind.isspace():
        return ProgrammingError(
            f"incomplete placeholder {placeholder.strip()!r}: in a query with parameters, write "
            "the operator % as %%"
        )
    return ProgrammingError(
        f"{placeholder!r} is not a placeholder: use %s or %(name)s, and %% for a percent sign"
    )


def _outside_code(kind: str, text: str) -> str:
    if kind not in _LITERALS or "%" not in text:
        return text

    def percent(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ProgrammingError(
            f"{found[0]} within the quotes of {shown} is not a placeholder: remove the quotes, or "
            f"write %{found[0]} for the literal characters"
        )

    return _QUOTED_PERCENT.sub(percent, text)


def _values(text: _Text, parameters: Parameters) -> Sequence[Any]:
    if text.names is not None:
        if not isinstance(parameters, Mapping):
            kind = class_name(parameters)
            raise ProgrammingError(f"the query has placeholders by name: pass a dict, not a {kind}")
        try:
            return [parameters[name] for name in text.names]
        except KeyError as error:
            raise ProgrammingError(f"there is no value for %({error.args[0]})s") from None
    if isinstance(parameters, Mapping):
        if text.values:
            raise ProgrammingError(
                "the query has placeholders without names: pass a list, not a dict"
            )
        return ()
    values = _sequence(parameters)
    if len(values) != text.values:
        style = "" if text.values else ": write %s for each, not $1 or ?, or %(name)s with a dict"
        raise ProgrammingError(
            f"the query has {text.values} placeholders but {len(values)} parameters were passed"
            f"{style}"
        )
    return values


def _sequence(parameters: Parameters) -> Sequence[Any]:
    if isinstance(parameters, Sequence) and not isinstance(parameters, str | bytes | bytearray):
        return parameters
    kind = class_name(parameters)
    raise TypeError(
        f"parameters must be a sequence or a mapping, not {kind}: pass one value as (value,)"
    )
