"""The files of the container fit together, and what they run does what it should.

No Docker engine is needed, or used: the commands of the Dockerfile run outside of a container, with
other paths; PgBouncer is the machine's, with the configuration of the example.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from colonnade import sync
from tests.support import pooler

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
START_SECONDS_MAX = 60.0


class Instruction(NamedTuple):
    """An instruction of a Dockerfile: RUN and the rest of its line."""

    name: str
    rest: str


def instructions(path: Path) -> list[Instruction]:
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(" ", 1)) for line in joined.splitlines() if line]


IMAGE = instructions(FOLDER / "Dockerfile")
POOLER = instructions(FOLDER / "pooler" / "Dockerfile")


def only(name: str, image: list[Instruction] = IMAGE) -> str:
    (found,) = (rest for known, rest in image if known == name)
    return found


def command(text: str) -> list[str]:
    words: list[str] = json.loads(text[text.index("[") :])
    return words


def test_what_is_copied_exists() -> None:
    for image, folder in ((IMAGE, FOLDER), (POOLER, FOLDER / "pooler")):
        for name, rest in image:
            source = rest.split()[0]
            if name == "COPY" and not source.startswith("--from="):
                assert (folder / source).is_file()


def test_the_image_has_two_stages_and_a_user_without_rights() -> None:
    stages = [rest for name, rest in IMAGE if name == "FROM"]
    assert len(stages) == 2
    assert stages[0].endswith(" AS build")
    # Nothing but the environment leaves the first one.
    assert [rest for name, rest in IMAGE if name == "COPY" and "--from" in rest] == [
        "--from=build /opt/app /opt/app"
    ]
    user = only("USER")
    assert any(f"useradd --uid {user} " in rest for name, rest in IMAGE if name == "RUN")
    names = [name for name, _ in IMAGE]
    assert names.index("USER") > max(place for place, name in enumerate(names) if name == "RUN")
    assert only("USER", POOLER) == "postgres"


def test_the_compose_file_names_what_exists() -> None:
    services = COMPOSE["services"]
    for service in services.values():
        for needed in service.get("depends_on", ()):
            assert needed in services
        build = service.get("build")
        if build:
            context = FOLDER / (build if isinstance(build, str) else build["context"])
            assert (context / "Dockerfile").is_file()
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (FOLDER / source).is_file() if "/" in source else source in COMPOSE["volumes"]
        for config in service.get("configs", ()):
            assert config["source"] in COMPOSE["configs"]
    contexts = services["app"]["build"]["additional_contexts"]
    mounted = re.findall(r"from=(\w+)", " ".join(rest for name, rest in IMAGE if name == "RUN"))
    assert set(mounted) == set(contexts)


def test_the_settings_are_those_of_the_application() -> None:
    read = set(
        re.findall(r'environ(?:\.get\(|\[)[\'"](\w+)', (FOLDER / "app.py").read_text("utf-8"))
    )
    of_image = {word.split("=")[0] for word in only("ENV").split()}
    given = set(COMPOSE["services"]["app"]["environment"])
    assert read - of_image == given
    told = (FOLDER / "README.md").read_text("utf-8")
    assert [name for name in read if f"`{name}`" not in told] == []


def test_addresses_and_ports_fit() -> None:
    services, settings = COMPOSE["services"], configuration()
    url = services["app"]["environment"]["DATABASE_URL"]
    assert f"@pooler:{settings['listen_port']}/app" in url
    assert settings["listen_port"] == only("EXPOSE", POOLER)
    assert settings["app"] == "host=database port=5432 dbname=app"
    assert services["database"]["environment"]["POSTGRES_DB"] == "app"
    (target,) = (config["target"] for config in services["pooler"]["configs"])
    assert settings["auth_file"] == target
    assert services["app"]["ports"] == [f"127.0.0.1:{only('EXPOSE')}:{only('EXPOSE')}"]
    words = command(only("CMD"))
    assert words[words.index("--port") + 1] == only("EXPOSE")
    folder = next(w.split("=")[1] for w in only("ENV").split() if w.startswith("BEAT_FOLDER="))
    assert command(only("HEALTHCHECK")) == ["colonnade", "observe", "check", folder]
    assert any(mount.startswith(f"{folder}:uid=10001") for mount in services["app"]["tmpfs"])


def configuration() -> dict[str, str]:
    text = (FOLDER / "pooler" / "pgbouncer.ini").read_text("utf-8")
    pairs = re.findall(r"^(\w+) = ?(.*)$", text, re.MULTILINE)
    return {name: value.strip() for name, value in pairs}


@pytest.fixture
def orders(dsn: str) -> Iterator[sync.Connection]:
    with sync.connect(dsn) as connection:
        connection.execute((FOLDER / "schema.sql").read_text("utf-8"))
        yield connection
        connection.execute("DROP TABLE orders")


@contextmanager
def application(
    dsn: str, beats: Path, **more: str
) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """The command of the image, on a free port of this machine, ready."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    words = command(only("CMD"))
    words[words.index("--host") + 1] = "127.0.0.1"
    words[words.index("--port") + 1] = str(port)
    environment = {
        **os.environ,
        **COMPOSE["services"]["app"]["environment"],
        "DATABASE_URL": dsn,
        "BEAT_FOLDER": str(beats),
        "PYTHONPATH": str(ROOT),
        **more,
    }
    process = subprocess.Popen([sys.executable, "-m", *words], cwd=FOLDER, env=environment)
    try:
        give_up = time.monotonic() + START_SECONDS_MAX
        while True:
            assert process.poll() is None
            assert time.monotonic() < give_up
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process, port
    finally:
        process.kill()
        process.wait()


