// Saves what the page has made as a file on the reader's machine.
import { h } from "../dom";

export function save(name: string, type: string, content: string | Uint8Array<ArrayBuffer>): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: address, download: name }).click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A name for the new file: that of the input, with letters that every system takes. */
export function fileName(from: string, ending: string): string {
  const stem = from.replace(/\.(pickle|pkl|log|txt|csv|json|tar\.gz|tgz)$/i, "").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "");
  return `${stem.slice(0, 80) || "whyoom"}${ending}`;
}
