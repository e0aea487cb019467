"""Structured logs: a line of JSON for each record, with the id of its request."""

from __future__ import annotations

import contextvars
import logging
import sys
import time
from typing import IO

import orjson

#: The id of the request that the current task serves.
request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="-")


class JsonFormatter(logging.Formatter):
    """Writes a record as JSON; what it was given as ``extra={"fields": {...}}`` stands beside."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def log_as_json(level: str, stream: IO[str] | None = None) -> None:
    """Let the loggers of the service and of Colonnade write JSON to a stream, stderr by default."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("service", "colonnade"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
