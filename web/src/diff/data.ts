// The contract between Rust and the page of a comparison: what crates/report/src/html/diff writes is what the page reads.
//
// The document lies in the page as a report's does (../data.ts), and its columns are packed the same way.
import type { Column } from "../data";

/** Bytes and blocks in A, then in B. */
export type Both = [number, number, number, number];

export interface DiffDocument {
  schema: "whyoom.diff-page";
  version: 1;
  whyoom: string;
  title: string;
  /** A sentence for people where a GPU was simulated, else null. */
  simulated: string | null;
  /** What a reader sees of the runs, in a sentence. */
  contains: string;
  /** What the terminal shows, without colour. */
  text: string;
  /** The first line of it. */
  answer: string;
  a: string;
  b: string;
  /** Those that both runs have, the largest difference first. */
  ranks: DiffRank[];
  only_a: string[];
  only_b: string[];
  /** Conditions of `--fail-if`. */
  conditions: { text: string; holds: boolean; found: string }[];
  strings: string[];
}

export interface DiffRank {
  rank: number | null;
  name_a: string;
  name_b: string;
  answer: string;
  a: Figures;
  b: Figures;
  unchanged: boolean;
  /** What differs up to this is noise. */
  noise_bytes: number;
  /** Moments that are compared, the peak first; none of a rank that is not told in full. */
  views: View[];
  /** Which of them explains the difference of the peaks. */
  explained_by: number;
  settings: { name: string; a: string | null; b: string | null; explains: boolean }[];
  /** Memory over time in A and in B, where the source tells it. */
  timelines: [RunTimeline | null, RunTimeline | null];
}

/** As `whyoom diff --json` has them. */
export interface Figures {
  peak_bytes: number;
  requested_bytes: number;
  reserved_bytes: number;
  outside_bytes: number | null;
  steady_bytes: number | null;
  iterations: number;
  peak_phase: string;
  gpu: string | null;
  capacity_bytes: number | null;
}

export interface View {
  /** "peak", "peak of forward", "steady state". */
  moment: string;
  a_bytes: number;
  b_bytes: number;
  explanations: { bytes: number; text: string }[];
  by_module: Groups;
  by_site: Groups;
  by_kind: Groups;
  by_phase: Groups;
  /** Those that hold most in either run. */
  changes: Change[];
  left_out: LeftOut;
}

export interface Groups {
  /** Name (of strings) and amounts, the largest difference first. */
  groups: [number, Both][];
  left_out: LeftOut;
}

/** The smallest of very many. */
export interface LeftOut {
  count: number;
  sums: Both;
}

/** Module, kind, phase, call site, library function (of strings, -1 for none), the functions that lead there, amounts. */
export type Change = [number, number, number, number, number, number[], Both];

export interface RunTimeline {
  /** The last instant of each point, in nanoseconds since the first. */
  time: Column;
  /** The most within each point. */
  allocated: Column;
  reserved: Column;
  /** When iterations began; one is told of so many (`every`). */
  iterations: Column;
  every: number;
}
