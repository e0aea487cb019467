"""The options that the calls of `parallel` pass on: for type checkers, for help, at run time."""

from __future__ import annotations

import inspect

import pytest

from colonnade import parallel


def test_options_are_listed() -> None:
    for call in (parallel.read, parallel.sync.read, parallel.plan, parallel.sync.plan):
        parameters = inspect.signature(call).parameters
        assert parameters["cuts"].default == "quantile"
        assert "options" not in parameters


def test_an_unknown_option(dsn: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'chunks'"):
        parallel.sync.plan("t", dsn, parts=1, chunks=2)  # type: ignore[call-arg]
    with pytest.raises((TypeError, ValueError), match="cuts must be"):
        parallel.sync.plan("t", dsn, parts=1, cuts=2)  # type: ignore[arg-type]
