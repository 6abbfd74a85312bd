// What the page and its worker send each other.

/** A file, or pasted text. */
export interface Input {
  name: string;
  data: Blob;
  /** It was dropped, but only files can be read. */
  isFolder?: boolean;
}

/** The first message to the worker: the engine, and what makes it fast, which the first worker does for all. */
export interface Preparation {
  kind: "prepare";
  module: WebAssembly.Module;
  example: ArrayBuffer | null;
}

/** The second message; after it only `"file"` asks for the report or the comparison as one file. */
export type Task = { kind: "inquiry"; inputs: Input[] } | { kind: "comparison"; a: Input; b: Input };

export interface Verdict {
  /** What the terminal shows. */
  text: string;
  /** The JSON document. */
  json: string;
}

/** Why nothing came of it: the engine says so, it broke, or there was not enough memory for it. */
export type Failure = { why: "refused" | "broke" | "memory"; message: string };

export type Reply =
  /** The worker lives; of all bytes so many are read, behind the verdict once more for the report. */
  | { kind: "read"; done: number; size: number }
  /** All is read: what comes next takes its time without a sign. */
  | { kind: "thinking" }
  | ({ kind: "verdict" } & Verdict)
  /** The document that is drawn: of the report, or of a comparison. Its verdict may differ: a report has no model of a whole run. */
  | { kind: "document"; json: string; differs: boolean }
  | { kind: "file"; bytes: Uint8Array<ArrayBuffer> }
  | ({ kind: "failed" } & Failure);
