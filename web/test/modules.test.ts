// Modules: the tree of their names, and what can be done with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Modules } from "../src/data";
import { type ModuleNode, columns, moduleTree } from "../src/modules";
import { PHONE, RUN, open, press, settled, text } from "./browser";
import { made } from "./made";

const KINDS = ["parameters", "activations", "logits"];

/** Modules of these names, each with as many bytes of parameters and of logits. */
function modules(sums: Record<string, [number, number]>): ModuleNode[] {
  const names = Object.keys(sums);
  const amounts = names.map((name, i): [number, number[]] => [i, [sums[name][0], 0, sums[name][1]]]);
  const of: Modules = { moment: "peak", time: 0, event: 0, bytes: 100, kinds: KINDS, modules: amounts, left_out: { modules: 0, bytes: [0, 0, 0] } };
  return moduleTree(of, (name) => names[name]);
}

const shown = (nodes: ModuleNode[]) => nodes.map(({ label, bytes }) => [label, bytes]);

test("the members of a list are one row, which opens to what they have and to each of them", () => {
  const [root] = modules({ "GPT.head": [3, 4], "GPT.layers.0.a": [10, 0], "GPT.layers.0.b": [1, 0], "GPT.layers.1.a": [20, 0] });
  assert.equal(root.label, "GPT");
  assert.equal(root.bytes, 38);
  const inside = root.inside();
  assert.deepEqual(shown(inside), [["layers.* (2)", 31], ["head", 7]]);
  const list = inside[0].inside();
  assert.deepEqual(shown(list), [["a (2)", 30], ["b", 1], ["each of the 2", 0]]);
  assert.deepEqual(shown(list[2].inside()), [["1.a", 20], ["0", 11]]);
});

test("what a module has itself is a row beside those inside it", () => {
  const [root] = modules({ GPT: [5, 0], "GPT.head": [3, 0] });
  assert.deepEqual(shown(root.inside()), [["(itself)", 5], ["head", 3]]);
});

test("kinds without a column are in the last one", () => {
  assert.deepEqual(columns(KINDS, [7, 8, 9]), [7, 0, 0, 8, 0, 9]);
});

test("the tree opens and closes by keys alone, and says so", async () => {
  const { page, trouble } = await open(made(RUN), undefined, "#modules");
  const rows = () => page.$$eval("#modules tbody tr", (all) => all.map((row) => [row.querySelector(".name")?.textContent, row.getAttribute("aria-level"), row.getAttribute("aria-expanded")]));
  const before = await rows();
  assert.deepEqual(before[0], ["GPT", "1", "true"]);
  const list = before.findIndex(([name]) => name === "layers.* (2)");
  assert.ok(list > 0, JSON.stringify(before));
  await page.focus("#modules tbody tr");
  for (let i = 0; i < list; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  assert.ok((await rows()).some(([name, level]) => name === "each of the 2" && level === "3"));
  await page.keyboard.press("ArrowLeft");
  assert.deepEqual(await rows(), before);
  assert.equal(await page.$eval("#modules table", (table) => table.getAttribute("role")), "treegrid");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the summary says of which moment it is; on a phone empty columns are folded", async () => {
  const report = made(RUN);
  const { page } = await open(report, PHONE, "#modules");
  const told = await text(page, "#modules .summary");
  assert.match(told, /^At the peak \(.*\): .* belong to 6 modules\./);
  const hidden = await page.$$eval("#modules .zero", (cells) => cells.every((cell) => getComputedStyle(cell).display === "none"));
  assert.ok(hidden, "empty columns are folded on a phone");
  await page.close();
});

test("without modules there is no section, and old reports are read as ever", async () => {
  const report = made(RUN);
  delete report.modules;
  for (const space of report.spaces) {
    space.modules = null;
    delete space.blocks.module;
    for (const entry of space.peak.stacks) delete entry.module;
  }
  const { page, trouble } = await open(report);
  assert.equal(await page.$("#modules"), null);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("the flame graph groups by module, and details name the module", async () => {
  const { page, trouble } = await open(made(RUN), undefined, "#peak");
  await page.waitForSelector("#peak .flame");
  await press(page, "#peak", "By module");
  const flames = await page.$$eval("#peak .flame", (all) => all.map((flame) => flame.textContent));
  assert.ok(flames.includes("attention") && flames.includes("activations"), flames.join());
  await page.evaluate(() => [...document.querySelectorAll<HTMLElement>("#peak .flame")].find((flame) => flame.textContent === "activations")?.click());
  await settled(page);
  assert.match(await text(page, ".panel dl"), /ModuleGPT\./);
  assert.deepEqual(trouble, []);
  await page.close();
});
