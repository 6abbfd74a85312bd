import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../src/model";
import { bandRibbons, bandsFromBlocks } from "../src/timeline/bands";
import { blockRibbons, visibleBlocks } from "../src/timeline/blocks";
import { fineOf } from "../src/timeline/fine";
import { type Ribbon, type Window, highestIn, lastAtMost, pick, ribbonAt, starts, stepAt } from "../src/timeline/ribbon";
import { thinned } from "../src/timeline/ticks";
import { made } from "./made";

const points = (time: number[], event: number[]) => ({ time: Float64Array.from(time), event: Float64Array.from(event) });
const describe = () => ({ name: "", colour: 0 });

/** What all ribbons together hold at an instant. */
function heldAt(ribbons: Ribbon[], x: number): number {
  return ribbons.reduce((sum, ribbon) => {
    const step = stepAt(ribbon, x);
    return step < 0 ? sum : sum + ribbon.size[step];
  }, 0);
}

function whole(top: number, end: number): Window {
  return { from: 0, to: end + 1, width: 900, height: 320, top };
}

test("a point of one event begins at that event", () => {
  assert.deepEqual([...starts(points([10, 20, 500], [1, 2, 3]), "time", 3)], [10, 20, 500]);
});

test("a point of many events begins soon after the point before it", () => {
  const [first, second] = starts(points([100, 200], [10, 20]), "time", 20);
  assert.ok(first < 100 && first >= 0);
  assert.equal(second, 110);
});

test("the last index at most a value", () => {
  assert.equal(lastAtMost([1, 3, 3, 7], 0), -1);
  assert.equal(lastAtMost([1, 3, 3, 7], 3), 2);
  assert.equal(lastAtMost([1, 3, 3, 7], 99), 3);
});

test("of points that share a pixel the highest is drawn", () => {
  const start = Float64Array.from({ length: 1000 }, (_, i) => i);
  const total = start.map((i) => (i === 777 ? 5000 : i % 7));
  const { point, edge } = pick(start, total, { from: 0, to: 1000, width: 50, height: 10, top: 1 });
  assert.equal(point.length, 50);
  assert.equal(edge.length, 51);
  assert.ok(point.includes(777));
  assert.equal(highestIn(start, total, { from: 700, to: 800 }), 5000);
});

test("a peak that shares a pixel does not outlast it", () => {
  const { point, edge } = pick([0, 10, 10.1, 10.2, 500], [1, 5, 90, 2, 3], { from: 0, to: 1000, width: 100, height: 10, top: 1 });
  assert.deepEqual(point, [0, 2, 3, 4]);
  assert.deepEqual(edge, [0, 10, 20, 500, 1000]);
});

test("bands stand upon each other and hold what the curve holds", () => {
  const space = new Model(made()).space(0);
  const ribbons = bandRibbons(space.byPlace, "time", space.data.events, { ...whole(4e9, space.end.time), width: 1e6 });
  for (const i of [0, 100, 500]) {
    const at = space.byPlace.time[i];
    const expected = space.byPlace.bands.reduce((sum, band) => sum + band.bytes[i], 0);
    assert.equal(heldAt(ribbons, at), expected);
  }
  const [first, second] = ribbons;
  assert.equal(second.bottom[50], first.size[50]);
});

test("bands made from all blocks hold what the curve holds", () => {
  const report = made({ steps: 6, points: 4000, bandPoints: 20, blocks: 10_000 });
  const space = new Model(report).space(0);
  const fine = fineOf(space);
  assert.ok(fine.changes);
  const ribbons = bandsFromBlocks(space, fine, space.byKind, (block) => space.blocks.kind[block], "event", { ...whole(4e9, space.end.event), to: 400, width: 400 });
  for (const event of [30, 150, 399]) assert.equal(heldAt(ribbons, event + 0.5), space.curve.highest[event - 1]);
});

test("all blocks together give the curve to the byte", () => {
  const space = new Model(made()).space(0);
  const fine = fineOf(space);
  assert.deepEqual([...fine.highest], [...space.curve.highest]);
  assert.deepEqual([...fine.reserved], [...space.curve.reserved]);
});

test("blocks that do not add up to the peak are not taken for everything", () => {
  const report = made();
  report.spaces[0].peak.bytes *= 2;
  assert.equal(fineOf(new Model(report).space(0)).changes, null);
});

test("blocks and the rest together reach the curve", () => {
  const space = new Model(made()).space(0);
  const start = starts(space.curve, "event", space.data.events);
  const window = whole(3e9, space.end.event);
  const ribbons = blockRibbons(space.blocks, { highest: space.curve.highest, start }, "event", window, describe);
  for (const share of [0.2, 0.5, 0.9]) {
    const x = space.end.event * share;
    const held = heldAt(ribbons, x);
    const used = space.curve.highest[lastAtMost(start, x)];
    assert.ok(Math.abs(held - used) < used * 0.1, `${held} and ${used} at ${share}`);
  }
});

test("blocks never overlap, and sink when one below them goes", () => {
  const space = new Model(made()).space(0);
  const start = starts(space.curve, "time", space.data.events);
  const ribbons = blockRibbons(space.blocks, { highest: space.curve.highest, start }, "time", whole(3e9, space.end.time), describe).filter((ribbon) => ribbon.block !== null);
  for (const share of [0.1, 0.33, 0.77]) {
    const x = space.end.time * share;
    const live = ribbons.map((ribbon) => ({ ribbon, step: stepAt(ribbon, x) })).filter(({ step }) => step >= 0);
    const edges = live.map(({ ribbon, step }) => [ribbon.bottom[step], ribbon.bottom[step] + ribbon.size[step]]).sort((a, b) => a[0] - b[0]);
    edges.forEach(([bottom], i) => assert.equal(bottom, i === 0 ? 0 : edges[i - 1][1]));
  }
});

test("at every zoom at most 4,000 shapes are drawn", () => {
  const space = new Model(made({ steps: 300, points: 8000, bandPoints: 1000, blocks: 100_000 })).space(0);
  const start = starts(space.curve, "time", space.data.events);
  for (const share of [1, 0.1, 0.001]) {
    const window = { ...whole(3e9, space.end.time), to: space.end.time * share };
    assert.ok(visibleBlocks(space.blocks, "time", window).length <= 3000);
    assert.ok(blockRibbons(space.blocks, { highest: space.curve.highest, start }, "time", window, describe).length <= 4000);
  }
});

test("the ribbon under a point is found", () => {
  const space = new Model(made()).space(0);
  const ribbons = bandRibbons(space.byKind, "event", space.data.events, whole(4e9, space.end.event));
  const x = space.end.event / 2;
  assert.equal(ribbonAt(ribbons, x, 1)?.name, "parameters");
  assert.equal(ribbonAt(ribbons, x, 1e15), null);
});

test("labels that would collide are left out", () => {
  assert.deepEqual(thinned([0, 5, 12, 13, 40], 10), [0, 2, 4]);
});
