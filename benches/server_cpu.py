"""The processor time of a server process, in the kernel's ticks of 10 ms."""

from __future__ import annotations

import os
from pathlib import Path


def server_cpu(pid: int) -> float:
    """Processor time of a server process in seconds, or 0 if it runs on another machine."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
