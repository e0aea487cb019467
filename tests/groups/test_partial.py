"""`PartialGroups`: groups of a stream are those of the whole."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import colonnade
from colonnade import PartialGroups
from colonnade.errors import SchemaError
from tests.columns.every_type import EVERY
from tests.groups.tables import fill, table
from tests.groups.test_against_server import same, values_of

if TYPE_CHECKING:
    from colonnade.columns import Columns
    from colonnade.groups import Nulls
    from colonnade.sync import Connection

KINDS = ("count", "sum", "mean", "min", "max", "first", "last", "nunique")


def kinds_of(cols: Columns) -> dict[str, tuple[str, str]]:
    """The aggregates that column v has."""
    found: dict[str, tuple[str, str]] = {}
    for kind in KINDS:
        try:
            cols.group_by("g").aggregate(r=("v", kind))
        except (TypeError, OverflowError):
            continue
        found[kind] = ("v", kind)
    return found


def check(cols: Columns, parts: list[Columns], *names: str, nulls: Nulls = "group") -> None:
    wanted: Any = kinds_of(cols)
    for sort in (False, True):
        try:
            whole = cols.group_by(*names, sort=sort, nulls=nulls)
        except TypeError:
            with pytest.raises(TypeError):
                PartialGroups(*names, sort=sort).add(cols)
            continue
        partial = PartialGroups(*names, sort=sort, nulls=nulls, rows="size", **wanted)
        for index, part in enumerate(parts):
            partial.add(part)
            if index % 3 == 0:
                partial.result()
        want, found = whole.aggregate(rows="size", **wanted), partial.result()
        assert found.names == want.names
        for name in want.names:
            assert same(values_of(found, name), values_of(want, name)), name
        for field, right in zip(found.fields, want.fields, strict=True):
            assert (field.type_name, field.arrow_type) == (right.type_name, right.arrow_type)


@pytest.mark.parametrize("sql_type", EVERY)
def test_every_type(link: Connection, sql_type: str) -> None:
    fill(link, sql_type, seed=11)
    cols = table(link)
    cuts = sorted(random.Random(sql_type).sample(range(len(cols)), 5))
    parts = [cols[a:b] for a, b in zip([0, *cuts], [*cuts, len(cols)], strict=True)]
    check(cols, parts, "g")
    check(cols, parts, "g", nulls="drop")
    check(cols, parts, "k")
    check(cols, parts, "k", "g")


def test_chunks(link: Connection) -> None:
    cols = link.fetch_columns(
        "select i, i % 10 as g, i::text as k, i * 1.5 as v from generate_series(1, 5000) i"
    )
    chunked = colonnade.Columns.concat([cols[:1000], cols[1000:1001], cols[1001:]])
    for names in (("g",), ("k", "g")):
        want = cols.group_by(*names).aggregate(total=("v", "sum"), last=("k", "last"))
        found = chunked.group_by(*names).aggregate(total=("v", "sum"), last=("k", "last"))
        assert found.to_pydict() == want.to_pydict()
    groups = chunked.group_by("g")
    assert groups[3]["i"].tolist() == cols.group_by("g")[3]["i"].tolist()
    check(chunked, [chunked[:1500], chunked[1500:]], "k")


def test_a_stream_of_decimals_and_enums(link: Connection) -> None:
    """Batches whose decimals have several scales, and dictionaries of several orders."""
    parts = [
        link.fetch_columns(f"select 1 as g, {value}::numeric as v, 'glad'::every_mood as k")
        for value in ("1.5", "2", "0.125", "1e30")
    ]
    partial = PartialGroups("k", total=("v", "sum"), mean=("v", "mean"), least=("v", "min"))
    for part in parts:
        partial.add(part)
        partial.result()
    found = partial.result().to_pydict()
    assert [str(value) for value in found["total"]] == ["1000000000000000000000000000003.625"]
    assert [float(value) for value in found["least"]] == [0.125]
    assert found["k"] == ["glad"]


def test_sums_may_pass_int64_on_their_way(link: Connection) -> None:
    numbers = link.fetch_columns("select 1 as g, unnest('{9223372036854775807,5,-9}'::int8[]) as v")
    partial = PartialGroups("g", v=("v", "sum"))
    for row in range(3):
        partial.add(numbers[row : row + 1])
        if row != 1:
            partial.result()
    assert partial.result()["v"].tolist() == [2**63 - 5]
    over = PartialGroups("g", v=("v", "sum"))
    over.add(numbers[:2])
    with pytest.raises(OverflowError, match='"v" exceeds int64'):
        over.result()


_MEMORY = """
import resource, sys
from colonnade import PartialGroups, sync

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

