"""Write a result of any size to a Parquet file, with only a few batches in memory."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import colonnade
from colonnade import embedded

QUERY = "SELECT g AS id, sqrt(g) AS root, md5(g::text) AS name FROM generate_series(1, 500000) g"


async def main(dsn: str, path: Path) -> None:
    """Write the query's result; if the disk is slow, the server waits."""
    writer: pq.ParquetWriter | None = None
    async with (
        await colonnade.connect(dsn) as connection,
        connection.iter_columns(QUERY, batch_rows=65_536) as stream,
    ):
        async for columns in stream:
            batch = pa.table(columns)
            if writer is None:
                writer = pq.ParquetWriter(path, batch.schema)
            await asyncio.to_thread(writer.write_table, batch)
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    with embedded.start(tcp=True) as server, tempfile.TemporaryDirectory() as folder:
        target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "roots.parquet"
        asyncio.run(main(server.dsn, target))
        size = target.stat().st_size / 1e6
        print(f"{pq.read_metadata(target).num_rows:,} rows in {size:.1f} MB")
