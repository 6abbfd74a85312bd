// Opens reports in headless Chromium: node browser.mjs CHROMIUM WEB_FOLDER < jobs.json
//
// Each job is { file, width, height, scheme, screenshot }; for each a line of JSON comes back with the
// milliseconds until the page was interactive, as the page itself tells, and what it complained of.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [chromium, web] = process.argv.slice(2);
const puppeteer = createRequire(pathToFileURL(`${web}/package.json`))("puppeteer-core");
const jobs = JSON.parse(readFileSync(0, "utf8"));
const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
});
try {
  for (const job of jobs) {
    const page = await browser.newPage();
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (/^https?:/.test(request.url())) complaints.push(`fetched ${request.url()}`);
    });
    await page.setViewport({ width: job.width, height: job.height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: job.scheme }]);
    await page.goto(pathToFileURL(job.file).href);
    await page.waitForFunction("document.documentElement.dataset.ready", { timeout: 60_000 });
    const ready = await page.evaluate("Number(document.documentElement.dataset.ready)");
    if (job.screenshot) {
      // Charts are drawn in the next frame.
      await page.evaluate("new Promise((done) => setTimeout(done, 500))");
      await page.screenshot({ path: job.screenshot });
    }
    console.log(JSON.stringify({ ready, complaints }));
    await page.close();
  }
} finally {
  await browser.close();
}
