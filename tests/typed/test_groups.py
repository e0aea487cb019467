"""The types of groups, as type checkers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

from colonnade import Columns, Groups, PartialGroups

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    def groups_of_columns(cols: Columns) -> None:
        groups = cols.group_by("a", "b", sort=True, nulls="drop")
        assert_type(groups, Groups)
        assert_type(groups.keys, Columns)
        assert_type(groups.codes, NDArray[np.int32])
        assert_type(groups.order, NDArray[np.int64])
        assert_type(groups["key"], Columns)
        assert_type(groups.sum("v"), Columns)
        assert_type(groups.aggregate(total=("v", "sum"), n="size"), Columns)
        assert_type(groups.apply(len), list[int])
        for key, rows in groups:
            assert_type(key, Any)
            assert_type(rows, Columns)
        cols.group_by("a", nulls="keep")  # type: ignore[arg-type]

    def groups_of_a_stream(cols: Columns) -> None:
        partial = PartialGroups("a", total=("v", "sum"), n="size")
        partial.add(cols)
        assert_type(partial.result(), Columns)
        partial.add({})  # type: ignore[arg-type]


def test_the_names_exist() -> None:
    assert Groups.__name__ == "Groups"
    assert PartialGroups.__name__ == "PartialGroups"
