"""A TLS context for clients of plain HTTP: each would make its own, which takes 80 ms."""

from __future__ import annotations

import ssl

UNUSED_TLS = ssl.create_default_context()
