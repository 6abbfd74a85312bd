// What went wrong in the worker, and how people are told.
import type { Failure } from "./messages";

/** WebAssembly has at most 4 GiB; this close to it, it broke because there was no more. */
const NEARLY_ALL = 3.5 * 2 ** 30;

/** An error of the engine (a string), of WebAssembly (a trap), or of the browser. `used` is the engine's memory then. */
export function failure(error: unknown, used: number): Failure {
  if (typeof error === "string") return { why: "refused", message: error };
  const { name, message } = error instanceof Error || error instanceof DOMException ? error : { name: "", message: String(error) };
  if (name === "NotFoundError" || name === "NotReadableError") return { why: "refused", message: "the browser can no longer read the file; it may have been changed or moved" };
  if (name === "RangeError" || used > NEARLY_ALL || /memory|allocation/i.test(message)) return { why: "memory", message };
  return { why: "broke", message };
}

/** A sentence or two for people; `command` does the same in a terminal. */
export function sentence({ why, message }: Failure, names: string, command: string): string {
  if (why === "refused") return `${names}: ${message}`;
  const instead = `Use the command line instead: ${command}`;
  if (why === "memory") return `${names}: not enough memory. WebAssembly in a browser has at most 4 GiB. ${instead}`;
  return `${names}: the reader stopped unexpectedly (${message}). That is a bug in whyoom; please report it. ${instead}`;
}
