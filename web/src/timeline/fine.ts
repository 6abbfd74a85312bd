// Memory in use as finely as the report tells it: from every block where all are told, else from the curve.
import type { Axis, SpaceModel } from "../model";
import { starts } from "./ribbon";

/** States in order, each from its start until the next one's. */
export interface Fine {
  /** Where each state is one change of a block, and nothing is hidden between two: which (see `changesInOrder`). */
  changes: Int32Array | null;
  /** Where each state begins, along each axis. */
  start: Record<Axis, Float64Array>;
  /** The instant that a state is told with. */
  time: Float64Array;
  event: Float64Array;
  lowest: Float64Array;
  highest: Float64Array;
  reserved: Float64Array;
}

/** More changes than this would be slow to draw, and the curve is fine enough then. */
const MOST_CHANGES = 100_000;
const known = new WeakMap<SpaceModel, Fine>();

export function fineOf(space: SpaceModel): Fine {
  let fine = known.get(space);
  if (!fine) known.set(space, (fine = fromBlocks(space) ?? fromCurve(space)));
  return fine;
}

function fromCurve(space: SpaceModel): Fine {
  const { curve, data } = space;
  const start = { time: starts(curve, "time", data.events), event: starts(curve, "event", data.events) };
  return { changes: null, start, ...curve };
}

/** Births and ends of blocks in order: a block's number at its birth, the complement of it at its end. */
function changesInOrder(space: SpaceModel): Int32Array {
  const { blocks } = space;
  const changes: number[] = [];
  for (let i = 0; i < blocks.size.length; i++) {
    changes.push(i);
    if (blocks.died.event[i] < Number.POSITIVE_INFINITY) changes.push(~i);
  }
  const at = (change: number) => (change < 0 ? blocks.died.event[~change] : blocks.born.event[change]);
  // At one event an end comes before a birth: the same bytes may be given out again.
  return Int32Array.from(changes).sort((a, b) => at(a) - at(b) || (a < 0 ? 0 : 1) - (b < 0 ? 0 : 1));
}

/** Null where not every block is told, or they do not add up to what was in use. */
function fromBlocks(space: SpaceModel): Fine | null {
  const { blocks, curve, data } = space;
  if (!blocks.complete || blocks.size.length === 0 || 2 * blocks.size.length > MOST_CHANGES) return null;
  const changes = changesInOrder(space);
  const time = new Float64Array(changes.length);
  const event = new Float64Array(changes.length);
  const total = new Float64Array(changes.length);
  const reserved = new Float64Array(changes.length);
  let used = 0;
  let most = 0;
  let point = 0;
  changes.forEach((change, i) => {
    const block = change < 0 ? ~change : change;
    const at = change < 0 ? blocks.died : blocks.born;
    used += change < 0 ? -blocks.size[block] : blocks.size[block];
    most = Math.max(most, used);
    time[i] = at.time[block];
    event[i] = at.event[block];
    total[i] = used;
    while (point + 1 < curve.event.length && curve.event[point] < event[i]) point++;
    reserved[i] = curve.reserved[point];
  });
  if (Math.abs(most - data.peak.bytes) > data.peak.bytes * 0.01) return null;
  return { changes, start: { time, event }, time, event, lowest: total, highest: total, reserved };
}
