// Builds the page that reads files itself, in a browser: one file with everything in it.
// npm run browser -- --wasm MODULE.wasm --glue GLUE.js --out index.html
// The glue is that of wasm-bindgen, with --target web or no-modules.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { licence, page } from "./build.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Resolves `whyoom-engine` to the glue. Glue without modules declares a global; it becomes a module. */
const engine = (glue) => ({
  name: "whyoom-engine",
  setup(builder) {
    builder.onResolve({ filter: /^whyoom-engine$/ }, () => ({ path: resolve(glue), namespace: "whyoom-engine" }));
    builder.onLoad({ filter: /.*/, namespace: "whyoom-engine" }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = /^export\b/m.test(text) ? text : `${text}\nexport const { initSync, Inquiry, Comparison } = wasm_bindgen;`;
      return { contents, loader: "js" };
    });
  },
});

async function bundle(entry, more = {}) {
  const { outputFiles } = await build({ ...page, logLevel: "warning", entryPoints: [join(here, "src", entry)], write: false, ...more });
  return outputFiles[0].text;
}

/** Neither a script nor a style may end its own element. */
const inside = (text) => {
  if (/<\/(script|style)/i.test(text)) throw new Error("what goes into the page would end its element");
  return text;
};
const sha256 = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// The time in gzip's header is zero, but the system's letter depends on zlib's build: 255 is "unknown".
const packed = (bytes) => {
  const gzip = gzipSync(bytes, { level: 9 });
  gzip[9] = 255;
  return gzip.toString("base64");
};

/** The page's text, and its size without the engine. */
export async function browserPage(wasm, glue) {
  const script = inside(await bundle("browser/main.ts", { format: "iife", banner: { js: licence } }));
  const worker = inside(await bundle("browser/worker.ts", { format: "iife", plugins: [engine(glue)], define: { "import.meta.url": '""' } }));
  const style = inside(await bundle("style/browser.css"));
  const policy = [
    "default-src 'none'",
    `script-src ${sha256(script)} 'wasm-unsafe-eval'`,
    "worker-src blob:",
    `style-src ${sha256(style)}`,
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const module = packed(readFileSync(wasm));
  const example = packed(readFileSync(join(here, "..", "tests", "fixtures", "snapshots", "growth-oom.pickle")));
  const text = [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<meta name="description" content="Why CUDA ran out of memory: reads a PyTorch snapshot, a log or a recording in your browser.">',
    `<title>whyoom in the browser</title><style>${style}</style></head>`,
    '<body><div id="whyoom-app"><pre>This page needs JavaScript and WebAssembly; everything runs in your browser.\nOn a command line: whyoom why FILE</pre></div>',
    `<script id="whyoom-engine" type="application/octet-stream">${module}</script>`,
    `<script id="whyoom-example" type="application/octet-stream">${example}</script>`,
    `<script id="whyoom-worker" type="application/octet-stream">${worker}</script>`,
    `<script>${script}</script></body></html>`,
    "",
  ].join("\n");
  return { text, without: Buffer.byteLength(text) - module.length };
}

if (resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { wasm: { type: "string" }, glue: { type: "string" }, out: { type: "string" } } });
  const { wasm, glue, out } = values;
  if (!wasm || !glue || !out) throw new Error("npm run browser -- --wasm MODULE.wasm --glue GLUE.js --out index.html");
  const { text, without } = await browserPage(wasm, glue);
  mkdirSync(dirname(resolve(out)), { recursive: true });
  writeFileSync(out, text);
  const kib = (bytes) => `${(bytes / 1024).toFixed(0)} KiB`;
  console.log(`${out}: ${kib(Buffer.byteLength(text))}, ${kib(without)} without the engine`);
}