partial = PartialGroups("g", total=("v", "sum"), greatest=("t", "max"))
query = "select i % 100 as g, i as v, repeat(i::text, 20) as t from generate_series(1, 500000) i"
size, before = 0, 0
with sync.connect(sys.argv[1]) as connection:
    for count, batch in enumerate(connection.iter_columns(query, batch_rows=10_000)):
        partial.add(batch)
        size += batch.nbytes
        before = before if count > 4 else peak()
grown = peak() - before
found = partial.result()
print(size, grown, len(found), found["total"].sum())
"""


def test_a_long_stream_in_little_memory(dsn: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, dsn], capture_output=True, text=True, check=True
    )
    size, grown, groups, total = map(int, done.stdout.split())
    assert groups == 100
    assert total == 500_000 * 500_001 // 2
    # After a few batches, more of them need nothing; the slack is for the allocator.
    assert size > 60 << 20
    assert grown < size // 8


def test_an_asynchronous_stream(dsn: str) -> None:
    async def main() -> Any:
        async with await colonnade.connect(dsn) as conn:
            partial = PartialGroups("g", n="size")
            query = "select i % 3 as g from generate_series(1, 1000) i"
            async for batch in conn.iter_columns(query, batch_rows=100):
                partial.add(batch)
            return partial.result()

    assert asyncio.run(main())["n"].tolist() == [334, 333, 333]


def test_errors(link: Connection) -> None:
    cols = link.fetch_columns("select 1 as k, true as flag, 'a' as t")
    with pytest.raises(ValueError, match="nothing to group by"):
        PartialGroups(n="size")
    with pytest.raises(ValueError, match="no aggregate"):
        PartialGroups("k", n=("t", "median"))
    partial = PartialGroups("k", n=("flag", "sum"))
    with pytest.raises(ValueError, match="before a batch was added"):
        partial.result()
    with pytest.raises(TypeError, match='no sum of "flag": its type is bool'):
        partial.add(cols)
    with pytest.raises(TypeError, match="takes Columns, not dict"):
        partial.add({})  # type: ignore[arg-type]
    partial = PartialGroups("q", n="size")
    with pytest.raises(KeyError, match='no column "q"'):
        partial.add(cols)
    partial = PartialGroups("k", n=("t", "max"))
    partial.add(cols)
    with pytest.raises(SchemaError, match='the type of "k" is text, and was int4'):
        partial.add(link.fetch_columns("select 'x' as k, 'a' as t"))
    with pytest.raises(SchemaError, match='column "t" is large_utf8, and was utf8 in the batches'):
        partial.add(link.fetch_columns("select 1 as k, 'a' as t", schema={"t": "large_utf8"}))
    assert partial.result()["n"].tolist() == ["a"]


def test_an_empty_batch_has_the_types(link: Connection) -> None:
    partial = PartialGroups("k", total=("v", "sum"))
    partial.add(link.fetch_columns("select 1 as k, 1.5::float8 as v where false"))
    assert partial.result().to_pydict() == {"k": [], "total": []}
    partial.add(link.fetch_columns("select 1 as k, 1.5::float8 as v"))
    assert np.array_equal(partial.result()["total"], [1.5])


def test_sums_grow_beyond_a_block_that_was_filled_at_once(link: Connection) -> None:
    """Their memory, of several megabytes, has huge pages, and the kernel does not remap those."""
    rows, parts = 300_000, 3
    partial = PartialGroups("k", total=("v", "sum"))
    for part in range(parts):
        query = "select i as k, i as v from generate_series($1::int4, $2::int4) i"
        partial.add(link.fetch_columns(query, part * rows, (part + 1) * rows))
    result = partial.result()
    expected = np.arange(parts * rows + 1)
    assert np.array_equal(result["k"], expected)
    # The last key of each batch is the first one of the next.
    expected[rows : parts * rows : rows] *= 2
    assert np.array_equal(result["total"], expected)
