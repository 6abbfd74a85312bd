// The page that reads files itself, opened in Chromium with the fake engine inside.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "puppeteer-core";
import { DESKTOP, type Opened, openFile } from "./browser";

const built = dirname(fileURLToPath(import.meta.url));
const web = join(built, "..", "..");
/** Of this run of the tests, whichever others run at the same time. */
export const folder = mkdtempSync(join(tmpdir(), "whyoom-browser-"));
after(() => rmSync(folder, { recursive: true, force: true }));
/** A module of WebAssembly in which there is nothing. */
const EMPTY = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

let page: string | null = null;
const engine = join(built, "fake_engine.js");

/** Builds the page as `npm run browser` does. */
export function builtPage(name = "index.html", glue = engine): string {
  const [wasm, out] = [join(folder, "empty.wasm"), join(folder, name)];
  writeFileSync(wasm, EMPTY);
  execFileSync("node", [join(web, "build_browser.mjs"), "--wasm", wasm, "--glue", glue, "--out", out], { encoding: "utf8" });
  return out;
}

/** The fake engine as glue of wasm-bindgen's `--target no-modules`: a script that declares a global. */
export function globalGlue(): string {
  const path = join(folder, "no_modules.js");
  writeFileSync(path, `let wasm_bindgen = (function () {${readFileSync(engine, "utf8").replace(/export \{([^}]*)\};?\s*$/, "return {$1};")}})();\n`);
  return path;
}

/** The fake engine, for which there is no memory. */
export function unprepared(): string {
  const path = join(folder, "unprepared.js");
  const text = readFileSync(engine, "utf8");
  writeFileSync(path, text.replace(/new WebAssembly\.Instance\(module\d*\)/, 'throw new RangeError("WebAssembly.Instance(): Out of memory")'));
  return path;
}

export interface Options {
  /** Another page than the one that all share. */
  file?: string;
  viewport?: typeof DESKTOP;
  theme?: string;
  /** Timers of a second and longer run so many times as fast. */
  hurry?: number;
}

export async function openBrowserPage({ file, viewport = DESKTOP, theme = "light", hurry = 1 }: Options = {}): Promise<Opened & { downloads: string }> {
  page ??= builtPage();
  const downloads = mkdtempSync(join(folder, "saved-"));
  const opened = await openFile(file ?? page, viewport, theme, async (tab) => {
    const session = await tab.createCDPSession();
    await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
    await tab.evaluateOnNewDocument((times) => {
      const real = setTimeout;
      if (times > 1) Object.assign(window, { setTimeout: (f: () => void, wait: number) => real(f, wait >= 1000 ? wait / times : wait) });
    }, hurry);
  });
  return { ...opened, downloads };
}

/** A file to be dropped or chosen; its first bytes say what the fake engine does. */
export function made(name: string, content: string, size = content.length): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Buffer.alloc(Math.max(size, 1), content.length ? content : " "));
  return path;
}

export async function choose(page: Page, selector: string, ...paths: string[]): Promise<void> {
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click(selector)]);
  await chooser.accept(paths);
}

/** Drops files as a mouse would, made in the page. */
export async function drop(page: Page, selector: string, files: Record<string, string>): Promise<void> {
  await page.evaluate(
    (at, given) => {
      const dataTransfer = new DataTransfer();
      for (const [name, content] of Object.entries(given)) dataTransfer.items.add(new File([content], name));
      const target = document.querySelector(at) as HTMLElement;
      for (const type of ["dragenter", "dragover", "drop"]) target.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    },
    selector,
    files,
  );
}

/** Drops files from the disk, as the browser has them from the system. */
export async function dropFromDisk(page: Page, selector: string, ...files: string[]): Promise<void> {
  const { x, y, width, height } = await page.$eval(selector, (element) => element.getBoundingClientRect().toJSON() as DOMRect);
  const session = await page.createCDPSession();
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) await session.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
}

export async function paste(page: Page, text: string): Promise<void> {
  await page.$eval("#pasted", (area, value) => ((area as HTMLTextAreaElement).value = value), text);
  await page.click(".pasting .primary");
}

/** The report is drawn below the text. */
export const reported = (page: Page) => page.waitForSelector(".outcome .report main > section#verdict h1", { timeout: 30_000 });
