"""The same export as an asset of Dagster with a partition for each day, and a nightly schedule.

    COLONNADE_DSN=... EXPORT_FOLDER=/data/orders dagster dev -m examples.nightly_export.with_dagster

A run of one partition is idempotent, so Dagster may retry it, and a backfill may run many.
"""

# Dagster reads the class of the context, and not its name.
# ruff: noqa: I002

import datetime as dt
import os
from pathlib import Path
from typing import Any

import dagster as dg

from examples.nightly_export import days

DAYS = dg.DailyPartitionsDefinition(start_date="2020-01-01", end_offset=0)


@dg.asset(partitions_def=DAYS, retry_policy=dg.RetryPolicy(max_retries=3, delay=60))
def orders_by_day(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
    """The orders of a day, as a Parquet file."""
    folder = Path(os.environ["EXPORT_FOLDER"])
    day = dt.date.fromisoformat(context.partition_key)
    rows = days.export_day(os.environ["COLONNADE_DSN"], folder, day)
    path = days.path_of(folder, day)
    return dg.MaterializeResult(
        metadata={
            "rows": dg.MetadataValue.int(rows),
            "bytes": dg.MetadataValue.int(path.stat().st_size),
            "path": dg.MetadataValue.path(path),
        }
    )


NIGHTLY = dg.define_asset_job("nightly", selection=[orders_by_day])

definitions = dg.Definitions(
    assets=[orders_by_day],
    jobs=[NIGHTLY],
    schedules=[dg.build_schedule_from_partitioned_job(NIGHTLY, hour_of_day=3)],
)
