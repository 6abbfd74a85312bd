// What is read off a report: search, the flame graph, the map's rows, the trend.
import assert from "node:assert/strict";
import { test } from "node:test";
import { byPlace, grow, layOut, trunk } from "../src/flame";
import { mapTotals, pieceAt, rowOf, rowsOf } from "../src/map/rows";
import { Model, frameText, programFrames } from "../src/model";
import { NO_SEARCH, parseAddress, search } from "../src/search";
import { trend } from "../src/trend";
import { made } from "./made";

const model = new Model(made());
const REMEMBER = 9;
const framesOf = (stack: number) => model.report.stacks[stack];

test("a search finds stacks by function, file, file and line, and place", () => {
  for (const text of ["remember", "ME/TRAIN.PY", "train.py:61", "me/train.py:61 remember"]) {
    assert.ok(search(model, text).stack(REMEMBER), text);
  }
  const hits = search(model, "remember");
  assert.ok(!hits.stack(1));
  assert.ok(hits.name("me/train.py:61 remember"));
  assert.ok(!hits.name("me/data.py:33 load_batch"));
  assert.equal(search(model, "  "), NO_SEARCH);
});

test("a search finds the block that holds an address", () => {
  assert.equal(parseAddress("0x7f00"), 0x7f00);
  assert.equal(parseAddress("remember"), null);
  const hits = search(model, "0x1000");
  assert.ok(hits.address(0x0f00, 0x200));
  assert.ok(!hits.address(0x1001, 0x200));
});

test("the flame graph grows from the outermost frames and loses no byte", () => {
  const { stacks, bytes } = model.report.spaces[0].peak;
  const root = grow(stacks, framesOf);
  assert.equal(root.bytes, bytes);
  const [outermost] = root.children.values();
  assert.equal(frameText(model.frame(outermost.frame)), "me/train.py:104 <module>");
  const flames = layOut(root, 0, 10_000);
  for (const { node, left, width } of flames) {
    assert.ok(left >= 0 && left + width <= 1.000001);
    assert.ok([...node.children.values()].reduce((sum, inner) => sum + inner.bytes, 0) <= node.bytes);
  }
  assert.ok(layOut(root, 0, 5).length <= 5);
});

test("a flame graph begins where the stacks part", () => {
  const root = grow(model.report.spaces[0].peak.stacks, framesOf);
  assert.equal(frameText(model.frame(trunk(root).frame)), "me/train.py:55 training_step");
});

test("memory without a stack is in the flame graph too", () => {
  assert.equal(grow([{ stack: 0, bytes: 7, blocks: 1 }], framesOf).children.size, 1);
});

test("the program's frames are Python's, else those outside of libraries, else all", () => {
  const own = (...files: string[]) => programFrames(files, (file) => file);
  assert.deepEqual(own("libc10.so", "me/train.py", "ceval.c"), ["me/train.py"]);
  assert.deepEqual(own("libcudart.so.12", "kernel.cu", "??"), ["kernel.cu"]);
  assert.deepEqual(own("libc10.so", "??"), ["libc10.so", "??"]);
});

test("places are summed up, the most first", () => {
  const { stacks, bytes } = model.report.spaces[0].peak;
  const places = byPlace(model, stacks);
  assert.equal(places.reduce((sum, place) => sum + place.bytes, 0), bytes);
  assert.ok(places.every((place, i) => i === 0 || place.bytes <= places[i - 1].bytes));
});

test("a segment is its runs and the gaps between them", () => {
  const row = rowOf({ address: "0x10", size: 100, stream: 0, pool: "", class: "large", expandable: false, runs: [[10, 20, 2, 3], [60, 40, 1, 4]] });
  assert.deepEqual(row.pieces.map(({ offset, size, stack }) => [offset, size, stack]), [[0, 10, null], [10, 20, 3], [30, 30, null], [60, 40, 4]]);
  assert.deepEqual([row.used, row.free, row.largestFree, row.blocks], [60, 40, 30, 3]);
  assert.equal(pieceAt(row, 30)?.stack, null);
  assert.equal(pieceAt(row, 99)?.stack, 4);
});

test("rows are ordered by what is free, or by address", () => {
  const map = model.report.spaces[0].maps[0];
  const free = rowsOf(map, "free").map((row) => row.free);
  assert.deepEqual(free, [...free].sort((a, b) => b - a));
  const addresses = rowsOf(map, "address").map((row) => Number.parseInt(row.segment.address, 16));
  assert.deepEqual(addresses, [...addresses].sort((a, b) => a - b));
  const totals = mapTotals(map);
  assert.equal(totals.used + totals.free, totals.reserved);
});

test("the trend of a straight line is the line", () => {
  assert.deepEqual([...trend([1, 3, 5, 7])], [1, 3, 5, 7]);
  assert.deepEqual([...trend([4])], [4]);
});
