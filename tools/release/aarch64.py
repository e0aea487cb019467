"""Runs the wheel for ARM processors under emulation, against a real server of this machine.

Debian's interpreter for that processor is unpacked into ``build/aarch64``; nothing is installed.
It needs apt, and qemu's emulator of user programs (Debian: qemu-user-static).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from colonnade import embedded

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "aarch64"
RELEASE, PYTHON, TAG = "bookworm", "python3.11", "cp311"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TOUR = ROOT / "tools" / "release" / "wheel_tour.py"


def main() -> int:
    """Unpack the interpreter and the wheel, and run the program."""
    emulator = shutil.which("qemu-aarch64-static")
    if emulator is None:
        sys.exit("There is no qemu-aarch64-static: apt-get install qemu-user-static")
    wheels = sorted((ROOT / "dist").glob(f"*-{TAG}-{TAG}-manylinux*_aarch64.whl"))
    if not wheels:
        made = "make wheels WHEELS_ARGS='--pythons 3.11 --targets aarch64-unknown-linux-gnu'"
        sys.exit(f"There is no wheel for aarch64 in dist: {made}")
    interpreter = BUILT / "root" / "usr" / "bin" / PYTHON
    if not interpreter.exists():
        _fetch_python()
    package = BUILT / "package"
    shutil.rmtree(package, ignore_errors=True)
    with zipfile.ZipFile(wheels[0]) as packed:
        packed.extractall(package)
    with embedded.start(tcp=True) as server:
        emulated = [emulator, "-L", str(BUILT / "root"), str(interpreter)]
        environment = {**os.environ, "PYTHONPATH": str(package)}
        command = [*emulated, str(TOUR), server.dsn]
        return subprocess.run(command, env=environment, check=False).returncode


def _fetch_python() -> None:
    """Have apt find and verify the packages for that processor, as on a machine without any."""
    listed = ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]
    told = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    mirrors = [line.split()[1] for line in told.splitlines() if line.startswith("Debian ")]
    mirrors = [mirror for mirror in mirrors if "security" not in mirror]
    if not mirrors:
        sys.exit("apt knows no mirror of Debian: run apt-get update once")
    work = BUILT / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    (work / "status").touch()
    (work / "sources").write_text(f"deb [signed-by={KEYRING}] {mirrors[0]} {RELEASE} main\n")
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
        "Dir::Cache": work / "cache",
        "Dir::Etc::sourcelist": work / "sources",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": work / "lists",
        "Dir::State::status": work / "status",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items())]
    print(f"Downloading Debian's {PYTHON} for aarch64, about 20 MB", flush=True)
    subprocess.run([*apt, "update"], check=True, timeout=300)
    wanted = ["--no-install-recommends", "--download-only", "--yes", "install", PYTHON]
    subprocess.run([*apt, *wanted], check=True, timeout=600)
    for package in (work / "cache" / "archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, BUILT / "root"], check=True)


if __name__ == "__main__":
    sys.exit(main())
