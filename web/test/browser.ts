// A report opened in a real browser: Debian's chromium, or the one that CHROMIUM names. For the tests of the page.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import type { Report } from "../src/data";
import type { DiffDocument } from "../src/diff/data";
import type { Size } from "./made";
import { shell } from "./shell";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const DESKTOP = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };
export const RUN: Size = { steps: 40, points: 3000, bandPoints: 500, blocks: 3000, spaces: 2 };

let browser: Browser;
const folder = mkdtempSync(join(tmpdir(), "whyoom-page-"));

before(async () => {
  assert.ok(existsSync(CHROMIUM), `no browser at ${CHROMIUM}: apt-get install chromium, or set CHROMIUM`);
  browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

export interface Opened {
  page: Page;
  ready: number;
  /** Errors, and whatever was asked of a network. */
  trouble: string[];
}

export async function open(report: Report | DiffDocument, viewport: typeof DESKTOP = DESKTOP, hash = "", theme = "light"): Promise<Opened> {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.html`);
  writeFileSync(file, shell(report));
  return openFile(file, viewport, theme, async () => {}, hash);
}

/** Opens any page that says when it is ready; `before` prepares the tab. */
export async function openFile(file: string, viewport: typeof DESKTOP, theme: string, before: (page: Page) => Promise<void>, hash = ""): Promise<Opened> {
  const page = await browser.newPage();
  const trouble: string[] = [];
  page.on("pageerror", (error) => trouble.push((error as Error).message));
  page.on("console", (message) => message.type() === "error" && trouble.push(message.text()));
  page.on("request", (request) => /^(file|blob):/.test(request.url()) || trouble.push(`asked for ${request.url()}`));
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: theme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await before(page);
  await page.goto(`file://${file}${hash}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready, { timeout: 30_000 });
  const ready = Number(await page.evaluate(() => document.documentElement.dataset.ready));
  return { page, ready, trouble };
}

/** Goes through the whole page, so that every section is made. */
export async function visitAll(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (const section of document.querySelectorAll("main > section")) {
      section.scrollIntoView();
      await new Promise((done) => setTimeout(done, 120));
    }
  });
}

export const text = (page: Page, selector: string) => page.$eval(selector, (element) => element.textContent ?? "");

export async function press(page: Page, within: string, label: string): Promise<void> {
  await page.evaluate(
    (selector, wanted) => {
      const button = [...document.querySelectorAll<HTMLElement>(`${selector} button`)].find((each) => each.textContent === wanted);
      if (!button) throw new Error(`no button ${wanted}`);
      button.click();
    },
    within,
    label,
  );
  await settled(page);
}

export const settled = (page: Page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))));

export async function plotBox(page: Page): Promise<{ x: number; y: number; width: number; height: number }> {
  await page.evaluate(() => document.querySelector("#timeline")?.scrollIntoView());
  await page.waitForSelector("#timeline .u-over");
  await settled(page);
  return page.$eval("#timeline .u-over", (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  });
}
