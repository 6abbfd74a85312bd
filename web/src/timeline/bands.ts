// Memory over time by kind or by place, as ribbons: from all blocks where they are told, else from coarser bands.
import type { Axis, BandPoints, SpaceModel } from "../model";
import type { Fine } from "./fine";
import { type Picked, type Ribbon, type Window, pick, starts } from "./ribbon";

/** The name of what the told bands leave over. */
export const REST = "rest";

/** Stacks bands upon each other, drawn at one step a pixel. */
export function bandRibbons(points: BandPoints, axis: Axis, events: number, window: Window): Ribbon[] {
  const picked = pick(starts(points, axis, events), totals(points), window);
  return stacked(points, picked, (band, step) => points.bands[band].bytes[picked.point[step]]);
}

function totals(points: BandPoints): Float64Array {
  const sum = new Float64Array(points.time.length);
  for (const { bytes } of points.bands) for (let i = 0; i < sum.length; i++) sum[i] += bytes[i];
  return sum;
}

/** Ribbons of equal steps, one upon the other. */
function stacked(points: BandPoints, { point, edge }: Picked, bytes: (band: number, step: number) => number): Ribbon[] {
  const start = Float64Array.from(edge);
  const floor = new Float64Array(point.length);
  return points.bands.map((band, index) => {
    const bottom = floor.slice();
    const size = floor.map((_, step) => bytes(index, step));
    for (let i = 0; i < floor.length; i++) floor[i] += size[i];
    return { name: band.name, stack: band.stack, colour: band.name === REST ? null : index, block: null, start, bottom, size };
  });
}

/** Bands summed up from all blocks: `group` says which band a block belongs to, or -1. */
export function bandsFromBlocks(
  space: SpaceModel,
  fine: Fine,
  points: BandPoints,
  group: (block: number) => number,
  axis: Axis,
  window: Window,
): Ribbon[] {
  const changes = fine.changes ?? new Int32Array();
  const { size } = space.blocks;
  const picked = pick(fine.start[axis], fine.highest, window);
  const now = new Float64Array(points.bands.length);
  const states: Float64Array[] = [];
  for (let i = 0; states.length < picked.point.length; i++) {
    const change = changes[i];
    const block = change < 0 ? ~change : change;
    const band = group(block);
    if (band >= 0) now[band] += change < 0 ? -size[block] : size[block];
    if (i === picked.point[states.length]) states.push(now.slice());
  }
  return stacked(points, picked, (band, step) => states[step][band]);
}
