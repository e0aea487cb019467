"""The sources of rows for COPY: columns of this and of other libraries.

`recognition` turns each source into one piece, and `Piece.parts` yields a few rows at a time for
the core to encode. It imports no library that the caller has not imported before.
"""

from __future__ import annotations
