// From the page's own text to the report: base64, gzip, JSON; and columns to plain numbers.
import type { Column, Report } from "./data";
import type { DiffDocument } from "./diff/data";

const SCHEMAS = new Set(["whyoom.report", "whyoom.diff-page"]);

/** Reads what Rust wrote into the page. */
export async function decode(base64: string): Promise<Report | DiffDocument> {
  return parse(await inflate(base64).text());
}

/** A document that the page can show. */
export function parse(text: string): Report | DiffDocument {
  const found = JSON.parse(text) as { schema: string; version: number };
  if (!SCHEMAS.has(found.schema) || found.version !== 1) {
    throw new Error(`this page reads ${[...SCHEMAS].join(" and ")} version 1, not ${found.schema} version ${found.version}`);
  }
  return found as Report | DiffDocument;
}

/** A column as its values: a running sum of its differences. */
export function values(column: Column): Float64Array {
  const out = new Float64Array(column.length);
  let sum = 0;
  for (let i = 0; i < column.length; i++) {
    sum += column[i];
    out[i] = sum;
  }
  return out;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** What was compressed with gzip and written in base64, as text or as bytes. */
export function inflate(base64: string): Response {
  const plain = new Blob([bytesOf(base64.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain);
}
