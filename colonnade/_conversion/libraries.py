"""Libraries that are optional: imported where they are used, missed with advice."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Generator

# The types of a pandas frame, and of its numeric columns.
Dtypes = Literal["numpy", "nullable", "arrow"]
Decimals = Literal["float64", "decimal", "object"]


@contextlib.contextmanager
def needed_by(user: str, library: str) -> Generator[None, None, None]:
    """Around an import: a failure says who needs the library and how to get it.

    The library's name is the name of the extra that installs it.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'{user} needs {library}: pip install "colonnade[{library}]"', name=library
        ) from error
