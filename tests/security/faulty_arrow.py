"""A program that passes faulty Arrow data to a connection in one way, and prints each outcome."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

import colonnade.sync
from colonnade.errors import EncodeError
from tests.support.faulty_arrays import FAULTS

if TYPE_CHECKING:
    from collections.abc import Callable


def series(array: pa.Array) -> pd.Series[Any]:
    """The array as a pandas series."""
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


TABLE = "made_of_faulty_arrow"
ROADS: dict[str, Callable[[pa.Array], Any]] = {
    "table": lambda array: pa.table({"x": array}),
    "chunks": lambda array: pa.table({"x": pa.chunked_array([array, array])}),
    "batch": lambda array: pa.record_batch({"x": array}),
    "reader": lambda array: pa.table({"x": array}).to_reader(),
    "batches": lambda array: iter([pa.record_batch({"x": array})] * 2),
    "structs": lambda array: pa.StructArray.from_arrays([array], ["x"]),
    "mapping": lambda array: {"x": array},
    "mapping of chunks": lambda array: {"x": pa.chunked_array([array, array])},
    "pandas": lambda array: pd.DataFrame({"x": series(array)}),
}
PARAMETERS: dict[str, Callable[[pa.Array], Any]] = {
    "parameter": lambda array: array,
    "parameter of chunks": lambda array: pa.chunked_array([array, array]),
    "parameter of pandas": series,
}


def tried(connection: colonnade.sync.Connection, road: str, name: str) -> str:
    """The outcome of a fault."""
    fault = FAULTS[name]()
    given = {**ROADS, **PARAMETERS}[road](fault.array)
    # pyarrow checks arrays when it makes tables, so the memory is altered afterwards.
    fault.memory[:] = fault.bad
    try:
        if road in PARAMETERS:
            connection.fetchval(f"SELECT $1::{fault.parameter}", given)
        else:
            connection.copy_columns_to_table(TABLE, given, create={"x": fault.parameter})
    except EncodeError as error:
        return f"EncodeError {error}"
    except Exception as error:  # noqa: BLE001 - every error is reported
        return f"{type(error).__name__} {error}"
    return "nothing"


def main() -> None:
    """Try every fault in the way that the command line names."""
    dsn, road = sys.argv[1:]
    with colonnade.sync.connect(dsn) as connection:
        for name in FAULTS:
            sys.stdout.write(f"{name}: ")
            sys.stdout.flush()
            sys.stdout.write(tried(connection, road, name).replace("\n", " ") + "\n")
            assert connection.fetchval(f"SELECT to_regclass('{TABLE}')") is None


if __name__ == "__main__":
    main()
