// The page that reads files itself: what it does with what it is given, with a fake engine in its worker.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { Page, WebWorker } from "puppeteer-core";
import { DESKTOP, PHONE, press, settled, text } from "./browser";
import { builtPage, choose, drop, dropFromDisk, folder, globalGlue, made, unprepared, openBrowserPage, paste, reported } from "./browser_page";

const MIB = 1 << 20;
/** What the page may weigh without the engine. */
const MOST_BYTES = 250_000;

/** A phone's window grows with what is too wide for it: what counts is how wide it was made. */
const overflow = async (page: Page) => (await page.evaluate(() => document.documentElement.scrollWidth)) - (page.viewport()?.width ?? 0);
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? "");
/** Workers are made, and gone, a little after they were asked for. */
async function workers(page: Page, number: number): Promise<WebWorker[]> {
  const until = Date.now() + 5000;
  while (page.workers().length !== number && Date.now() < until) await settled(page);
  assert.equal(page.workers().length, number);
  return page.workers();
}
/** The worker is ended, and another one is ready. */
async function replaced(page: Page, worker: WebWorker): Promise<void> {
  const until = Date.now() + 5000;
  while (page.workers().includes(worker) && Date.now() < until) await settled(page);
  assert.ok(!(await workers(page, 1)).includes(worker));
}
const spoken = (page: Page) => text(page, "#whyoom-app > .offscreen[role=status]");

test("the page is one small file, the same each time, that allows nothing but its own", () => {
  const html = readFileSync(builtPage("first.html"), "utf8");
  assert.equal(html, readFileSync(builtPage("second.html"), "utf8"));
  assert.ok(html.length < MOST_BYTES, `${html.length} bytes`);
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? "";
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+' 'wasm-unsafe-eval'; worker-src blob:;/);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval'? |https?:/);
});

test("a dropped file: the verdict as text, then the report, and no request to any network", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    for (const theme of ["light", "dark"]) {
      const { page, trouble } = await openBrowserPage({ viewport, theme });
      assert.match(await text(page, "h1"), /Why did CUDA run out of memory/);
      assert.match(await text(page, ".privacy"), /It makes no connection/);
      assert.ok((await overflow(page)) <= 0);
      await drop(page, ".drop", { "snapshot.pickle": "a snapshot" });
      await reported(page);
      assert.match(await text(page, ".as-text pre"), /^error\[fragmented-cache\]/);
      assert.match(await text(page, ".report h1"), /too small for 386.96 MiB/);
      assert.equal(await text(page, ".given .title"), "snapshot.pickle");
      assert.equal(await page.$eval(".as-text", (details) => (details as HTMLDetailsElement).open), false);
      assert.equal(await focused(page), "snapshot.pickle");
      await page.waitForSelector("#timeline canvas");
      assert.ok((await overflow(page)) <= 0, `${await overflow(page)} px too wide`);
      assert.equal(await page.$$eval(".topbar", (bars) => bars.filter((bar) => !(bar as HTMLElement).hidden).length), 1);
      assert.deepEqual(trouble, []);
      await page.close();
    }
  }
});

