"""The workflow calls what exists, may do little, and publishes nothing that was not checked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.release import wheels

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / ".github" / "workflows" / "release.yml"
TEXT = PATH.read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, Any] = WORKFLOW["jobs"]
IS_RELEASE = "startsWith(github.ref, 'refs/tags/v')"
# The rights of each job beyond reading the repository.
MORE = {
    "publish": {"contents": "read", "id-token": "write", "attestations": "write"},
    "announce": {"contents": "write"},
}


def steps(job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = JOBS[job]["steps"]
    return found


def scripts(job: str) -> str:
    return "\n".join(step.get("run", "") for step in steps(job))


def text_of(job: str) -> str:
    """A job as it is written, with its comments."""
    found = re.search(rf"^  {job}:\n(?:(?:    .*)?\n)*", TEXT, re.MULTILINE)
    assert found
    return found[0]


def needed_by(job: str) -> set[str]:
    """The jobs that must pass before this one begins."""
    direct = JOBS[job].get("needs", [])
    direct = [direct] if isinstance(direct, str) else direct
    return set(direct).union(*(needed_by(other) for other in direct))


def pythons() -> list[str]:
    titles = PROJECT["project"]["classifiers"]
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in titles)
    return [match[1] for match in found if match]


def test_every_task_that_is_called_exists() -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    called = {word for job in JOBS for word in re.findall(r"\bmake ([a-z-]+)", scripts(job))}
    assert called >= {"ci", "workflows", "wheels", "newcomer", "release-check", "release-notes"}
    assert called <= tasks


def test_modules_and_files_that_are_called_exist() -> None:
    for job in JOBS:
        for name in re.findall(r"-m (tools(?:\.\w+)+)|(tools/[\w/]+\.py)", scripts(job)):
            path = name[1] or f"{name[0].replace('.', '/')}.py"
            assert (ROOT / path).exists()


def test_jobs_may_do_little() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {n: job["permissions"] for n, job in JOBS.items() if "permissions" in job} == MORE
    for job in JOBS:
        assert JOBS[job]["timeout-minutes"] <= 90
        for step in steps(job):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_there_is_no_secret_and_nothing_foreign_in_a_script() -> None:
    assert "secrets" not in TEXT
    # PyPI's own is an OpenID token.
    assert "password:" not in TEXT
    for job in JOBS:
        # A branch may have any name: GitHub would paste it into the script.
        assert "${{" not in scripts(job)


def test_actions_are_named_by_their_commit() -> None:
    used = re.findall(r"uses: (\S+?)@(\S+)(?: # (\S+))?$", TEXT, re.MULTILINE)
    assert len(used) == TEXT.count("uses: ")
    commits: dict[str, set[tuple[str, str]]] = {}
    for action, commit, version in used:
        assert re.fullmatch(r"[0-9a-f]{40}", commit), action
        assert re.fullmatch(r"v\d+\.\d+\.\d+", version), action
        commits.setdefault(action, set()).add((commit, version))
    assert all(len(named) == 1 for named in commits.values())


def test_every_python_is_tested_and_has_wheels() -> None:
    assert list(wheels.PYTHONS) == pythons()
    for job in ("test", "newcomer", "musl", "windows"):
        assert JOBS[job]["strategy"]["matrix"]["python"] == pythons()
    for job in ("wheels-macos", "wheels-windows"):
        (prepared,) = (s for s in steps(job) if "setup-python" in s.get("uses", ""))
        assert sorted(prepared["with"]["python-version"].split()) == pythons()


def test_every_platform_has_wheels() -> None:
    asked = {
        target
        for job in JOBS
        for line in scripts(job).splitlines()
        if "wheels" in line
        for target in re.findall(r"[\w]+-(?:apple|pc|unknown)-[\w-]+", line)
    }
    # Without targets, the task builds those for Linux.
    assert scripts("wheels-linux").strip() == "make wheels"
    assert asked == set(wheels.ELSEWHERE)


def test_tools_have_the_versions_of_the_project() -> None:
    (maturin,) = PROJECT["dependency-groups"]["build"]
    assert maturin in scripts("wheels-windows")


def test_nothing_is_published_without_the_checks() -> None:
    others = set(JOBS) - {"publish", "announce"}
    assert needed_by("publish") == others
    assert needed_by("announce") == others | {"publish"}
    for job in ("publish", "announce"):
        assert JOBS[job]["if"] == IS_RELEASE
    assert JOBS["publish"]["environment"] == "pypi"
    publishers = [j for j in JOBS if re.search(r"pypi-publish|twine|gh release", text_of(j))]
    assert publishers == ["publish", "announce"]
    # A failed check must not count as passed.
    assert "continue-on-error" not in TEXT
    assert "always()" not in TEXT


def test_a_release_is_checked_strictly() -> None:
    (check,) = (step for step in steps("release-check") if "release-check" in step.get("run", ""))
    assert check["env"]["TRIAL"] == f"${{{{ !{IS_RELEASE} && '--trial' || '' }}}}"


def test_what_is_attested_is_what_is_published() -> None:
    attested = [step["with"] for step in steps("publish") if "attest@" in step.get("uses", "")]
    assert [settings["subject-path"] for settings in attested] == ["dist/*", "dist/*"]
    assert "sbom-path" in attested[1]
    published = steps("publish")[-1]["with"]
    assert published == {"packages-dir": "dist", "attestations": True}


@pytest.mark.parametrize(
    "job", [name for name in JOBS if re.search("macos|windows|musl|pub", name)]
)
def test_what_was_never_run_says_so(job: str) -> None:
    assert "ever run" in text_of(job)


def test_actionlint_has_no_complaint() -> None:
    places = f"{os.environ.get('PATH', '')}:{Path.home() / 'go' / 'bin'}"
    program = shutil.which("actionlint", path=places)
    if program is None:
        pytest.skip("go install github.com/rhysd/actionlint/cmd/actionlint@latest")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
