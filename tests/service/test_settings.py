"""Settings of the environment, and errors that say what to do."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from examples.service.cache import Cache
from examples.service.logs import log_as_json, request_id
from examples.service.settings import Settings, SettingsError

ROOT = Path(__file__).resolve().parents[2]
NEEDED = {"SERVICE_DSN": "postgresql:///x", "SERVICE_SUPPLIERS": "http://a:1, http://b:2/"}


def test_settings_are_read() -> None:
    settings = Settings.from_environment({**NEEDED, "SERVICE_DEADLINE": "0.5", "HOME": "/"})
    assert settings.suppliers == ("http://a:1", "http://b:2")
    assert settings.deadline == 0.5
    assert settings.pool_size == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("SERVICE_DEADLINE", "soon", "SERVICE_DEADLINE must be a number such as 0.8, not 'soon'"),
        ("SERVICE_POOL_SIZE", "1.5", "SERVICE_POOL_SIZE must be a whole number such as 4"),
        ("SERVICE_GRACE", "0", "SERVICE_GRACE must be more than 0"),
        ("SERVICE_GRACE", "nan", "SERVICE_GRACE must be more than 0"),
        ("SERVICE_SUPPLIERS", "localhost", "http://127.0.0.1:4001"),
        ("SERVICE_DSN", "", "SERVICE_DSN is missing"),
        ("SERVICE_LOG_LEVEL", "loud", "SERVICE_LOG_LEVEL must be one of debug, info"),
        ("SERVICE_POOLSIZE", "4", "SERVICE_POOLSIZE is no setting; there are"),
    ],
)
def test_a_wrong_setting_is_explained(name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_environment({**NEEDED, name: text})
    assert message in str(raised.value)


def test_logs_are_lines_of_json_with_the_id() -> None:
    stream = io.StringIO()
    log_as_json("info", stream)
    try:
        token = request_id.set("abc")
        logging.getLogger("service.test").info("hello\nworld", extra={"fields": {"ms": 1.5}})
        request_id.reset(token)
    finally:
        for name in ("service", "colonnade"):
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
    line = json.loads(stream.getvalue())
    assert (line["message"], line["request_id"], line["ms"]) == ("hello\nworld", "abc", 1.5)


def test_the_cache_forgets_the_old_and_the_least_used() -> None:
    now = [0.0]
    cache: Cache[str] = Cache(2, lambda: now[0])
    cache.put("a", "1", 10)
    cache.put("b", "2", 1)
    assert cache.get("a") == "1"
    now[0] = 2
    assert cache.get("b") is None
    cache.put("c", "3", 10)
    cache.put("d", "4", 10)
    assert [cache.get(key) for key in "acd"] == [None, "3", "4"]


def test_make_hands_no_arguments_to_the_service(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    included = str(ROOT / "Makefile").replace(" ", "\\ ")
    makefile.write_text(f"include {included}\nshown:\n\t@env\n")
    wanted = ["SERVICE_ARGS=--seconds 60", "SERVICE_FAULTS_ARGS=--seconds 3"]
    made = subprocess.run(
        ["make", "-f", makefile, "shown", *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    environment = dict(line.split("=", 1) for line in made.stdout.splitlines() if "=" in line)
    assert Settings.from_environment({**environment, **NEEDED}).suppliers


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["", "--workers", "0"], "--workers: must be a whole number from 1 on, not 0"),
        (["", "--suppliers", "many"], "--suppliers: must be a whole number from 1 on, not many"),
        ([".supervisor", "4194305", "."], "there is no process 4194305"),
        ([".supervisor", "1", "./missing"], "there is no folder missing"),
    ],
)
def test_a_wrong_command_line_is_explained(words: list[str], message: str) -> None:
    module, *rest = words
    told = subprocess.run(
        [sys.executable, "-m", f"examples.service{module}", *rest],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert message in told.stderr
