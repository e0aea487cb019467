// What the page knows: the tables of the service, read again each second, for two minutes.
import { readTable } from "/live/colonnade-reader.js";

export const KEPT = 120;
export const CAUSES = ["pool", "loop", "deadline", "draining"];
const NAMES = ["processes", "seconds", "latencies", "stalls", "lanes"];
// A process may write its second a little later than another one.
const OVERLAP = 3;
// The buckets of tables.latencies: the first one ends at 0.1 ms, each next one a quarter of a
// doubling later.
const LEAST = 1e-4;
const PER_DOUBLING = 4;

export class Feed {
  latest = 0; // The last second that was seen, by the service's clock.
  processes = [];
  stalls = [];
  lanes = [];
  #seconds = new Map(); // By second: the rows of all processes.
  #latencies = new Map(); // By second: the number of answers in each bucket.

  async read(signal) {
    const since = Math.max(0, this.latest - OVERLAP);
    const read = (name) => rowsOf(`/live/tables/${name}?since=${since}`, signal);
    const [processes, seconds, latencies, stalls, lanes] = await Promise.all(NAMES.map(read));
    Object.assign(this, { processes, stalls, lanes });
    this.#merge(this.#seconds, seconds, (rows, row) => {
      const others = rows.filter(({ process }) => process !== row.process);
      return [...others, row];
    });
    this.#merge(this.#latencies, latencies, (pairs, { bucket, answers }) =>
      [...pairs.filter(([other]) => other !== bucket), [bucket, answers]]);
    for (const second of this.#seconds.keys()) this.latest = Math.max(this.latest, second);
    for (const known of [this.#seconds, this.#latencies]) {
      for (const second of known.keys()) if (second <= this.latest - KEPT) known.delete(second);
    }
  }

  #merge(known, rows, merged) {
    for (const row of rows) known.set(row.second, merged(known.get(row.second) ?? [], row));
  }

  rows(second) {
    return this.#seconds.get(second) ?? [];
  }

  buckets(second) {
    return this.#latencies.get(second) ?? [];
  }

  // The sum of a column over all processes; undefined where nothing is known.
  sum(second, name) {
    const rows = this.rows(second);
    return rows.length ? rows.reduce((total, row) => total + row[name], 0) : undefined;
  }

  most(second, name) {
    return Math.max(0, ...this.rows(second).map((row) => row[name]));
  }

  refused(second) {
    return CAUSES.reduce((total, cause) => total + (this.sum(second, `refused_${cause}`) ?? 0), 0);
  }

  // The latency below which this share of the answers of some seconds lies; undefined without any.
  percentile(share, from, to = from) {
    const counts = [];
    let all = 0;
    for (let second = from; second <= to; second += 1) {
      for (const [bucket, answers] of this.buckets(second)) {
        counts[bucket] = (counts[bucket] ?? 0) + answers;
        all += answers;
      }
    }
    let rest = share * all;
    for (const bucket of Object.keys(counts).map(Number)) {
      if (rest <= counts[bucket]) return startOf(bucket + rest / counts[bucket]);
      rest -= counts[bucket];
    }
    return undefined;
  }
}

// Where a bucket begins, in seconds; between two of them for numbers that are not whole.
export function startOf(bucket) {
  return LEAST * 2 ** ((bucket - 1) / PER_DOUBLING);
}

async function rowsOf(path, signal) {
  const table = await readTable(path, { signal });
  const columns = Object.entries(table.toColumns());
  return Array.from({ length: table.numRows }, (_, row) =>
    Object.fromEntries(columns.map(([name, values]) => [name, values.at(row)])));
}
