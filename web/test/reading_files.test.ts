// How files are read in slices, what failures are called, and who is ended for silence.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { failure, sentence } from "../src/browser/failure";
import { fileName } from "../src/browser/saving";
import { SLICE, sliced } from "../src/browser/slices";
import { Watch } from "../src/browser/watch";

test("a file is read slice by slice, each once, in whatever portions it is asked for", () => {
  const size = 2 * SLICE + 1000;
  const asked: [number, number][] = [];
  const read = sliced(size, (from, to) => {
    asked.push([from, to]);
    return Uint8Array.from({ length: to - from }, (_, i) => ((from + i) * 7) % 251);
  });
  for (let at = 0; at < size; ) {
    const bytes = read(at, 300_001);
    assert.ok(bytes.length > 0 && bytes.length <= 300_001);
    assert.equal(bytes[0], (at * 7) % 251);
    at += bytes.length;
  }
  assert.deepEqual(asked, [[0, SLICE], [SLICE, 2 * SLICE], [2 * SLICE, size]]);
  assert.equal(read(size, 10).length, 0);
  assert.equal(read(5, 0).length, 0);
  // Back to the start, and more than a slice at once.
  assert.equal(read(0, size).length, SLICE);
  assert.equal(read(size - 1, 10).length, 1);
});

test("what went wrong is told apart", () => {
  assert.deepEqual(failure("not a snapshot", 0), { why: "refused", message: "not a snapshot" });
  assert.equal(failure(new RangeError("Array buffer allocation failed"), 0).why, "memory");
  assert.equal(failure(new Error("unreachable"), 0).why, "broke");
  // A trap with all memory taken is a lack of memory.
  assert.equal(failure(new Error("unreachable"), 3.9 * 2 ** 30).why, "memory");
  assert.match(failure(new DOMException("gone", "NotReadableError"), 0).message, /changed or moved/);
  assert.equal(sentence({ why: "refused", message: "not a snapshot" }, "x.log", "whyoom why FILE"), "x.log: not a snapshot");
});

test("names of saved files are taken by every system", () => {
  assert.equal(fileName("run.tar.gz", ".html"), "run.html");
  assert.equal(fileName("../a b:c.pickle", ".json"), "a-b-c.json");
  assert.equal(fileName("…", ".html"), "whyoom.html");
});

test("silence ends it; a sign, or a machine that slept, does not", () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const ended: number[] = [];
  const watch = new Watch((seconds) => ended.push(seconds));
  watch.sign(30);
  mock.timers.tick(29_000);
  watch.sign(30);
  mock.timers.tick(29_000);
  assert.deepEqual(ended, []);
  watch.sign(30);
  // It wakes up: its time begins anew.
  mock.timers.setTime(Date.now() + 100_000);
  mock.timers.tick(1);
  assert.deepEqual(ended, []);
  mock.timers.tick(30_000);
  assert.deepEqual(ended, [30]);
  watch.sign(30);
  watch.stop();
  mock.timers.tick(300_000);
  assert.deepEqual(ended, [30]);
  mock.timers.reset();
});
