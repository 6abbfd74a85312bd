// Memory over time block by block: each a ribbon, in order of birth, sinking when one below it goes.
import type { Axis, BlockTable } from "../model";
import { type Ribbon, type Window, pick } from "./ribbon";

/** At most so many blocks are drawn one by one: the rest is one ribbon on top. */
export const MOST_BLOCKS = 3000;
/** At most so many corners: what keeps drawing within a frame. */
const MOST_STEPS = 60_000;
/** What is smaller than this, in pixels, cannot be seen. */
const LEAST_PIXELS = 0.7;

/** The blocks of a window that can be seen, the largest by area, in order of birth. */
export function visibleBlocks(blocks: BlockTable, axis: Axis, window: Window, most = MOST_BLOCKS): number[] {
  const perPixel = (window.to - window.from) / window.width;
  const leastSize = (LEAST_PIXELS * window.top) / window.height;
  const leastLife = LEAST_PIXELS * perPixel;
  const born = blocks.born[axis];
  const died = blocks.died[axis];
  const seen: number[] = [];
  const area: number[] = [];
  for (let i = 0; i < blocks.size.length; i++) {
    if (blocks.size[i] < leastSize) continue;
    const life = Math.min(died[i], window.to) - Math.max(born[i], window.from);
    if (life < leastLife) continue;
    seen.push(i);
    area.push(life * blocks.size[i]);
  }
  if (seen.length <= most) return seen;
  // Sorting plain numbers is far quicker than sorting blocks by them.
  const least = Float64Array.from(area).sort()[area.length - most];
  return seen.filter((_, i) => area[i] >= least).slice(0, most);
}

/** A ribbon in the making. A class, because thousands are made while people zoom. */
class Growing implements Ribbon {
  start: number[] = [];
  bottom: number[] = [];
  size: number[] = [];
  /** Where it lies now. */
  floor = -1;

  constructor(
    readonly name: string,
    readonly colour: number | null,
    readonly stack: number,
    readonly block: number,
    /** Of its block. */
    readonly bytes: number,
  ) {}
}

/** Ribbons of the window's blocks, and last one of everything else. */
export function blockRibbons(
  blocks: BlockTable,
  curve: { highest: Float64Array; start: Float64Array },
  axis: Axis,
  window: Window,
  describe: (block: number) => { name: string; colour: number | null },
): Ribbon[] {
  for (let most = MOST_BLOCKS; ; most = Math.floor(most / 2)) {
    const laid = layOut(blocks, visibleBlocks(blocks, axis, window, most), axis, window, describe);
    if (laid || most < 8) return [...(laid?.ribbons ?? []), rest(laid?.sums ?? [], curve, window)];
  }
}

interface Sum {
  at: number;
  bytes: number;
}

/** Sweeps the window from left to right, one pixel at a time where something changes; null where it gets too much. */
function layOut(
  blocks: BlockTable,
  chosen: number[],
  axis: Axis,
  window: Window,
  describe: (block: number) => { name: string; colour: number | null },
): { ribbons: Ribbon[]; sums: Sum[] } | null {
  const perPixel = (window.to - window.from) / window.width;
  const pixel = (x: number) => Math.max(0, Math.round((x - window.from) / perPixel));
  const columns = Math.ceil(window.width) + 1;
  const births = columnsOf(chosen, (i) => pixel(blocks.born[axis][i]), columns);
  // What comes and goes within a pixel still takes one: its end must not be looked for before its birth.
  const deaths = columnsOf(chosen, (i) => Math.max(pixel(blocks.died[axis][i]), pixel(blocks.born[axis][i]) + 1), columns);
  const grown: Growing[] = [];
  const live: Growing[] = [];
  const sums: Sum[] = [];
  let steps = 0;
  for (let column = 0; column < columns; column++) {
    const dying = deaths[column];
    const coming = births[column];
    if (!dying && !coming) continue;
    const x = window.from + column * perPixel;
    const changed = dying ? bury(live, new Set(dying), x) : live.length;
    for (const block of coming ?? []) {
      const { name, colour } = describe(block);
      const ribbon = new Growing(name, colour, blocks.stack[block], block, blocks.size[block]);
      grown.push(ribbon);
      live.push(ribbon);
    }
    steps += settle(live, changed, x);
    if (steps > MOST_STEPS) return null;
    const top = live.at(-1);
    sums.push({ at: x, bytes: top ? top.floor + top.bytes : 0 });
  }
  for (const ribbon of live) ribbon.start.push(window.to);
  return { ribbons: grown, sums };
}

/** Ends the ribbons of blocks that are gone; says from where on the others have to sink. */
function bury(live: Growing[], gone: Set<number>, x: number): number {
  let kept = 0;
  let changed = live.length;
  for (const ribbon of live) {
    if (gone.has(ribbon.block)) {
      ribbon.start.push(x);
      changed = Math.min(changed, kept);
    } else live[kept++] = ribbon;
  }
  live.length = kept;
  return changed;
}

/** Gives each ribbon from `changed` on a new step where its floor has changed; says how many have. */
function settle(live: Growing[], changed: number, x: number): number {
  const below = live[changed - 1];
  let floor = below ? below.floor + below.bytes : 0;
  let moved = 0;
  for (let i = changed; i < live.length; i++) {
    const ribbon = live[i];
    if (ribbon.floor !== floor) {
      ribbon.floor = floor;
      ribbon.start.push(x);
      ribbon.bottom.push(floor);
      ribbon.size.push(ribbon.bytes);
      moved++;
    }
    floor += ribbon.bytes;
  }
  return moved;
}

function columnsOf(chosen: number[], column: (block: number) => number, columns: number): (number[] | undefined)[] {
  const out: (number[] | undefined)[] = new Array(columns);
  for (const block of chosen) {
    const at = column(block);
    if (at < columns) (out[at] ??= []).push(block);
  }
  return out;
}

/** What is in use beyond the drawn blocks: between their sum and the curve. */
function rest(sums: Sum[], { highest, start }: { highest: Float64Array; start: Float64Array }, window: Window): Ribbon {
  const picked = pick(start, highest, window);
  const edges = [...new Set([...picked.edge.slice(0, -1), ...sums.map((sum) => sum.at)])].sort((a, b) => a - b);
  const bottom: number[] = [];
  const size: number[] = [];
  let sum = -1;
  let step = -1;
  for (const edge of edges) {
    while (sum + 1 < sums.length && sums[sum + 1].at <= edge) sum++;
    while (step + 1 < picked.point.length && picked.edge[step + 1] <= edge) step++;
    const drawn = sum < 0 ? 0 : sums[sum].bytes;
    const used = step < 0 ? 0 : highest[picked.point[step]];
    bottom.push(drawn);
    size.push(Math.max(0, used - drawn));
  }
  edges.push(window.to);
  return { name: "blocks too small or too short to draw here", stack: null, colour: null, block: null, start: edges, bottom, size };
}
