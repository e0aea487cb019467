"""The results of a gather, by the names of its queries."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from colonnade._core import Record
from colonnade._words.shown import shown
from colonnade.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Iterator


#: A longer name is cut.
_NAME_LENGTH_MAX = 60


class Gathered(Mapping[str, Any]):
    """The results of `Pool.gather`: a read-only mapping in the order of the queries.

    It has all names. A query that failed is in `errors`, and reading its result raises its error.
    """

    __slots__ = ("_names", "_results", "errors")

    def __init__(
        self, names: tuple[str, ...], results: dict[str, Any], errors: dict[str, Exception]
    ) -> None:
        self._names = names
        self._results = results
        self.errors: Mapping[str, Exception] = MappingProxyType(errors)
        """The errors of the queries that failed, by name; empty if all have succeeded."""

    def __getitem__(self, name: str) -> Any:
        """The result of a query; raises the error of one that failed, KeyError for no name."""
        error = self.errors.get(name)
        if error is not None:
            raise error
        if name not in self._results:
            known = ", ".join(map(_printable, self._names))
            raise KeyError(f"no query has the name {shown(name)}; there are: {known}")
        return self._results[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The result of a query, or `default` for no name; raises the error of one that failed."""
        # The error of a query may be a KeyError, too, which `Mapping.get` would take for no name.
        return self[name] if name in self._names else default

    def __contains__(self, name: object) -> bool:
        """Whether a query has this name, failed or not."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """The names of all queries."""
        return iter(self._names)

    def __len__(self) -> int:
        """The number of all queries, failed or not."""
        return len(self._names)

    def __repr__(self) -> str:
        """A line for each query: its name, and its result or error in short."""
        names = [_printable(name) for name in self._names]
        width = max(map(len, names), default=0)
        lines = [
            f"  {printed:<{width}}  {self._shown(name)}"
            for name, printed in zip(self._names, names, strict=True)
        ]
        count = len(self._names)
        arrived = f"{count - len(self.errors)} of {count}" if self.errors else f"{count}"
        return "\n".join([f"<Gathered: {arrived} {'query' if count == 1 else 'queries'}>", *lines])

    def _shown(self, name: str) -> str:
        error = self.errors.get(name)
        if error is not None:
            text = str(error).partition("\n")[0]
            return f"{type(error).__name__}: {text if text.isprintable() else shown(text)}"
        result = self._results[name]
        if isinstance(result, Columns):
            rows, columns = result.shape
            return f"Columns: {_counted(rows, 'row')} x {_counted(columns, 'column')}"
        if isinstance(result, list):
            return _counted(len(result), "row")
        if isinstance(result, Record):
            return f"a row of {_counted(len(result), 'column')}"
        return shown(result)


def _printable(name: str) -> str:
    """A name as it is, or as `shown` shows it if it is long or would upset a terminal."""
    return name if name.isprintable() and len(name) <= _NAME_LENGTH_MAX else shown(name)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
