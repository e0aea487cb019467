"""Where the drain program is, and its command line."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

_ROOT = Path(__file__).parent.parent
_DEFAULT_PORT = 5432


def program() -> Path:
    """Return the path of the release build, whether or not it exists."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target"))
    return target / "release" / "colonnade-drain"


def unavailable() -> str | None:
    """Say how to build the program if it is missing."""
    if program().exists():
        return None
    return "not built: cargo build --release -p colonnade-drain"


def command(dsn: str, sql: str) -> list[str]:
    """Turn a DSN into the drain's arguments; raise `ValueError` for an unsupported one."""
    parts = urlsplit(dsn)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ValueError("the drain takes a URL, postgresql://user@host:port/database")
    if parts.password:
        raise ValueError("the drain logs in without a password only")
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    environment = os.environ
    user = unquote(parts.username or "") or environment.get("PGUSER", "postgres")
    host = query.get("host") or unquote(parts.hostname or "") or environment.get("PGHOST")
    port = query.get("port") or parts.port or environment.get("PGPORT", _DEFAULT_PORT)
    database = unquote(parts.path.lstrip("/")) or environment.get("PGDATABASE", user)
    return [
        str(program()),
        *("--host", host or "127.0.0.1"),
        *("--port", str(port)),
        *("--user", user),
        *("--database", database),
        *("--sql", sql),
    ]
