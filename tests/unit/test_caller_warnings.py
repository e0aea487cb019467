"""Warnings point at the caller's line, wherever the caller's file stands."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from colonnade._words import caller_warnings

PACKAGE = Path(caller_warnings.__file__).parents[1]


@pytest.mark.parametrize(
    ("file", "is_outside"),
    [
        (PACKAGE / "pool.py", False),
        (PACKAGE.parent / "colonnade_app" / "main.py", True),
        (PACKAGE.parent / "colonnade_main.py", True),
    ],
)
def test_the_first_frame_outside_the_package_is_warned(file: Path, is_outside: bool) -> None:
    code = compile("def call(warn):\n    warn(UserWarning('x'))\n", str(file), "exec")
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - a function of that file
    call = names["call"]
    assert callable(call)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(caller_warnings.warn_caller)
    assert (seen[0].filename == str(file)) is is_outside
