"""Checks that what is about to be released is whole and says the same everywhere.

It takes the wheels and the sdist of ``dist``, which ``make wheels`` makes; without any, it builds a
wheel for this machine alone and an sdist. ``--trial`` only lists what a release has and a checkout
need not have yet: a section in the changelog, the repository's address, wheels for every Python.
"""

from __future__ import annotations

import argparse
import email
import importlib.metadata
import io
import itertools
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from tools.release import changelog

ROOT = Path(__file__).resolve().parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
BUILT = ROOT / "build" / "release"
WHEEL_BYTES_MAX = 6_000_000
LICENCES = ("LICENSE", "THIRD-PARTY-NOTICES")
METADATA_FILES = (
    r"colonnade-[^-/]+\.dist-info/"
    r"(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/[\w.-]+|sboms/[\w.-]+\.json)$"
)
# `colonnade docs` reads these pages: a link to docs.
PAGES = "colonnade/_pages"
EXTENSION = r"colonnade/_core\.[\w-]+\.(so|pyd)"


class Release(NamedTuple):
    """A checkout, and the files that were built from it."""

    root: Path
    wheels: tuple[Path, ...]
    sdists: tuple[Path, ...]

    def project(self) -> dict[str, Any]:
        """The table ``project`` of pyproject.toml."""
        found: dict[str, Any] = tomllib.loads(self.read("pyproject.toml"))["project"]
        return found

    def read(self, name: str) -> str:
        """The text of a file of the checkout."""
        return (self.root / name).read_text("utf-8")


# Says what is wrong, in a sentence each.
Check = Callable[[Release], Iterable[str]]


def versions_agree(release: Release) -> Iterable[str]:
    """Python's metadata is static, so that tools read it without a build: the number is twice."""
    version: str = release.project()["version"]
    crates = tomllib.loads(release.read("Cargo.toml"))["workspace"]["package"]["version"]
    if crates != version:
        yield f"Cargo.toml has version {crates}, and pyproject.toml has {version}"
    for file in (*release.wheels, *release.sdists):
        if not file.name.startswith((f"colonnade-{version}-", f"colonnade-{version}.tar.gz")):
            yield f"{file.name} is not of version {version}: build it again"


def changelog_has_the_version(release: Release) -> Iterable[str]:
    """The section has a date and at least one change, and nothing is left to be released."""
    version = release.project()["version"]
    text = release.read("CHANGELOG.md")
    try:
        section = changelog.section_of(text, version)
        left = changelog.section_of(text, changelog.UNRELEASED)
        if section is None or section.date is None:
            yield f"CHANGELOG.md has no line `## [{version}] - YYYY-MM-DD`: make release-cut"
        elif not section.changes():
            yield f"CHANGELOG.md lists no change of {version}"
        if left is not None and left.changes():
            yield f"CHANGELOG.md has unreleased changes: make release-cut moves them to {version}"
    except changelog.ChangelogError as error:
        yield str(error)


def repository_is_named(release: Release) -> Iterable[str]:
    """A reader of the index finds the sources."""
    address = release.project().get("urls", {}).get("Repository", "")
    if not address.startswith("https://"):
        yield (
            "OPEN: pyproject.toml names no address of the repository. Whoever publishes enters it:"
            ' [project.urls] Repository = "https://...", then make sync'
        )


def every_python_has_wheels(release: Release) -> Iterable[str]:
    """The Pythons of the classifiers are those of the wheels, and an index takes the platforms."""
    stated = {
        "cp" + "".join(found.groups())
        for line in release.project()["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (\d)\.(\d+)", line))
    }
    built = {wheel.name.split("-")[2] for wheel in release.wheels}
    for python in sorted(stated - built):
        yield f"{python} is among the classifiers, and has no wheel: make wheels"
    for python in sorted(built - stated):
        yield f"{python} has a wheel, and is not among the classifiers"
    platforms = {wheel.stem.rpartition("-")[2] for wheel in release.wheels}
    names = {wheel.name for wheel in release.wheels}
    for platform, python in itertools.product(sorted(platforms), sorted(stated & built)):
        if not any(f"-{python}-" in name and platform in name for name in names):
            yield f"{python} has no wheel for {platform}, and others have one"
    for wheel in release.wheels:
        if "-linux_" in wheel.name:
            yield f"{wheel.name} is for this machine only, and an index refuses it: make wheels"
    if not release.sdists:
        yield "there is no sdist"


