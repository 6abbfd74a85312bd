// Stands for the WebAssembly module in tests of the page: what it does is said by what it is given.
import type { Progress, Read } from "../src/browser/engine";
import { made } from "./made";
import { HOSTILE, madeDiff } from "./made_diff";

export const TEXT = "error[fragmented-cache]: 1.19 GiB is free in PyTorch's cache, but in blocks too small for 386.96 MiB\n  --> me/train.py:61 in remember\nfix: export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n";
const RUN = { steps: 40, points: 3000, bandPoints: 500, blocks: 3000, spaces: 2 };

const spend = (milliseconds: number) => {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
};

/** Every way to a network that a worker has. */
function connect(address: string): void {
  const scope = globalThis as unknown as { importScripts(address: string): void };
  const ways = [
    () => scope.importScripts(address),
    () => void fetch(address, { mode: "no-cors" }).catch(() => {}),
    () => new WebSocket(address.replace("http", "ws")),
    () => new EventSource(address),
    () => {
      const request = new XMLHttpRequest();
      request.open("GET", address, false);
      request.send();
    },
  ];
  for (const way of ways) {
    try {
      way();
    } catch {
      // refused at once
    }
  }
}

/** That the page allows WebAssembly in its worker is checked with every file. */
export function initSync({ module }: { module: WebAssembly.Module }): { memory: WebAssembly.Memory } {
  new WebAssembly.Instance(module);
  return { memory: new WebAssembly.Memory({ initial: 1 }) };
}

/** Reads all of it, a little at a time; the first bytes say what happens. */
function readAll(size: number, read: Read, progress: Progress): string {
  const start = new TextDecoder().decode(read(0, 64));
  let done = 0;
  while (done < size) {
    const bytes = read(done, 64 << 10);
    if (bytes.length === 0) throw `ends after ${done} bytes`;
    done += bytes.length;
    if (start.startsWith("slow")) spend(100);
    progress(done);
    if (start.startsWith("hang")) for (;;);
  }
  if (start.startsWith("refuse")) throw `this is no snapshot, log or recording ${HOSTILE}`;
  if (start.startsWith("trap")) throw new WebAssembly.RuntimeError("unreachable");
  if (start.startsWith("full")) throw new RangeError("WebAssembly.Memory.grow(): Maximum memory size exceeded");
  return start;
}

export class Inquiry {
  #names: string[] = [];
  #start = "";
  #forReport: boolean;

  constructor(forReport: boolean) {
    this.#forReport = forReport;
  }

  add(name: string, size: number, read: Read, progress: Progress): void {
    this.#start = readAll(size, read, progress);
    this.#names.push(name);
  }

  judge(): void {
    if (this.#start.startsWith("think")) spend(1500);
    if (this.#start.startsWith("connect ")) connect(this.#start.slice("connect ".length));
  }

  verdict_json(): string {
    const of = this.#start.startsWith("flight") && this.#forReport ? "last events" : "whole run";
    return JSON.stringify({ schema: "whyoom.why", version: 1, inputs: this.#names, of });
  }

  verdict_text(): string {
    return `${TEXT}note: ${this.#start.startsWith("hostile") ? HOSTILE : this.#start}\n`;
  }

  report_document(): string {
    if (this.#start.startsWith("undrawn")) throw new WebAssembly.RuntimeError("unreachable");
    if (this.#start.startsWith("late")) spend(1500);
    const report = made(RUN);
    if (this.#start.startsWith("hostile")) report.why.verdict.headline = HOSTILE;
    return JSON.stringify({ ...report, title: this.#names.join(" ") });
  }

  report_html(): Uint8Array {
    if (this.#start.startsWith("unsaved")) throw new WebAssembly.RuntimeError("unreachable");
    return new TextEncoder().encode(`<!doctype html><title>${this.#names.length}</title>`);
  }

  free(): void {}
}

export class Comparison {
  #names: string[];

  constructor(a: string, aSize: number, aRead: Read, b: string, bSize: number, bRead: Read, progress: Progress) {
    readAll(aSize, aRead, progress);
    readAll(bSize, bRead, (done) => progress(aSize + done));
    this.#names = [a, b];
  }

  json(): string {
    return JSON.stringify({ schema: "whyoom.diff", version: 1, names: this.#names });
  }

  text(): string {
    return "B needs more\n";
  }

  document(): string {
    return JSON.stringify({ ...madeDiff(), a: this.#names[0], b: this.#names[1] });
  }

  html(): Uint8Array {
    return new TextEncoder().encode("<!doctype html><title>comparison</title>");
  }

  free(): void {}
}
