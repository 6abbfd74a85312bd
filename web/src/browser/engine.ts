// What the page asks of the WebAssembly module (crates/browser), whose glue `whyoom-engine` stands for in build_browser.mjs.
// Whatever fails throws a string for people.

/** At most `length` bytes of a file from `offset` on. */
export type Read = (offset: number, length: number) => Uint8Array;

/** How many bytes have been read. */
export type Progress = (done: number) => void;

/** One run: its files, then the verdict. */
export interface Inquiry {
  add(name: string, size: number, read: Read, progress: Progress): void;
  /** The verdict, with its fixes replayed. */
  judge(): void;
  /** The document of `whyoom why --json`. */
  verdict_json(): string;
  /** What the terminal shows, without colour. */
  verdict_text(): string;
  /** JSON of the schema whyoom.report. */
  report_document(): string;
  /** The report as one file. */
  report_html(): Uint8Array;
  free(): void;
}

/** Two runs compared; `progress` counts the bytes of both. */
export interface Comparison {
  json(): string;
  text(): string;
  /** JSON of the schema whyoom.diff-page. */
  document(): string;
  /** The comparison as one file. */
  html(): Uint8Array;
  free(): void;
}

export interface Engine {
  /** Once, before anything else. */
  initSync(given: { module: WebAssembly.Module }): { memory?: WebAssembly.Memory };
  Inquiry: new (for_report: boolean) => Inquiry;
  Comparison: new (a_name: string, a_size: number, a_read: Read, b_name: string, b_size: number, b_read: Read, progress: Progress) => Comparison;
}
