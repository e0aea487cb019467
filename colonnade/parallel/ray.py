"""Partitions as a dataset of Ray Data.

import colonnade.parallel.ray

dataset = colonnade.parallel.ray.read("flights", dsn, parts=16)
dataset.sum("distance")
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, Unpack

from colonnade._words.signatures import options_of
from colonnade.errors import InterfaceError
from colonnade.parallel.plan_request import Request, check_request, plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from colonnade.parallel.partition import Partition
    from colonnade.parallel.plan_request import Options
    from colonnade.parallel.snapshot_plan import Partitions

__all__ = ["from_plan", "read"]


@options_of(Request)
def read(table_or_query: str, dsn: str, *, parts: int, **options: Unpack[Options]) -> Any:
    """A `ray.data.Dataset` over a table or query, of `parts` read tasks or fewer.

    Workers connect to `dsn`, which they receive with any password in it. This process keeps the
    snapshot while it has the dataset, or one computed from it. Ray may keep datasets until it is
    shut down; with `from_plan` the caller closes the plan. The other parameters are those of
    `colonnade.parallel.plan`.

    A numeric without a declared scale has the scale of its values in each partition, but Ray
    requires one type: set it in `schema`, for example `{"price": "decimal128(38, 6)"}`.

    Raises InterfaceError for such a column, ImportError without Ray.
    """
    check_request(read, options)
    made = plan(table_or_query, dsn, parts=parts, **options)
    try:
        return from_plan(made)
    except BaseException:
        made.close()
        raise


def from_plan(made: Partitions) -> Any:
    """A `ray.data.Dataset` over the partitions of a plan, like that of `read`.

    It can be read until the owner of the plan closes it.
    """
    data: Any = importlib.import_module("ray.data")
    _check_scales(made)
    return data.read_datasource(_datasource(data, made), override_num_blocks=len(made))


def _check_scales(made: Partitions) -> None:
    schema = made[0].source.schema
    # A schema that is not a dictionary is complete, with a type for every column.
    named = {field.name for field in made.schema} if schema is not None else set()
    named = set(schema) if isinstance(schema, dict) else named
    for field in made.schema:
        is_open = field.type_name == "numeric" and field.type_modifier == -1
        if is_open and field.name not in named:
            msg = f"column {field.name!r} is a numeric without a declared scale"
            hint = f'Name its type: schema={{"{field.name}": "decimal128(38, 6)"}}, or cast it.'
            raise InterfaceError(msg, hint=hint)


class _Kept:
    """The plan, kept as long as its datasource; in another process it is None."""

    def __init__(self, made: Partitions | None) -> None:
        self._made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, (None,)


def _datasource(data: Any, made: Partitions) -> Any:
    """Ray's source of read tasks.

    A function makes the class, so that Ray is imported only when used.
    """
    arrow: Any = importlib.import_module("pyarrow")
    partitions, schema = tuple(made), arrow.schema(made.empty)

    def estimated_bytes(_: Any) -> int:
        return sum(partition.estimated_bytes or 0 for partition in partitions)

    def read_tasks(
        _: Any,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: Any = None,
    ) -> list[Any]:
        # One per partition, even if Ray requests another number.
        del parallelism, data_context
        return [_task(data, schema, partition, per_task_row_limit) for partition in partitions]

    methods = {"estimate_inmemory_data_size": estimated_bytes, "get_read_tasks": read_tasks}
    kind: Any = type("PostgresDatasource", (data.Datasource,), methods)
    datasource = kind()
    datasource.kept = _Kept(made)
    return datasource


def _task(data: Any, schema: Any, partition: Partition, row_limit: int | None) -> Any:
    block: Any = importlib.import_module("ray.data.block")
    metadata = block.BlockMetadata(
        num_rows=None,
        size_bytes=partition.estimated_bytes,
        input_files=None,
        exec_stats=None,
    )
    options: dict[str, Any] = {"schema": schema}
    if row_limit is not None:
        options["per_task_row_limit"] = row_limit
    return data.ReadTask(functools.partial(_tables, partition), metadata, **options)


def _tables(partition: Partition) -> Iterable[Any]:
    yield partition.read().to_arrow()
