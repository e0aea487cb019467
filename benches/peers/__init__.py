"""Peers of the suite alone: the drain, a program that is not in the wheel."""

from __future__ import annotations
