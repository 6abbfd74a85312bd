// A made comparison: its numbers are made up, its shape is that of what Rust writes.
import type { Both, Change, DiffDocument, DiffRank, Figures, Groups, LeftOut, RunTimeline, View } from "../src/diff/data";
import { column } from "./made";

const MIB = 1 << 20;
export const HOSTILE = "<img src=x onerror=\"window.owned='name'\"></script>";

/** Module, kind, phase, call site, library function, functions, MiB in A and in B. */
const LINES: [string | null, string, string, string, string | null, string[], number, number][] = [
  ["layers.0.mlp", "activations", "forward", "model.py:32 Mlp.forward", "torch.nn.functional.linear", ["main", "forward"], 100, 180],
  ["layers.1.mlp", "activations", "forward", "model.py:32 Mlp.forward", "torch.nn.functional.linear", ["main", "forward"], 100, 180],
  ["layers.0.attention", "parameters", "outside the model", "model.py:12 Attention.__init__", null, ["main", "__init__"], 40, 40],
  ["head", "gradients", "backward", "backward of MmBackward0", null, [], 30, 0],
  ["", "logits and loss", "forward", "train.py:70 main", null, ["main"], 0, 64],
  [null, "inputs", "outside the model", HOSTILE, null, ["main"], 8, 12],
];

class Strings {
  readonly all: string[] = [];

  id(text: string | null): number {
    if (text === null) return -1;
    const known = this.all.indexOf(text);
    return known < 0 ? this.all.push(text) - 1 : known;
  }
}

const NOTHING: LeftOut = { count: 0, sums: [0, 0, 0, 0] };

function groups(strings: Strings, scale: number, name: (line: (typeof LINES)[number]) => string | null): Groups {
  const sums = new Map<string, Both>();
  for (const line of LINES) {
    const of = name(line);
    if (of === null) continue;
    const [a, blocksA, b, blocksB] = sums.get(of) ?? [0, 0, 0, 0];
    sums.set(of, [a + line[6] * MIB, blocksA + (line[6] > 0 ? 1 : 0), b + line[7] * MIB * scale, blocksB + (line[7] > 0 ? 1 : 0)]);
  }
  const found = [...sums].map(([of, both]): [number, Both] => [strings.id(of), both]);
  return { groups: found.sort(([, x], [, y]) => Math.abs(y[2] - y[0]) - Math.abs(x[2] - x[0])), left_out: NOTHING };
}

function view(strings: Strings, moment: string, scale: number): View {
  const changes = LINES.map(([module, kind, phase, site, callee, functions, a, b]): Change => [
    strings.id(module), strings.id(kind), strings.id(phase), strings.id(site), strings.id(callee), functions.map((each) => strings.id(each)), [a * MIB, 1, b * MIB * scale, 1],
  ]);
  const total = (side: 6 | 7) => LINES.reduce((sum, line) => sum + line[side] * MIB, 0);
  return {
    moment,
    a_bytes: total(6),
    b_bytes: total(7) * scale,
    explanations: [
      { bytes: 160 * MIB * scale, text: "are activations of `layers` (2), made at model.py:32 Mlp.forward" },
      { bytes: -30 * MIB, text: `are gradients, only in A, made at ${HOSTILE}` },
    ],
    by_module: groups(strings, scale, ([module]) => module?.replace(/\.\d+/g, ".*") ?? null),
    by_site: groups(strings, scale, (line) => line[3]),
    by_kind: groups(strings, scale, (line) => line[1]),
    by_phase: groups(strings, scale, (line) => line[2]),
    changes,
    left_out: { count: 7, sums: [MIB, 7, MIB, 7] },
  };
}

function figures(peak: number): Figures {
  return { peak_bytes: peak, requested_bytes: peak, reserved_bytes: peak + 20 * MIB, outside_bytes: 16 * MIB, steady_bytes: 60 * MIB, iterations: 3, peak_phase: "backward", gpu: "NVIDIA A100", capacity_bytes: null };
}

function run(peak: number, late: number): RunTimeline {
  const points = Array.from({ length: 400 }, (_, i) => i);
  const share = (i: number) => (i < 40 ? 0.1 : 0.3 + 0.7 * Math.abs(Math.sin((i - 40) / 38)));
  const most = Math.max(...points.map(share));
  return {
    time: column(points.map((i) => late + i * 1e7)),
    allocated: column(points.map((i) => Math.round((peak * share(i)) / most))),
    reserved: column(points.map((i) => (i < 40 ? Math.round(peak * 0.2) : peak + 20 * MIB))),
    iterations: column([40, 160, 280].map((i) => late + i * 1e7)),
    every: 1,
  };
}

function rank(strings: Strings, number: number, scale: number): DiffRank {
  const views = [view(strings, "peak", scale), view(strings, "steady state", 1)];
  const [{ a_bytes, b_bytes }] = views;
  return {
    rank: number,
    name_a: `rank ${number}, GPU ${number}`,
    name_b: `rank ${number}, GPU ${number}`,
    answer: `B needs more at its peak, says rank ${number}`,
    a: figures(a_bytes),
    b: figures(b_bytes),
    unchanged: false,
    noise_bytes: 65536,
    views,
    explained_by: 0,
    settings: [
      { name: "gradient checkpointing", a: "used", b: null, explains: true },
      { name: "PYTORCH_CUDA_ALLOC_CONF", a: null, b: HOSTILE, explains: false },
    ],
    timelines: [run(a_bytes, 0), run(b_bytes, 5e8)],
  };
}

/** Ranks of which each differs less than the one before. */
export function madeDiff(ranks = 1): DiffDocument {
  const strings = new Strings();
  const all = Array.from({ length: ranks }, (_, i) => rank(strings, i + 2, 1 + (ranks - i) / ranks));
  return {
    schema: "whyoom.diff-page",
    version: 1,
    whyoom: "0.0.0-made",
    title: "before and after",
    simulated: null,
    contains: "names of the inputs.",
    text: "B needs more",
    answer: "rank 2 differs most: B needs more at its peak",
    a: "before",
    b: `after ${HOSTILE}`,
    ranks: all,
    only_a: [],
    only_b: ranks > 1 ? ["rank 99, GPU 3"] : [],
    conditions: [{ text: "peak>+5%", holds: true, found: "278.00 MiB in A, 952.00 MiB in B" }],
    strings: strings.all,
  };
}
