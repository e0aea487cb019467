// Reads tables of colonnade.serve and refuses incomplete ones; docs/service/serve.md has the bytes.
import { tableFromIPC } from "@uwdata/flechette";

const MEDIA_TYPE = "application/vnd.apache.arrow.stream";
const [SCHEMA, DICTIONARY, BATCH] = [1, 2, 3]; // Arrow's numbers for the kinds of its messages.
const POISON_LENGTH = 2 ** 20 - 1; // A server that failed claims so many bytes of metadata.

export class IncompleteTableError extends Error {
  name = "IncompleteTableError";
}

export async function readTable(source, options = {}) {
  const messages = [];
  for await (const { bytes } of readMessages(source, options)) messages.push(bytes);
  return tableFromIPC(messages, options.extraction);
}

export async function* readBatches(source, options = {}) {
  let schema;
  const dictionaries = new Map(); // By id, the latest: the server sends no additions.
  for await (const { kind, bytes, first: id } of readMessages(source, options)) {
    if (kind === SCHEMA) schema = bytes;
    if (kind === DICTIONARY) dictionaries.set(id, bytes);
    const needed = [schema, ...dictionaries.values(), bytes];
    if (kind === BATCH) yield tableFromIPC(needed, options.extraction);
  }
}

// Yields the messages before the end mark, each in memory of its own, which aligns its buffers.
async function* readMessages(source, { signal, onProgress, init } = {}) {
  const headers = new Headers(init?.headers);
  if (!headers.has("Accept")) headers.set("Accept", MEDIA_TYPE);
  const isUrl = !(source instanceof Response);
  const response = isUrl ? await fetch(source, { ...init, headers, signal }) : source;
  const seen = { status: response.status, rows: 0, batches: 0, bytes: 0 };
  const expect = (holds, fault, cause) => {
    if (holds) return;
    const text = `${fault} (after ${seen.rows} rows in ${seen.batches} batches)`;
    throw Object.assign(new IncompleteTableError(text, { cause }), seen);
  };
  expect(response.ok, response.ok || `HTTP status ${response.status}: ${await problem(response)}`);
  expect(response.body, "the response has no body");
  const reader = response.body.getReader();
  const next = async () => { // The next bytes of the body; undefined after the last.
    const { value, error } = await reader.read().catch((error) => ({ error }));
    signal?.throwIfAborted();
    expect(!error, "the connection broke", error);
    return value;
  };
  let chunk = new Uint8Array();
  const take = async (length, start = []) => { // So many bytes, which begin with `start`.
    const target = new Uint8Array(length);
    target.set(start);
    for (let at = start.length, part; at < length; at += part.length) {
      if (chunk.length === 0) expect((chunk = await next()), "the stream was cut");
      part = chunk.subarray(0, length - at);
      target.set(part, at);
      chunk = chunk.subarray(part.length);
    }
    return target;
  };
  try {
    const type = response.headers.get("Content-Type");
    expect(type?.split(";")[0].trim().toLowerCase() === MEDIA_TYPE, `the content type is ${type}`);
    for (let isMarked = false; ; onProgress?.({ ...seen })) {
      const prefix = await take(8);
      const [marker, length] = new Int32Array(prefix.buffer);
      expect(length !== POISON_LENGTH, "the server failed");
      expect(marker === -1 && length >= 0 && length % 8 === 0, "the stream is invalid");
      if (length === 0) {
        expect(isMarked, "the stream ends without the mark of a complete one");
        return expect(!chunk.length && !(await next())?.length, "there are bytes after the end");
      }
      const head = await take(8 + length, prefix);
      const { bodyLength, rows, batches, ...message } = parsed(new DataView(head.buffer, 8));
      const bytes = await take(head.length + bodyLength, head);
      isMarked = rows !== undefined;
      if (isMarked) {
        const areAll = Number(rows) === seen.rows && Number(batches) === seen.batches;
        expect(areAll, `the end mark counts ${rows} rows in ${batches} batches`);
        continue;
      }
      seen.bytes += bytes.length;
      seen.rows += message.kind === BATCH ? message.first : 0;
      seen.batches += message.kind === BATCH ? 1 : 0;
      yield { ...message, bytes };
    }
  } catch (error) {
    expect(!(error instanceof RangeError), "the stream is invalid", error);
    throw error;
  } finally {
    reader.cancel().catch(() => {}); // Tells the server, unless all has arrived.
  }
}

// What the server says of its error: the detail of a problem document, or else the text itself.
async function problem(response) {
  const text = await response.text().catch(() => "no text arrived");
  try {
    const { detail } = JSON.parse(text);
    return typeof detail === "string" ? detail : text;
  } catch {
    return text;
  }
}

// Reads the flatbuffer of a message. `first` is a batch's number of rows, or a dictionary's id.
function parsed(view) {
  const follow = (at) => at && at + view.getUint32(at, true);
  const field = (table, slot) => { // Its position, or 0 where the table lacks it.
    const [vtable, place] = [table - view.getInt32(table, true), 4 + 2 * slot];
    const offset = place < view.getUint16(vtable, true) && view.getUint16(vtable + place, true);
    return offset && table + offset;
  };
  const long = (at) => at && Number(view.getBigInt64(at, true));
  const text = (at) => {
    const [from, length] = [view.byteOffset + at + 4, view.getUint32(at, true)];
    return new TextDecoder().decode(new Uint8Array(view.buffer, from, length));
  };
  const message = view.getUint32(0, true);
  const kind = view.getUint8(field(message, 1));
  const first = kind === SCHEMA ? 0 : long(field(follow(field(message, 2)), 0));
  const entries = follow(field(message, 4));
  const notes = {};
  for (let at = entries; at && at < entries + 4 * view.getUint32(entries, true); at += 4) {
    const [key, value] = [0, 1].map((slot) => text(follow(field(follow(at + 4), slot))));
    notes[key] = value;
  }
  const { "colonnade.rows": rows, "colonnade.batches": batches } = notes;
  return { kind, first, bodyLength: long(field(message, 3)), rows, batches };
}
