"""An error's message never asks a caller's object for its text.

A process of its own walks the roads, for an object that is asked ends it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import re
import subprocess
import sys
import uuid
import zoneinfo
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from colonnade import sync
from colonnade._shown import shown
from colonnade.errors import EncodeError
from tests.security.unprintable import DBAPI, GIVEN, OPTIONS, TYPES

TIMEOUT_S = 120


def test_nothing_unprintable_is_printed(dsn: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.security.unprintable", dsn],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    lines = done.stdout.splitlines()
    assert len(lines) == len(TYPES) * len(GIVEN) + len(OPTIONS) + len(DBAPI)
    assert not [line for line in lines if "PanicException" in line]
    # Most of the roads refuse the object, and say of which class it is.
    told = [line for line in lines if "nprintable" in line or " of length " in line]
    assert len(told) > len(lines) // 2


class Color(enum.Enum):
    """Some members."""

    RED = 1


class Mine:
    """Nobody's class."""


VALUES: dict[str, object] = {
    "None": None,
    "True": True,
    "1.5": 1.5,
    "-12": -12,
    "'text'": "text",
    "b'bytes'": b"bytes",
    "Decimal('1.50')": decimal.Decimal("1.50"),
    "UUID('00000000-0000-0000-0000-000000000001')": uuid.UUID(int=1),
    "datetime.date(2024, 2, 29)": dt.date(2024, 2, 29),
    "datetime.datetime(2024, 2, 29, 0, 0, tzinfo=datetime.timezone.utc)": dt.datetime(
        2024, 2, 29, tzinfo=dt.UTC
    ),
    "datetime.time(1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC'))": dt.time(
        1, tzinfo=zoneinfo.ZoneInfo("UTC")
    ),
    "datetime.timedelta(days=1)": dt.timedelta(1),
    "an int of 20001 bits": 1 << 20_000,
    "a list of length 2": [1, 2],
    "a tuple of length 1": (1,),
    "a dict of length 1": {1: 2},
    "a set of length 1": {1},
    "a bytearray of length 3": bytearray(3),
    "a numpy.ndarray of length 3": np.arange(3),
    "a pyarrow.lib.Int64Array of length 2": pa.array([1, 2]),
    "an object of tests.security.test_unprintable.Mine": Mine(),
    "the class tests.security.test_unprintable.Mine": Mine,
    "Color.RED": Color.RED,
}


@pytest.mark.parametrize("text", VALUES)
def test_what_is_shown(text: str, dsn: str) -> None:
    """The core's function and that of the package say the same."""
    value = VALUES[text]
    assert shown(value).endswith(text)
    if value is None:
        return
    kind = "uuid" if isinstance(value, dt.timedelta) else "interval"
    with sync.connect(dsn) as connection, pytest.raises(EncodeError) as caught:
        connection.fetchval(f"SELECT $1::{kind}", value)
    assert text in str(caught.value)


def test_what_is_long_is_cut() -> None:
    for value in ("x" * 10**7, b"x" * 10**7, decimal.Decimal("1" * 10_000), 1 << 10**7):
        assert len(shown(value)) <= 80


# Messages of ours that show names and texts of ours, and methods that are asked for a text.
OWN = re.compile(
    r"self\b|__repr__|event!r|batch!r|connection!r} is being|level!r|failure!r|term\.element|"
    r"snapshot!r|field\.name|bare_text|driver\.database|ALPN|str\(path\)|str\(key\)|text\[:100\]|"
    r"placeholder|functions=|twice\[0\]|name!r}: connection has|setting \{name!r}|"
    r"for name, value in said|info\.(user|database)|host!r|in the URL, not |"
    r"known\.append|wanted}: |name!r} is not the name|NUL: \{value!r}"
)


def test_no_message_formats_a_callers_object() -> None:
    root = Path(__file__).resolve().parents[2] / "colonnade"
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in sorted(root.rglob("*.py"))
        # The command line's words are texts.
        if path.relative_to(root).parts[0] not in {"cli", "_sync"}
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"![ra]\}", line) and not OWN.search(line)
    ]
    assert found == []
