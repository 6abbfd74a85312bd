// Pictures of a report, for the book: npm run pictures -- REPORT.html FOLDER
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import puppeteer, { type Page } from "puppeteer-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

interface Picture {
  name: string;
  viewport: typeof DESKTOP;
  theme: "light" | "dark";
  section: string;
  /** What to press before it is taken, by its text. */
  press?: string;
}

const PICTURES: Picture[] = [
  { name: "verdict", viewport: DESKTOP, theme: "light", section: "verdict" },
  { name: "verdict-dark", viewport: DESKTOP, theme: "dark", section: "verdict" },
  { name: "timeline", viewport: DESKTOP, theme: "light", section: "timeline", press: "Events" },
  { name: "blocks", viewport: DESKTOP, theme: "dark", section: "timeline", press: "Block by block" },
  { name: "map", viewport: DESKTOP, theme: "light", section: "map" },
  { name: "peak", viewport: DESKTOP, theme: "light", section: "peak" },
  { name: "what-if", viewport: DESKTOP, theme: "light", section: "what-if" },
  { name: "phone", viewport: PHONE, theme: "light", section: "verdict" },
  { name: "phone-timeline", viewport: PHONE, theme: "dark", section: "timeline", press: "Events" },
];

const [, , report, folder] = process.argv;
if (!report || !folder) throw new Error("npm run pictures -- REPORT.html FOLDER");
mkdirSync(folder, { recursive: true });
const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"] });
for (const picture of PICTURES) await take(await browser.newPage(), picture);
await browser.close();

async function take(page: Page, { name, viewport, theme, section, press }: Picture): Promise<void> {
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: theme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  await page.goto(`file://${resolve(report)}#${section}`);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  const shown = await page.evaluate((id) => document.getElementById(id) !== null, section);
  if (shown) {
    if (press) await pressButton(page, section, press);
    await new Promise((done) => setTimeout(done, 600));
    await page.evaluate((id) => (id === "verdict" ? scrollTo(0, 0) : document.getElementById(id)?.scrollIntoView()), section);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    console.log(join(folder, `${name}.png`));
  }
  await page.close();
}

async function pressButton(page: Page, section: string, label: string): Promise<void> {
  await page.evaluate(
    (id, wanted) => [...document.querySelectorAll<HTMLElement>(`#${id} button`)].find((each) => each.textContent === wanted)?.click(),
    section,
    label,
  );
}
