"""The settings that the environment of a build may have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tools.release import wheels

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = (
    *("CARGO_PROFILE_RELEASE_OPT_LEVEL", "CARGO_PROFILE_RELEASE_LTO", "CARGO_ENCODED_RUSTFLAGS"),
    *("CARGO_BUILD_TARGET", "MATURIN_PEP517_ARGS", "PYO3_CROSS", "PYTHONPATH", "PYTHONHOME"),
)
SET_BY_THE_BUILD = ("CARGO_TARGET_DIR", "RUSTFLAGS", "SOURCE_DATE_EPOCH", "CARGO_INCREMENTAL")


def test_a_foreign_environment_does_not_change_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*FOREIGN, *SET_BY_THE_BUILD):
        monkeypatch.delenv(name, raising=False)
    clean = wheels._environment(ROOT)
    for name in (*FOREIGN, *SET_BY_THE_BUILD):
        monkeypatch.setenv(name, "7")
    assert wheels._environment(ROOT) == clean


def test_settings_of_the_network_are_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "CARGO_HTTP_CAINFO", "CARGO_REGISTRIES_OWN_INDEX"):
        monkeypatch.setenv(name, "a place")
        assert wheels._environment(ROOT)[name] == os.environ[name]
