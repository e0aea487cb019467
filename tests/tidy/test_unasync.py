"""The generator of the blocking half: its changes, unchanged text, and errors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tools.generate import unasync


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with only the asynchronous folder."""
    (tmp_path / "colonnade/_driver/_async").mkdir(parents=True)
    monkeypatch.setattr(unasync, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("async def f(): return await g()\n", "def f(): return g()\n"),
        ("async with a as b, c: pass\n", "with a as b, c: pass\n"),
        ("x = [y async for y in z]\n", "x = [y for y in z]\n"),
        ("x = (await\\\n  f())\n", "x = (f())\n"),
        ("def f():\n    x.__aenter__()\n", "def f():\n    x.__enter__()\n"),
        (
            "from colonnade._driver.transport.asyncio import Transport\n",
            "from colonnade._driver.transport.threads import Transport\n",
        ),
        ("import asyncio\nawaited = async_only = x.asyncio\n", "same"),
        ("x = 1  # await the server\n", "same"),
        ("x = 1  # await conn.fetch(sql)\n", "x = 1  # conn.fetch(sql)\n"),
        ('def f(): "Ends with ``aclose``."\n', 'def f(): "Ends with ``close``."\n'),
        ("x = 1  # an async context manager\n", "x = 1  # a context manager\n"),
        ('x: "AsyncIterator[int]"\n', 'x: "Iterator[int]"\n'),
    ],
)
def test_translation(source: str, expected: str) -> None:
    assert unasync.translate(source, Counter()) == (source if expected == "same" else expected)


def test_marked_regions_are_left_out() -> None:
    source = "a\n  # async-only: begin\nb\n  # async-only: end\nc\n"
    assert unasync.drop_async_only(source, "x.py") == "a\nc\n"


@pytest.mark.parametrize("marks", ["begin", "end", "begin begin"])
def test_marks_must_pair(marks: str) -> None:
    source = "".join(f"# async-only: {mark}\n" for mark in marks.split())
    with pytest.raises(SystemExit, match=r"x\.py"):
        unasync.drop_async_only(source, "x.py")


def test_writes_then_finds_no_difference_then_finds_drift(checkout: Path) -> None:
    (checkout / "colonnade/_driver/_async/a.py").write_text("async def f(): await g()\n", "utf-8")
    assert unasync.main([]) == 0
    target = checkout / "colonnade/_driver/_sync/a.py"
    assert (
        target.read_text("utf-8")
        .splitlines()[0]
        .startswith("# Generated from colonnade/_driver/_async")
    )
    assert unasync.differences(unasync.generate(Counter())) == []

    target.write_text("edited\n", "utf-8")
    left_over = target.with_name("gone.py")
    left_over.write_text("", "utf-8")
    assert unasync.differences(unasync.generate(Counter())) == [target, left_over]
    assert unasync.main([]) == 0
    assert not left_over.exists()


def test_check_names_unused_substitutions(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "colonnade/_driver/_async/a.py").write_text("async def f(): await g()\n", "utf-8")
    unasync.main([])
    capsys.readouterr()
    assert unasync.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert "'__aenter__'" in said
    assert "'async def'" not in said


def test_without_sources_there_is_nothing_to_do(checkout: Path) -> None:
    assert unasync.main(["--check"]) == 0
    assert not (checkout / "colonnade/_driver/_sync").exists()


def test_tests_are_made_where_their_sources_have_changed(checkout: Path) -> None:
    sources, made = checkout / "tests/async", checkout / "tests/sync"
    sources.mkdir(parents=True)
    (sources / "test_a.py").write_text("async def test_a(): await f()\n", "utf-8")
    (sources / "test_b.py").write_text("# async-only: file\n", "utf-8")
    assert unasync.make_tests() == [made / "test_a.py"]
    header, *rest = (made / "test_a.py").read_text("utf-8").splitlines()
    assert header.startswith("# Generated from tests/async/test_a.py by tools/generate/unasync.py")
    assert rest == ["def test_a(): f()"]
    assert unasync.make_tests() == []

    (sources / "test_a.py").write_text("async def test_a(): await g()\n", "utf-8")
    left_over = made / "test_gone.py"
    left_over.write_text("", "utf-8")
    assert unasync.make_tests() == [made / "test_a.py"]
    assert (made / "test_a.py").read_text("utf-8").endswith("def test_a(): g()\n")
    assert [path.name for path in made.iterdir()] == ["test_a.py"]


def test_git_ignores_the_made_tests() -> None:
    ignored = (unasync.ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {f"/{folder}/" for folder in unasync.MADE.values()} <= set(ignored)
