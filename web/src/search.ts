// One search for the whole page: which stacks, places and addresses a few letters mean.
import type { Model } from "./model";

export interface Search {
  readonly text: string;
  /** Nothing is searched for: everything is shown as usual. */
  readonly empty: boolean;
  stack(stack: number): boolean;
  name(name: string): boolean;
  frame(frame: number): boolean;
  /** Whether a piece of memory holds the address that was typed. */
  address(from: number, size: number): boolean;
}

/** Nothing is searched for. */
export const NO_SEARCH: Search = {
  text: "",
  empty: true,
  stack: () => true,
  name: () => true,
  frame: () => true,
  address: () => true,
};

/** Searches strings once; frames, stacks and places follow from them. */
export function search(model: Model, typed: string): Search {
  const text = typed.trim();
  if (!text) return NO_SEARCH;
  const { strings, frames, stacks, places } = model.report;
  const needle = text.toLowerCase();
  const hitString = strings.map((string) => string.toLowerCase().includes(needle));
  // "train.py:61" is in no string by itself: a file and a line make it.
  const hitFrame = frames.map(
    ([name, file, line]) => hitString[name] || hitString[file] || `${strings[file]}:${line}`.toLowerCase().endsWith(needle),
  );
  const hitStack = stacks.map((stack, i) => hitString[places[i]] || stack.some((frame) => hitFrame[frame]));
  const hitPlaces = new Set(places.filter((_, i) => hitStack[i]).map((place) => strings[place]));
  const address = parseAddress(text);
  return {
    text,
    empty: false,
    stack: (stack) => hitStack[stack] ?? false,
    name: (name) => hitPlaces.has(name) || name.toLowerCase().includes(needle),
    frame: (frame) => hitFrame[frame] ?? false,
    address: (from, size) => address !== null && from <= address && address < from + size,
  };
}

/** `0x7f…`: an address. */
export function parseAddress(text: string): number | null {
  return /^0x[0-9a-f]{3,}$/i.test(text) ? Number.parseInt(text, 16) : null;
}
