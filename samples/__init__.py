"""Values of every PostgreSQL type: one entry per type, for tests and documentation.

`COMMON` has the types of most tables, `RARE` the other types with values that can be written as
text, `SERVER_ONLY` the types with values that only the server can produce, and `EXTENSIONS` the
types of extensions.
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
