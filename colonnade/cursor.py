"""asyncpg's module `cursor`: the classes of cursors, for annotations and tracing tools."""

from __future__ import annotations

from colonnade._driver._async.cursor import BaseCursor, Cursor, CursorFactory, CursorIterator

__all__ = ["BaseCursor", "Cursor", "CursorFactory", "CursorIterator"]
