"""The index of a pandas frame as columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import check_names
from colonnade._words.shown import class_name, shown

if TYPE_CHECKING:
    import pandas as pd


def with_index(frame: Any, index: bool | str | Sequence[str]) -> Any:
    """Return a mapping of the index levels and columns; the frame itself if `index` is False.

    Raises TypeError if the frame has no index, and ValueError for names that are not as many as the
    levels, or not unique.
    """
    if index is False:
        return frame
    check_names("index", None if index is True else index)
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(frame, pandas.DataFrame):
        raise TypeError(f"index is for pandas frames: a {class_name(frame)} has no index")
    levels = _level_names(frame, index)
    columns: dict[str, Any] = {
        name: frame.index.get_level_values(level) for level, name in enumerate(levels)
    }
    for place, label in enumerate(frame.columns):
        name = str(label)
        if name in columns:
            raise ValueError(
                f"two columns would be named {shown(name)}: index writes the frame's index as "
                "columns, too"
            )
        columns[name] = frame.iloc[:, place]
    return columns


def _level_names(frame: pd.DataFrame, index: bool | str | Sequence[str]) -> list[str]:
    count = frame.index.nlevels
    if isinstance(index, bool):
        fallback = ["index"] if count == 1 else [f"level_{level}" for level in range(count)]
        given = zip(frame.index.names, fallback, strict=True)
        names = [default if name is None else str(name) for name, default in given]
    else:
        names = [index] if isinstance(index, str) else list(index)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"index must contain names of columns (str), not {shown(name)}")
    if len(names) != count:
        raise ValueError(f"index has {len(names)} names, but the frame's index has {count} levels")
    if len(set(names)) < count:
        raise ValueError(f"several levels of the index have the same name: {names}")
    return names
