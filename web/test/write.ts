// A page by hand, to look at: node build/test/write.js OUT.html [REPORT.json]
import { readFileSync, writeFileSync } from "node:fs";
import { made } from "./made";
import { shell } from "./shell";

const [, , out, from] = process.argv;
writeFileSync(out, shell(from ? JSON.parse(readFileSync(from, "utf8")) : made({ steps: 120, points: 4000, bandPoints: 600, blocks: 20_000, spaces: 2 })));
