// Stacks grown together into a tree from the program's outermost frames, and laid out as a flame graph.
import type { Model } from "./model";

export interface FlameNode {
  /** Of frames; -1 for the root and -2 for memory whose stack nobody knows. */
  frame: number;
  bytes: number;
  blocks: number;
  /** One stack that passes here: the one with most bytes. */
  stack: number;
  stackBytes: number;
  children: Map<number, FlameNode>;
  depth: number;
}

export const ROOT = -1;
export const UNKNOWN = -2;

/** Grows the tree of what was live at the peak. `framesOf` gives the frames of a stack, innermost first. */
export function grow<E extends { stack: number; bytes: number; blocks: number }>(entries: E[], framesOf: (stack: number, entry: E) => number[]): FlameNode {
  const root = node(ROOT, 0);
  for (const entry of entries) {
    const { stack, bytes, blocks } = entry;
    const frames = framesOf(stack, entry);
    let at = root;
    add(at, stack, bytes, blocks);
    if (frames.length === 0) add(child(at, UNKNOWN), stack, bytes, blocks);
    for (let i = frames.length - 1; i >= 0; i--) {
      at = child(at, frames[i]);
      add(at, stack, bytes, blocks);
    }
  }
  return root;
}

function node(frame: number, depth: number): FlameNode {
  return { frame, bytes: 0, blocks: 0, stack: 0, stackBytes: -1, children: new Map(), depth };
}

function child(parent: FlameNode, frame: number): FlameNode {
  let found = parent.children.get(frame);
  if (!found) parent.children.set(frame, (found = node(frame, parent.depth + 1)));
  return found;
}

function add(at: FlameNode, stack: number, bytes: number, blocks: number): void {
  at.bytes += bytes;
  at.blocks += blocks;
  if (bytes > at.stackBytes) {
    at.stack = stack;
    at.stackBytes = bytes;
  }
}

/** What can be laid out: a tree whose parts have a size. */
export interface Sized<N> {
  bytes: number;
  children: Map<number, N>;
}

export interface Flame<N = FlameNode> {
  node: N;
  /** Shares of the whole width. */
  left: number;
  width: number;
  /** Row, the chosen root at 0. */
  row: number;
}

/** Frames that can be seen: at least `least` of the width, at most `most` of them, the outer before the inner. */
export function layOut<N extends Sized<N>>(root: N, least: number, most: number): Flame<N>[] {
  const out: Flame<N>[] = [];
  let rows: Flame<N>[] = [{ node: root, left: 0, width: 1, row: 0 }];
  while (rows.length > 0 && out.length < most) {
    const next: Flame<N>[] = [];
    for (const flame of rows) {
      out.push(flame);
      let left = flame.left;
      const children = [...flame.node.children.values()].sort((a, b) => b.bytes - a.bytes);
      for (const inner of children) {
        const width = inner.bytes / root.bytes;
        if (width >= least) next.push({ node: inner, left, width, row: flame.row + 1 });
        left += width;
      }
    }
    rows = next;
  }
  return out.slice(0, most);
}

/** Outer frames that everything passes through: where a graph may begin without losing anything. */
export function trunk<N extends Sized<N>>(root: N): N {
  let at = root;
  while (at.children.size === 1) {
    const [only] = at.children.values();
    if (only.children.size === 0) break;
    at = only;
  }
  return at;
}

export interface PlaceTotal {
  place: string;
  kind: string;
  bytes: number;
  blocks: number;
  stack: number;
}

/** What was live at the peak, by place, the most first. */
export function byPlace(model: Model, entries: { stack: number; bytes: number; blocks: number; kind: string }[]): PlaceTotal[] {
  const places = new Map<string, PlaceTotal & { most: number }>();
  for (const { stack, bytes, blocks, kind } of entries) {
    const place = model.place(stack);
    const total = places.get(place) ?? { place, kind, bytes: 0, blocks: 0, stack, most: -1 };
    total.bytes += bytes;
    total.blocks += blocks;
    if (bytes > total.most) Object.assign(total, { most: bytes, stack, kind });
    places.set(place, total);
  }
  return [...places.values()].sort((a, b) => b.bytes - a.bytes);
}
