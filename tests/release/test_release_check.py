"""Each check of a release fails on what it is about, and on nothing else."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.generate import index_page, notices
from tools.release import check as release_check
from tools.release.check import Check, Release

ROOT = Path(__file__).resolve().parents[2]
VERSION = "1.2.3"
CRATES = f'[workspace.package]\nversion = "{VERSION}"\n'
CHANGELOG = f"# Changelog\n\n## [{VERSION}] - 2030-01-31\n\n### Added\n\n- A thing.\n"
PROJECT = f"""\
[build-system]
requires = ["maturin"]
build-backend = "maturin"

[project]
name = "colonnade"
version = "{VERSION}"
classifiers = ["Programming Language :: Python :: 3.11"]
urls.Repository = "https://example.org/colonnade"
"""
METADATA = f"""\
Metadata-Version: 2.4
Name: colonnade
Version: {VERSION}
Description-Content-Type: text/markdown

# Columns

See [the pages](https://example.org/pages).
"""
PACKAGE = {"colonnade/__init__.py": "", "colonnade/py.typed": "", "colonnade/_core.pyi": "x: int\n"}
EXTENSION = "colonnade/_core.cpython-311-x86_64-linux-gnu.so"
TAG = "cp311-cp311-manylinux_2_17_x86_64"
WHEEL = f"colonnade-{VERSION}-{TAG}.whl"


def licence(name: str) -> str:
    return f"A {name}.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small project that passes."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path / "checkout"
    texts = {"pyproject.toml": PROJECT, "Cargo.toml": CRATES, "CHANGELOG.md": CHANGELOG, **PACKAGE}
    texts |= {name: licence(name) for name in release_check.LICENCES}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def library(folder: Path, *flags: str) -> bytes:
    """A shared library of one function."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    source, made = folder / "one.c", folder / "one.so"
    source.write_text("int one(void) { return 1; }\n", "utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", made, source], check=True)
    return made.read_bytes()


def recorded(content: str | bytes) -> str:
    """The hash and the size, as a wheel lists them."""
    data = content.encode() if isinstance(content, str) else content
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"sha256={digest},{len(data)}"


def packed(
    checkout: Path, more: dict[str, str] | None = None, without: str = "", extension: bytes = b""
) -> Release:
    """The project with a wheel of it; `more` are other texts, by their place."""
    info = f"colonnade-{VERSION}.dist-info"
    files: dict[str, str | bytes] = {**PACKAGE, EXTENSION: extension, f"{info}/METADATA": METADATA}
    files |= {f"{info}/licenses/{name}": licence(name) for name in release_check.LICENCES}
    files |= more or {}
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files.pop(without, None)
    files[f"{info}/RECORD"] = (
        "".join(f"{name},{recorded(content)}\n" for name, content in files.items())
        + f"{info}/RECORD,,\n"
    )
    with zipfile.ZipFile(checkout.parent / WHEEL, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    return Release(checkout, (checkout.parent / WHEEL,), ())


def edited(checkout: Path, name: str, old: str, new: str) -> Release:
    """The project without a wheel, and with a mistake in one file."""
    text = (checkout / name).read_text("utf-8")
    assert old in text
    (checkout / name).write_text(text.replace(old, new), "utf-8")
    return Release(checkout, (), ())


def faults(check: Check, release: Release) -> str:
    return "\n".join(check(release))


@pytest.fixture
def _release_tools() -> None:
    for name in ("elftools", "readme_renderer", "twine", "validate_pyproject"):
        pytest.importorskip(name, reason="`make release-check` installs the group release")


def test_versions_agree(checkout: Path) -> None:
    assert faults(release_check.versions_agree, packed(checkout)) == ""
    other = edited(checkout, "Cargo.toml", VERSION, "1.2.4")
    assert "Cargo.toml has version 1.2.4" in faults(release_check.versions_agree, other)
    old = Release(
        checkout, (checkout / WHEEL.replace(VERSION, "1.0"),), (Path("colonnade-1.tar.gz"),)
    )
    assert faults(release_check.versions_agree, old).count("build it again") == 2
    foreign = Release(checkout, (checkout / "other.whl",), ())
    assert "other.whl is not of version" in faults(release_check.versions_agree, foreign)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("2030-01-31", "soon", "is no title of a section"),
        (f"[{VERSION}]", "[Unreleased]", "no line"),
        ("- A thing.", "", "lists no change"),
        ("- A thing.", "## [1.2.2] - 2029-01-01\n\n- A thing.", "lists no change"),
        ("## [", "## [Unreleased]\n\n### Fixed\n\n- One.\n\n## [", "has unreleased changes"),
    ],
)
def test_changelog_has_the_version(checkout: Path, old: str, new: str, fault: str) -> None:
    check = release_check.changelog_has_the_version
    assert faults(check, packed(checkout)) == ""
    assert fault in faults(check, edited(checkout, "CHANGELOG.md", old, new))


