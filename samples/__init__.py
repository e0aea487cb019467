"""Values of every PostgreSQL type: one entry per type, for tests, benchmarks and documentation.

`COMMON` has the types that most tables have, `RARE` the others of which a server makes values,
`SERVER_ONLY` those that no text makes. The types of extensions are in `samples.extensions`.
"""

from __future__ import annotations

from samples.common import COMMON, HUGE_NUMERICS, PLANES, WIDE_NUMERICS
from samples.extensions import EXTENSIONS, FOREIGN, SPATIAL_TYPES
from samples.rare import RARE
from samples.sample import Facts, Sample, base_type, query
from samples.server_only import SERVER_ONLY

SAMPLES = (*COMMON, *RARE)
BY_TYPE = {sample.sql_type: sample for sample in SAMPLES}

__all__ = [
    "BY_TYPE",
    "COMMON",
    "EXTENSIONS",
    "FOREIGN",
    "HUGE_NUMERICS",
    "PLANES",
    "RARE",
    "SAMPLES",
    "SERVER_ONLY",
    "SPATIAL_TYPES",
    "WIDE_NUMERICS",
    "Facts",
    "Sample",
    "base_type",
    "query",
]
