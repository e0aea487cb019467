"""The classes of cursors, where asyncpg has them: for annotations, and to be traced."""

from __future__ import annotations

from colonnade._async.cursor import BaseCursor, Cursor, CursorFactory, CursorIterator

__all__ = ["BaseCursor", "Cursor", "CursorFactory", "CursorIterator"]
