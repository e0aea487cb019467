"""Arrow data with false claims about its memory: an EncodeError in every way, and no crash.

Each way is tried in a separate process, because accepting such data would end in a signal.
"""

from __future__ import annotations

import itertools
import subprocess
import sys

import pyarrow as pa
import pytest

import colonnade
from colonnade import sync
from colonnade._core import ArrowColumn, ArrowSource
from colonnade.errors import DataError, EncodeError
from tests.security.faulty_arrow import PARAMETERS, ROADS
from tests.support.faulty_arrays import FAULTS

pytestmark = pytest.mark.thorough

TIMEOUT_S = 120


@pytest.mark.parametrize("road", [*ROADS, *PARAMETERS])
def test_every_fault_is_an_error(road: str, dsn: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.faulty_arrow", dsn, road],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    ends = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0, (done.returncode, done.stdout[-300:], done.stderr[-2000:])
    assert ends.keys() == FAULTS.keys()
    wrong = {name: end for name, end in ends.items() if not end.startswith("EncodeError ")}
    assert wrong == {}


def pair(schema_of: pa.Array, array_of: pa.Array) -> tuple[object, object]:
    """The schema of one array with the data of another."""
    return schema_of.__arrow_c_array__()[0], array_of.__arrow_c_array__()[1]


class Offered:
    """An object of a library that mixes up its capsules."""

    def __init__(self, schema: object, array: object) -> None:
        self._pair = (schema, array)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        del requested_schema
        return self._pair


ARRAYS = {
    "int": pa.array([1, 2]),
    "text": pa.array(["a", "b"]),
    "large text": pa.array(["a", "b"], pa.large_string()),
    "view": pa.array(["a", "b"], pa.string_view()),
    "list": pa.array([[1], [2]]),
    "list view": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "list of two": pa.array([[1, 2], [2, 3]], pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"a": 1, "b": 2}] * 2),
    "struct of one": pa.array([{"a": 1}] * 2),
    "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "run ends": pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "b"]),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
    "null": pa.nulls(2),
}
# These have equal numbers of buffers and children, so the driver cannot notice the mix-up.
ALIKE = [
    {"text", "large text", "view"},
    {"list", "map"},
    {"struct of one", "list of two", "union"},
]
PAIRS = [
    (schema, array)
    for schema, array in itertools.permutations(ARRAYS, 2)
    if not any({schema, array} <= alike for alike in ALIKE)
]


@pytest.mark.parametrize(("schema", "array"), PAIRS)
def test_a_schema_of_another_array(schema: str, array: str) -> None:
    with pytest.raises(EncodeError, match="faulty"):
        ArrowSource.from_arrays(["x"], [pair(ARRAYS[schema], ARRAYS[array])])
    with pytest.raises(EncodeError, match="faulty"):
        ArrowColumn.from_arrow(Offered(*pair(ARRAYS[schema], ARRAYS[array])))
    with pytest.raises(EncodeError, match="faulty"):
        ArrowSource.from_batch(*pair(ARRAYS[schema], ARRAYS[array]))


def test_a_parameter_of_mixed_capsules(dsn: str) -> None:
    with sync.connect(dsn) as connection:
        given = Offered(*pair(ARRAYS["list"], ARRAYS["int"]))
        with pytest.raises(EncodeError, match=r"\$1.*an object of .*Offered .*1 children|children"):
            connection.fetchval("SELECT $1::int8[]", given)
        rows = Offered(*pair(ARRAYS["struct"], ARRAYS["int"]))
        with pytest.raises(DataError, match="faulty"):
            connection.copy_columns_to_table("none", rows)
        assert connection.fetchval("SELECT 1") == 1


async def test_a_large_table_does_not_hold_the_loop(dsn: str) -> None:
    """A batch that takes long to check is checked in a thread."""
    import threading

    from colonnade._driver.sources.pyarrow import UncheckedRows

    places: list[str] = []
    whole = UncheckedRows.checked

    def noted(self: UncheckedRows) -> ArrowSource:
        places.append(threading.current_thread().name)
        return whole(self)

    connection = await colonnade.connect(dsn)
    UncheckedRows.checked = noted  # type: ignore[method-assign]
    try:
        await connection.execute("CREATE TEMPORARY TABLE checked (n int8)")
        for rows in (10, 1_000_000):
            status = await connection.copy_columns_to_table("checked", pa.table({"n": range(rows)}))
            assert status == f"COPY {rows}"
    finally:
        UncheckedRows.checked = whole  # type: ignore[method-assign]
        await connection.close()
    here = threading.current_thread().name
    assert places[0] == here
    assert here not in places[1:]
    assert len(places) == 2
