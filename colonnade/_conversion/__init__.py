"""What columns become in other libraries, and how they are printed.

Every module turns one batch of columns into one thing and is used by ``colonnade.Columns`` alone.
No library is imported before a method asks for it.
"""

from __future__ import annotations
