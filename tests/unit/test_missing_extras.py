"""A feature that needs a library that is not installed says which extra has it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("library", "code", "told"),
    [
        ("sqlalchemy", "import colonnade.sqlalchemy", '"sqlalchemy[asyncio]>='),
        (
            "prometheus_client",
            "from colonnade import observe; observe.PrometheusMetrics()",
            '"prometheus-client>=',
        ),
    ],
)
def test_the_library_of_the_extra_is_named(library: str, code: str, told: str) -> None:
    program = f"import sys; sys.modules[{library!r}] = None; {code}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert told in last


def test_help_needs_no_extra() -> None:
    libraries = "adbc_driver_manager numpy opentelemetry pandas polars pyarrow sqlalchemy starlette"
    program = f"""
import sys
sys.modules.update(dict.fromkeys({libraries!r}.split()))
import pydoc
import colonnade
assert "read_sql" in pydoc.render_doc(colonnade)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
