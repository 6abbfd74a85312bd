// A file read slice by slice, so that never all of it is in memory at once.
import type { Read } from "./engine";

/** What is read of a file at a time. */
export const SLICE = 4 << 20;

/** `slice` gives the bytes between two offsets. Small reads are served from the slice that was read last. */
export function sliced(size: number, slice: (from: number, to: number) => Uint8Array): Read {
  let start = 0;
  let held: Uint8Array = new Uint8Array(0);
  return (offset, length) => {
    if (length <= 0 || offset >= size) return new Uint8Array(0);
    if (offset < start || offset >= start + held.length) {
      held = slice(offset, Math.min(size, offset + SLICE));
      start = offset;
    }
    const from = offset - start;
    return held.subarray(from, Math.min(held.length, from + length));
  };
}