def licences_are_current(release: Release) -> Iterable[str]:
    """The notices are those of the crates that are linked, and each wheel has the texts."""
    command = [sys.executable, "-m", "tools.generate.notices", "--check"]
    yield from _faults_of(command, release.root)
    for wheel in release.wheels:
        with zipfile.ZipFile(wheel) as packed:
            for name in LICENCES:
                texts = [
                    packed.read(file)
                    for file in packed.namelist()
                    if file.endswith(f".dist-info/licenses/{name}")
                ]
                if texts != [(release.root / name).read_bytes()]:
                    yield f"{wheel.name} lacks the current {name}"


def wheels_hold_the_package_alone(release: Release) -> Iterable[str]:
    """Every file of the package as it is in the checkout, the extension, and nothing else."""
    package = _tracked(release.root, "colonnade")
    for wheel in release.wheels:
        with zipfile.ZipFile(wheel) as packed:
            files = {name for name in packed.namelist() if not name.endswith("/")}
            inside = {name for name in files if not re.match(METADATA_FILES, name)}
            extensions = {n for n in inside if re.fullmatch(EXTENSION, n)}
            for name in sorted(package - inside):
                yield f"{wheel.name} lacks {name}"
            for name in sorted(inside - package - extensions):
                yield f"{wheel.name} has {name}, which is no file of the package"
            for name in sorted(package & inside):
                if packed.read(name) != (release.root / name).read_bytes():
                    yield f"{wheel.name} has an older {name}: build it again"
            if len(extensions) != 1:
                yield f"{wheel.name} has {len(extensions)} extensions instead of one"


def _tracked(root: Path, *folders: str) -> set[str]:
    """The files of these folders. Packages have the pages in the place of the link to them."""
    listed = ["git", "ls-files", "-z", *folders, "docs/*.md"]
    told = subprocess.run(listed, cwd=root, capture_output=True, text=True, check=True)
    names = set(filter(None, told.stdout.split("\0")))
    pages = {name for name in names if name.startswith("docs/")}
    if PAGES in names:
        names |= {name.replace("docs", PAGES, 1) for name in pages}
    return names - pages - {PAGES}


def wheels_are_as_they_were_packed(release: Release) -> Iterable[str]:
    """The hashes and sizes in RECORD fit, and WHEEL has the tags of the file's name."""
    for wheel in release.wheels:
        with tempfile.TemporaryDirectory() as folder:
            unpack = [sys.executable, "-m", "wheel", "unpack", "--dest", folder, str(wheel)]
            yield from _faults_of(unpack, release.root)
        with zipfile.ZipFile(wheel) as packed:
            lines = [
                line
                for name in packed.namelist()
                if name.endswith(".dist-info/WHEEL")
                for line in packed.read(name).decode("utf-8").splitlines()
            ]
            inside = {line.removeprefix("Tag: ") for line in lines if line.startswith("Tag: ")}
            python, abi, platforms = wheel.stem.split("-")[-3:]
            if inside != {f"{python}-{abi}-{platform}" for platform in platforms.split(".")}:
                yield f"{wheel.name} is tagged {', '.join(sorted(inside))} inside: build it again"
            for name in packed.namelist():
                number = python.removeprefix("cp")
                own = (f".cpython-{number}-", f".cp{number}-win_")
                if re.fullmatch(EXTENSION, name) and not any(part in name for part in own):
                    yield f"{wheel.name} has {name}, which {python} does not load"


def dist_has_nothing_else(release: Release) -> Iterable[str]:
    """Any file beside the wheels is published with them."""
    expected = {*release.wheels, *release.sdists}
    for folder in sorted({file.parent for file in expected}):
        for found in sorted(folder.iterdir()):
            # Separate debug lines stay; tools for publishing pass over hidden files.
            if found not in expected and found.name != "debug" and found.name[0] != ".":
                yield f"{found} is no wheel and no sdist: remove it"
    if len(release.sdists) > 1:
        yield f"there are {len(release.sdists)} sdists instead of one"