def test_repository_is_named(checkout: Path) -> None:
    check = release_check.repository_is_named
    assert faults(check, packed(checkout)) == ""
    assert "OPEN: " in faults(check, edited(checkout, "pyproject.toml", "urls.Rep", "urls.P"))


def test_every_python_has_wheels(checkout: Path) -> None:
    check = release_check.every_python_has_wheels
    release = packed(checkout)._replace(sdists=(Path("colonnade-1.2.3.tar.gz"),))
    assert faults(check, release) == ""
    assert "no sdist" in faults(check, release._replace(sdists=()))
    here = (Path(WHEEL.replace("manylinux_2_17", "linux")),)
    assert "this machine only" in faults(check, release._replace(wheels=here))
    assert "cp311 is among" in faults(check, release._replace(wheels=()))
    edited(checkout, "pyproject.toml", ":: 3.11", ":: 3.12")
    assert faults(check, release).startswith("cp312 is among")


def test_every_python_has_the_platforms_of_the_others(checkout: Path) -> None:
    check = release_check.every_python_has_wheels
    name = '"Programming Language :: Python :: 3.11"'
    edited(checkout, "pyproject.toml", name, f"{name}, {name.replace('3.11', '3.12')}")
    mac = WHEEL.replace("manylinux_2_17_x86_64", "macosx_11_0_arm64")
    names = [WHEEL, mac, WHEEL.replace("cp311", "cp312"), mac.replace("cp311", "cp312")]
    release = Release(checkout, tuple(map(Path, names)), (Path("colonnade-1.2.3.tar.gz"),))
    assert faults(check, release) == ""
    lacking = release._replace(wheels=release.wheels[:3])
    assert faults(check, lacking) == "cp312 has no wheel for macosx_11_0_arm64, and others have one"


