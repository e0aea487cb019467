"""Roads to a server that break again and again: a fault proxy's door, and PgBouncer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.fault_proxy import Door, FaultProxy
from tests.support.faults import Chunks, Fault, Kind, Way
from tests.support.pooler import Pooler

if TYPE_CHECKING:
    from random import Random

_CUTS = (Kind.CUT, Kind.CUT_INSIDE, Kind.RESET, Kind.RESET_INSIDE)
_STALLS = (Kind.SILENCE, Kind.STALL)
# Long enough to reach each message of an exchange, and short enough to be reached soon.
_MESSAGES = 40


class BusyDoor(Door):
    """A door whose fault strikes the message of any of its connections."""

    def __init__(self, proxy: FaultProxy) -> None:
        super().__init__(proxy._loop, proxy._address, Chunks.AS_SENT, to_cancels=False)

    def is_for(self, *, is_first: bool, is_cancel: bool) -> bool:
        """All connections but cancel requests."""
        del is_first
        return not is_cancel

    def cut(self, random: Random) -> None:
        """Cut or reset the connection that sends one of the next messages."""
        self._strike_soon(random, _CUTS)

    def stall(self, random: Random) -> None:
        """Let a connection fall silent, or no longer be read, at one of the next messages."""
        self._strike_soon(random, _STALLS)

    def _strike_soon(self, random: Random, kinds: tuple[Kind, ...]) -> None:
        fault = Fault(random.choice(kinds), random.choice(list(Way)), random.randrange(_MESSAGES))
        self.said = {way: [] for way in Way}
        self.arm(fault)


class MortalPooler(Pooler):
    """PgBouncer in transaction mode, which can be killed and started again at its port."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, "transaction", servers=4)

    def restart(self) -> None:
        """Kill it with all its connections, and start another one."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.__enter__()
