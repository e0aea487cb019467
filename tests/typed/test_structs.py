"""The types of structs, as type checkers see them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, assert_type

import numpy as np  # noqa: TC002 - @struct reads the annotations
from numpy.typing import NDArray  # noqa: TC002 - the same

from colonnade.structs import Fixed, Struct, struct


@struct
class Person(Struct):
    login: str


@struct
class Facts(Struct):
    number: int
    small: Annotated[int, "int16"]
    created: Annotated[np.datetime64, "s"]
    closed: dt.datetime | None
    code: Annotated[str, Fixed(12)]
    labels: list[str]
    owner: Person
    weights: NDArray[np.float32]
    score: float = 0.0


if TYPE_CHECKING:
    from colonnade import Columns

    def fields(facts: Facts) -> None:
        assert_type(facts.number, int)
        assert_type(facts.small, int)
        assert_type(facts.created, np.datetime64)
        assert_type(facts.closed, dt.datetime | None)
        assert_type(facts.code, str)
        assert_type(facts.labels, list[str])
        assert_type(facts.owner.login, str)
        assert_type(facts.weights, NDArray[np.float32])

    def methods(facts: Facts, cols: Columns) -> None:
        assert_type(Facts.from_bytes(b""), Facts)
        assert_type(facts.replace(number=2), Facts)
        assert_type(facts.to_dict(), dict[str, Any])
        assert_type(bytes(facts), bytes)
        assert_type(Facts.unpack(cols, "number"), Columns)
        assert_type(Facts.pack({"number": [1]}), Columns)
        assert_type(Facts.create_sql(schema="public"), str)
        Facts("no number")  # type: ignore[arg-type, call-arg]
        Person(login=1)  # type: ignore[arg-type]
        Person("ann", 1)  # type: ignore[call-arg]


def test_the_classes_are_structs() -> None:
    assert issubclass(Facts, Struct)
    assert Person("ann").login == "ann"
