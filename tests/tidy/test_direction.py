"""The permitted imports between rooms: the straight line of ARCHITECTURE.md."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tools.check import house
from tools.check.house import imported_modules, python_files

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "colonnade"
ENTRIES_MOST = 42
FLOORS_MOST = 13
ARROWS_MOST = 180

# The floors of the package, from the lowest. A room imports rooms that stand before it. `_core` is
# the extension module, and a name with a dot is a room of the folder before the dot.
FLOORS: dict[str, tuple[str, ...]] = {
    "the core, and words for callers": (
        *("_core", "_core.formats", "_core.groups", "_core.selection"),
        *("_core.structs", "_core.timeline", "_core.watch", "_words"),
    ),
    "what a user holds": ("errors", "types", "tracing", "rows"),
    "forms of columns": (
        *("_columns.parts", "_columns.schema", "_columns.conversion"),
        *("_columns.grouped", "columns", "groups", "arrow_stream"),
    ),
    "one connection, and pools": (
        *("_driver.sql", "_driver.transport", "_driver.pool_core", "_driver.gather"),
        *("_driver.connection_options", "_driver.gss", "_driver.server_facts"),
        *("_driver.notifications", "_driver.logged_query"),
        *("_driver.dtype_query", "_driver.sources", "_driver.copy_plan"),
        *("_driver.exact_dates", "_driver.plain_values"),
        *("_driver._async", "_driver._sync", "_driver.listener"),
    ),
    "the rules of PEP 249, and the arrays of rkt": ("_pep249", "rkt"),
    "doors: services": (
        *("embedded", "structs", "jobs", "formats", "serve"),
        *("observe.visible", "observe.running", "observe.beat", "observe.loop", "observe.metrics"),
        *("observe.server_timing", "observe.status", "observe.timeline", "observe"),
    ),
    "doors: other people's interfaces": ("sqlalchemy", "frames", "dbapi", "adbc"),
    "doors: data in bulk": ("parallel", "datasets", "incremental"),
    "doors: tools": ("pytest_plugin", "cli"),
}
ORDER = [room for rooms in FLOORS.values() for room in rooms]
DOORS = {room for floor, rooms in FLOORS.items() if floor.startswith("doors") for room in rooms}
# Doors see public names, and these: all compose SQL and read a caller's name of a table by the same
# functions, all but asyncpg's make the dates of a connection exact, and a door's own copies are
# plain.
OPEN_TO_DOORS = {
    *("_words", "_driver.sql", "_driver.exact_dates", "_driver.plain_values"),
}
# Private rooms that a few doors use: their native halves, the rules of PEP 249, the forms in which
# frames ask for columns, and the steps of `connect` that the command line explains. A class of
# structs makes a column from a batch, as `columns` does.
MADE_FOR_DOORS = {
    "_columns.conversion": {"dbapi", "frames", "parallel"},
    "_core": {"structs"},
    "_core.formats": {"formats", "serve"},
    "_core.timeline": {"observe.timeline"},
    "_core.structs": {"structs"},
    "_core.watch": {"observe.loop", "observe.metrics"},
    "_driver.connection_options": {"cli"},
    "_driver.transport": {"cli"},
    "_pep249": {"dbapi", "sqlalchemy"},
}
# asyncpg's module names; type checkers need a file for each.
ASYNCPGS = {
    *("connection", "cursor", "exceptions", "pgproto", "pool", "prepared_stmt", "protocol"),
    "transaction",
}
# They collect the public names, so they see every room.
FACES = {"__init__", "_asyncpg_names", "sync", *ASYNCPGS}
# The library that a room is about; elsewhere, libraries are imported in the functions that use
# them.
SUBJECTS = {
    "cli": {"click", "rich"},
    "pytest_plugin": {"pytest"},
    # A module for each framework that needs one, named after it.
    "serve": {"quart", "starlette"},
    "sqlalchemy": {"sqlalchemy"},
}
# The transports hold the only sockets; `embedded` needs one to find a free port.
SOCKET_ROOMS = {"_driver.transport", "embedded"}
SOCKET_LIBRARIES = {
    *("socket", "socketserver", "http.client", "http.server", "urllib.request", "xmlrpc"),
    *("ftplib", "imaplib", "poplib", "smtplib", "multiprocessing.connection"),
}
SOCKET_CALLS = {
    *("open_connection", "open_unix_connection", "start_server", "start_unix_server"),
    *("create_connection", "create_unix_connection", "create_server", "create_unix_server"),
    *("create_datagram_endpoint", "connect_accepted_socket", "sock_connect", "wrap_socket"),
}

CRATES: dict[str, set[str]] = {
    "protocol": set(),
    "columnar": {"protocol"},
    "session": {"protocol", "columnar"},
    "formats": set(),
    "compute": set(),
    "foreign": {"columnar"},
    "memory": set(),
    "structs": set(),
    "watch": set(),
    "python": {
        *("protocol", "columnar", "foreign", "session"),
        *("formats", "compute", "structs", "memory", "watch"),
    },
}
# Each block of `unsafe` has its reason beside it, and is in one of these files.
UNSAFE_FILES = {
    "columnar/src/trusted.rs",
    "foreign/src/import.rs",
    "foreign/src/import/tests.rs",
    "foreign/src/shape.rs",
    "memory/src/lib.rs",
    "memory/src/pages.rs",
    "memory/src/release.rs",
    "memory/src/tests.rs",
    "python/src/arrow/import.rs",
    "python/src/memory/buffer.rs",
    "python/src/column/numpy_strings.rs",
    "python/src/observe/pause_timer.rs",
    "python/src/record/block.rs",
    "python/src/record/class.rs",
    "python/src/record/iterators.rs",
    "python/src/record/layout.rs",
    "python/src/record/methods.rs",
    "python/src/record/protocols.rs",
    "python/src/structs/buffer_view.rs",
    "python/src/values/uuid.rs",
    "session/src/receive_buffer.rs",
    "watch/src/eventfd.rs",
    "watch/src/thread_clock.rs",
    "watch/src/watchdog/tests.rs",
}
# Prefix of a dependency's name -> the crates that may have it.
CRATE_LIBRARIES: dict[str, set[str]] = {
    "adbc": {"python"},
    "arrow": {"structs", "columnar", "foreign", "session", "formats", "compute", "python"},
    "pyo3": {"python"},
    "async-": set(),
    "futures": set(),
    "mio": set(),
    "tokio": set(),
}
# The core does no I/O, starts no thread and reads no clock.
CORE_REFUSES = re.compile(
    r"std::(?:fs|net(?!::IpAddr)|os|process|thread)\b"
    r"|(?:Instant|SystemTime)::now|time::(?:Instant|SystemTime)"
)


HOUSE = house.Rooms(ORDER)
room_of, rooms_imported = HOUSE.of, HOUSE.imported


def allowed(path: Path, room: str) -> bool:
    importer = room_of(path)
    if importer not in ORDER:
        return importer in FACES
    if ORDER.index(room) > ORDER.index(importer):
        return False
    is_private = room.startswith("_") and room not in OPEN_TO_DOORS
    if importer in DOORS and is_private:
        return importer in MADE_FOR_DOORS.get(room, ())
    return True


def test_python_rooms_import_in_one_direction() -> None:
    crossings = [
        f"{path.relative_to(ROOT).as_posix()}: {room}"
        for path, tree in python_files()
        for room in rooms_imported(path, tree)
        if not allowed(path, room)
    ]
    assert not crossings


def test_each_room_that_is_made_for_doors_is_used_by_them() -> None:
    used = {
        (room, room_of(path))
        for path, tree in python_files()
        for room in rooms_imported(path, tree)
    }
    assert {(room, door) for room in MADE_FOR_DOORS for door in MADE_FOR_DOORS[room]} <= used


def test_modules_import_in_one_direction() -> None:
    """Imports for type checkers count, because readers follow them, too."""
    modules = HOUSE.modules()
    assert len(modules) > len(ORDER)
    assert house.circles(modules) == []


def test_importing_the_package_imports_no_library() -> None:
    eager = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {name}"
        for path, tree in python_files()
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        for name in imported_modules(path, node)
        if (library := name.split(".")[0]) != "colonnade"
        and library not in sys.stdlib_module_names | SUBJECTS.get(room_of(path), set())
    ]
    assert not eager


def test_every_room_is_on_one_floor() -> None:
    native = {f"_core.{path.stem}" for path in (PACKAGE / "_core").glob("[!_]*.pyi")}
    python = {room_of(path) for path in PACKAGE.rglob("*.py")} - FACES - HOUSE.folders
    there = python | {"_core", *native}
    assert len(ORDER) == len(set(ORDER))
    assert set(ORDER) == there
    doors = {door for made_for in MADE_FOR_DOORS.values() for door in made_for}
    named = {*SUBJECTS, *SOCKET_ROOMS, *OPEN_TO_DOORS, *MADE_FOR_DOORS, *doors}
    assert sorted(named - there) == [], "a row about a room that does not exist"
    assert sorted(FACES - {room_of(path) for path in PACKAGE.rglob("*.py")}) == []


def test_few_entries_stand_in_the_package() -> None:
    """One is kept free."""
    assert len(house.entries()) < ENTRIES_MOST


def test_the_house_is_low_and_has_few_arrows() -> None:
    graph = HOUSE.entries().arrows()
    assert house.height(graph) <= FLOORS_MOST
    assert house.count(graph) <= ARROWS_MOST
    assert HOUSE.upwards() == []


def opens_sockets(path: Path, tree: ast.Module) -> bool:
    """Whether a file imports a socket library, or calls a function that opens a socket."""
    modules = imported_modules(path, tree)
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    called |= {name.rpartition(".")[2] for name in modules if name.startswith("asyncio.")}
    return bool(called & SOCKET_CALLS) or any(
        name == library or name.startswith(f"{library}.")
        for name in modules
        for library in SOCKET_LIBRARIES
    )


def test_sockets_stay_in_the_transports() -> None:
    holders = {
        path.relative_to(ROOT).as_posix()
        for path, tree in python_files()
        if opens_sockets(path, tree) and room_of(path) not in SOCKET_ROOMS
    }
    assert not holders


@pytest.mark.parametrize(
    ("source", "is_seen"),
    [
        ("import socket", True),
        ("from socket import create_connection", True),
        ("import asyncio\nasyncio.open_connection('h', 1)", True),
        ("from asyncio import open_unix_connection as dial", True),
        ("async def f(loop):\n    await loop.create_connection(None, 'h', 1)", True),
        ("async def f(loop, s):\n    await loop.sock_connect(s, ('h', 1))", True),
        ("import asyncio\nasyncio.start_server(None)", True),
        ("def f(context, s):\n    context.wrap_socket(s)", True),
        ("import http.client", True),
        ("from urllib import request", True),
        ("import socketserver", True),
        ("import asyncio, ssl, urllib.parse\nasyncio.sleep(0)", False),
    ],
)
def test_every_way_to_a_socket_is_seen(source: str, is_seen: bool) -> None:
    assert opens_sockets(PACKAGE / "rows.py", ast.parse(source)) is is_seen


@pytest.mark.parametrize("crate", CRATES)
def test_crates_depend_in_one_direction(crate: str) -> None:
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text("utf-8"))
    tables = ("dependencies", "dev-dependencies", "build-dependencies")
    places = [manifest, *manifest.get("target", {}).values()]
    names = {name for place in places for table in tables for name in place.get(table, {})}
    ours = {name.removeprefix("colonnade-") for name in names if name.startswith("colonnade-")}
    assert ours == CRATES[crate]
    for prefix, crates in CRATE_LIBRARIES.items():
        if crate not in crates:
            assert not [name for name in names if name.startswith(prefix)]


def test_every_crate_is_in_the_table() -> None:
    assert {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")} == CRATES.keys()


def test_the_core_does_no_io() -> None:
    reached = [
        f"{path.relative_to(ROOT).as_posix()}:{number}: {match[0]}"
        for crate in ("protocol", "columnar", "session")
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if not line.lstrip().startswith("//") and (match := CORE_REFUSES.search(line))
    ]
    assert not reached


def test_unsafe_stands_in_named_files_only() -> None:
    crates = ROOT / "crates"
    found = {
        path.relative_to(crates).as_posix()
        for path in crates.glob("*/src/**/*.rs")
        if re.search(r"^(?!\s*//).*\bunsafe\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert found == UNSAFE_FILES


def test_modules_with_asyncpgs_names_hold_nothing_of_their_own() -> None:
    """Each has only a docstring, imports and `__all__`."""
    for name in sorted(ASYNCPGS):
        place = PACKAGE / name
        files = sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        assert files, name
        for path in files:
            _, *body = ast.parse(path.read_text("utf-8")).body
            kept = {ast.unparse(node).split()[0] for node in body}
            assert kept <= {"from", "__all__", "__all__:"}, path
