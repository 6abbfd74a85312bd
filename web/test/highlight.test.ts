// What is outlined in the timeline is what is under the cursor or in the panel, at the zoom of now.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "puppeteer-core";
import { DESKTOP, PHONE, RUN, open, plotBox, press, settled } from "./browser";
import { made } from "./made";

/** How many pixels are outlined, and a figure that changes with where they are. */
const outlined = (page: Page) =>
  page.$eval("#timeline .highlight", (element) => {
    const canvas = element as HTMLCanvasElement;
    if (canvas.width === 0 || canvas.height === 0) return { pixels: 0, where: 0 };
    const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(0, 0, canvas.width, canvas.height);
    let [pixels, where] = [0, 0];
    for (let i = 3; i < data.length; i += 4) {
      if (data[i] === 0) continue;
      pixels++;
      where = (where * 31 + i) % 1_000_003;
    }
    return { pixels, where };
  });

const NOTHING = { pixels: 0, where: 0 };

/** Clicks in the midst of the bands: on something that does not last for the whole run. */
async function clickBand(page: Page): Promise<void> {
  const box = await plotBox(page);
  const y = box.y + box.height * 0.75;
  for (let x = box.x + box.width * 0.4; x < box.x + box.width * 0.6; x += 3) {
    await page.mouse.move(x, y);
    if (!(await page.$("#timeline .tooltip.shown .band"))) continue;
    await page.mouse.click(x, y);
    break;
  }
  await settled(page);
}

/** Away from the chart, as people go to the panel. */
async function leave(page: Page): Promise<void> {
  await page.mouse.move(5, 5);
  await settled(page);
}

test("what was clicked stays outlined, at every zoom where it is, until its details are closed", async () => {
  for (const view of ["By call site", "Block by block"]) {
    const { page, trouble } = await open(made(RUN));
    await plotBox(page);
    await press(page, "#timeline", view);
    await clickBand(page);
    await leave(page);
    const whole = await outlined(page);
    assert.ok(whole.pixels > 0, `${view}: nothing is outlined`);
    await page.focus("#timeline .plot");
    await page.keyboard.press("+");
    await settled(page);
    assert.notEqual((await outlined(page)).where, whole.where, `${view}: the outline did not follow the zoom`);
    await page.keyboard.press("0");
    await settled(page);
    assert.deepEqual(await outlined(page), whole);
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("Escape");
    await settled(page);
    assert.deepEqual(await outlined(page), NOTHING, view);
    assert.deepEqual(trouble, []);
    await page.close();
  }
});

test("a click elsewhere takes the outline away: on nothing, or on something in another section", async () => {
  const { page } = await open(made(RUN));
  await clickBand(page);
  const box = await plotBox(page);
  await page.mouse.click(box.x + box.width * 0.5, box.y + 2);
  await leave(page);
  assert.deepEqual(await outlined(page), NOTHING);
  await clickBand(page);
  await leave(page);
  assert.notDeepEqual(await outlined(page), NOTHING);
  await page.evaluate(() => document.querySelector("#peak")?.scrollIntoView());
  await page.waitForSelector("#peak .places .link");
  await page.evaluate(() => [...document.querySelectorAll<HTMLElement>("#peak .places .link")].at(-1)?.click());
  await settled(page);
  assert.deepEqual(await outlined(page), NOTHING);
  await page.close();
});

test("zooming takes away the outline and the tooltip of what was under the cursor", async () => {
  const { page } = await open(made(RUN));
  const box = await plotBox(page);
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height - 6);
  await settled(page);
  assert.notDeepEqual(await outlined(page), NOTHING);
  await page.focus("#timeline .plot");
  await page.keyboard.press("+");
  await settled(page);
  assert.deepEqual(await outlined(page), NOTHING);
  assert.equal(await page.$("#timeline .tooltip.shown"), null);
  await page.close();
});

test("a tap leaves no outline behind once its details are closed", async () => {
  const { page } = await open(made(RUN), PHONE as typeof DESKTOP);
  const box = await plotBox(page);
  await page.touchscreen.tap(box.x + box.width * 0.5, box.y + box.height - 6);
  await settled(page);
  assert.notDeepEqual(await outlined(page), NOTHING);
  await page.evaluate(() => document.querySelector<HTMLElement>(".panel .close")?.click());
  await settled(page);
  assert.deepEqual(await outlined(page), NOTHING);
  await page.close();
});
