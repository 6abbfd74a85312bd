import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { decode, values } from "../src/decode";
import { Model } from "../src/model";
import { column, made } from "./made";

const packed = (document: unknown) => gzipSync(JSON.stringify(document)).toString("base64");

test("a report comes back as it was written", async () => {
  const report = made();
  assert.deepEqual(await decode(`\n${packed(report)}\n`), report);
});

test("a document of another version is refused, with both named", async () => {
  await assert.rejects(decode(packed({ ...made(), version: 2 })), /version 1, not whyoom.report version 2/);
});

test("a column is a running sum", () => {
  assert.deepEqual([...values([5, 1, -2, 0])], [5, 6, 4, 4]);
  assert.deepEqual([...values(column([7, 7, 3]))], [7, 7, 3]);
  assert.equal(values([]).length, 0);
});

test("addresses and ends of blocks are unpacked", () => {
  const report = made();
  const { blocks, end } = new Model(report).space(0);
  assert.equal(blocks.address[0], report.spaces[0].blocks.address[0] * 512);
  const alive = report.spaces[0].blocks.died.indexOf(-1);
  assert.ok(blocks.died.time[alive] > end.time);
});

test("the map nearest to an event is found", () => {
  const { maps } = made().spaces[0];
  const space = new Model(made()).space(0);
  assert.equal(space.nearestMap(-5), 0);
  assert.equal(space.nearestMap(1e12), maps.length - 1);
  assert.equal(space.nearestMap(maps[1].event + 1), 1);
});
