// The page as a whole: printed, or in one tall picture, nothing of it is blank.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "puppeteer-core";
import { DESKTOP, RUN, open, settled } from "./browser";
import { made } from "./made";

/** How soon after it can be used the page is whole; generous, for machines that do other work. */
const WHOLE_MILLISECONDS = 5000 * Number(process.env.PATIENCE ?? 1);

/** Sections without content, and canvases on which nothing is painted. */
const blank = (page: Page) =>
  page.evaluate(() => {
    const sections = [...document.querySelectorAll<HTMLElement>("main > section")];
    const empty = sections.filter((section) => !section.hidden && section.querySelector(".body")?.children.length === 0);
    const unpainted = sections.filter((section) =>
      [...section.querySelectorAll<HTMLCanvasElement>("canvas:not(.highlight)")].some((canvas) => {
        if (canvas.width === 0 || canvas.height === 0) return true;
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, canvas.width, canvas.height);
        return !data.some((value) => value > 0);
      }),
    );
    const undrawn = sections.filter((section) => [...section.querySelectorAll(".chart, .map")].some((chart) => !chart.querySelector("canvas")));
    return [...new Set([...empty, ...unpainted, ...undrawn])].map((section) => section.id);
  });

test("every section is there soon after the page is, without scrolling", async () => {
  const { page, trouble } = await open(made(RUN));
  const until = Date.now() + WHOLE_MILLISECONDS;
  let left = await blank(page);
  while (left.length > 0 && Date.now() < until) {
    await settled(page);
    left = await blank(page);
  }
  assert.deepEqual(left, []);
  assert.equal(await page.evaluate(() => scrollY), 0);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("what is printed at once is whole, on paper's colours", async () => {
  const { page, trouble } = await open(made(RUN), DESKTOP, "", "dark");
  const whole = await page.evaluate(() => {
    dispatchEvent(new Event("beforeprint"));
    const waiting = document.querySelectorAll("section.waiting").length;
    const undrawn = [...document.querySelectorAll("main .chart, main .map")].filter((chart) => !chart.querySelector("canvas")).length;
    const folded = document.querySelectorAll("details:not([open])").length;
    return { waiting, undrawn, folded, theme: document.documentElement.dataset.theme };
  });
  assert.deepEqual(whole, { waiting: 0, undrawn: 0, folded: 0, theme: "light" });
  assert.deepEqual(await blank(page), []);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.equal(await page.$("details[open]"), null);
  assert.deepEqual(trouble, []);
  await page.close();
});
