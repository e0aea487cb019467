"""`colonnade doctor`: what can be reached, step by step, and what to do where it cannot."""

from __future__ import annotations