def answer(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers={"Accept": "text/csv"})
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def is_healthy(beats: Path) -> bool:
    words = command(only("HEALTHCHECK"))[:-1]
    assert words[0] == "colonnade"
    check = [sys.executable, "-m", "colonnade.cli", *words[1:], str(beats)]
    return subprocess.run(check, cwd=ROOT, check=False).returncode == 0


@pytest.mark.usefixtures("orders")
def test_the_application_answers_beats_and_stops(dsn: str, tmp_path: Path) -> None:
    with application(dsn, tmp_path) as (process, port):
        assert answer(port, "/ready") == (200, '{"ready":true}')
        status, text = answer(port, "/orders")
        assert status == 200
        assert text.splitlines()[:2] == ["day,country,amount", "2020-01-01,DE,338625.00"]
        assert len(text.splitlines()) == 31
        assert is_healthy(tmp_path)
        process.send_signal(signal.SIGTERM)
        # uvicorn ends itself by the signal once its lifespan is over.
        assert process.wait(30) in {0, -signal.SIGTERM}
        assert not is_healthy(tmp_path)


def test_without_a_database_it_lives_and_is_not_ready(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with application(f"postgresql://app@127.0.0.1:{port}/app", tmp_path) as (_, own):
        status, text = answer(own, "/ready")
        assert (status, json.loads(text)["ready"]) == (503, False)
        assert is_healthy(tmp_path)


@pytest.mark.skipif(
    not (pooler.program() or pooler.newer_program()), reason="PgBouncer is not installed"
)
@pytest.mark.usefixtures("orders")
def test_behind_pgbouncer_with_this_configuration(dsn: str, tmp_path: Path) -> None:
    """Two clients in turns on one server process; the pooler's password is checked."""
    program = pooler.newer_program() or pooler.program() or ""
    settings = {n: v for n, v in configuration().items() if n not in {"app", "unix_socket_dir"}}
    for name in ("listen_addr", "listen_port", "auth_file", "default_pool_size"):
        del settings[name]
    kept = "100"
    if not pooler._knows_statements(program):
        del settings["max_prepared_statements"]
        kept = "0"
    users = {"app": "change-me"}
    mode = settings.pop("pool_mode")
    with pooler.Pooler(
        dsn, mode, servers=1, executable=program, settings=settings, users=users
    ) as between:
        address = between.dsn_for("app", "change-me")
        with application(address, tmp_path, KEPT_STATEMENTS=kept) as (_, port):
            for _ in range(5):
                assert answer(port, "/ready")[0] == 200
                assert answer(port, "/orders")[0] == 200
        wrong = between.dsn_for("app", "guessed")
        with application(wrong, tmp_path) as (_, port):
            assert answer(port, "/ready")[0] == 503


def test_the_commands_of_the_build_run(tmp_path: Path) -> None:
    """As they are written, with other paths: the environment of the image has the wheel."""
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    wheels = list((ROOT / "dist").glob(f"colonnade-*-{tag}-{tag}-manylinux*_x86_64.whl"))
    if not wheels:
        pytest.skip("no wheel for this Python in dist: make wheels")
    first, second = (place for place, (name, _) in enumerate(IMAGE) if name == "FROM")
    shutil.copy(FOLDER / "requirements.txt", tmp_path)
    places = {"/opt/app": tmp_path / "app", "/wheels": ROOT / "dist", "/build": tmp_path}
    for name, rest in IMAGE[first:second]:
        if name != "RUN":
            continue
        line = re.sub(r"--mount=\S+ ", "", rest)
        for inside, outside in places.items():
            line = line.replace(inside, str(outside))
        words = shlex.split(line.replace("python -m venv", f"{sys.executable} -m venv"))
        subprocess.run(words, check=True, cwd=tmp_path)
    shown = [str(tmp_path / "app/bin/colonnade"), "observe", "check", str(tmp_path)]
    done = subprocess.run(shown, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    loaded = [str(tmp_path / "app/bin/python"), "-c", "import colonnade, starlette, uvicorn"]
    subprocess.run(loaded, check=True, cwd=tmp_path)
