import type { ExtractionOptions, Table } from "@uwdata/flechette";

/** What has arrived: whole batches and their rows, and the bytes of all messages. */
export interface Progress {
  /** The status of the response. */
  status: number;
  rows: number;
  batches: number;
  bytes: number;
}

export interface ReadOptions {
  /** Aborts the request. For a Response, give its signal to `fetch` too: it ends the reading. */
  signal?: AbortSignal;
  /** Is called after each message. */
  onProgress?: (progress: Progress) => void;
  /** Further options of `fetch`, for a URL. */
  init?: RequestInit;
  /** How flechette extracts values, for example `{ useBigInt: true }`. */
  extraction?: ExtractionOptions;
}

/**
 * The table did not arrive in full: the stream was cut, the server failed, the counts at its end are
 * others, or the response is an error or no Arrow stream. The message says which.
 */
export class IncompleteTableError extends Error implements Progress {
  name: "IncompleteTableError";
  status: number;
  rows: number;
  batches: number;
  bytes: number;
}

/**
 * Reads the whole table.
 *
 * @throws {IncompleteTableError} unless every row arrived. Where there is no response at all, the
 *   TypeError of `fetch`; after an abort, the signal's reason.
 */
export function readTable(source: string | URL | Response, options?: ReadOptions): Promise<Table>;

/**
 * Yields each batch as a table when it arrives.
 *
 * @throws {IncompleteTableError} after the last batch that arrived, unless every row did.
 */
export function readBatches(
  source: string | URL | Response,
  options?: ReadOptions,
): AsyncGenerator<Table, void, void>;
