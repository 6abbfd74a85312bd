// What a timeline draws: ribbons of memory, stacked, that change in steps. Bands and blocks both become ribbons.
import type { Axis, Points } from "../model";

/** The part of the run on the screen, and how large that screen is. */
export interface Window {
  from: number;
  to: number;
  /** Pixels across and up. */
  width: number;
  height: number;
  /** The bytes at the top. */
  top: number;
}

/** A stripe of memory. From `start[i]` to `start[i + 1]` it lies between `bottom[i]` and `bottom[i] + size[i]`. */
export interface Ribbon {
  /** What it is, for people. */
  name: string;
  stack: number | null;
  /** Number of its colour; null for the rest. */
  colour: number | null;
  /** Which block it is, where it is one. */
  block: number | null;
  /** One more than there are steps: the last is the end. */
  start: ArrayLike<number>;
  bottom: ArrayLike<number>;
  size: ArrayLike<number>;
}

/**
 * When the states of each point begin. A point tells of the states after the events since the point before it; the
 * time of the first of those events is estimated, and exact where a point is one event. `events` is how many there
 * were in all: points hold equally many.
 */
export function starts(points: Points, axis: Axis, events: number): Float64Array {
  const x = points[axis];
  const each = Math.max(1, events / Math.max(1, x.length));
  const out = new Float64Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const gap = i === 0 ? Math.min(x[0], (x[1] ?? 0) - x[0]) : x[i] - x[i - 1];
    out[i] = x[i] - Math.max(0, gap) * (1 - 1 / each);
  }
  return out;
}

/** The last index whose value is at most `x`, or -1. */
export function lastAtMost(sorted: ArrayLike<number>, x: number, length = sorted.length): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Points to draw, and where each begins; `edge` has one more, the end of the last. */
export interface Picked {
  point: number[];
  edge: number[];
}

/**
 * Which points to draw in a window: all, or of those that share a pixel the one that holds most, so that no peak is
 * lost by looking from afar. Where the next point is further off, what remains after such a pixel is drawn too.
 */
export function pick(start: ArrayLike<number>, total: ArrayLike<number>, window: Window): Picked {
  const first = Math.max(0, lastAtMost(start, window.from));
  const last = lastAtMost(start, window.to);
  const perPixel = (window.to - window.from) / Math.max(1, window.width) || 1;
  const picked: Picked = { point: [], edge: [] };
  let pixel = -1;
  let best = -1;
  let from = 0;
  const flush = (i: number, until: number) => {
    if (best < 0) return;
    picked.point.push(best);
    picked.edge.push(from);
    const after = window.from + (pixel + 1) * perPixel;
    if (best === i || after >= until) return;
    picked.point.push(i);
    picked.edge.push(after);
  };
  for (let i = first; i <= last; i++) {
    const x = Math.max(start[i], window.from);
    const at = Math.floor((x - window.from) / perPixel);
    if (at === pixel) {
      if (total[i] > total[best]) best = i;
      continue;
    }
    flush(i - 1, x);
    [pixel, best, from] = [at, i, x];
  }
  const close = Math.max(from, window.to);
  flush(last, close);
  picked.edge.push(close);
  return picked;
}

/** The most in a window. */
export function highestIn(start: ArrayLike<number>, value: ArrayLike<number>, window: { from: number; to: number }): number {
  const last = lastAtMost(start, window.to);
  let most = 0;
  for (let i = Math.max(0, lastAtMost(start, window.from)); i <= last; i++) most = Math.max(most, value[i]);
  return most;
}

/** The ribbon at an instant and an amount, or null. */
export function ribbonAt(ribbons: Ribbon[], x: number, bytes: number): Ribbon | null {
  for (const ribbon of ribbons) {
    const step = stepAt(ribbon, x);
    if (step < 0) continue;
    const above = bytes - ribbon.bottom[step];
    if (above >= 0 && above < ribbon.size[step]) return ribbon;
  }
  return null;
}

/** Which step of a ribbon an instant lies in, or -1. */
export function stepAt(ribbon: Ribbon, x: number): number {
  const step = lastAtMost(ribbon.start, x);
  return step >= ribbon.bottom.length ? -1 : step;
}
