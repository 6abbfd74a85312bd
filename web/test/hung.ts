// A worker of the real page that hangs while it reads: node hung.js PAGE
// The page ends it, says so, and reads the next file.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { answered, chromium, give } from "./chromium";

const [page_file] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "whyoom-hung-"));
const file = join(folder, "train.log");
writeFileSync(file, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 1.00 GiB is free.\n");

const browser = await chromium();
try {
  const page = await browser.newPage();
  await page.goto(`file://${resolve(page_file)}`);
  while (page.workers().length === 0) await new Promise((later) => setTimeout(later, 20));
  const [made] = page.workers();
  // The engine asks it for the file's bytes, and it does not return.
  await made.evaluate(() => {
    const { prototype } = (globalThis as unknown as { FileReaderSync: { prototype: { readAsArrayBuffer(): void } } }).FileReaderSync;
    prototype.readAsArrayBuffer = () => {
      for (;;);
    };
  });
  const started = performance.now();
  await give(page, file);
  const said = await answered(page);
  const seconds = (performance.now() - started) / 1000;
  assert.match(said ?? "(a verdict)", /^train\.log: ended after 30 s without progress\. .*whyoom why FILE/);
  assert.ok(seconds > 25 && seconds < 60, `ended after ${seconds} s`);
  // It is gone a little later.
  for (const until = Date.now() + 10_000; page.workers().includes(made) && Date.now() < until; ) await new Promise((later) => setTimeout(later, 50));
  assert.ok(!page.workers().includes(made), "the worker still runs");
  console.log(`${seconds.toFixed(1)} s: ${said}`);
  await give(page, file);
  assert.equal(await answered(page), null);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
