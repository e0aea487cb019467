"""Rows in groups of equal keys, for any class of columns."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, starmap
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

from colonnade._columns.parts.names import position
from colonnade._core.groups import Grouping
from colonnade._words.arguments import check_choice, check_name, check_switch
from colonnade._words.shown import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from colonnade import _core

Nulls: TypeAlias = Literal["group", "drop"]
Result: TypeAlias = tuple[str, str] | Literal["size"]

# All NaN are one key, and Python's are not equal.
_NAN = object()
# The place of an object that is the key of several groups.
_SEVERAL = -1


class Rows(Protocol):
    """The part of a class of columns that groups need: a column by its name, rows by a slice."""

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Self: ...


C = TypeVar("C", bound=Rows)
_T = TypeVar("_T")


class GroupsOf(Generic[C]):
    """The methods of `colonnade.groups.Groups`, whose rows and results are columns of a class `C`.

    It knows this class as the function `make`, so that the class may know groups.
    """

    __slots__ = ("_batch", "_grouping", "_made", "_names", "_places")

    def __init__(
        self,
        batch: _core.Batch,
        make: Callable[[_core.Batch], C],
        names: tuple[str, ...],
        *,
        sort: bool,
        nulls: Nulls,
    ) -> None:
        check_keys(names, sort, nulls)
        try:
            self._grouping = Grouping(batch, names, bool(sort), nulls == "drop")
        except KeyError as error:
            raise unknown(batch, error) from None
        self._batch = batch
        self._made = make
        self._names = names
        self._places: dict[Any, int] | None = None

    @property
    def keys(self) -> C:
        """The keys, one row per group."""
        return self._made(self._grouping.keys())

    @property
    def codes(self) -> NDArray[np.int32]:
        """The number of each row's group; -1 for a row that ``nulls="drop"`` has dropped."""
        return _array(self._grouping.codes(), "int32")

    @property
    def order(self) -> NDArray[np.int64]:
        """The rows group by group, in each group in their own order."""
        return _array(self._grouping.layout()[0], "int64")

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each group begins in `order`, and where the last one ends: one more than groups."""
        return _array(self._grouping.layout()[1], "int64")

    def __len__(self) -> int:
        return len(self._grouping)

    def __getitem__(self, key: object) -> C:
        """Return the rows of a group, as a view; with several keys, `key` is a tuple.

        Raises KeyError if no group has this key, and if several have it: intervals of 12 months and
        of 365 days are two keys for PostgreSQL, and one `timedelta`.
        """
        try:
            place = self._known_places().get(_hashable(key))
        except TypeError:
            place = None
        if place is None:
            msg = f"no group has the key {shown(key)}: there are {len(self)} groups"
            raise KeyError(msg)
        if place == _SEVERAL:
            msg = (
                f"several groups have keys that are all {shown(key)} in Python: iterate over the "
                "groups, or use apply"
            )
            raise KeyError(msg)
        begin, end = self._ends()[place : place + 2]
        return self._arranged()[begin:end]

    def __iter__(self) -> Iterator[tuple[Any, C]]:
        rows = self._arranged()
        spans = pairwise(self._ends())
        for key, (begin, end) in zip(self._python_keys(), spans, strict=True):
            yield key, rows[begin:end]

    def __contains__(self, key: object) -> bool:
        try:
            return _hashable(key) in self._known_places()
        except TypeError:
            return False

    @overload
    def apply(self, function: Callable[[C], _T], /) -> list[_T]: ...
    @overload
    def apply(self, function: Callable[..., _T], /, *names: str) -> list[_T]: ...
    def apply(self, function: Callable[..., _T], /, *names: str) -> list[_T]:
        """Call `function` for each group, and return the list of its results, in order of `keys`.

        With `names`, the function gets the NumPy array of each named column, as ``cols[name]``, in
        the order of the names; this is the fast way. Without names, it gets `Columns`. Both are
        views of the group's rows, which must not be written to.

        Raises KeyError for a name that not exactly one column has, and the function's own errors.
        """
        rows = self._arranged()
        spans = pairwise(self._ends())
        if not names:
            return [function(rows[begin:end]) for begin, end in spans]
        arrays = [rows[name] for name in names]
        if len(arrays) == 1:
            (only,) = arrays
            return [function(only[begin:end]) for begin, end in spans]
        return [function(*[array[begin:end] for array in arrays]) for begin, end in spans]

    def size(self) -> C:
        """Return the keys, and in a column ``size`` the number of rows of each group."""
        return self.aggregate(size="size")

    def count(self, *names: str) -> C:
        """Return the number of values of each named column that are not NULL.

        Without names, a column ``count`` has the number of rows.
        """
        return self._each("count", names) if names else self.aggregate(count="size")

    def sum(self, *names: str) -> C:
        """Return the sum of each named column.

        Integers become int8, exactly: OverflowError if a sum exceeds it. Decimals are exact, with
        as many digits as the sum needs. Floats are added as float8, in the order of the rows.
        Intervals are added by their parts. Raises TypeError for other types.
        """
        return self._each("sum", names)

    def mean(self, *names: str) -> C:
        """Return the mean of each named column: float8, or numeric with six more digits."""
        return self._each("mean", names)

    def min(self, *names: str) -> C:
        """Return the least value of each named column; texts and bytes are compared by bytes."""
        return self._each("min", names)

    def max(self, *names: str) -> C:
        """Return the greatest value of each named column; NaN is greater than all numbers."""
        return self._each("max", names)

    def first(self, *names: str) -> C:
        """Return the first value of each named column that is not NULL."""
        return self._each("first", names)

    def last(self, *names: str) -> C:
        """Return the last value of each named column that is not NULL."""
        return self._each("last", names)

    def nunique(self, *names: str) -> C:
        """Return the number of different values of each named column, without NULL."""
        return self._each("nunique", names)

    def aggregate(self, /, **results: Result) -> C:
        """Return several aggregates: ``aggregate(total=("price", "sum"), n=("price", "count"))``.

        A result is named by its keyword, and given as the name of a column and that of an
        aggregate, which is one of this class's methods; ``"size"`` alone is the number of rows.

        Raises KeyError for a name that not exactly one column has, TypeError for an aggregate that
        the column's type does not have, OverflowError for a sum beyond its type, and ValueError for
        an unknown aggregate or a result named like a key.
        """
        wanted = wanted_of(self._names, results)
        try:
            return self._made(self._grouping.aggregates(wanted))
        except KeyError as error:
            raise unknown(self._batch, error) from None

    def __repr__(self) -> str:
        names = ", ".join(f'"{name}"' for name in self._names)
        return f"<Groups by {names}: {len(self):,} groups of {self._batch.num_rows:,} rows>"

    def _each(self, kind: str, names: tuple[str, ...]) -> C:
        _check_values(kind, self._names, names)
        try:
            return self._made(self._grouping.aggregate(kind, names))
        except KeyError as error:
            raise unknown(self._batch, error) from None

    def _arranged(self) -> C:
        return self._made(self._grouping.arranged())

    def _ends(self) -> list[int]:
        ends: list[int] = self.offsets.tolist()
        return ends

    def _python_keys(self) -> list[Any]:
        from colonnade._columns.conversion.values import python_values

        batch = self._grouping.keys()
        columns = [python_values(batch, index) for index in range(len(self._names))]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def _known_places(self) -> dict[Any, int]:
        if self._places is None:
            keys = [_hashable(key) for key in self._python_keys()]
            places = {key: place for place, key in enumerate(keys)}
            if len(places) < len(keys):
                counts = Counter(keys)
                places.update({key: _SEVERAL for key, count in counts.items() if count > 1})
            self._places = places
        return self._places


def check_keys(names: tuple[str, ...], sort: bool, nulls: Nulls) -> None:
    if not names:
        raise ValueError("there is nothing to group by: name at least one column")
    for name in names:
        check_name("a key", name)
    if len(names) > 1 and len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f'the key "{twice}" is named twice'
        raise ValueError(msg)
    check_switch("sort", sort)
    check_choice("nulls", nulls, ("group", "drop"))


def _check_values(kind: str, keys: tuple[str, ...], names: tuple[str, ...]) -> None:
    if not names:
        msg = f"{kind}() needs the names of columns"
        raise TypeError(msg)
    for name in names:
        check_name("a column", name)
        if name in keys:
            msg = (
                f'"{name}" is a key: name its {kind} otherwise, '
                f'aggregate(other=("{name}", "{kind}"))'
            )
            raise ValueError(msg)
    if len(names) > 1 and len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f'the column "{twice}" is named twice'
        raise ValueError(msg)


def wanted_of(
    keys: tuple[str, ...], results: dict[str, Result]
) -> list[tuple[str, str | None, str]]:
    return list(starmap(_one_wanted, ((keys, name, result) for name, result in results.items())))


def _one_wanted(keys: tuple[str, ...], name: str, result: object) -> tuple[str, str | None, str]:
    if name in keys:
        msg = f'"{name}" is a key: give the result another name'
        raise ValueError(msg)
    if result == "size":
        return name, None, "size"
    if not (
        isinstance(result, tuple)
        and len(result) == 2  # noqa: PLR2004 - column and aggregate
        and all(isinstance(part, str) for part in result)
    ):
        msg = (
            f'{name} must be a pair such as ("price", "sum"), or "size", the number of rows, '
            f"not {shown(result)}"
        )
        raise TypeError(msg)
    column, kind = result
    return name, column, kind


def unknown(batch: _core.Batch, error: KeyError) -> KeyError:
    """Return the error that ``columns[name]`` raises for the name in `error`."""
    try:
        position(batch, error.args[0])
    except KeyError as known:
        return known
    return error


def _array(buffer: _core.Buffer, dtype: str) -> NDArray[Any]:
    import numpy as np

    array: NDArray[Any] = np.frombuffer(memoryview(buffer), dtype)
    array.flags.writeable = False
    return array


def _hashable(key: Any) -> Any:
    """Return an object that is equal for equal keys, and has a hash."""
    if isinstance(key, float) and key != key:  # noqa: PLR0124 - NaN alone differs from itself
        return _NAN
    if isinstance(key, list | tuple):
        return tuple(map(_hashable, key))
    if isinstance(key, dict):
        return frozenset((name, _hashable(value)) for name, value in key.items())
    return key
