// What lies in the page beside its script: the worker's script, the engine and an example.
import { inflate } from "../decode";

function part(id: string): string {
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`this page contains no ${id}`);
  return text;
}

let module: Promise<WebAssembly.Module> | null = null;
let address: string | null = null;

/** The engine: inflated and compiled once, while nobody waits for it yet. */
export function engineModule(): Promise<WebAssembly.Module> {
  module ??= inflate(part("whyoom-engine"))
    .arrayBuffer()
    .then((bytes) => WebAssembly.compile(bytes));
  return module;
}

/** A small snapshot, whose memory grows until there is no more. */
export function exampleSnapshot(): Promise<ArrayBuffer> {
  return inflate(part("whyoom-example")).arrayBuffer();
}

/** Where a worker finds its script: in the page itself, also when the page was opened from disk. */
export function workerAddress(): string {
  address ??= URL.createObjectURL(new Blob([part("whyoom-worker")], { type: "text/javascript" }));
  return address;
}
