// Every screen of the page that reads files, looked at by axe-core in both themes and sizes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { Page } from "puppeteer-core";
import { DESKTOP, PHONE, settled } from "./browser";
import { choose, drop, made, openBrowserPage, reported } from "./browser_page";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** What hinders people seriously, by name and place. */
async function violations(page: Page): Promise<string[]> {
  await settled(page);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const { found, passed } = (await page.evaluate(() =>
    (window as any).axe.run(document).then((results: any) => ({ found: results.violations, passed: results.passes.length })),
  )) as { found: Violation[]; passed: number };
  assert.ok(passed > 10, `only ${passed} rules had something to look at`);
  return found.filter(({ impact }) => impact === "serious" || impact === "critical").flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`));
}

const SCREENS: [string, (page: Page) => Promise<unknown>][] = [
  ["start", async (page) => page.$eval(".help", (details) => ((details as HTMLDetailsElement).open = true))],
  [
    "error",
    async (page) => {
      await drop(page, ".drop", { "x.log": "refuse" });
      await page.waitForSelector(".notice.trouble:not([hidden])");
    },
  ],
  [
    "reading",
    async (page) => {
      await choose(page, ".drop", made("slow.pickle", "slow ", 8 << 20));
      await page.waitForSelector("progress[value]");
    },
  ],
  [
    "verdict",
    async (page) => {
      await drop(page, "body", { "x.pickle": "fine" });
      await reported(page);
      await page.waitForSelector("#peak .flame");
    },
  ],
  [
    "comparison",
    async (page) => {
      await drop(page, ".given .chooser", { "y.pickle": "fine" });
      await page.waitForSelector(".report #answer");
    },
  ],
];

test("what is wrong is found", async () => {
  const { page } = await openBrowserPage();
  await page.$eval(".pasting label", (label) => label.remove());
  assert.match((await violations(page)).join(), /^label: #pasted/);
  await page.close();
});

for (const theme of ["light", "dark"]) {
  for (const [size, viewport] of [["desktop", DESKTOP], ["phone", PHONE]] as const) {
    test(`no screen has a serious violation, ${theme} on a ${size}`, async () => {
      const { page } = await openBrowserPage({ viewport, theme });
      for (const [name, reach] of SCREENS) {
        await reach(page);
        assert.deepEqual(await violations(page), [], name);
      }
      await page.close();
    });
  }
}