def wheels_are_laid_out_well(release: Release) -> Iterable[str]:
    """Nothing is beside the package, twice in it or left over from a build."""
    for wheel in release.wheels:
        yield from _faults_of([str(_program("check-wheel-contents")), str(wheel)], release.root)


def wheels_are_small(release: Release) -> Iterable[str]:
    """Lines for debuggers are in files of their own."""
    # Installed by the group `release` alone.
    from elftools.elf.elffile import ELFFile

    for wheel in release.wheels:
        if (size := wheel.stat().st_size) > WHEEL_BYTES_MAX:
            yield f"{wheel.name} has {size:,} bytes, and {WHEEL_BYTES_MAX:,} are the limit"
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                # Others are stripped by their linkers.
                if name.endswith(".so") and "linux" in wheel.name:
                    library = ELFFile(io.BytesIO(packed.read(name)))
                    if library.has_dwarf_info(strict=True):
                        yield f"{wheel.name}: {name} holds lines for debuggers: strip it"


def stubs_agree(release: Release) -> Iterable[str]:
    """The stubs of the wheel for this Python say what its extension has."""
    own = f"-cp{sys.version_info.major}{sys.version_info.minor}-"
    fitting = [wheel for wheel in release.wheels if own in wheel.name and _runs_here(wheel)]
    if not fitting:
        yield f"no wheel is for this machine and Python: stubs were not compared ({own.strip('-')})"
    for wheel in fitting[:1]:
        allowed = ["--allowlist", str(release.root / "tools/check/stubtest-allowlist.txt")]
        with tempfile.TemporaryDirectory() as empty:
            yield from _faults_of(
                [
                    *(str(UV), "run", "--quiet", "--no-project", "--isolated", "--python"),
                    *(sys.executable, "--with", str(wheel), "--with"),
                    *(f"mypy=={importlib.metadata.version('mypy')}", "python", "-m"),
                    *("mypy.stubtest", *allowed, "--ignore-unused-allowlist", "colonnade._core"),
                ],
                Path(empty),
            )


def metadata_is_valid(release: Release) -> Iterable[str]:
    """An index accepts every field; the classifiers exist."""
    # The list of classifiers is a package, so that no network is needed.
    offline = os.environ | {"VALIDATE_PYPROJECT_NO_NETWORK": "1"}
    validate = [str(_program("validate-pyproject")), str(release.root / "pyproject.toml")]
    yield from _faults_of(validate, release.root, offline)
    files = [str(file) for file in (*release.wheels, *release.sdists)]
    yield from _faults_of(
        [sys.executable, "-m", "twine", "check", "--strict", *files], release.root
    )


