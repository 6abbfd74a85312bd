// A report as a page, the way crates/report writes it.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const assets = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..", "crates", "report", "assets");
const hash = readFileSync(join(assets, "report.js.sha256"), "utf8");
const POLICY = [
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'",
  `script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
].join("; ");

export function shell(report: unknown): string {
  const data = gzipSync(JSON.stringify(report)).toString("base64");
  const asset = (name: string) => readFileSync(join(assets, name), "utf8");
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>whyoom</title><style>${asset("report.css")}</style></head>`,
    '<body><div id="whyoom-app"></div>',
    `<script id="whyoom-data" type="application/octet-stream">${data}</script>`,
    `<script>${asset("report.js")}</script></body></html>`,
  ].join("\n");
}
