"""`colonnade bench`: what a query of the user's own costs with each driver."""

from __future__ import annotations
