"""`write`: a table or a query as a dataset."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._words.arguments import (
    check_count,
    check_name,
    check_names,
    check_switch,
    check_values,
)
from colonnade._words.progress import reporting
from colonnade.datasets.dataset import Dataset
from colonnade.datasets.files import Limits, PartitionFiles, WrittenFile
from colonnade.datasets.hive import folder_of, text_of
from colonnade.datasets.query import KeyedQuery
from colonnade.datasets.unfinished import Unfinished
from colonnade.errors import InterfaceError
from colonnade.formats import by_name
from colonnade.frames import connection_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from colonnade import Columns, sync
    from colonnade._words.progress import Progress
    from colonnade.frames import Connectable
    from colonnade.types import Infinity

    #: Called with the rows and bytes so far.
    Report = Callable[[int, int], object]


def write(
    table_or_query: str,
    con: Connectable,
    path: str | os.PathLike[str],
    *,
    args: Sequence[object] = (),
    partition_by: str | Sequence[str] | None = None,
    order_by: str | Sequence[str] | None = None,
    max_rows: int | None = None,
    max_bytes: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    compression: str | None = None,
    schema: Any = None,
    infinity: Infinity = "raise",
    batch_rows: int | None = None,
    fsync: bool = False,
    progress: Progress = False,
    timeout: float | None = None,
) -> Dataset:
    """Write a table or the rows of a query to a folder of Parquet files.

    `partition_by` names columns whose values become folders, `day=2026-01-01/carrier=UA`; the files
    do not have these columns. The server sorts the rows by them, so that one partition is open at a
    time. They can be integers, text, bool, date, uuid and enums; NULL is Hive's
    `__HIVE_DEFAULT_PARTITION__`. `order_by` sorts the rows within a partition. `max_rows` and
    `max_bytes` limit each file; a size is an estimate from the compression so far.

    All rows are those of one moment: one statement reads them. The folder appears when it is
    complete; until then the files are in `.NAME.unfinished` beside it. A run that fails, or whose
    process is killed, leaves its finished parts there, and `resume=True` goes on after them. A part
    is a partition, or without `partition_by` a file of a dataset with `order_by` and a limit; other
    datasets begin anew. **The rows of a continued run are those of its own moment**: rows that
    were changed in between, and belong to finished parts, are as they were before, or are missing
    if they have moved there. `Dataset.snapshots` tells the moments.

    `overwrite=True` replaces a folder that has only Parquet files, and without `resume` discards an
    unfinished run. `con` is as in `read_sql`, `schema` and `infinity` are as in `fetch_columns`,
    `progress` is as in `write_table`. `compression` is zstd, or another codec of Parquet.
    `batch_rows` is the number of rows in memory besides those of a row group. `fsync=True` flushes
    each part to disk before it counts as finished. `timeout` limits the wait for each batch.

    Raises InterfaceError for rows that cannot become such a dataset and for a folder that exists,
    DecodeError and PostgresError as `iter_columns` does, and OSError.
    """
    for option, limit in (
        ("max_rows", max_rows),
        ("max_bytes", max_bytes),
        ("batch_rows", batch_rows),
    ):
        if limit is not None:
            check_count(option, limit)
    for option, switch in (("resume", resume), ("overwrite", overwrite), ("fsync", fsync)):
        check_switch(option, switch)
    check_name("table_or_query", table_or_query)
    check_values("args", args)
    keys, order = _names("partition_by", partition_by), _names("order_by", order_by)
    writing = Writing(
        KeyedQuery(table_or_query, args, keys, order),
        Unfinished(Path(os.path.abspath(path)), sync=fsync),  # noqa: PTH100 - keeps symbolic links
        limits=Limits(max_rows, max_bytes),
        codec=by_name("parquet").codec(compression),
        schema=schema,
        infinity=infinity,
        batch_rows=batch_rows,
        timeout=timeout,
    )
    with connection_of(con) as connection, reporting(progress, str(path), None) as told:
        report: Report = (lambda rows, _: told(rows)) if told is not None else (lambda *_: None)
        return writing.run(connection, report, resume=resume, overwrite=overwrite)


def _names(option: str, given: str | Iterable[str] | None) -> tuple[str, ...]:
    check_names(option, given)
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        check_name(option, name)
    return names


class Writing:
    """One run."""

    def __init__(
        self,
        query: KeyedQuery,
        unfinished: Unfinished,
        *,
        limits: Limits,
        codec: str,
        schema: Any = None,
        infinity: Infinity = "raise",
        batch_rows: int | None = None,
        timeout: float | None = None,
    ) -> None:
        self._query = query
        self._unfinished = unfinished
        self._limits = limits
        self._codec = codec
        self._schema = schema
        self._infinity: Infinity = infinity
        self._batch_rows = batch_rows
        self._timeout = timeout
        self._open: PartitionFiles | None = None
        self._open_key: tuple[object, ...] | None = None
        self._names: tuple[str, ...] = ()
        self._rows = 0
        self._done_bytes = 0

    def run(
        self, connection: sync.Connection, report: Report, *, resume: bool, overwrite: bool
    ) -> Dataset:
        """Write the dataset over an open connection."""
        unfinished, query = self._unfinished, self._query
        _check_place(unfinished, resume=resume, overwrite=overwrite)
        with unfinished, ExitStack() as block:
            if not connection.is_in_transaction():
                # So that the recorded snapshot is that of the rows.
                block.enter_context(
                    connection.transaction(isolation="repeatable_read", readonly=True)
                )
            query.find(connection)
            empty = connection.fetch_columns(
                query.empty_sql, *query.args, schema=self._schema, infinity=self._infinity
            )
            are_changed = self._schema is not None or self._infinity != "raise"
            query.understand(empty, infinity=self._infinity, are_changed=are_changed)
            self._names = tuple(name for name in empty.names if name not in query.partition_by)
            identity = self._identity(empty)
            if not (resume and unfinished.resume(identity)):
                unfinished.begin(identity)
            ((snapshot,),) = connection.fetch_plain(
                "SELECT pg_catalog.pg_current_snapshot()::pg_catalog.text"
            )
            unfinished.record_run(snapshot)
            self._write_all(connection, query.batch_rows(empty), report)
            dataset = self._dataset()
            # Another program may have used the name while the parts were written.
            _check_final(unfinished.final, overwrite=overwrite)
            unfinished.complete()
        return dataset

    def _identity(self, empty: Columns) -> dict[str, Any]:
        return {
            "format": 3,
            "query": self._query.digest,
            "partition_by": list(self._query.partition_by),
            "order_by": list(self._query.order_by),
            "infinity": self._infinity,
            "columns": [[field.name, field.type_name, field.arrow_type] for field in empty.fields],
        }

    def _write_all(self, connection: sync.Connection, batch_rows: int, report: Report) -> None:
        parts = self._unfinished.parts
        self._rows = sum(file.rows for _, _, files in parts for file in files)
        self._done_bytes = sum(file.nbytes for _, _, files in parts for file in files)
        sql, args = self._query.sql_after(parts[-1][1] if parts else None)
        stream = connection.iter_columns(
            sql,
            *args,
            batch_rows=self._batch_rows or batch_rows,
            schema=self._schema,
            infinity=self._infinity,
            timeout=self._timeout,
        )
        try:
            with stream:
                for batch in stream:
                    self._take(batch)
                    self._rows += len(batch)
                    report(self._rows, self._nbytes)
            self._end_partition()
        finally:
            if self._open is not None:
                self._open.discard()

    @property
    def _nbytes(self) -> int:
        return self._done_bytes + (self._open.nbytes if self._open is not None else 0)

    def _take(self, batch: Columns) -> None:
        if not self._query.partition_by:
            if len(batch) or not self._unfinished.parts:
                self._files_of_all().take(batch)
            return
        keys = self._query.key_columns
        is_single = len(keys) == 1
        for key, rows in batch.group_by(*keys):
            values = (key,) if is_single else key
            if values != self._open_key:
                self._end_partition()
                self._begin_partition(values)
            if self._open is not None:
                self._open.take(rows)

    def _files_of_all(self) -> PartitionFiles:
        """The files of a dataset without partitions."""
        if self._open is None:
            keys = self._query.key_columns
            self._open = PartitionFiles(
                self._unfinished.data,
                self._limits,
                self._codec,
                self._names,
                keys=keys,
                first=1 + len(self._unfinished.parts),
                ended=self._record_file if keys else None,
            )
        return self._open

    def _record_file(self, file: WrittenFile, last: Columns) -> None:
        if file.rows:
            (values,) = last.select(*self._query.key_columns).to_pylist()
            self._unfinished.record_part("", _texts(values.values()), [file])

    def _begin_partition(self, values: tuple[object, ...]) -> None:
        folder = self._unfinished.data / folder_of(self._query.partition_by, values)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise InterfaceError(
                f"two partitions have the folder {folder.name}: the file system takes their names "
                "for one"
            ) from None
        self._open_key = values
        self._open = PartitionFiles(folder, self._limits, self._codec, self._names)

    def _end_partition(self) -> None:
        if self._open is None:
            return
        files = self._open.finish()
        self._done_bytes += sum(file.nbytes for file in files)
        if self._open_key is not None:
            folder = folder_of(self._query.partition_by, self._open_key)
            self._unfinished.record_part(folder, _texts(self._open_key), files)
        elif not self._query.order_by:
            self._unfinished.record_part("", (), files)
        self._open = self._open_key = None

    def _dataset(self) -> Dataset:
        unfinished = self._unfinished
        files = [(folder, file) for folder, _, files in unfinished.parts for file in files]
        return Dataset(
            unfinished.final,
            tuple(unfinished.final / folder / file.name for folder, file in files),
            sum(file.rows for _, file in files),
            sum(file.nbytes for _, file in files),
            unfinished.snapshots,
        )


def _texts(values: Iterable[object]) -> list[str | None]:
    return [None if value is None else text_of(value) for value in values]


def _check_place(unfinished: Unfinished, *, resume: bool, overwrite: bool) -> None:
    """Raise unless the dataset may be written there."""
    final = unfinished.final
    if not final.parent.is_dir():
        raise FileNotFoundError(2, "there is no such directory", str(final.parent))
    _check_final(final, overwrite=overwrite)
    if unfinished.folder.exists() and not (resume or overwrite):
        raise InterfaceError(
            f"{unfinished.folder} is an unfinished export of {final.name}",
            hint="resume=True goes on after its finished parts, overwrite=True begins anew",
        )


def _check_final(final: Path, *, overwrite: bool) -> None:
    if final.exists() or final.is_symlink():
        if not final.is_dir() or final.is_symlink():
            raise FileExistsError(17, "there is a file of this name", str(final))
        others = _not_of_a_dataset(final)
        if others is not None:
            raise InterfaceError(f"{final} has other files than a dataset's, such as {others}")
        if not overwrite and any(final.iterdir()):
            raise InterfaceError(f"there is a dataset {final}", hint="overwrite=True replaces it")


def _not_of_a_dataset(final: Path) -> Path | None:
    for folder, folders, names in os.walk(final):
        for name in names:
            if not name.endswith(".parquet"):
                return Path(folder, name)
        for name in folders:
            # The link itself would be replaced, and not the folder that it names.
            if Path(folder, name).is_symlink():
                return Path(folder, name)
    return None
