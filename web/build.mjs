// Builds the page into the crate that embeds it, or (--tests) the tests into build/test.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, "..", "crates", "report", "assets");

/** What all files of a page share. */
export const page = {
  bundle: true,
  minify: true,
  target: ["chrome103", "firefox113", "safari16.4"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "info",
};

/** uPlot's licence wants to be with every copy of it. */
export const licence = `/*! uPlot: ${readFileSync(join(here, "node_modules", "uplot", "LICENSE"), "utf8").trim()} */`;

async function buildPage() {
  await build({
    ...page,
    entryPoints: [join(here, "src", "main.ts")],
    outfile: join(assets, "report.js"),
    format: "iife",
    banner: { js: licence },
  });
  // The page's policy allows this very script and no other.
  const script = readFileSync(join(assets, "report.js"));
  writeFileSync(join(assets, "report.js.sha256"), createHash("sha256").update(script).digest("base64"));
  await build({ ...page, entryPoints: [join(here, "src", "style", "page.css")], outfile: join(assets, "report.css") });
}

async function buildTests() {
  const out = join(here, "build", "test");
  rmSync(out, { recursive: true, force: true });
  const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".ts"));
  await build({
    entryPoints: tests.map((name) => join(here, "test", name)),
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "warning",
  });
}

if (resolve(process.argv[1]) === fileURLToPath(import.meta.url)) await (process.argv.includes("--tests") ? buildTests() : buildPage());
