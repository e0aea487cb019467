"""Everything that is measured, in one run, and the page that is made of it."""

from __future__ import annotations
