// Tests of colonnade-reader.js under Node.js. The streams are files, which test_browser_reader.py
// writes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";
import { IncompleteTableError, readBatches, readTable } from "./colonnade-reader.js";

const FOLDER = process.env.STREAMS;
const MEDIA_TYPE = "application/vnd.apache.arrow.stream";

const bytesOf = (name) => new Uint8Array(readFileSync(`${FOLDER}/${name}.arrows`));

function responseOf(bytes, { chunk = bytes.length || 1, type = MEDIA_TYPE, broken = false } = {}) {
  let at = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, (at += chunk)));
      else if (broken) controller.error(new TypeError("reset"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": type } });
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => (made.resolve = resolve));
  return made;
}

async function fault(response, read = readTable) {
  try {
    await read(response);
  } catch (error) {
    assert.ok(error instanceof IncompleteTableError, `${error?.stack}`);
    return error;
  }
  assert.fail("the table was taken for complete");
}

test("a complete stream, in chunks of any size", async () => {
  const bytes = bytesOf("complete");
  for (const chunk of [1, 7, 8, 64, 1000, bytes.length]) {
    const seen = [];
    const onProgress = ({ rows }) => seen.push(rows);
    const table = await readTable(responseOf(bytes, { chunk }), { onProgress });
    assert.equal(table.numRows, 300);
    assert.deepEqual(table.get(299), { id: 299, name: "row 299" });
    assert.deepEqual([...new Set(seen)], [0, 100, 200, 300]);
  }
});

test("batches, as they arrive", async () => {
  const first = [];
  for await (const batch of readBatches(responseOf(bytesOf("complete"), { chunk: 100 }))) {
    first.push([batch.numRows, batch.get(0).id]);
  }
  assert.deepEqual(first, [[100, 0], [100, 100], [100, 200]]);
});

test("batches with dictionaries that are replaced", async () => {
  const values = [];
  for await (const batch of readBatches(responseOf(bytesOf("dictionaries")))) {
    values.push(...batch.getChild("word").toArray());
  }
  assert.deepEqual(values, ["a", "b", "a", "c", "d", "d"]);
  const table = await readTable(responseOf(bytesOf("dictionaries")));
  assert.deepEqual([...table.getChild("word")], values);
});

test("a table without rows", async () => {
  assert.equal((await readTable(responseOf(bytesOf("empty")))).numRows, 0);
});

test("every cut of a small stream", async () => {
  const bytes = bytesOf("complete");
  for (let length = 0; length < bytes.length; length += 1) {
    await fault(responseOf(bytes.subarray(0, length)));
    await fault(responseOf(bytes.subarray(0, length), { broken: true }));
  }
});

test("a connection that breaks after the last byte", async () => {
  const error = await fault(responseOf(bytesOf("complete"), { broken: true }));
  assert.match(error.message, /connection broke/);
  assert.equal(error.cause.message, "reset");
});

test("random cuts of a larger stream", async () => {
  const bytes = bytesOf("large");
  assert.equal((await readTable(responseOf(bytes))).numRows, 200_000);
  for (let number = 0; number < 200; number += 1) {
    const length = Math.floor(Math.random() * bytes.length);
    const error = await fault(responseOf(bytes.subarray(0, length), { chunk: 65_536 }));
    assert.match(error.message, /cut/, `cut at ${length}`);
  }
});

test("faults that the stream tells", async () => {
  const faults = {
    poison: /the server failed \(after 100 rows in 1 batches\)/,
    wrong_rows: /the end mark counts 299 rows in 3 batches/,
    wrong_batches: /the end mark counts 300 rows in 4 batches/,
    no_mark: /ends without the mark/,
    polite_end: /ends without the mark/,
    bytes_after: /bytes after the end/,
    page: /invalid/,
  };
  for (const [name, message] of Object.entries(faults)) {
    const error = await fault(responseOf(bytesOf(name)));
    assert.match(error.message, message, name);
  }
});

test("other answers than tables", async () => {
  const problem = { status: 504, headers: { "Content-Type": "application/problem+json" } };
  const refused = await fault(new Response('{"title": "timeout"}', problem));
  assert.match(refused.message, /504.*timeout/);
  assert.equal(refused.status, 504);
  const told = await fault(new Response('{"detail": "too late"}', problem));
  assert.equal(told.message, "HTTP status 504: too late (after 0 rows in 0 batches)");
  for (const text of ["null", '{"detail": 5}', "<p>"]) {
    assert.ok((await fault(new Response(text, problem))).message.includes(`504: ${text} (`));
  }
  const page = await fault(responseOf(bytesOf("complete"), { type: "text/html" }));
  assert.match(page.message, /content type is text\/html/);
});

test("a response of another type is not read to its end", async () => {
  const cancelled = deferred();
  const body = new ReadableStream({ cancel: cancelled.resolve });
  await fault(new Response(body, { headers: { "Content-Type": "text/html" } }));
  await cancelled.promise;
  await fault(new Response(null, { headers: { "Content-Type": MEDIA_TYPE } }));
});

test("a URL is asked for Arrow, with the caller's headers", async () => {
  const server = createServer((request, response) => {
    const { accept, authorization } = request.headers;
    assert.deepEqual([accept, authorization], [MEDIA_TYPE, "Bearer abc"]);
    response.writeHead(200, { "Content-Type": `${MEDIA_TYPE} ; codecs=none` });
    response.end(bytesOf(request.url === "/complete" ? "complete" : "no_mark"));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = new URL(`http://127.0.0.1:${server.address().port}/complete`);
    const init = { headers: new Headers({ Authorization: "Bearer abc" }) };
    assert.equal((await readTable(url, { init })).numRows, 300);
    await fault(new URL("/cut", url), (source) => readTable(source, { init }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("an abort is no incomplete table, and ends the request", async () => {
  const cancelled = deferred();
  const bytes = bytesOf("complete");
  const control = new AbortController();
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, 4000)),
    pull: () => control.abort(new Error("enough")),
    cancel: cancelled.resolve,
  });
  const response = new Response(body, { headers: { "Content-Type": MEDIA_TYPE } });
  await assert.rejects(readTable(response, { signal: control.signal }), /enough/);
  await cancelled.promise;
});

test("a reader that stops early ends the request", async () => {
  const cancelled = deferred();
  const bytes = bytesOf("complete");
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(bytes.subarray(0, 4000)),
    cancel: cancelled.resolve,
  });
  const response = new Response(body, { headers: { "Content-Type": MEDIA_TYPE } });
  for await (const batch of readBatches(response)) {
    assert.equal(batch.numRows, 100);
    break;
  }
  await cancelled.promise;
});
