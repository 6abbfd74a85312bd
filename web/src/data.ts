// The contract between Rust and the page: what crates/report/src/html writes is what the page reads.
//
// A report is one JSON document, compressed with gzip and written in base64 into the page. Amounts are
// bytes, times are nanoseconds since the first event of the report, and an event is its number among all
// events that were read, so that all spaces share one axis. A `Column` is a list of whole numbers, stored as
// its first value and then differences, because that compresses well.

/** First value, then differences. */
export type Column = number[];

export interface Report {
  schema: "whyoom.report";
  version: 1;
  /** The version of whyoom that wrote it. */
  whyoom: string;
  /** What was looked at: names of inputs, or the command. */
  title: string;
  /** A sentence for people where a GPU was simulated, else null. */
  simulated: string | null;
  /** What a reader sees of the run and of the machine, in a sentence; older reports have none. */
  contains?: string;
  /** The document of `whyoom why --json --live` (docs/json.md). Null in a report of `fit`. */
  why: any | null;
  /** The same verdict as the terminal shows it, without colour. */
  text: string;
  /** The document of `whyoom fit --json`. */
  fit: any | null;
  /** The document of `whyoom replay --json`: what other allocators would have done. */
  replay: any | null;
  /** Why there is no replay, for people. */
  replay_note: string | null;
  strings: string[];
  /** Function, file (both of strings) and line. */
  frames: [number, number, number][];
  /** Frames of each stack, innermost first. Stack 0 is the unknown one. */
  stacks: number[][];
  /** For each stack the place in the program, in words: a string. */
  places: number[];
  /** For each stack the module that was at work: a string, or -1; older reports have none. */
  modules?: number[];
  processes: Process[];
  spaces: Space[];
}

export interface Process {
  name: string;
  /** Facts for people, in order: ["ended", "by signal 9"], ["contexts", "1"], … */
  facts: [string, string][];
}

/** One process's memory on one device. */
export interface Space {
  /** Of processes. */
  process: number;
  /** "GPU 0", "host". */
  device: string;
  /** What the device has, where a failure told; else what the process could have of it then, or null. */
  capacity_bytes: number | null;
  /** How many events there were. */
  events: number;
  /** Whether blocks of a caching allocator are told, or only what was taken from the driver. */
  has_allocator: boolean;
  /** Memory over time, finely: equally many events a point. */
  curve: Curve;
  /** The same by kind (parameters, activations …), coarser: its own points. */
  by_kind: Bands;
  /** The same by place: the places that ever held most; `rest` is what the others held. */
  by_place: Bands;
  incidents: Incident[];
  /** Iterations: when each began, and what was in use then; of very many, every so manyth (`every`). */
  iterations: { found_by: string; every: number; time: Column; event: Column; bytes: Column } | null;
  growth: Growth | null;
  /** The blocks worth drawing one by one, in order of birth. What is not told of is in `curve` all the same. */
  blocks: Blocks;
  /** Where everything lay, at chosen instants, in order of time. */
  maps: AddressMap[];
  /** What was live at the peak: for the flame graph. */
  peak: { time: number; event: number; bytes: number; stacks: { stack: number; bytes: number; blocks: number; kind: string; module?: number }[] };
  /** What was live by module; null where no module is known, and older reports have none. */
  modules?: Modules | null;
}

export interface Curve {
  /** The last instant of each point, and its event. */
  time: Column;
  event: Column;
  /** In use: the least and the most within the point. */
  lowest: Column;
  highest: Column;
  /** Held by the allocator: the most within the point. */
  reserved: Column;
}

export interface Bands {
  time: Column;
  event: Column;
  /** Bytes at the end of each point. For places, `stack` is one stack of it. */
  bands: { name: string; stack: number | null; bytes: Column }[];
}

export interface Incident {
  time: number;
  event: number;
  requested_bytes: number | null;
  allocated_bytes: number | null;
  reserved_bytes: number | null;
  free_bytes: number | null;
  stack: number;
  message: string | null;
}

export interface Growth {
  iterations: number;
  per_iteration_bytes: number;
  interval_bytes: [number, number];
  total_bytes: number;
  stacks: { stack: number; bytes: number; blocks: number }[];
}

export interface Blocks {
  /** How many blocks there were in all; those below are the largest by size and life. */
  seen: number;
  /** Every block that ever was is told of. */
  complete: boolean;
  born: Column; // time
  born_event: Column;
  /** Time and event of its end; -1 where it was there at the end (plain, no differences). */
  died: number[];
  died_event: number[];
  address: Column; // divided by 512
  size: number[];
  stack: number[];
  /** The module that each belongs to: a string, or -1; older reports have none. */
  module?: number[];
  /** Of kinds. */
  kind: number[];
  kinds: string[];
}

/** What was live by module, at the last failure or, where there was none, at the peak. */
export interface Modules {
  moment: "out of memory" | "peak";
  time: number;
  event: number;
  /** All that was live then, of modules or not. */
  bytes: number;
  kinds: string[];
  /** Each module itself, without those inside it: its name (of strings) and bytes of each kind, in order of name. */
  modules: [number, number[]][];
  /** The smallest of very many: how many, and their sums. */
  left_out: { modules: number; bytes: number[] };
}

export interface AddressMap {
  time: number;
  event: number;
  /** "peak", "out of memory", "end", or "" for one of the evenly chosen instants. */
  moment: string;
  /** Gaps below this are not told: the blocks on both sides are one run. 0 where every gap is told. */
  smallest_gap: number;
  /** Segments that are not told of: the smallest of very many. */
  left_out: number;
  segments: MappedSegment[];
}

export interface MappedSegment {
  /** In hexadecimal, for people. */
  address: string;
  size: number;
  stream: number;
  /** "" for the default pool. */
  pool: string;
  class: "small" | "large";
  expandable: boolean;
  /** Runs of blocks from its start on, alternating with nothing: [offset, bytes, blocks, stack of the largest]. */
  runs: [number, number, number, number][];
}
