// Reads JSON from stdin: {name: base64 of a stream}; prints {reader: {name: rows or an error}}.

import { readFileSync } from "node:fs";
import { tableFromIPC as flechetteTable } from "@uwdata/flechette";
import { RecordBatchReader, tableFromIPC } from "apache-arrow";

const READERS = {
  "flechette": async (bytes) => flechetteTable(bytes).numRows,
  "arrow-js, from bytes": async (bytes) => tableFromIPC(bytes).numRows,
  "arrow-js, from a response": async (bytes) => {
    let rows = 0;
    const batches = await RecordBatchReader.from(new Response(bytes));
    for await (const batch of batches) rows += batch.numRows;
    return rows;
  },
};

async function outcome(read, bytes) {
  try {
    return { rows: await read(bytes) };
  } catch (error) {
    return { error: String(error) };
  }
}

const streams = JSON.parse(readFileSync(0, "utf-8"));
const outcomes = {};
for (const [reader, read] of Object.entries(READERS)) {
  outcomes[reader] = {};
  for (const [name, base64] of Object.entries(streams)) {
    const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
    outcomes[reader][name] = await outcome(read, bytes);
  }
}
console.log(JSON.stringify(outcomes));
