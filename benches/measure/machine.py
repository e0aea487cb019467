"""Describes the machine of a measurement."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import colonnade


def describe() -> dict[str, Any]:
    """Return processor model, cores, kernel, interpreter and our build, but not the host name."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "build": colonnade.__build_profile__,
    }


def load() -> list[float]:
    """Read the load averages of 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
