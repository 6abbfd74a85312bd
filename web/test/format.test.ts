import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, count, counted, duration, percent, shortBytes, shortFile } from "../src/format";

test("bytes print as the command line prints them", () => {
  assert.equal(bytes(0), "0 B");
  assert.equal(bytes(1023), "1023 B");
  assert.equal(bytes(1024), "1.00 KiB");
  assert.equal(bytes(3 * 2 ** 29), "1.50 GiB");
  assert.equal(bytes(2 ** 30 - 1), "1.00 GiB");
  assert.equal(bytes(-2048), "−2.00 KiB");
});

test("axes have no needless digits", () => {
  assert.equal(shortBytes(0), "0 B");
  assert.equal(shortBytes(100 * 1024), "100 KiB");
  assert.equal(shortBytes(3 * 2 ** 29), "1.5 GiB");
  assert.equal(shortBytes(10 * 2 ** 30), "10 GiB");
});

test("times have the digits that a step needs", () => {
  assert.equal(duration(0), "0 s");
  assert.equal(duration(3.2e9), "3.2 s");
  assert.equal(duration(500e6, 100e6), "500 ms");
  assert.equal(duration(1.5e9, 500e6), "1.5 s");
  assert.equal(duration(185e9, 5e9), "3 min 05 s");
  assert.equal(duration(7_265e9, 60e9), "2 h 01 min");
  assert.equal(duration(224_000), "224 µs");
});

test("counts and shares", () => {
  assert.equal(count(31675), "31,675");
  assert.equal(counted(1, "block"), "1 block");
  assert.equal(counted(1200, "block"), "1,200 blocks");
  assert.equal(percent(0.8771), "87.7 %");
  assert.equal(percent(1), "100 %");
});

test("a file is known by its last parts", () => {
  assert.equal(shortFile("/home/me/project/train.py"), "project/train.py");
  assert.equal(shortFile("me/train.py"), "me/train.py");
});