def test_licences_are_in_the_wheel(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The notices of crates have a check of their own, which needs the crates.
    monkeypatch.setattr(release_check, "_faults_of", lambda *_: ())
    check = release_check.licences_are_current
    assert faults(check, packed(checkout)) == ""
    name = f"colonnade-{VERSION}.dist-info/licenses/LICENSE"
    assert "lacks the current LICENSE" in faults(check, packed(checkout, without=name))
    edited(checkout, "THIRD-PARTY-NOTICES", "A ", "Another ")
    assert "lacks the current THIRD" in faults(check, packed(checkout))


def test_notices_are_of_the_linked_crates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "THIRD-PARTY-NOTICES"
    old.write_text(notices.PAGE.read_text("utf-8").replace("pyo3 ", "pyo4 "), "utf-8")
    monkeypatch.setattr(notices, "PAGE", old)
    monkeypatch.setattr(sys, "argv", ["notices", "--check"])
    with pytest.raises(SystemExit, match="out of date"):
        notices.main()


@pytest.mark.usefixtures("_release_tools")
def test_wheels_are_laid_out_well(checkout: Path) -> None:
    check = release_check.wheels_are_laid_out_well
    assert faults(check, packed(checkout)) == ""
    assert "W004" in faults(check, packed(checkout, {"colonnade/two words/a.py": ""}))


def test_wheels_hold_the_package_alone(checkout: Path) -> None:
    check = release_check.wheels_hold_the_package_alone
    assert faults(check, packed(checkout)) == ""
    for name in ("colonnade/py.typed", "colonnade/_core.pyi"):
        assert f"lacks {name}" in faults(check, packed(checkout, without=name))
    assert "0 extensions" in faults(check, packed(checkout, without=EXTENSION))
    hidden = (f"colonnade-{VERSION}.dist-info/a.py", "other-1.dist-info/METADATA")
    for name in ("tests/a.py", "benches/a.py", "samples/a.py", "colonnade/left.py", *hidden):
        fault = f"has {name}, which is no file of the package"
        assert fault in faults(check, packed(checkout, {name: ""}))
    edited(checkout, "colonnade/_core.pyi", "int", "str")
    assert "has an older colonnade/_core.pyi" in faults(check, packed(checkout))


def test_a_changed_wheel_is_named(checkout: Path) -> None:
    pytest.importorskip("wheel", reason="`make release-check` installs the group release")
    check = release_check.wheels_are_as_they_were_packed
    release = packed(checkout)
    assert faults(check, release) == ""
    with zipfile.ZipFile(release.wheels[0], "a") as wheel:
        wheel.writestr("colonnade/unlisted.py", "")
    assert "colonnade/unlisted.py" in faults(check, release)
    record = f"colonnade-{VERSION}.dist-info/RECORD"
    with zipfile.ZipFile(packed(checkout).wheels[0]) as whole:
        files = {name: whole.read(name) for name in whole.namelist()}
    listed = files[record].decode().replace(recorded("x: int\n"), recorded("x: str\n"))
    files[record] = listed.encode()
    with zipfile.ZipFile(release.wheels[0], "w") as changed:
        for name, content in files.items():
            changed.writestr(name, content)
    assert "_core.pyi" in faults(check, release)


def test_a_renamed_wheel_is_named(checkout: Path) -> None:
    pytest.importorskip("wheel", reason="`make release-check` installs the group release")
    check = release_check.wheels_are_as_they_were_packed
    renamed = packed(checkout).wheels[0].rename(checkout.parent / WHEEL.replace("311", "312"))
    found = faults(check, Release(checkout, (renamed,), ()))
    assert f"is tagged {TAG} inside" in found
    assert f"has {EXTENSION}, which cp312 does not load" in found


def test_dist_has_nothing_else(checkout: Path, tmp_path: Path) -> None:
    check = release_check.dist_has_nothing_else
    dist = tmp_path / "dist"
    dist.mkdir()
    wheel = packed(checkout).wheels[0].rename(dist / WHEEL)
    (dist / "debug").mkdir()
    (dist / ".gitignore").touch()
    release = Release(checkout, (wheel,), ())
    assert faults(check, release) == ""
    (dist / "notes.txt").touch()
    assert "notes.txt is no wheel" in faults(check, release)
    two = tuple(dist / f"colonnade-{number}.tar.gz" for number in (1, 2))
    assert "2 sdists instead of one" in faults(check, release._replace(sdists=two))


def test_sdists_are_current(checkout: Path, tmp_path: Path) -> None:
    check = release_check.sdists_are_current
    sdist = tmp_path / f"colonnade-{VERSION}.tar.gz"
    release = Release(checkout, (), (sdist,))
    with tarfile.open(sdist, "w:gz") as sources:
        sources.add(checkout / "colonnade", f"colonnade-{VERSION}/colonnade")
    assert faults(check, release) == ""
    edited(checkout, "colonnade/_core.pyi", "int", "str")
    assert "has an older colonnade/_core.pyi" in faults(check, release)
    (checkout / "colonnade/left.py").touch()
    with tarfile.open(sdist, "w:gz") as sources:
        sources.add(checkout / "colonnade/left.py", f"colonnade-{VERSION}/colonnade/left.py")
    found = faults(check, release)
    assert "has colonnade/left.py, which is no file" in found
    assert "lacks colonnade/py.typed" in found


@pytest.mark.usefixtures("_release_tools")
def test_wheels_are_small(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = release_check.wheels_are_small
    stripped = packed(checkout, extension=library(checkout.parent, "-s"))
    assert faults(check, stripped) == ""
    monkeypatch.setattr(release_check, "WHEEL_BYTES_MAX", 1000)
    assert "1,000 are the limit" in faults(check, stripped)
    monkeypatch.undo()
    full = packed(checkout, extension=library(checkout.parent, "-g"))
    assert "lines for debuggers" in faults(check, full)


@pytest.mark.usefixtures("_release_tools")
def test_metadata_is_valid(checkout: Path) -> None:
    check = release_check.metadata_is_valid
    assert faults(check, packed(checkout)) == ""
    info = f"colonnade-{VERSION}.dist-info/METADATA"
    empty = METADATA.split("\n\n", maxsplit=1)[0] + "\n"
    assert "twine" in faults(check, packed(checkout, {info: empty}))
    packed(checkout)
    wrong = edited(checkout, "pyproject.toml", ":: 3.11", ":: 3.x")
    assert "validate-pyproject" in faults(check, wrong._replace(wheels=packed(checkout).wheels))


@pytest.mark.usefixtures("_release_tools")
def test_description_reads_well(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_check, "_faults_of", lambda *_: ())
    check = release_check.description_reads_well
    assert faults(check, packed(checkout)) == ""
    info = f"colonnade-{VERSION}.dist-info/METADATA"
    for text in ("[pages](docs/pages.md)", "![a](a.svg)", '<img src="b.svg">'):
        wheel = packed(checkout, {info: f"{METADATA}\n{text}\n"})
        assert "leads nowhere on an index" in faults(check, wheel)


def test_stubs_agree(tmp_path: Path) -> None:
    """A wheel for another Python is no proof."""
    other = Path(WHEEL.replace("cp311", "cp39"))
    assert "were not compared" in faults(release_check.stubs_agree, Release(tmp_path, (other,), ()))


def test_sdists_build(tmp_path: Path) -> None:
    sdist = tmp_path / f"colonnade-{VERSION}.tar.gz"
    (tmp_path / "pyproject.toml").write_text("[build-system]\nrequires = 1\n", "utf-8")
    with tarfile.open(sdist, "w:gz") as packed_sources:
        packed_sources.add(tmp_path / "pyproject.toml", f"colonnade-{VERSION}/pyproject.toml")
    found = faults(release_check.sdists_build, Release(tmp_path, (), (sdist,)))
    assert "Failed to build" in found


def test_index_page() -> None:
    """Links of the repository get its address, or only their words remain."""
    readme = "[Pages](docs/a.md#b), [top](#top) and [site](https://example.org).\n\n![pic](a.svg)\n"
    plain = index_page.page(readme, {"version": VERSION})
    assert "\nPages, [top](#top) and [site](https://example.org).\n" in plain
    assert "pic" not in plain
    urls = {"Repository": "https://example.org/r/"}
    whole = index_page.page(readme, {"version": VERSION, "urls": urls})
    assert "[Pages](https://example.org/r/blob/v1.2.3/docs/a.md#b), [top](#top)" in whole
    assert "![pic](https://example.org/r/raw/v1.2.3/a.svg)" in whole


def test_the_checkout_itself() -> None:
    """The checks without a tool and a wheel hold at every commit."""
    assert faults(release_check.versions_agree, Release(ROOT, (), ())) == ""
    subprocess.run(
        [sys.executable, "-m", "tools.generate.index_page", "--check"], cwd=ROOT, check=True
    )
