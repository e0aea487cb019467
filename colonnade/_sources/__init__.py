"""What rows are copied to the server from: columns of this and of other libraries.

`pieces` makes one piece of each source, `Piece.parts` what the core encodes, a few rows at a time.
No library is imported that the caller has not imported before.
"""

from __future__ import annotations
