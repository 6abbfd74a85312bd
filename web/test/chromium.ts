// Chromium for scripts that are no tests of the page by itself: as people start it, less what it asks for of its own.
import puppeteer, { type Browser, type Page } from "puppeteer-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-quic", "--disable-sync", "--no-first-run"];
/** The largest file is read in far less. */
export const LONGEST = 280_000;

/** `log` is where Chromium writes what it asks of a network. */
export function chromium(log?: string): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", ...QUIET, ...(log ? [`--log-net-log=${log}`] : [])];
  return puppeteer.launch({ executablePath: CHROMIUM, args, protocolTimeout: LONGEST });
}

/** Gives the page a file as its button does. */
export async function give(page: Page, file: string): Promise<void> {
  const [chooser] = await Promise.all([page.waitForFileChooser(), page.click(".drop")]);
  await chooser.accept([file]);
}

/** What went wrong, where the page shows no verdict. */
export async function answered(page: Page): Promise<string | null> {
  await page.waitForSelector(".outcome, .notice.trouble:not([hidden])", { timeout: LONGEST });
  return page.evaluate(() => (document.querySelector(".outcome") ? null : (document.querySelector(".notice.trouble")?.textContent ?? "")));
}
