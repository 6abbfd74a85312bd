// The report with its columns unpacked, each space when it is first looked at.
import type { AddressMap, Bands, Blocks, Curve, Report, Space } from "./data";
import { values } from "./decode";
import { shortFile } from "./format";

export interface Frame {
  function: string;
  file: string;
  line: number;
}

/** What a timeline can be measured along. */
export type Axis = "time" | "event";

/** Points along both axes. */
export interface Points {
  time: Float64Array;
  event: Float64Array;
}

export interface CurvePoints extends Points {
  lowest: Float64Array;
  highest: Float64Array;
  reserved: Float64Array;
}

export interface BandPoints extends Points {
  bands: { name: string; stack: number | null; bytes: Float64Array }[];
}

export interface BlockTable {
  seen: number;
  complete: boolean;
  born: Points;
  died: Points;
  address: Float64Array;
  size: number[];
  stack: number[];
  kind: number[];
  kinds: string[];
}

const ADDRESS_UNIT = 512;

export class Model {
  readonly report: Report;
  #spaces: (SpaceModel | undefined)[] = [];

  constructor(report: Report) {
    this.report = report;
  }

  space(index: number): SpaceModel {
    return (this.#spaces[index] ??= new SpaceModel(this.report.spaces[index]));
  }

  /** A name for a space that tells it from the others. */
  spaceName(index: number): string {
    const space = this.report.spaces[index];
    const process = this.report.processes[space.process];
    return process ? `${space.device} · ${process.name}` : space.device;
  }

  string(index: number): string {
    return this.report.strings[index] ?? "";
  }

  /** The place in the program that a stack belongs to. */
  place(stack: number): string {
    return this.string(this.report.places[stack]) || "unknown call site";
  }

  /** The module that a stack belongs to, where it is known. */
  module(stack: number): string | null {
    return this.moduleName(this.report.modules?.[stack] ?? -1);
  }

  /** A module's name by its number. */
  moduleName(name: number): string | null {
    return name < 0 ? null : this.string(name);
  }

  /** Frames of a stack, innermost first. */
  frames(stack: number): Frame[] {
    return (this.report.stacks[stack] ?? []).map((frame) => this.frame(frame));
  }

  /** The program's own frames of a stack, innermost first. */
  ownFrames(stack: number): Frame[] {
    return programFrames(this.frames(stack), (frame) => frame.file);
  }

  /** The same as numbers of frames. */
  ownFrameNumbers(stack: number): number[] {
    const { stacks, frames } = this.report;
    return programFrames(stacks[stack] ?? [], (frame) => this.string(frames[frame][1]));
  }

  frame(index: number): Frame {
    const [name, file, line] = this.report.frames[index];
    return { function: this.string(name), file: this.string(file), line };
  }
}

/** `train.py:61 remember`. */
export function frameText(frame: Frame): string {
  const place = frame.file ? shortFile(frame.file) + (frame.line ? `:${frame.line}` : "") : "";
  return [place, frame.function].filter(Boolean).join(" ") || "unknown";
}

const OF_PYTHON = /\.(py|ipynb)$|^<.*>$/;
const OF_LIBRARY = /\.so(\.|$)|^(\?\?)?$/;

/**
 * The frames that are the program's own: those of Python, where there are any; else those that are not in a compiled
 * library; all, where nothing would be left.
 */
export function programFrames<T>(frames: T[], fileOf: (frame: T) => string): T[] {
  const python = frames.filter((frame) => OF_PYTHON.test(fileOf(frame)));
  if (python.length > 0) return python;
  const own = frames.filter((frame) => !OF_LIBRARY.test(fileOf(frame)));
  return own.length > 0 ? own : frames;
}

/** One process's memory on one device, its columns unpacked as they are needed. */
export class SpaceModel {
  readonly data: Space;
  #curve?: CurvePoints;
  #byKind?: BandPoints;
  #byPlace?: BandPoints;
  #blocks?: BlockTable;
  #kindOfStack?: Map<number, string>;

  constructor(data: Space) {
    this.data = data;
  }

  get curve(): CurvePoints {
    return (this.#curve ??= unpackCurve(this.data.curve));
  }

  get byKind(): BandPoints {
    return (this.#byKind ??= unpackBands(this.data.by_kind));
  }

  get byPlace(): BandPoints {
    return (this.#byPlace ??= unpackBands(this.data.by_place));
  }

  get blocks(): BlockTable {
    return (this.#blocks ??= unpackBlocks(this.data.blocks));
  }

  /** The last instant that is told of. */
  get end(): { time: number; event: number } {
    const { time, event } = this.curve;
    return { time: time.at(-1) ?? 0, event: event.at(-1) ?? 0 };
  }

  /** What a stack's memory probably is: by its largest blocks. */
  kindOfStack(stack: number): string | undefined {
    return (this.#kindOfStack ??= this.#kinds()).get(stack);
  }

  /** The map nearest to an event. */
  nearestMap(event: number): number {
    return nearest(this.data.maps, event);
  }

  #kinds(): Map<number, string> {
    const kinds = new Map<number, string>();
    const { stack, kind, kinds: names } = this.data.blocks;
    for (let i = 0; i < stack.length; i++) if (!kinds.has(stack[i])) kinds.set(stack[i], names[kind[i]]);
    for (const entry of this.data.peak.stacks) kinds.set(entry.stack, entry.kind);
    return kinds;
  }
}

function unpackCurve(curve: Curve): CurvePoints {
  return {
    time: values(curve.time),
    event: values(curve.event),
    lowest: values(curve.lowest),
    highest: values(curve.highest),
    reserved: values(curve.reserved),
  };
}

function unpackBands(bands: Bands): BandPoints {
  return {
    time: values(bands.time),
    event: values(bands.event),
    bands: bands.bands.map(({ name, stack, bytes }) => ({ name, stack, bytes: values(bytes) })),
  };
}

/** A block without an end lasts longer than everything else. */
function unpackBlocks(blocks: Blocks): BlockTable {
  const until = (ends: number[]) => Float64Array.from(ends, (at) => (at < 0 ? Number.POSITIVE_INFINITY : at));
  const address = values(blocks.address);
  for (let i = 0; i < address.length; i++) address[i] *= ADDRESS_UNIT;
  return {
    seen: blocks.seen,
    complete: blocks.complete,
    born: { time: values(blocks.born), event: values(blocks.born_event) },
    died: { time: until(blocks.died), event: until(blocks.died_event) },
    address,
    size: blocks.size,
    stack: blocks.stack,
    kind: blocks.kind,
    kinds: blocks.kinds,
  };
}

function nearest(maps: AddressMap[], event: number): number {
  let best = 0;
  maps.forEach((map, i) => {
    // Of two at one event the later: it has a name (the peak, the end).
    if (Math.abs(map.event - event) <= Math.abs(maps[best].event - event)) best = i;
  });
  return best;
}
