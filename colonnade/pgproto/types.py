"""Bit strings and figures, where asyncpg has them: those of `colonnade.types`."""

from __future__ import annotations

from colonnade.types import (
    BitString,
    Box,
    Circle,
    Line,
    LineSegment,
    Path,
    Point,
    Polygon,
)

__all__ = ["BitString", "Box", "Circle", "Line", "LineSegment", "Path", "Point", "Polygon"]