test("files and folders from the disk are dropped, and the glue may be a script", async () => {
  const { page, trouble } = await openBrowserPage({ file: builtPage("script.html", globalGlue()) });
  const run = join(folder, "run");
  mkdirSync(run, { recursive: true });
  await dropFromDisk(page, ".drop", run);
  await page.waitForSelector(".notice.trouble:not([hidden])");
  assert.match(await text(page, ".notice"), /run is a folder.*tar czf run\.tar\.gz run/);
  await dropFromDisk(page, ".drop", made("from-disk.log", "on disk"));
  await reported(page);
  assert.equal(await text(page, ".given .title"), "from-disk.log");
  await dropFromDisk(page, ".given .chooser", made("other.log", "on disk"));
  await page.waitForSelector(".report #answer");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a chosen file of many slices tells how much is read; the text is there before the report", async () => {
  const { page, trouble } = await openBrowserPage();
  await choose(page, ".drop", made("late.pickle", "late ", 9 * MIB));
  await page.waitForSelector(".outcome");
  assert.match(await text(page, ".coming"), /Reading it again for the report: .* of 9.00 MiB|Drawing the report/);
  await page.waitForFunction(() => /Drawing the report/.test(document.querySelector(".coming")?.textContent ?? ""));
  assert.equal(await page.$(".report main"), null);
  assert.match(await text(page, ".as-text pre"), /fix: export/);
  assert.match(await spoken(page), /^error\[fragmented-cache\]/);
  await reported(page);
  assert.equal(await page.$(".coming"), null);
  assert.match(await spoken(page), /report is below/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("progress is told while a file is read, and while the engine works", async () => {
  const { page } = await openBrowserPage();
  await choose(page, ".drop", made("slow.log", "slow ", MIB));
  await page.waitForFunction(() => /^[\d.]+ KiB of 1.00 MiB read$/.test(document.querySelector(".working .done")?.textContent ?? ""));
  const { value, max } = await page.$eval("progress", (bar) => ({ value: bar.value, max: bar.max }));
  assert.ok(value > 0 && value < max && max === MIB);
  assert.match(await focused(page), /Reading slow.log/);
  await reported(page);
  await press(page, ".given", "Start over");
  await paste(page, "think");
  await page.waitForFunction(() => /Looking for the cause/.test(document.querySelector(".working .done")?.textContent ?? ""));
  await reported(page);
  await page.close();
});

test("a pasted message and the example are read", async () => {
  const { page, trouble } = await openBrowserPage();
  await press(page, ".pasting", "Fill in an example");
  assert.match(await page.$eval("#pasted", (area) => (area as HTMLTextAreaElement).value), /torch\.OutOfMemoryError: CUDA out of memory\. Tried to allocate/);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "pasted");
  await page.keyboard.down("Control");
  await page.keyboard.press("Enter");
  await page.keyboard.up("Control");
  await reported(page);
  assert.equal(await text(page, ".given .title"), "pasted text");
  // There is no second file of it to compare.
  assert.doesNotMatch(await text(page, ".given .actions"), /Compare/);
  await press(page, ".given", "Start over");
  assert.match(await text(page, "h1"), /Why did CUDA/);
  assert.match(await focused(page), /Why did CUDA/);
  assert.equal(await page.title(), "whyoom in the browser");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a report with another verdict says so, and the text stays", async () => {
  const { page, trouble } = await openBrowserPage();
  await drop(page, ".drop", { "run.tar.gz": "flight" });
  await reported(page);
  assert.match(await text(page, ".given .notice"), /the whole run.*the last ones/);
  assert.notEqual(await page.$(".as-text[open]"), null);
  await drop(page, ".given .chooser", { "x.log": "fine" });
  await page.waitForSelector(".report #answer");
  await press(page, ".given", "Start over");
  await drop(page, ".drop", { "x.log": "fine" });
  await reported(page);
  assert.equal(await page.$(".given .notice:not([hidden])"), null);
  assert.equal(await page.$(".as-text[open]"), null);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a worker that cannot be prepared is told at once", async () => {
  const { page } = await openBrowserPage({ file: builtPage("unprepared.html", unprepared()) });
  await workers(page, 1);
  await settled(page);
  await drop(page, ".drop", { "x.log": "fine" });
  await page.waitForSelector(".notice.trouble:not([hidden])", { timeout: 5000 });
  assert.match(await text(page, ".notice"), /x\.log: not enough memory/);
  await page.close();
});

test("an example is read by one click, as a file that can be compared", async () => {
  const { page, trouble } = await openBrowserPage();
  await press(page, ".trying", "Read an example snapshot");
  await reported(page);
  assert.equal(await text(page, ".given .title"), "example.pickle");
  assert.match(await text(page, ".given .actions"), /Compare/);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a worker is ready before a file comes, and again behind its report", async () => {
  const { page } = await openBrowserPage();
  const [ready] = await workers(page, 1);
  await drop(page, ".drop", { "first.log": "first" });
  await reported(page);
  const [first, second] = await workers(page, 2);
  assert.equal(first, ready);
  await drop(page, ".given .chooser", { "second.log": "second" });
  await page.waitForSelector(".report #answer");
  assert.ok((await workers(page, 2)).includes(second));
  await page.close();
});

test("cancelling ends the worker and says so", async () => {
  const { page, trouble } = await openBrowserPage();
  await choose(page, ".drop", made("slow.pickle", "slow ", 20 * MIB));
  await page.waitForFunction(() => /read$/.test(document.querySelector(".working .done")?.textContent ?? ""));
  const [busy] = await workers(page, 1);
  await press(page, ".working", "Cancel");
  assert.match(await text(page, ".notice"), /Cancelled: slow.pickle was not read completely\./);
  assert.match(await focused(page), /Cancelled/);
  await replaced(page, busy);
  await drop(page, ".drop", { "next.log": "next" });
  await reported(page);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a worker without a sign of life is ended after 30 s; one that works has 120 s", async () => {
  const { page } = await openBrowserPage({ hurry: 20 });
  const [hung] = await workers(page, 1);
  await drop(page, ".drop", { "hang.pickle": "hang".padEnd(200_000) });
  await page.waitForSelector(".notice.trouble:not([hidden])", { timeout: 20_000 });
  assert.match(await text(page, ".notice"), /hang\.pickle: ended after 30 s without progress/);
  await replaced(page, hung);
  // 1.5 s here are 30 s there: longer than reading may be silent.
  await paste(page, "think");
  await reported(page);
  await page.close();
});

test("an error is told in a sentence, and the page reads the next file", async () => {
  const { page, trouble } = await openBrowserPage();
  const cases: [string, RegExp][] = [
    ["refuse", /^x\.log: this is no snapshot, log or recording <img/],
    ["trap", /^x\.log: the reader stopped unexpectedly \(unreachable\).*please report it/],
    ["full", /^x\.log: not enough memory\. .* at most 4 GiB\. .*whyoom why FILE/],
  ];
  for (const [content, told] of cases) {
    const [worker] = await workers(page, 1);
    await drop(page, ".drop", { "x.log": content });
    await page.waitForSelector(".notice.trouble:not([hidden])");
    assert.match(await text(page, ".notice"), told);
    assert.equal(await focused(page), await text(page, ".notice"));
    await replaced(page, worker);
    assert.equal(await page.$("main img"), null);
    await drop(page, ".drop", { "good.log": "good" });
    await reported(page);
    await press(page, ".given", "Start over");
    assert.ok(await page.$eval(".notice", (notice) => (notice as HTMLElement).hidden));
  }
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a verdict stays where the report fails", async () => {
  const { page } = await openBrowserPage();
  await drop(page, ".drop", { "x.pickle": "undrawn" });
  await page.waitForSelector(".given .notice:not([hidden])");
  assert.match(await text(page, ".given .notice"), /stopped unexpectedly/);
  assert.match(await text(page, ".as-text[open] pre"), /fix: export/);
  assert.equal(await page.$(".coming"), null);
  await drop(page, "body", { "y.pickle": "unsaved" });
  await reported(page);
  await press(page, ".given", "Save the report as one file");
  await page.waitForSelector(".given .notice:not([hidden])");
  assert.match(await text(page, ".report h1"), /too small/);
  await page.close();
});

test("the text is copied; report and JSON are saved", async () => {
  const { page, trouble, downloads } = await openBrowserPage();
  await drop(page, ".drop", { "my run.pickle": "fine" });
  await reported(page);
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: { writeText: async (copied: string) => void Object.assign(window, { copied }) } }));
  await press(page, ".given", "Copy the text");
  assert.match(await page.evaluate(() => (window as unknown as { copied: string }).copied), /^error\[fragmented-cache\]/);
  await press(page, ".given", "Save the report as one file");
  await press(page, ".given", "Save the JSON");
  const until = Date.now() + 10_000;
  const saved = () => readdirSync(downloads).sort();
  while (saved().join() !== "my-run.html,my-run.json" && Date.now() < until) await settled(page);
  assert.deepEqual(saved(), ["my-run.html", "my-run.json"]);
  assert.match(readFileSync(join(downloads, "my-run.html"), "utf8"), /<title>1<\/title>/);
  assert.equal(JSON.parse(readFileSync(join(downloads, "my-run.json"), "utf8")).schema, "whyoom.why");
  assert.deepEqual(trouble, []);
  await page.close();
});

