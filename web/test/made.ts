// A made report: a small allocator serves a made training run that keeps one tensor of every step, until memory runs
// out. Its numbers are made up; its shape is that of what Rust writes.
import type { AddressMap, Bands, Column, Report, Space } from "../src/data";

const MIB = 1 << 20;
const STEP_NANOSECONDS = 40_000;

export interface Size {
  steps: number;
  /** How many points the curve and the bands have at most. */
  points: number;
  bandPoints: number;
  /** How many blocks are told one by one, at most. */
  blocks: number;
  spaces?: number;
}

export const SMALL: Size = { steps: 12, points: 4000, bandPoints: 600, blocks: 4000 };

/** As differences, the way Rust writes them. */
export function column(values: number[]): Column {
  return values.map((value, i) => (i === 0 ? value : value - values[i - 1]));
}

/** Numbers that look random and are the same every time. */
function randomly(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const KINDS = ["parameters", "gradients", "optimizer state", "activations", "inputs"];

/** Function, file, line, kind, size in MiB of each allocating line. */
const LINES: [string, string, number, number, number][] = [
  ["__init__", "me/model.py", 12, 0, 24],
  ["step", "torch/optim/adam.py", 230, 2, 20],
  ["forward", "me/attention.py", 41, 3, 30],
  ["forward", "me/attention.py", 57, 3, 18],
  ["forward", "me/mlp.py", 20, 3, 26],
  ["softmax", "torch/nn/functional.py", 1885, 3, 9],
  ["backward", "torch/autograd/graph.py", 822, 1, 22],
  ["load_batch", "me/data.py", 33, 4, 12],
  ["remember", "me/train.py", 61, 3, 14],
  ["norm", "me/model.py", 77, 3, 3],
];

/** The module of each line that has one. */
const MODULES: Record<number, string> = { 0: "GPT.embed", 1: "GPT.layers.0.mlp", 2: "GPT.layers.0.attention", 3: "GPT.layers.1.attention", 4: "GPT.layers.0.mlp", 6: "GPT.layers.1.mlp", 9: "GPT" };

class Strings {
  readonly all: string[] = [];
  #ids = new Map<string, number>();

  id(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) this.#ids.set(text, (id = this.all.push(text) - 1));
    return id;
  }
}

interface Live {
  block: number;
  segment: number;
  offset: number;
  size: number;
}

interface Segment {
  address: number;
  size: number;
  live: Live[];
}

/** One made run; what a `Space` tells is read off it. */
class Run {
  time = 0;
  event = 0;
  used = 0;
  reserved = 0;
  segments: Segment[] = [];
  samples: { time: number; event: number; used: number; reserved: number; byLine: number[]; byKind: number[] }[] = [];
  born: number[] = [];
  bornEvent: number[] = [];
  died: number[] = [];
  diedEvent: number[] = [];
  address: number[] = [];
  size: number[] = [];
  line: number[] = [];
  iterations: { time: number; event: number; bytes: number }[] = [];
  maps: AddressMap[] = [];
  peak = { time: 0, event: 0, bytes: 0, byLine: [] as number[], blocks: [] as number[] };
  #byLine = LINES.map(() => 0);
  #blocksByLine = LINES.map(() => 0);
  #random = randomly(7);
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** False where there is no room. */
  make(line: number, size: number): Live | null {
    const place = this.#room(size);
    if (!place) return null;
    const live = { ...place, block: this.size.length, size };
    this.segments[place.segment].live.push(live);
    this.#change(line, size);
    this.born.push(this.time);
    this.bornEvent.push(this.event);
    this.died.push(-1);
    this.diedEvent.push(-1);
    this.address.push((this.segments[place.segment].address + place.offset) / 512);
    this.size.push(size);
    this.line.push(line);
    return live;
  }

  free(live: Live): void {
    const segment = this.segments[live.segment];
    segment.live = segment.live.filter((other) => other !== live);
    this.#change(this.line[live.block], -live.size);
    this.died[live.block] = this.time;
    this.diedEvent[live.block] = this.event;
  }

  iteration(): void {
    this.iterations.push({ time: this.time, event: this.event, bytes: this.used });
  }

  map(moment: string): void {
    const segments = this.segments.map((segment) => ({
      address: `0x${segment.address.toString(16)}`,
      size: segment.size,
      stream: 0,
      pool: "",
      class: segment.size > 2 * MIB ? ("large" as const) : ("small" as const),
      expandable: false,
      runs: segment.live
        .sort((a, b) => a.offset - b.offset)
        .map((live): [number, number, number, number] => [live.offset, live.size, 1, this.line[live.block] + 1]),
    }));
    this.maps.push({ time: this.time, event: this.event, moment, smallest_gap: 0, left_out: 0, segments });
  }

