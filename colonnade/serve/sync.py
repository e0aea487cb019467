"""Reading tables over HTTP without `await`.

table = serve.sync.read("http://service/export")
"""

from __future__ import annotations

from colonnade.serve._sync.reading import read
from colonnade.serve.browser_module import READER_JS

__all__ = ["READER_JS", "read"]
