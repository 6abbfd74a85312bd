// What lies in the page beside its script: the worker's script and the engine.
import { inflate } from "../decode";

function part(id: string): string {
  const text = document.getElementById(id)?.textContent;
  if (!text) throw new Error(`this page contains no ${id}`);
  return text;
}

let bytes: Promise<ArrayBuffer> | null = null;
let address: string | null = null;

/** The engine as bytes: inflated once, when it is first wanted. */
export function engineBytes(): Promise<ArrayBuffer> {
  bytes ??= inflate(part("whyoom-engine")).arrayBuffer();
  return bytes;
}

/** Where a worker finds its script: in the page itself, also when the page was opened from disk. */
export function workerAddress(): string {
  address ??= URL.createObjectURL(new Blob([part("whyoom-worker")], { type: "text/javascript" }));
  return address;
}
