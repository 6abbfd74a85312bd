// What the page answers to files, for `cargo xtask anywhere browser`: node answers.js PAGE FOLDER OPEN NUMBER:FILE ...
// Each file comes when the page has been open for OPEN milliseconds. Writes FOLDER/NUMBER.json, NUMBER.html (the report)
// or NUMBER.error for each, and prints a JSON line of what it took.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import puppeteer from "puppeteer-core";
import { mostMemory } from "./renderers";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
/** The largest file is read in far less. */
const LONGEST = 280_000;

const [page_file, folder, open, ...files] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"], protocolTimeout: LONGEST });
const page = await browser.newPage();
const trouble: string[] = [];
page.on("pageerror", (error) => trouble.push((error as Error).message));
page.on("request", (request) => {
  const { protocol } = new URL(request.url());
  if (!["file:", "blob:", "data:"].includes(protocol)) trouble.push(`asked for ${request.url()}`);
});
// What is saved is taken from the page, and not from a folder of downloads.
await page.evaluateOnNewDocument(() => {
  const real = URL.createObjectURL.bind(URL);
  const saved: Blob[] = [];
  URL.createObjectURL = (blob: Blob | MediaSource) => {
    if (blob instanceof Blob) saved.push(blob);
    return real(blob);
  };
  Object.assign(globalThis, { saved });
  // The longest that the page did not answer, while it works.
  let last = performance.now();
  Object.assign(globalThis, { longest: 0 });
  setInterval(() => {
    const now = performance.now();
    const scope = globalThis as unknown as { longest: number };
    scope.longest = Math.max(scope.longest, now - last);
    last = now;
  }, 10);
});

/** What a button saves: the text of the newest blob. */
async function saved(label: string): Promise<string> {
  return page.evaluate(async (wanted) => {
    const { saved: blobs } = globalThis as unknown as { saved: Blob[] };
    const before = blobs.length;
    const button = [...document.querySelectorAll<HTMLButtonElement>(".given button")].find((each) => each.textContent?.includes(wanted));
    if (!button) throw new Error(`no button ${wanted}`);
    while (button.disabled) await new Promise((done) => setTimeout(done, 20));
    button.click();
    while (blobs.length === before) await new Promise((done) => setTimeout(done, 20));
    return blobs[before].text();
  }, label);
}

for (const given of files) {
  const [, number, file] = /^(\d+):(.*)$/s.exec(given) ?? [];
  await page.goto(`file://${resolve(page_file)}`);
  await page.waitForSelector(".drop");
  await new Promise((later) => setTimeout(later, Number(open)));
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click(".drop")]);
  const started = performance.now();
  await page.evaluate(() => Object.assign(globalThis, { longest: 0 }));
  await chooser.accept([file]);
  await page.waitForSelector(".outcome, .notice.trouble:not([hidden])", { timeout: LONGEST });
  const verdict = performance.now() - started;
  const silent = await page.evaluate(() => (globalThis as unknown as { longest: number }).longest);
  const failed = await page.evaluate(() => (document.querySelector(".outcome") ? null : document.querySelector(".notice.trouble")?.textContent));
  if (failed !== null && failed !== undefined) {
    writeFileSync(join(folder, `${number}.error`), failed);
  } else {
    writeFileSync(join(folder, `${number}.json`), await saved("Save the JSON"));
    writeFileSync(join(folder, `${number}.html`), await saved("as one file"));
  }
  const whole = performance.now() - started;
  const memory = mostMemory(browser.process()?.pid ?? 0);
  console.log(JSON.stringify({ number: Number(number), verdict_milliseconds: verdict, whole_milliseconds: whole, silent_milliseconds: silent, most_memory: memory, trouble: trouble.splice(0) }));
}
await browser.close();
