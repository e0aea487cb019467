"""The choices of pandas' dtypes."""

from __future__ import annotations

from typing import Literal

# The families of pandas dtypes, and the dtypes of numeric columns.
Dtypes = Literal["numpy", "nullable", "arrow"]
Decimals = Literal["float64", "decimal", "object"]
