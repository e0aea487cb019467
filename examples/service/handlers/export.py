"""`/export`: the flights of some months, streamed from the database as they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.service import parameters as read
from examples.service.answers import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.service.runtime import Runtime

FLIGHTS = """
    SELECT month, day, hour, carrier, flight, tailnum, origin, dest, distance, arr_delay
    FROM flights WHERE month BETWEEN $1 AND $2
"""


async def export(runtime: Runtime, parameters: Mapping[str, str]) -> Table:
    """The rows in the format that the client asks for; BadRequestError for wrong parameters."""
    read.refuse_unknown(parameters, {"months", "format"})
    first, last = read.span(parameters, "months", (1, 12))
    options = {"filename": "flights", "stall_timeout": runtime.settings.stall_timeout}
    return Table(lambda: runtime.pool.iter_columns(FLIGHTS, first, last), options)
