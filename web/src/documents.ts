// The documents of the command line that a report carries, as far as the page reads them (docs/json.md).

export interface Evidence {
  label: string;
  basis: "message" | "recorded" | "computed" | "measured";
  bytes?: number;
  count?: number;
  share?: number;
  text?: string;
}

export interface Remedy {
  what: string;
  paste: string | null;
  /** Code to adapt, which is not pasted as it stands; older reports have none. */
  example?: string | null;
  frees_bytes: number | null;
  proved: boolean;
  proof: { peak_reserved_bytes: number; capacity_bytes: number; level: string; iterations: number | null } | null;
}

/** A line of the program, and what it has to do with the cause. */
export interface CallSite {
  call_site: string;
  what: string;
}

export interface Finding {
  cause: string;
  strength: string;
  headline: string;
  because: string;
  /** The program's own lines; older reports have none. */
  call_sites?: CallSite[];
  /** The address of the page on the cause; older reports have none. */
  documentation?: string | null;
  gives_back_bytes: number | null;
  process: string | null;
  device: number | string | null;
  evidence: Evidence[];
  remedies: Remedy[];
}

export interface Totals {
  process: string;
  device: number | string | null;
  reserved_bytes: number;
  allocated_bytes: number;
  active_blocks: number;
  segments: number;
  peak_allocated_bytes: number;
  peak_reserved_bytes: number;
}

export interface Why {
  verdict: Finding;
  contributing: Finding[];
  by_process: { process: string; device: number | string | null; cause: string }[];
  totals: Totals[];
  inputs: { name: string; kind: string; notes: string[] }[];
}

/** A device in the words of the other documents: `GPU 0`. */
export function deviceName(device: number | string | null): string {
  return typeof device === "number" ? `GPU ${device}` : (device ?? "");
}

export interface ReplayRow {
  allocator: string;
  about: string;
  switch: string | null;
  fits: boolean | null;
  peak_reserved_bytes: number;
  utilization: number;
  driver_calls: number;
  driver_nanoseconds: number;
}

export interface ReplayRun {
  process: string;
  device: string;
  allocations: number;
  peak_live_bytes: number;
  recorded_peak_reserved_bytes: number;
  capacity_bytes: number | null;
  capacity_from: string | null;
  model: { whole: boolean; steps: number; equal: number } | null;
  rows: ReplayRow[];
  /** True if a fit is about the recorded requests only. */
  fits_up_to_here: boolean;
  caveat: string | null;
}

export interface FitProcess {
  rank: string | number;
  device: number;
  peak_allocated_bytes: number | null;
  peak_reserved_bytes: number | null;
  outside_bytes: number;
  peak_bytes: number;
  headroom_bytes: number;
  fits: boolean;
  fits_with: { setting: string; paste: string; peak_reserved_bytes: number } | null;
  obstacle: string | null;
}

export interface Fit {
  command: string;
  gpus: { name: string; total_bytes: number; fits: boolean; ran_on: string; failure: string | null; processes: FitProcess[] }[];
  peaks: { ran_on: string; rank: string | number; place: string; kinds: Part[]; places: Part[] }[];
  vary: Vary | null;
  generation: Generation | null;
  assertions: { text: string; holds: boolean; found: string }[];
  notes: { kind: string; text: string }[];
}

export interface Generation {
  sequences: number;
  prompt_tokens: number;
  new_tokens: number;
  run_tokens: number;
  largest: { gpu: string; room_bytes: number; new_tokens: number }[];
  curve: { new_tokens: number; peak_allocated_bytes: number }[];
}

export interface Part {
  name: string;
  bytes: number;
}

export interface Vary {
  name: string;
  largest: { gpu: string; room_bytes: number; value: number | null; peak_reserved_bytes: number | null; confirmed: boolean; is_last: boolean }[];
  curve: { value: number; peak_reserved_bytes: number }[];
  runs: number[];
}
