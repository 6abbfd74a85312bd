// The verdict as a good compiler tells an error: the cause, the program's own lines, one fix, notes, then evidence.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "puppeteer-core";
import { DESKTOP, PHONE, RUN, open, press, text } from "./browser";
import { made } from "./made";

/** The upper edges of what is shown, in this order. */
const tops = (page: Page, selectors: string[]) =>
  page.evaluate(
    (wanted) =>
      wanted.map((selector) => {
        const found = document.querySelector(`#verdict ${selector}`);
        if (!found) throw new Error(`no ${selector}`);
        return found.getBoundingClientRect().top;
      }),
    selectors,
  );

test("from the headline to the evidence, in the order in which people need it", async () => {
  for (const viewport of [DESKTOP, PHONE as typeof DESKTOP]) {
    const { page, trouble } = await open(made(RUN), viewport);
    const order = await tops(page, [".cause", "h1", ".call-sites", ".fix", ".others", ".note", ".evidence", ".finding"]);
    assert.deepEqual(order, [...order].sort((a, b) => a - b));
    assert.deepEqual(trouble, []);
    await page.close();
  }
});

test("the program's own lines are named, each with what it has to do with the cause", async () => {
  const { page } = await open(made(RUN));
  const sites = await page.$$eval("#verdict .call-sites li", (items) => items.map((item) => [...item.children].map((child) => child.textContent)));
  assert.deepEqual(sites, [
    ["me/train.py:61 remember", "10 live blocks pin 1.19 GiB"],
    ["me/attention.py:41 forward", "the request that failed"],
  ]);
  const font = await page.$eval("#verdict .call-sites code", (code) => getComputedStyle(code).fontFamily);
  assert.match(font, /mono/i);
  await page.close();
});

test("the first fix is in sight with its button; other ways are folded, and what is an example has no button", async () => {
  const { page } = await open(made(RUN));
  assert.match(await text(page, "#verdict .fix .paste code"), /expandable_segments:True/);
  assert.ok(await page.$("#verdict .fix .paste .copy"));
  assert.equal(await text(page, "#verdict .others summary"), "Other ways (2)");
  assert.equal(await page.$eval("#verdict .others", (others) => (others as HTMLDetailsElement).open), false);
  const example = await page.$eval("#verdict .others .remedy", (remedy) => ({ said: remedy.textContent, code: remedy.querySelector("pre")?.textContent, buttons: remedy.querySelectorAll("button").length }));
  assert.match(example.said ?? "", /Keep numbers instead of tensors\. For example:/);
  assert.deepEqual([example.code, example.buttons], ["losses.append(loss.item())", 0]);
  await page.close();
});

test("the cause leads to its page in a tab of its own; an address that is none leads nowhere", async () => {
  const report = made(RUN);
  const { page, trouble } = await open(report);
  const link = await page.$eval("#verdict a.documentation", (a) => [a.getAttribute("href"), a.getAttribute("target"), a.getAttribute("rel")]);
  assert.deepEqual(link, ["https://example.org/causes/fragmented-cache.html", "_blank", "noopener noreferrer"]);
  assert.deepEqual(trouble, []);
  await page.close();
  for (const address of ["javascript:alert(1)", "not an address", null]) {
    report.why.verdict.documentation = address;
    const other = await open(report);
    assert.equal(await other.page.$("#verdict a.documentation"), null);
    await other.page.close();
  }
});

test("of much evidence six rows are shown, and the rest on request", async () => {
  const { page } = await open(made(RUN));
  const shown = () => page.$$eval("#verdict > .body > .evidence tbody tr, #verdict > .body > div > .evidence tbody tr", (rows) => rows.filter((row) => !(row as HTMLElement).hidden).length);
  assert.equal(await shown(), 6);
  await press(page, "#verdict", "2 more");
  assert.equal(await shown(), 8);
  await page.close();
});

test("where all evidence is from one source, that is said once", async () => {
  const report = made(RUN);
  report.why.verdict.evidence = report.why.verdict.evidence.slice(0, 2).map((each: object) => ({ ...each, basis: "message" }));
  const { page } = await open(report);
  assert.equal(await text(page, "#verdict .evidence caption"), "Evidence (from the error message)");
  assert.equal(await page.$("#verdict .evidence .basis"), null);
  await page.close();
});

test("a report of before these fields shows its verdict all the same", async () => {
  const report = made(RUN);
  const { verdict } = report.why;
  delete verdict.call_sites;
  delete verdict.documentation;
  for (const remedy of verdict.remedies) delete remedy.example;
  const { page, trouble } = await open(report);
  assert.match(await text(page, "h1"), /too small for 386.96 MiB/);
  assert.equal(await page.$("#verdict .call-sites"), null);
  assert.equal(await page.$("#verdict pre"), null);
  assert.deepEqual(trouble, []);
  await page.close();
});

const fits = (page: Page) =>
  page.$$eval("#what-if .fits", (cells) => cells.map((cell) => [cell.textContent, getComputedStyle(cell, "::before").content.includes("✓")]));

test("a fit that is about the recorded requests only is not ticked, and says why", async () => {
  const report = made(RUN);
  const [run] = report.replay.runs;
  report.replay.runs = [
    { ...run, process: "p", fits_up_to_here: true, caveat: "Memory grows; the leak goes on." },
    { ...run, process: "q", fits_up_to_here: false, caveat: null },
  ];
  const { page } = await open(report, DESKTOP, "#what-if");
  const upToHere = ["fits up to here", false];
  const cells = await fits(page);
  assert.deepEqual(cells.slice(0, 5), [upToHere, upToHere, upToHere, ["does not fit", false], ["fits", true]]);
  assert.match(await text(page, "#what-if"), /the leak goes on/);
  await page.close();
});
