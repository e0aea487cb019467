"""Optional libraries: the error of a missing one says how to install it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Generator

# The families of pandas dtypes, and the dtypes of numeric columns.
Dtypes = Literal["numpy", "nullable", "arrow"]
Decimals = Literal["float64", "decimal", "object"]


@contextlib.contextmanager
def needed_by(user: str, library: str) -> Generator[None, None, None]:
    """Wrap an import: its ImportError says that `user` needs the library and how to install it.

    The library's name is also the name of the extra that installs it.
    """
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'{user} needs {library}: pip install "colonnade[{library}]"', name=library
        ) from error
