"""Reading tables over HTTP without `await`.

table = serve.sync.read("http://service/export")
"""

from __future__ import annotations

from colonnade.serve._sync.reading import read

__all__ = ["read"]
