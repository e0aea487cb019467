"""`Struct`: the base of the classes of structs, and the choice of some of their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from colonnade._core.structs import Definition, Instance
from colonnade._words.shown import class_name, package_name, shown
from colonnade.columns import Columns

if TYPE_CHECKING:
    from typing import Self

    from colonnade import _core

__all__ = ["Selection", "Struct"]


if TYPE_CHECKING:

    class Indexable(type):
        """``Facts["created"]`` for type checkers; at run time it is `__class_getitem__`."""

        def __getitem__(cls, names: str | tuple[str, ...]) -> Selection: ...

else:
    Indexable = type


class Struct(Instance, metaclass=Indexable):
    """The base of the classes that ``@struct`` makes.

    An instance is a view over its bytes: ``bytes(facts)`` returns them, a field is read when it is
    asked for, and only its extras can be changed. Instances of one class with equal bytes are
    equal. A pickle has the bytes and the name of the class.

    Where a driver takes bytes, it takes an instance, which has the buffer protocol. As a column's
    type in ``schema=``, the class makes a bytea column into one of structs, and ``Facts["a", "b"]``
    into one with only these fields.
    """

    __slots__ = ()

    __struct_definition__: ClassVar[Definition]

    def __init_subclass__(cls) -> None:
        for base in cls.__mro__[1:]:
            if "__struct_definition__" in vars(base):
                raise TypeError(
                    f"{cls.__name__} cannot inherit from {base.__name__}: bytes do not tell of"
                    f" which class they are; make a {base.__name__} a field"
                )

    if TYPE_CHECKING:
        # Each class has a native one.
        @classmethod
        def from_bytes(cls, data: bytes | bytearray | memoryview) -> Self:
            """Return an instance over these bytes; `bytes` are not copied.

            The header and the place of each field are checked now, and never again. Raises
            StructError for bytes of another struct, cut or damaged ones, and TypeError for an
            object without bytes.
            """
            raise NotImplementedError

    @classmethod
    def pack(cls, source: object, name: str = "data") -> Columns:
        """Return `Columns` with one bytea column `name`: the bytes of a struct for each row.

        `source` has a column for each field, by name: `Columns`, a frame or table with Arrow's
        PyCapsule interface, or a dict of arrays, which are taken as `Columns.with_columns` takes
        them. The index of a pandas frame does not count. A field with a default needs no column.
        Integers and floats may have another size than the field, and times another unit: each value
        is checked.

        Raises StructError, with field and row, for a value that its field does not take, ValueError
        for a missing or unknown column, KeyError for a field that several `Columns` are named like,
        and TypeError for another source.
        """
        definition = cls.__struct_definition__
        given = source
        if isinstance(source, Columns):
            for column in source.names:
                if column in definition.names:
                    source._position(column)  # noqa: SLF001 - of several, which one?
            given = source._batch  # noqa: SLF001 - without a way over C
        elif isinstance(source, dict):
            given = _batch_of(definition, cls.__name__, source)
        elif package_name(type(source)) == "pandas":
            given = _without_index(source)
        return Columns(definition.pack(given, name))

    @classmethod
    def unpack(cls, source: object, *fields: str, column: str | None = None) -> Columns:
        """Return the fields of these structs as `Columns`; only `fields`, if any are named.

        `source` is `Columns` with a bytea column named `column`; the name may be left out if
        there is only one column. Or it is a list of instances, bytes and None. A row of None is
        NULL in all columns, and so is a field that is missing.

        Raises StructError, with row and field, for bytes that are no such struct, KeyError for an
        unknown field or column, and TypeError for another source.
        """
        return Selection(cls, cls._positions(fields)).unpack(source, column=column)

    @classmethod
    def create_sql(cls, schema: str | None = None, prefix: str | None = None) -> str:
        """Return the statements that create a function for each field: see `create_sql`."""
        from colonnade.structs.sql import create_sql

        return create_sql(cls, schema=schema, prefix=prefix)

    def __class_getitem__(cls, names: str | tuple[str, ...]) -> Selection:
        """Return these fields of the class, as a column's type in ``schema=``.

        Raises KeyError for an unknown field.
        """
        return Selection(cls, cls._positions((names,) if isinstance(names, str) else names))

    @classmethod
    def __colonnade_column__(cls, batch: _core.Batch, index: int) -> _core.Batch:
        return Selection(cls, cls._positions(())).__colonnade_column__(batch, index)

    @classmethod
    def _positions(cls, names: tuple[str, ...]) -> list[int]:
        known = cls.__struct_definition__.names
        for name in names:
            if name not in known:
                raise KeyError(
                    f"{cls.__name__} has no field {shown(name)}: there are {', '.join(known)}"
                )
        return [known.index(name) for name in names] or list(range(len(known)))


def _batch_of(definition: Definition, kind: str, arrays: dict[str, Any]) -> _core.Batch:
    """Return arrays as columns, which have the checks of `Columns.with_columns`."""
    for field, values in arrays.items():
        if isinstance(values, list | tuple):
            raise TypeError(
                f"{kind}.pack: {shown(field)} is a {class_name(values)}: make an"
                " array of it, with np.array or pyarrow.array"
            )
    row = Columns(definition.columns_of_objects([None], [0])).select()
    rows = row.take([0] * _length(next(iter(arrays.values()), ())))
    return rows.with_columns(arrays)._batch  # noqa: SLF001 - without a way over C


def _length(array: Any) -> int:
    try:
        return len(array)
    except TypeError:
        # It is no array, as `with_columns` will say.
        return 0


def _without_index(source: Any) -> Any:
    """Return a frame of pandas with rows that are only counted: Arrow has no index."""
    import pandas as pd

    return source.reset_index(drop=True) if isinstance(source, pd.DataFrame) else source


class Selection:
    """Some fields of a class of structs: ``Facts["created", "author"]``."""

    __slots__ = ("_kind", "_positions")

    def __init__(self, kind: type[Struct], positions: list[int]) -> None:
        self._kind = kind
        self._positions = positions

    def unpack(self, source: object, *, column: str | None = None) -> Columns:
        """Return the fields as `Columns`, as `Struct.unpack` does."""
        definition = self._kind.__struct_definition__
        if isinstance(source, list):
            return Columns(definition.columns_of_objects(source, self._positions))
        if not isinstance(source, Columns):
            raise TypeError(
                f"{self._kind.__name__}.unpack takes Columns or a list of bytes, not "
                f"{class_name(source)}"
            )
        if column is None and source.num_columns != 1:
            raise KeyError(f"column= says which: there are {', '.join(source.names)}")
        index = 0 if column is None else source._position(column)  # noqa: SLF001
        batch = source._batch  # noqa: SLF001 - without a way over C
        return Columns(definition.columns_of(batch, index, self._positions))

    def __colonnade_column__(self, batch: _core.Batch, index: int) -> _core.Batch:
        """Return the batch with its bytea column as structs, for `colonnade._columns.schema`."""
        return self._kind.__struct_definition__.read_column(batch, index, self._positions)

    def __repr__(self) -> str:
        names = self._kind.__struct_definition__.names
        chosen = ", ".join(f'"{names[index]}"' for index in self._positions)
        return f"{self._kind.__name__}[{chosen}]"
