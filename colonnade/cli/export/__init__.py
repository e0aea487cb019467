"""`colonnade export`: a table or a query into files."""

from __future__ import annotations
