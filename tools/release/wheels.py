"""Builds the published wheels and the source distribution into ``dist``.

Those for Linux contain nothing of the build machine: zig links against the C library of the
platform tag, and maturin knows the layout of each Python, so none of these Pythons needs to be
installed. Debug information goes into separate files in ``dist/debug``.

Wheels for macOS and Windows are linked with those systems' own libraries, so they are built there,
by the release's workflow: ``--targets aarch64-apple-darwin``. This has never been run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
# glibc 2.17 is the oldest that Rust's standard library supports, and a newer one would gain
# nothing: no dependency of the wheel requires one.
PLATFORMS = {
    "x86_64-unknown-linux-gnu": "manylinux_2_17",
    "aarch64-unknown-linux-gnu": "manylinux_2_17",
    "x86_64-unknown-linux-musl": "musllinux_1_2",
    "aarch64-unknown-linux-musl": "musllinux_1_2",
}
# Each is built on its own system.
ELSEWHERE = ("aarch64-apple-darwin", "x86_64-apple-darwin", "x86_64-pc-windows-msvc")
# There, the linker leaves the debug information out.
_STRIP = ["--strip"]
SIZE_MOST = 6_000_000
# Settings of a developer's shell for quicker builds, which must not get into a release:
# CARGO_ENCODED_RUSTFLAGS goes before RUSTFLAGS, and profiles change the optimisation.
NOT_INHERITED = (
    *("CARGO_PROFILE_", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_"),
    *("MATURIN_", "PYO3_", "PYTHONPATH", "PYTHONHOME"),
)


def main() -> int:
    """Build, or build twice and compare."""
    parser = argparse.ArgumentParser(prog="tools.release.wheels", description=__doc__)
    parser.add_argument("--pythons", nargs="+", default=PYTHONS, metavar="X.Y")
    parser.add_argument(
        "--targets", nargs="+", default=tuple(PLATFORMS), choices=(*PLATFORMS, *ELSEWHERE)
    )
    parser.add_argument("--twice", action="store_true", help="build one wheel in two checkouts")
    asked = parser.parse_args()
    if asked.twice:
        return _compare(asked.targets[0], asked.pythons[-1])
    if DIST.exists():
        shutil.rmtree(DIST)
    for target in asked.targets:
        _run(["rustup", "target", "add", target], quiet=True)
        for python in asked.pythons:
            start = time.monotonic()
            wheel = _wheel(ROOT, DIST, target, python)
            told = f"{wheel.stat().st_size / 1e6:.2f} MB, {time.monotonic() - start:.0f} s"
            print(f"{wheel.name}: {told}", flush=True)
    if not set(asked.targets) & set(PLATFORMS):
        # The machine that builds the wheels for Linux makes it.
        return 0
    sdist = _sdist()
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.2f} MB, and a wheel builds from it")
    return 0


def _wheel(checkout: Path, folder: Path, target: str, python: str) -> Path:
    """Build one wheel, and check that it keeps the promises of its name."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            *("maturin", "build", "--quiet", "--release", "--locked", "--target", target),
            *("--interpreter", f"python{python}", "--out", scratch),
            *(["--zig", "--compatibility", PLATFORMS[target]] if target in PLATFORMS else _STRIP),
        ]
        _run(command, folder=checkout, environment=_environment(checkout), quiet=True)
        (built,) = Path(scratch).glob("*.whl")
        wheel = _packed_again(built, folder, checkout)
    if wheel.stat().st_size > SIZE_MOST:
        sys.exit(f"{wheel.name} has more than {SIZE_MOST / 1e6:g} MB")
    if target in PLATFORMS:
        _audit(wheel, PLATFORMS[target])
    _run(["check-wheel-contents", str(wheel)], quiet=True)
    return wheel


def _environment(checkout: Path) -> dict[str, str]:
    """The variables that make builds reproducible, in any folder and at any time."""
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    renamed = [f"--remap-path-prefix={checkout}=colonnade", f"--remap-path-prefix={cargo}=cargo"]
    moment = ["git", "log", "-1", "--format=%ct"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(NOT_INHERITED)}
    return {
        **inherited,
        "CARGO_TARGET_DIR": str(checkout / "build" / "wheels"),
        "CARGO_INCREMENTAL": "0",
        "RUSTFLAGS": " ".join(renamed),
        "SOURCE_DATE_EPOCH": _run(moment, folder=checkout, quiet=True).strip(),
    }


