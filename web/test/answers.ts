// What the page answers to files, for `cargo xtask anywhere`: node answers.js PAGE FOLDER LOG OPEN NUMBER:FILE ...
// Each file comes when the page has been open for OPEN milliseconds. Writes FOLDER/NUMBER.json, NUMBER.html (the report)
// or NUMBER.error for each, and prints a JSON line of what it took; Chromium writes to LOG what it asks of a network.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { answered, chromium, give } from "./chromium";
import { mostMemory } from "./renderers";

const [page_file, folder, log, open, ...files] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium(log);
const page = await browser.newPage();
const trouble: string[] = [];
page.on("pageerror", (error) => trouble.push((error as Error).message));
// What is saved is taken from the page, and not from a folder of downloads.
await page.evaluateOnNewDocument(() => {
  const real = URL.createObjectURL.bind(URL);
  const saved: Blob[] = [];
  URL.createObjectURL = (blob: Blob | MediaSource) => {
    if (blob instanceof Blob) saved.push(blob);
    return real(blob);
  };
  Object.assign(globalThis, { saved });
  // When a file came, when something of it was seen, and the longest that the page did not answer since.
  const times: Times = { came: 0, seen: 0, silent: 0 };
  Object.assign(globalThis, { times });
  addEventListener("change", () => Object.assign(times, { came: performance.now(), seen: 0, silent: 0 }), true);
  const look = () => {
    if (times.came === 0 || times.seen !== 0 || !document.querySelector(".outcome, .notice.trouble:not([hidden])")) return;
    times.seen = -1;
    requestAnimationFrame(() => (times.seen = performance.now()));
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    times.silent = Math.max(times.silent, now - last);
    last = now;
  }, 10);
});

/** Of the page's own clock. */
interface Times {
  came: number;
  seen: number;
  silent: number;
}

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
  await give(page, file);
  const failed = await answered(page);
  if (failed !== null) {
    writeFileSync(join(folder, `${number}.error`), failed);
  } else {
    writeFileSync(join(folder, `${number}.json`), await saved("Save the JSON"));
    writeFileSync(join(folder, `${number}.html`), await saved("as one file"));
  }
  await page.waitForFunction(() => (globalThis as unknown as { times: Times }).times.seen > 0);
  const times = await page.evaluate(() => ({ ...(globalThis as unknown as { times: Times }).times, now: performance.now() }));
  const took = { verdict_milliseconds: times.seen - times.came, whole_milliseconds: times.now - times.came, silent_milliseconds: times.silent };
  console.log(JSON.stringify({ number: Number(number), ...took, most_memory: mostMemory(browser.process()?.pid ?? 0), trouble: trouble.splice(0) }));
}
await browser.close();
