"""The objects of the benchmark, as structs, dataclasses and msgspec's structs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from colonnade.structs import Struct, struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIX = ("number", "repository", "created", "closed", "size", "author")


@struct
class Facts(Struct):
    """Six fields."""

    number: int
    repository: Annotated[int, "int32"]
    created: Annotated[int, "int64"]
    closed: int | None
    size: float
    author: str


@dataclasses.dataclass
class FactsData:
    """The same for pickle."""

    number: int
    repository: int
    created: int
    closed: int | None
    size: float
    author: str


class FactsMessage(msgspec.Struct, array_like=True):
    """The same for msgspec."""

    number: int
    repository: int
    created: int
    closed: int | None
    size: float
    author: str


_WIDE: dict[str, Any] = {
    **{f"count_{index}": int for index in range(12)},
    **{f"ratio_{index}": float for index in range(6)},
    **{f"flag_{index}": bool for index in range(4)},
    **{f"name_{index}": str for index in range(4)},
    "labels": list[str],
    "numbers": list[int],
    "ratios": list[float],
}
Wide: Any = struct(type("Wide", (Struct,), {"__annotations__": _WIDE, "__module__": __name__}))
WideData: Any = dataclasses.make_dataclass(
    "WideData", list(_WIDE.items()), namespace={"__module__": __name__}
)
WideMessage: Any = msgspec.defstruct(
    "WideMessage", list(_WIDE.items()), array_like=True, module=__name__
)


def wide_values(elements: int) -> dict[str, Any]:
    """Return the values of one wide object, whose lists have this many elements."""
    return {
        **{f"count_{index}": index * 1000 for index in range(12)},
        **{f"ratio_{index}": index / 7 for index in range(6)},
        **{f"flag_{index}": index % 2 == 0 for index in range(4)},
        **{f"name_{index}": f"name {index}" for index in range(4)},
        "labels": [f"label {index}" for index in range(elements)],
        "numbers": list(range(elements)),
        "ratios": [index / 3 for index in range(elements)],
    }


def six_columns(rows: int) -> dict[str, NDArray[Any]]:
    """Return the columns of this many objects of six fields."""
    numbers = np.arange(rows, dtype=np.int64)
    return {
        "number": numbers,
        "repository": (numbers % 977).astype(np.int32),
        "created": 1_500_000_000 + numbers * 61,
        "closed": 1_600_000_000 + numbers * 61,
        "size": numbers / 3,
        "author": np.array([f"user-{number % 5003}" for number in range(rows)], dtype="U10"),
    }
