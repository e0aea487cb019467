"""The kinds of a task's intervals: their words, and their texts in tables and pictures."""

from __future__ import annotations

import dataclasses
from typing import Final

from colonnade.observe.timeline import native

KINDS: Final = native.KINDS
RUNNING: Final = KINDS.index("running")
POOL: Final = KINDS.index("pool")
SERVER: Final = KINDS.index("server")
LOOP_DELAY: Final = KINDS.index("loop_delay")
SLEEP: Final = KINDS.index("sleep")
LOCK: Final = KINDS.index("lock")
TASK: Final = KINDS.index("task")
THREAD: Final = KINDS.index("thread")
NETWORK: Final = KINDS.index("network")
UNKNOWN: Final = KINDS.index("unknown")


@dataclasses.dataclass(frozen=True)
class Face:
    """How a kind is shown: its label, and a colour of a palette that colour-blind people see."""

    label: str
    colour: str


# Okabe and Ito's palette, whose colours stay apart in all kinds of colour blindness, and lighter or
# darker shades of its colours for the phases of a query, which stand in a fixed order.
FACES: Final = {
    "running": Face("running", "#D55E00"),
    "pool": Face("wait: connection of the pool", "#CC79A7"),
    "prepare": Face("wait: prepare", "#A8D5F2"),
    "send": Face("wait: send", "#7FC4EE"),
    "server": Face("wait: server", "#56B4E9"),
    "transfer": Face("wait: transfer", "#0072B2"),
    "decode": Face("wait: decode", "#003F63"),
    "loop_delay": Face("ready, but the loop was busy", "#000000"),
    "sleep": Face("wait: sleep", "#E4E4E4"),
    "lock": Face("wait: lock or queue", "#F0E442"),
    "task": Face("wait: another task", "#BDBDBD"),
    "thread": Face("wait: thread", "#E69F00"),
    "network": Face("wait: other network", "#009E73"),
    "unknown": Face("wait: unknown", "#FFFFFF"),
}