def description_reads_well(release: Release) -> Iterable[str]:
    """The text is made of the current README, is rendered, and its links lead somewhere."""
    # Installed by the group `release` alone.
    from readme_renderer import markdown

    yield from _faults_of(
        [sys.executable, "-m", "tools.generate.index_page", "--check"], release.root
    )
    for wheel in release.wheels:
        with zipfile.ZipFile(wheel) as packed:
            (name,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            message = email.message_from_bytes(packed.read(name))
        payload = message.get_payload(decode=True)
        html = markdown.render(payload.decode("utf-8")) if isinstance(payload, bytes) else None
        if html is None:
            yield f"{wheel.name}: the description cannot be rendered"
            continue
        for place in _places(html):
            if not place.startswith(("https://", "#")):
                yield f"{wheel.name}: the description's link to {place} leads nowhere on an index"


def sdists_are_current(release: Release) -> Iterable[str]:
    """Each file is as it is in the checkout, and none of the package is missing."""
    tracked = _tracked(release.root, "colonnade", "crates")
    for sdist in release.sdists:
        with tarfile.open(sdist) as packed:
            members = {m.name.partition("/")[2]: m for m in packed.getmembers() if m.isfile()}
            for name in sorted(n for n in tracked - set(members) if n.startswith("colonnade/")):
                yield f"{sdist.name} lacks {name}: build it again"
            for name in sorted(members):
                if not name.startswith(("colonnade/", "crates/")):
                    continue
                file = packed.extractfile(members[name])
                if name not in tracked:
                    yield f"{sdist.name} has {name}, which is no file of the checkout"
                elif file and file.read() != (release.root / name).read_bytes():
                    yield f"{sdist.name} has an older {name}: build it again"


def sdists_build(release: Release) -> Iterable[str]:
    """A wheel is built of each, in an environment with what it declares and nothing else."""
    for sdist in release.sdists:
        environment = {"CARGO_TARGET_DIR": str(BUILT / "target")} | os.environ
        with tempfile.TemporaryDirectory() as folder:
            command = [str(UV), "build", "--quiet", "--wheel", "--python", sys.executable]
            yield from _faults_of(
                [*command, "--out-dir", folder, str(sdist)], Path(folder), environment
            )


CHECKS: tuple[Check, ...] = (
    *(versions_agree, licences_are_current, wheels_hold_the_package_alone),
    *(wheels_are_as_they_were_packed, dist_has_nothing_else),
    *(wheels_are_laid_out_well, wheels_are_small),
    *(stubs_agree, metadata_is_valid, description_reads_well),
    *(sdists_are_current, sdists_build),
)
# The checks that a checkout need not pass before its release.
AT_RELEASE: tuple[Check, ...] = (
    *(changelog_has_the_version, repository_is_named, every_python_has_wheels),
)


_Attributes = list[tuple[str, str | None]]


class _Links(HTMLParser):
    """Collects where links and pictures lead."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    # The name of the element does not matter: every link has one of two attributes.
    def handle_starttag(self, tag: str, attrs: _Attributes) -> None:  # noqa: ARG002
        self.places += [place or "" for name, place in attrs if name in {"href", "src"}]


def _places(html: str) -> list[str]:
    links = _Links()
    links.feed(html)
    return links.places


def _program(name: str) -> Path:
    """A program of this environment."""
    return Path(sys.executable).parent / name


def _runs_here(wheel: Path) -> bool:
    """Whether a wheel is for this processor and the C library that most Linux systems have."""
    return wheel.stem.endswith(f"_{os.uname().machine}") and (
        "-manylinux" in wheel.name or "-linux_" in wheel.name
    )


def _faults_of(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None = None
) -> Iterable[str]:
    """Run a tool, and repeat what it printed if it was not content."""
    ran = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode:
        yield f"{' '.join(Path(part).name for part in command)}:\n{ran.stdout.strip()}"


def built(folder: Path) -> Release:
    """The files of a folder; if it has none, a wheel for this machine and an sdist."""
    if not any(folder.glob("*.whl")):
        print(f"release-check: {folder.name} has no wheels (make wheels builds all): building one")
        folder = BUILT / "dist"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        maturin = [str(_program("maturin"))]
        wheel = ["build", "--quiet", "--release", "--strip", "--locked", "--interpreter"]
        environment = {"CARGO_TARGET_DIR": str(BUILT / "target")} | os.environ
        for command in ([*wheel, sys.executable], ["sdist"]):
            subprocess.run(
                [*maturin, *command, "--out", str(folder)], cwd=ROOT, env=environment, check=True
            )
    return Release(ROOT, tuple(sorted(folder.glob("*.whl"))), tuple(folder.glob("*.tar.gz")))


def main() -> int:
    """Run every check, and say what is wrong."""
    parser = argparse.ArgumentParser(prog="tools.release.check", description=__doc__)
    parser.add_argument("--trial", action="store_true", help="before the release is prepared")
    asked = parser.parse_args()
    release = built(ROOT / "dist")
    faults = missing = 0
    for check in (*CHECKS, *AT_RELEASE):
        start = time.monotonic()
        found = list(check(release))
        tolerated = asked.trial and check in AT_RELEASE
        word = "passed" if not found else "missing before a release" if tolerated else "FAILED"
        name = check.__name__.replace("_", " ")
        print(f"release-check: {name}: {word}, {time.monotonic() - start:.1f} s", flush=True)
        print(*(f"    {fault}" for fault in found), sep="\n", end="\n" if found else "")
        faults += 0 if tolerated else len(found)
        missing += len(found) if tolerated else 0
    print(f"release-check: {faults} faults, {missing} things missing before a release")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
