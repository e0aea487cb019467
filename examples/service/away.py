"""The answer to a client when the database goes away before its own has begun."""

from __future__ import annotations

import logging

from colonnade import errors
from examples.service.answers import Answer, of_problem

#: The connection has ended, or cannot be made: the next request may find another one.
AWAY = (errors.PostgresConnectionError, errors.OperatorInterventionError, OSError)
_log = logging.getLogger("service.away")


def database_is_away(error: Exception) -> Answer:
    """A 503, and not a 500: the request was right, and will be answered later."""
    _log.warning("the database is away: %s", error)
    problem = of_problem(503, "The database is away", "its connection has ended: try again")
    return Answer(problem.status, problem.body, problem.content_type, {"retry-after": "1"})
