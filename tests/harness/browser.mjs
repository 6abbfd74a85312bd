// Opens pages in headless Chromium: node browser.mjs CHROMIUM WEB_FOLDER < jobs.json
//
// Each job is { file, width, height, scheme, screenshot, has_script, ask }; for each a line of JSON comes back with
// the milliseconds until the page was interactive, as its script tells, what it complained of, and what the
// expression `ask` is there.

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
    const own = pathToFileURL(job.file).href;
    const complaints = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // A page's policy speaks here.
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("request", (request) => {
      if (request.url() !== own) complaints.push(`fetched ${request.url()}`);
    });
    await page.setViewport({ width: job.width, height: job.height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: job.scheme }]);
    await page.goto(own);
    // Without a script a page is ready when it is there.
    if (job.has_script) await page.waitForFunction("document.documentElement.dataset.ready", { timeout: 60_000 });
    const ready = await page.evaluate("Math.round(document.documentElement.dataset.ready ?? performance.now())");
    if (job.screenshot) {
      // Charts are drawn in the next frame.
      await page.evaluate("new Promise((done) => setTimeout(done, 500))");
      await page.screenshot({ path: job.screenshot });
    }
    const answer = job.ask ? await page.evaluate(job.ask) : null;
    console.log(JSON.stringify({ ready, complaints, answer }));
    await page.close();
  }
} finally {
  await browser.close();
}