def _packed_again(built: Path, folder: Path, checkout: Path) -> Path:
    """Pack a wheel without what belongs to the machine, and keep the debug lines beside it."""
    with tempfile.TemporaryDirectory() as scratch:
        _run(["wheel", "unpack", "--dest", scratch, str(built)], quiet=True)
        (content,) = Path(scratch).iterdir()
        if "linux" in built.stem:
            (library,) = (content / "colonnade").glob("_core*.so")
            _strip(library, folder / "debug" / built.stem)
        for listed in content.glob("*.dist-info/sboms/*.json"):
            # Cargo names our own crates by the folder in which they were built.
            text = listed.read_text("utf-8").replace(checkout.as_uri(), "file:///colonnade")
            listed.write_text(text, "utf-8")
        environment = _environment(checkout)
        pack = ["wheel", "pack", "--dest-dir", str(folder), str(content)]
        _run(pack, environment=environment, quiet=True)
    return folder / built.name


def _strip(library: Path, folder: Path) -> None:
    """Move a library's debug lines to a file in this folder, which debuggers find by its name."""
    objcopy = str(_llvm_objcopy())
    lines = folder / f"{library.name}.debug"
    folder.mkdir(parents=True, exist_ok=True)
    kept = ["--only-keep-debug", "--compress-debug-sections=zlib"]
    _run([objcopy, *kept, str(library), str(lines)])
    _run([objcopy, "--strip-all", f"--add-gnu-debuglink={lines}", str(library)])


def _llvm_objcopy() -> Path:
    """The compiler's own tool, which knows the libraries of every processor."""
    command = ["rustc", "--print", "target-libdir"]
    tool = Path(_run(command, quiet=True).strip()).parent / "bin" / "llvm-objcopy"
    if not tool.exists():
        _run(["rustup", "component", "add", "llvm-tools"], quiet=True)
    return tool


def _audit(wheel: Path, platform: str) -> None:
    """Check with auditwheel that the library runs on the platforms in the wheel's name.

    Under musl, auditwheel asks for Alpine's name of the C library. Zig links by "libc.so", which
    every musl loader takes for itself; maturin has checked that nothing else is needed.
    """
    if platform.startswith("musllinux"):
        return
    report = _run(["auditwheel", "show", str(wheel)], quiet=True)
    if f'platform tag:\n"{platform}_' not in report:
        sys.exit(f"auditwheel finds that {wheel.name} does not run on {platform}:\n{report}")


def _sdist() -> Path:
    """Make the source distribution, and build a wheel from it in a new environment."""
    environment = _environment(ROOT)
    _run(["maturin", "sdist", "--out", str(DIST)], environment=environment, quiet=True)
    (sdist,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as scratch:
        uv = str(ROOT / ".tools" / "bin" / "uv")
        build = [uv, "build", "--quiet", "--wheel", "--out-dir", scratch, str(sdist)]
        _run(build, folder=Path(scratch), environment=environment)
    return sdist


def _compare(target: str, python: str) -> int:
    """Build a wheel in two clones, and report the files that differ."""
    wheels: list[Path] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(2):
            clone, folder = Path(scratch) / f"clone-{number}", Path(scratch) / f"dist-{number}"
            _run(["git", "clone", "--quiet", str(ROOT), str(clone)])
            folder.mkdir()
            wheels.append(_wheel(clone, folder, target, python))
            print(f"{wheels[-1].name}: sha256 {_digest(wheels[-1].read_bytes())}", flush=True)
        if wheels[0].read_bytes() == wheels[1].read_bytes():
            print("Both builds have the same bytes.")
            return 0
        first, second = map(_members, wheels)
        for name in sorted(first | second):
            if first.get(name) != second.get(name):
                print(f"differs: {name}")
    return 1


def _members(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: _digest(archive.read(name)) for name in archive.namelist()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _run(
    command: Sequence[str],
    *,
    folder: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> str:
    """Run a program that must succeed, and return its output if it is not for the terminal."""
    ran = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        check=False,
    )
    if ran.returncode:
        sys.exit(f"{ran.stdout or ''}{' '.join(command)}: exit status {ran.returncode}")
    return ran.stdout or ""


if __name__ == "__main__":
    sys.exit(main())
