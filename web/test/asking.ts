// A page that asks a network, which Chromium's log must tell: node asking.js FOLDER LOG
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "./chromium";

const [folder, log] = process.argv.slice(2);
const page_file = join(resolve(folder), "asking.html");
// Nobody listens there.
const host = "127.0.0.1:9";
writeFileSync(
  page_file,
  `<img src="http://${host}/image"><script>
fetch("http://${host}/fetch").catch(() => {});
new WebSocket("ws://${host}/socket");
new Worker(URL.createObjectURL(new Blob(['fetch("http://${host}/worker").catch(() => {})'])));
</script>`,
);
const browser = await chromium(log);
const page = await browser.newPage();
await page.goto(`file://${page_file}`);
await new Promise((later) => setTimeout(later, 1000));
await browser.close();
