"""Conversion of columns to the objects of other libraries, and their printed forms.

Each module converts a batch of columns to one kind of object, for ``colonnade.Columns`` only. A
library is imported when the first method needs it.
"""

from __future__ import annotations