test("a second run is compared; without it the first verdict stays", async () => {
  for (const viewport of [DESKTOP, PHONE]) {
    const { page, trouble } = await openBrowserPage({ viewport });
    await drop(page, ".drop", { "before.pickle": "before" });
    await reported(page);
    await drop(page, ".given .chooser", { "broken.pickle": "refuse" });
    await page.waitForSelector(".given .notice:not([hidden])");
    assert.match(await text(page, ".given .notice"), /before\.pickle and broken\.pickle: this is no snapshot/);
    assert.match(await text(page, ".report h1"), /too small/);
    await choose(page, ".given .chooser button", made("after.pickle", "after"));
    await page.waitForSelector(".report #answer");
    assert.match(await text(page, ".given .title"), /before\.pickle and after\.pickle/);
    assert.match(await text(page, ".report .runs"), /before\.pickle/);
    // That of the comparison, and one that is ready.
    await workers(page, 2);
    assert.ok((await overflow(page)) <= 0);
    await press(page, ".given", "Start over");
    await workers(page, 1);
    assert.deepEqual(trouble, []);
    await page.close();
  }
});

test("neither the page nor its worker reaches a server, whatever the engine tries", async () => {
  let reached = 0;
  const server = createServer((socket) => {
    reached += 1;
    socket.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { page, trouble } = await openBrowserPage();
  await paste(page, `connect ${address}`);
  await reported(page);
  await page.evaluate((to) => fetch(to, { mode: "no-cors" }).catch(() => {}), address);
  assert.equal(reached, 0);
  assert.ok(trouble.some((line) => line.includes("connect-src")), trouble.join("\n"));
  // The server is there: nothing but the policy kept them from it.
  const { port } = new URL(address);
  await once(connect(Number(port), "127.0.0.1"), "close");
  assert.equal(reached, 1);
  server.close();
  await page.close();
});

test("several files are one run, and names and texts of files are never markup", async () => {
  const { page, trouble } = await openBrowserPage();
  await drop(page, ".drop", { "rank0.log": "hostile", "<img src=x>.log": "hostile" });
  await reported(page);
  assert.equal(await text(page, ".given .title"), "rank0.log, <img src=x>.log");
  assert.match(await text(page, ".as-text pre"), /<img src=x/);
  assert.equal(await page.$("#whyoom-app img"), null);
  assert.equal(await page.evaluate(() => (window as { owned?: string }).owned ?? null), null);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("of a report that was taken away no key is left", async () => {
  const { page, trouble } = await openBrowserPage();
  for (const name of ["one.log", "two.log", "three.log"]) {
    await drop(page, "body", { [name]: name });
    await page.waitForFunction((wanted) => document.querySelector(".given .title")?.textContent === wanted && document.querySelector(".report h1"), {}, name);
  }
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  await page.keyboard.press("d");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.keyboard.press("?");
  assert.equal(await page.$$eval("dialog[open]", (dialogs) => dialogs.length), 1);
  assert.deepEqual(trouble, []);
  await page.close();
});

test("everything is reached by keys alone", async () => {
  const { page } = await openBrowserPage();
  const reachedBy: string[] = [];
  for (let i = 0; i < 7; i++) {
    await page.keyboard.press("Tab");
    reachedBy.push(await page.evaluate(() => (document.activeElement as HTMLElement).textContent || document.activeElement?.id || ""));
  }
  assert.deepEqual(
    reachedBy.map((each) => each.replace("☀", "☾").slice(0, 12)),
    ["☾", "Drop a file ", "Read an exam", "pasted", "Find the cau", "Fill in an e", "How to get a"],
  );
  await page.close();
});