  #room(size: number): { segment: number; offset: number } | null {
    for (const [segment, { live, size: whole }] of this.segments.entries()) {
      let at = 0;
      for (const { offset, size: taken } of [...live].sort((a, b) => a.offset - b.offset)) {
        if (offset - at >= size) return { segment, offset: at };
        at = offset + taken;
      }
      if (whole - at >= size) return { segment, offset: at };
    }
    const whole = Math.max(20 * MIB, Math.ceil(size / (2 * MIB)) * 2 * MIB);
    if (this.reserved + whole > this.capacity) return null;
    this.reserved += whole;
    const last = this.segments.at(-1);
    this.segments.push({ address: last ? last.address + last.size + 64 * MIB : 0x7f2a40000000, size: whole, live: [] });
    return { segment: this.segments.length - 1, offset: 0 };
  }

  #change(line: number, size: number): void {
    this.time += Math.round(STEP_NANOSECONDS * (0.5 + this.#random() * 3));
    this.event++;
    this.used += size;
    this.#byLine[line] += size;
    this.#blocksByLine[line] += Math.sign(size);
    const byKind = KINDS.map((_, kind) => LINES.reduce((sum, each, i) => sum + (each[3] === kind ? this.#byLine[i] : 0), 0));
    this.samples.push({ time: this.time, event: this.event, used: this.used, reserved: this.reserved, byLine: [...this.#byLine], byKind });
    if (this.used > this.peak.bytes) {
      this.peak = { time: this.time, event: this.event, bytes: this.used, byLine: [...this.#byLine], blocks: [...this.#blocksByLine] };
    }
  }
}

/** Steps of forward, backward and an optimizer, and one thing kept of each. */
function train(steps: number): { run: Run; failed: { line: number; size: number } | null } {
  const random = randomly(steps);
  const run = new Run(Math.round((2000 + steps * 8) * MIB));
  const size = (line: number) => Math.max(512, Math.round(LINES[line][4] * MIB * (0.6 + random()) / 512) * 512);
  for (let i = 0; i < 10; i++) run.make(0, LINES[0][4] * MIB);
  let lastMap = 0;
  for (let step = 0; step < steps; step++) {
    run.iteration();
    const kept: Live[] = [];
    for (let layer = 0; layer < 10; layer++) {
      for (const line of [7, 2, 3, 4, 5, 9]) {
        const wanted = size(line);
        const live = run.make(line, wanted);
        if (!live) return { run, failed: { line, size: wanted } };
        kept.push(live);
      }
    }
    run.make(8, size(8));
    if (step === 1) for (let i = 0; i < 10; i++) run.make(1, LINES[1][4] * MIB);
    for (const live of kept.reverse()) {
      const gradient = random() < 0.4 ? run.make(6, size(6)) : null;
      run.free(live);
      if (gradient) run.free(gradient);
    }
    if (run.maps.length < 24 && run.event - lastMap > steps * 5) {
      lastMap = run.event;
      run.map("");
    }
  }
  return { run, failed: null };
}

/** At most `most` of the samples, evenly; the last of each stretch. */
function every<T>(samples: T[], most: number): { last: T; all: T[] }[] {
  const each = Math.max(1, Math.ceil(samples.length / most));
  const out: { last: T; all: T[] }[] = [];
  for (let i = 0; i < samples.length; i += each) {
    const all = samples.slice(i, i + each);
    out.push({ last: all[all.length - 1], all });
  }
  return out;
}

export function made(size: Size = SMALL): Report {
  const strings = new Strings();
  const frames: [number, number, number][] = [];
  const frame = (name: string, file: string, line: number) => frames.push([strings.id(name), strings.id(file), line]) - 1;
  const outer = [frame("main", "me/train.py", 90), frame("<module>", "me/train.py", 104)];
  const step = frame("training_step", "me/train.py", 55);
  const module = frame("_call_impl", "torch/nn/modules/module.py", 1775);
  const stacks: number[][] = [[]];
  const places = [strings.id("")];
  for (const [name, file, line] of LINES) {
    const inner = file.startsWith("me/") && name !== "forward" ? [] : [module];
    stacks.push([frame(name, file, line), ...inner, step, ...outer]);
    places.push(strings.id(`${file}:${line} ${name}`));
  }
  const number = size.spaces ?? 1;
  const spaces = Array.from({ length: number }, (_, i) => space(size, i));
  const modules = [-1, ...LINES.map((_, line) => (MODULES[line] ? strings.id(MODULES[line]) : -1))];
  for (const space of spaces) addModules(space, modules);
  return {
    schema: "whyoom.report",
    version: 1,
    whyoom: "0.0.0-made",
    title: "python train.py --layers 10",
    simulated: null,
    why: why(spaces[0]),
    text: "fragmented-cache: made up",
    fit: null,
    replay: replay(spaces[0]),
    replay_note: null,
    strings: strings.all,
    frames,
    stacks,
    places,
    modules,
    processes: Array.from({ length: number }, (_, i) => ({ name: `rank ${i} (pid ${4100 + i})`, facts: [["ended", "by an exception"], ["contexts", "1"], ["recorded", "everything"]] })),
    spaces,
  };
}

/** What each stack's memory belongs to, and the same at the peak by module. */
function addModules(space: Space, modules: number[]): void {
  const { blocks, peak } = space;
  blocks.module = blocks.stack.map((stack) => modules[stack]);
  const sums = new Map<number, number[]>();
  for (const entry of peak.stacks) {
    if (modules[entry.stack] < 0) continue;
    entry.module = modules[entry.stack];
    const amounts = sums.get(entry.module) ?? KINDS.map(() => 0);
    amounts[KINDS.indexOf(entry.kind)] += entry.bytes;
    sums.set(entry.module, amounts);
  }
  const left_out = { modules: 0, bytes: KINDS.map(() => 0) };
  space.modules = { moment: "peak", time: peak.time, event: peak.event, bytes: peak.bytes, kinds: KINDS, modules: [...sums], left_out };
}

function space(size: Size, process: number): Space {
  const { run, failed } = train(size.steps + process * 3);
  const incident = { time: run.time + 1000, event: run.event };
  run.map(failed ? "out of memory" : "end");
  const curve = every(run.samples, size.points);
  const coarse = every(run.samples, size.bandPoints);
  const bands = (names: string[], stack: (i: number) => number | null, of: (sample: (typeof run.samples)[number]) => number[]): Bands => ({
    time: column(coarse.map(({ last }) => last.time)),
    event: column(coarse.map(({ last }) => last.event)),
    bands: names.map((name, i) => ({ name, stack: stack(i), bytes: column(coarse.map(({ last }) => of(last)[i])) })),
  });
  const kept = run.size
    .map((_, i) => i)
    .sort((a, b) => run.size[b] - run.size[a])
    .slice(0, size.blocks)
    .sort((a, b) => a - b);
  const of = (values: number[]) => kept.map((i) => values[i]);
  const stays = run.size.flatMap((bytes, i) => (run.line[i] === 8 ? [bytes] : []));
  const total = stays.reduce((sum, bytes) => sum + bytes, 0);
  return {
    process,
    device: "GPU 0",
    capacity_bytes: run.capacity,
    events: run.event,
    has_allocator: true,
    curve: {
      time: column(curve.map(({ last }) => last.time)),
      event: column(curve.map(({ last }) => last.event)),
      lowest: column(curve.map(({ all }) => Math.min(...all.map((sample) => sample.used)))),
      highest: column(curve.map(({ all }) => Math.max(...all.map((sample) => sample.used)))),
      reserved: column(curve.map(({ all }) => Math.max(...all.map((sample) => sample.reserved)))),
    },
    by_kind: bands(KINDS, () => null, (sample) => sample.byKind),
    by_place: bands(LINES.map(([name, file, line]) => `${file}:${line} ${name}`), (i) => i + 1, (sample) => sample.byLine),
    incidents: failed
      ? [{ ...incident, requested_bytes: failed.size, allocated_bytes: run.used, reserved_bytes: run.reserved, free_bytes: run.capacity - run.reserved, stack: failed.line + 1, message: "CUDA out of memory." }]
      : [],
    iterations: {
      found_by: "repetitions of one line",
      every: 1,
      time: column(run.iterations.map(({ time }) => time)),
      event: column(run.iterations.map(({ event }) => event)),
      bytes: column(run.iterations.map(({ bytes }) => bytes)),
    },
    growth: {
      iterations: stays.length,
      per_iteration_bytes: Math.round(total / Math.max(1, stays.length)),
      interval_bytes: [Math.round((total / Math.max(1, stays.length)) * 0.9), Math.round((total / Math.max(1, stays.length)) * 1.1)],
      total_bytes: total,
      stacks: [{ stack: 9, bytes: total, blocks: stays.length }],
    },
    blocks: {
      seen: run.size.length,
      complete: kept.length === run.size.length,
      born: column(of(run.born)),
      born_event: column(of(run.bornEvent)),
      died: of(run.died),
      died_event: of(run.diedEvent),
      address: column(of(run.address)),
      size: of(run.size),
      stack: kept.map((i) => run.line[i] + 1),
      kind: kept.map((i) => LINES[run.line[i]][3]),
      kinds: KINDS,
    },
    maps: run.maps,
    peak: {
      time: run.peak.time,
      event: run.peak.event,
      bytes: run.peak.bytes,
      stacks: run.peak.byLine.flatMap((bytes, i) => (bytes > 0 ? [{ stack: i + 1, bytes, blocks: run.peak.blocks[i], kind: KINDS[LINES[i][3]] }] : [])),
    },
  };
}

function why(space: Space) {
  const growth = { cause: "growth", strength: "explains", headline: "Memory grows in every iteration and is not freed", because: "Made up.", gives_back_bytes: 1, process: "p", device: 0, evidence: [], remedies: [] };
  return {
    schema: "whyoom.why",
    version: 1,
    verdict: {
      cause: "fragmented-cache",
      strength: "explains",
      headline: "1.19 GiB is free in PyTorch's cache, but in blocks too small for 386.96 MiB",
      because: "With the 212.00 MiB free on the device that is 1.40 GiB, enough for the 386.96 MiB requested. The largest block is 300.17 MiB.",
      call_sites: [
        { call_site: "me/train.py:61 remember", what: "10 live blocks pin 1.19 GiB" },
        { call_site: "me/attention.py:41 forward", what: "the request that failed" },
      ],
      documentation: "https://example.org/causes/fragmented-cache.html",
      gives_back_bytes: 1277752279,
      process: "p",
      device: 0,
      evidence: [
        { label: "requested", bytes: 405756968, basis: "recorded" },
        { label: "free on the device", bytes: 222298112, basis: "recorded" },
        { label: "fragmentation (free outside the largest block)", share: 0.877, basis: "computed" },
        { label: "requested at", text: "me/attention.py:41 forward", basis: "recorded" },
        { label: "segments pinned by live blocks", count: 10, basis: "recorded" },
        { label: "reserved", bytes: 3360811909, basis: "recorded" },
        { label: "allocated", bytes: 2083059630, basis: "recorded" },
        { label: "largest free block", bytes: 314751222, basis: "recorded" },
      ],
      remedies: [
        {
          what: "lets free blocks merge; set it before Python starts",
          paste: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
          example: null,
          frees_bytes: 1277752279,
          proved: true,
          proof: { peak_reserved_bytes: 3178275799, capacity_bytes: 3360811909, level: "holds for whole iterations", iterations: 3 },
        },
        { what: "keep numbers instead of tensors", paste: null, example: "losses.append(loss.item())", frees_bytes: null, proved: false, proof: null },
        { what: "a smaller batch needs less", paste: null, example: null, frees_bytes: null, proved: false, proof: null },
      ],
    },
    contributing: [growth],
    by_process: [],
    totals: [],
    incidents: [],
    incidents_seen: space.incidents.length,
    inputs: [{ name: "frag", kind: "recording", notes: ["no stacks before event 12"] }],
  };
}

function replay(space: Space) {
  const row = (allocator: string, about: string, on: string | null, fits: boolean, share: number) => ({
    allocator,
    about,
    switch: on,
    fits,
    peak_reserved_bytes: Math.round(space.peak.bytes / share),
    utilization: share,
    driver_calls: 84,
    driver_nanoseconds: 9467450,
  });
  return {
    schema: "whyoom.replay",
    version: 1,
    runs: [
      {
        process: "p",
        device: "GPU 0",
        allocations: 31675,
        peak_live_bytes: space.peak.bytes,
        recorded_peak_reserved_bytes: space.peak.bytes * 1.2,
        capacity_bytes: space.capacity_bytes,
        capacity_from: "from the failure in the recording",
        model: { model: "PyTorch's allocator", whole: true, steps: 55, equal: 55 },
        rows: [
          row("stitch", "whyoom's own pool", "whyoom run --pool -- python leak.py", true, 0.98),
          row("expandable", "PyTorch with expandable segments", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", true, 0.93),
          row("rmm", "RMM's pool", "rmm.reinitialize(pool_allocator=True); torch.cuda.memory.change_current_allocator(rmm.allocators.torch.rmm_torch_allocator)", true, 0.9),
          row("as-recorded", "PyTorch with the settings of the recording", null, false, 0.7),
        ],
        fits_up_to_here: false,
        caveat: null,
      },
    ],
  };
}
