// The page of a comparison: what is read off it, and the page in a real browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { curveOf, iterationsAt, ways } from "../src/diff/curve";
import { growDiff, listDiff, moduleParts } from "../src/diff/tree";
import { layOut } from "../src/flame";
import { bytes } from "../src/format";
import { DESKTOP, PHONE, open, press, settled, text } from "./browser";
import { HOSTILE, madeDiff } from "./made_diff";

const IDS = ["answer", "timeline", "breakdown", "changes", "flames", "settings"];

test("the tree of differences loses no byte, and is as wide as the larger of both", () => {
  const diff = madeDiff();
  const [view] = diff.ranks[0].views;
  const string = (index: number) => diff.strings[index];
  for (const way of ["site", "module"] as const) {
    const root = growDiff(view, way, string);
    const [a, , b] = view.left_out.sums;
    assert.equal(root.a, view.a_bytes + a);
    assert.equal(root.b, view.b_bytes + b);
    for (const { left, width, node } of layOut(root, 0, 10_000)) {
      assert.ok(left >= 0 && left + width <= 1.000001);
      assert.ok(node.bytes >= Math.max(node.a, node.b));
    }
  }
  const listed = listDiff(growDiff(view, "module", string), 4).map(({ path }) => path.join(" "));
  // The model's own part, and the MLPs' only where they end.
  assert.deepEqual(listed, ["layers.*", "layers.* mlp activations", "(the model itself) logits and loss", "layers.* attention parameters"]);
});

test("members of a list are one part of a module's name", () => {
  assert.deepEqual(moduleParts("layers.3.mlp.0"), ["layers.*", "mlp.*"]);
  assert.deepEqual(moduleParts(""), ["(the model itself)"]);
});

test("runs are aligned by iterations, whenever the first of them begins", () => {
  const time = Float64Array.from([0, 50, 100, 150, 200, 300, 400]);
  assert.deepEqual([...iterationsAt(time, Float64Array.from([100, 200, 300]), 2)], [-1, -0.5, 0, 1, 2, 4, 6]);
  const { timelines } = madeDiff().ranks[0];
  assert.deepEqual(ways(timelines), ["iteration", "time", "events"]);
  const [first, second] = timelines.map((each) => curveOf(each as NonNullable<typeof each>, "iteration"));
  assert.deepEqual(first.x, second.x);
  assert.ok(first.x.every((x, i) => i === 0 || x > first.x[i - 1]));
});

test("every section is drawn, in both themes and sizes, without sideways scrolling or errors", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    for (const theme of ["light", "dark"]) {
      const { page, trouble } = await open(madeDiff(), viewport, "", theme);
      await settled(page);
      assert.deepEqual(await page.$$eval("main > section", (sections) => sections.map((section) => section.id)), IDS);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} px too wide at ${viewport.width}`);
      assert.ok(await page.$("#timeline canvas"));
      assert.deepEqual(trouble, []);
      await page.close();
    }
  }
});

test("names are text, whatever is in them", async () => {
  const { page, trouble } = await open(madeDiff());
  await press(page, "#changes", "Call site");
  await settled(page);
  assert.equal(await page.evaluate(() => (window as { owned?: string }).owned ?? null), null);
  assert.equal(await page.$("main img"), null);
  for (const section of ["#answer", "#changes", "#settings"]) assert.ok((await text(page, section)).includes(HOSTILE), section);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("figures are those of the document", async () => {
  const { ranks } = madeDiff();
  const { page } = await open(madeDiff());
  const row = await page.$$eval("#breakdown tbody tr", (rows) => rows.map((each) => [...each.children].map((cell) => cell.textContent)));
  const [a, b] = [ranks[0].a.peak_bytes, ranks[0].b.peak_bytes];
  assert.deepEqual(row.find(([name]) => name === "allocated"), ["allocated", bytes(a), bytes(b), `+${bytes(b - a)}`]);
  assert.match(await text(page, "#answer"), /fail if peak>\+5%: holds/);
  await page.close();
});

test("changes are sorted and filtered by keys alone", async () => {
  const { page, trouble } = await open(madeDiff());
  const names = () => page.$$eval("#changes tbody th", (cells) => cells.map((cell) => cell.textContent));
  await press(page, "#changes", "Kind");
  assert.equal((await names())[0], "activations");
  await page.focus("#changes thead button");
  await page.keyboard.press("Enter");
  const sorted = await names();
  assert.deepEqual(sorted, [...sorted].sort());
  assert.equal(await page.$eval("#changes thead th", (cell) => cell.getAttribute("aria-sort")), "ascending");
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("/");
  await page.keyboard.type("grad");
  assert.deepEqual(await names(), ["gradients"]);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a frame of the flame graph zooms by keys, and the list says the same in words", async () => {
  const { page } = await open(madeDiff());
  await page.evaluate(() => document.querySelector<HTMLElement>("#flames .flame.grew:nth-child(2)")?.focus());
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await text(page, "#flames .flame-hint"), /^Begins at .* in A, .* in B/);
  assert.match(await text(page, "#flames details"), /Mlp\.forward › torch\.nn\.functional\.linear/);
  const [grown] = await page.$$eval("#flames .flame.grew", (flames) => flames.map((flame) => flame.getAttribute("aria-label") ?? ""));
  assert.match(grown, /\+\d.* in A, .* in B/);
  await page.close();
});

test("of many ranks the worst is shown, and each opens its own", async () => {
  const { page, trouble } = await open(madeDiff(20));
  const ranks = () => page.$$eval("#ranks tbody th", (cells) => cells.map((cell) => cell.textContent));
  assert.deepEqual((await ranks()).slice(0, 2), ["rank 2", "rank 3"]);
  assert.match(await text(page, "#ranks"), /only in B: rank 99, GPU 3/);
  await press(page, "#ranks", "All 20 ranks");
  assert.equal((await ranks()).length, 20);
  await press(page, "#ranks", "rank 3");
  assert.match(await text(page, "h1"), /^Rank 3: B needs more at its peak, says rank 3\./);
  assert.equal(await page.$eval("#ranks [aria-current]", (each) => each.textContent), "rank 3");
  assert.match(await text(page, ".offscreen[role=status]"), /Comparison of rank 3/);
  assert.deepEqual(trouble, []);
  await page.close();
});
