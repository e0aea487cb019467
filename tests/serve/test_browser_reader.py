"""`colonnade-reader.js` under Node.js: it refuses every stream that is not complete."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa

import colonnade.serve
from colonnade._core.formats import arrow_poison
from tests.serve.arrow_streams import END_OF_STREAM, complete

READER = Path(colonnade.serve.__file__).with_name("colonnade-reader.js")


def with_dictionaries() -> bytes:
    """Batches whose dictionary is another one each time."""
    schema = pa.schema([("word", pa.dictionary(pa.int32(), pa.utf8()))])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        for words in (["a", "b", "a"], ["c", "d", "d"]):
            array = pa.array(words).dictionary_encode()
            writer.write_batch(pa.record_batch([array], schema=schema))
        nothing = pa.record_batch([pa.array([], schema.field(0).type)], schema=schema)
        marks = {"colonnade.rows": "6", "colonnade.batches": "2"}
        writer.write_batch(nothing, custom_metadata=marks)
    return sink.getvalue()


def test_under_node(node_project: Path, tmp_path: Path) -> None:
    whole = complete()
    first = whole.data[: whole.ends[1]]
    streams = {
        "complete": whole.data,
        "dictionaries": with_dictionaries(),
        "empty": complete(1, 0).data,
        "large": complete(20, 10_000).data,
        "poison": first + arrow_poison(),
        "wrong_rows": complete(told_rows=299).data,
        "wrong_batches": complete(told_batches=4).data,
        "no_mark": whole.data[: whole.ends[3]] + END_OF_STREAM,
        "polite_end": first + END_OF_STREAM,
        "bytes_after": whole.data + b"\0",
        "page": first + b"<!doctype html><title>502 Bad Gateway</title>",
    }
    for name, data in streams.items():
        (tmp_path / f"{name}.arrows").write_bytes(data)
    shutil.copy(READER, node_project)
    done = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "reader.test.js"],
        cwd=node_project,
        env={**os.environ, "STREAMS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 13" in done.stdout, done.stdout
