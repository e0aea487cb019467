"""The end of a process with everything open: no crash, no hang, no output but ResourceWarnings."""

from __future__ import annotations

import pytest

from tests.processes.program import said

LOOPS = ("asyncio", "uvloop")

BLOCKING = """
warnings.simplefilter("ignore", ResourceWarning)
connection = colonnade.sync.connect(DSN)
streaming = colonnade.sync.connect(DSN)
stream = streaming.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=100)
first = next(stream)
busy = colonnade.sync.connect(DSN)
transaction = busy.transaction()
transaction.start()
statement = busy.prepare("SELECT 1")
pool = colonnade.sync.create_pool(DSN, min_size=2, max_size=2)
lent = pool.acquire()
print("open")
"""

DAEMONS = """
import time

warnings.simplefilter("ignore", ResourceWarning)
began = threading.Barrier(5)

def work(query):
    with colonnade.sync.connect(DSN) as connection:
        connection.fetchval("SELECT 1")
        began.wait()
        while True:
            # Most of the time this thread has released the interpreter and wants it back.
            query(connection, "SELECT n, n::text FROM generate_series(1, 20000) AS n")

for query in ("fetch", "fetch_columns") * 2:
    method = getattr(colonnade.sync.Connection, query)
    threading.Thread(target=work, args=(method,), daemon=True).start()
began.wait()
time.sleep(0.05)
print("working")
"""

NOT_BLOCKING = """
warnings.simplefilter("ignore", ResourceWarning)

async def main():
    global connection, stream, pool, lent
    connection = await colonnade.connect(DSN)
    other = await colonnade.connect(DSN)
    stream = other.iter_columns("SELECT generate_series(1, 1000000)", batch_rows=100)
    await anext(stream)
    pool = await colonnade.create_pool(DSN, min_size=2, max_size=2)
    lent = await pool.acquire()
    print(await connection.fetchval("SELECT 'open'"))

run(main())
"""

# Other libraries release the columns' memory only while the interpreter is finalized.
EXPORTED = """
import duckdb
import numpy
import pandas
import polars
import pyarrow

QUERY = "SELECT n, n::text AS t, ARRAY[n] AS a FROM generate_series(1, 100000) AS n"
with colonnade.sync.connect(DSN) as connection:
    columns = connection.fetch_columns(QUERY)
    batches = iter(list(connection.iter_columns(QUERY, batch_rows=1000)))
table = pyarrow.table(columns)
frame = polars.DataFrame(columns)
wide = columns.to_pandas()
array = columns["n"]
reader = pyarrow.RecordBatchReader.from_stream(columns)
relation = duckdb.sql("SELECT sum(n) FROM columns")
unread = columns.__arrow_c_stream__()
described = columns.__arrow_c_schema__()
del columns
print(table.num_rows, len(frame), len(wide), array[0], relation.fetchall())
"""

WITH_WARNINGS = """
connection = colonnade.sync.connect(DSN)
"""

IN_A_SUBINTERPRETER = """
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)

program = '''
try:
    import colonnade
except ImportError as error:
    print('refused:', error, flush=True)
'''
failure = interpreters.run_string(made, program)
print(failure)
interpreters.destroy(made)
with colonnade.sync.connect(DSN) as connection:
    print(connection.fetchval("SELECT 42"))
"""


def test_a_thread_leaves_everything_open(dsn: str) -> None:
    assert said(BLOCKING, dsn) == ["open"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_leaves_everything_open(dsn: str, loop: str) -> None:
    assert said(NOT_BLOCKING, dsn, loop) == ["open"]


@pytest.mark.parametrize("_", range(2))
def test_daemons_are_at_work(dsn: str, _: int) -> None:
    assert said(DAEMONS, dsn) == ["working"]


def test_columns_are_in_the_hands_of_others(dsn: str) -> None:
    assert said(EXPORTED, dsn) == ["100000 100000 100000 1 [(5000050000,)]"]


def test_nothing_is_said_but_what_is_unclosed(dsn: str) -> None:
    with pytest.raises(AssertionError) as failure:
        said(WITH_WARNINGS, dsn)
    lines = str(failure.value).splitlines()
    assert "ResourceWarning: unclosed connection <Connection " in lines[0]
    assert not [line for line in lines if "Error" in line or "Traceback" in line]


def test_a_second_interpreter_is_refused(dsn: str) -> None:
    refused, failure, alive = said(IN_A_SUBINTERPRETER, dsn)
    assert refused.startswith("refused: ")
    assert "subinterpreters" in refused
    assert (failure, alive) == ("None", "42")
