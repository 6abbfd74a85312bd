// Changes grown together into a tree, from the program's outermost functions or modules inwards.
import type { View } from "./data";

export interface DiffNode {
  name: string;
  a: number;
  b: number;
  /** How wide it is: the larger of both runs, summed up over what is inside. */
  bytes: number;
  children: Map<number, DiffNode>;
}

export type Way = "site" | "module";

const NO_MODULE = "no module known";
const NO_STACK = "no stack recorded";

/** Grows the tree; `string` gives the texts of the document. */
export function growDiff(view: View, way: Way, string: (index: number) => string): DiffNode {
  const numbers = new Map<string, number>();
  const number = (name: string) => numbers.get(name) ?? (numbers.set(name, numbers.size), numbers.size - 1);
  const root = node("everything");
  const add = (path: string[], a: number, b: number) => {
    const wide = Math.max(a, b);
    let at = root;
    count(at, a, b, wide);
    for (const name of path) {
      let next = at.children.get(number(name));
      if (!next) at.children.set(number(name), (next = node(name)));
      count(next, a, b, wide);
      at = next;
    }
  };
  for (const [module, kind, , site, callee, functions, [a, , b]] of view.changes) {
    const own = functions.map(string);
    const path = way === "module" ? [...(module < 0 ? [NO_MODULE] : moduleParts(string(module))), string(kind)] : [...own, string(site) || NO_STACK, ...(callee < 0 ? [] : [string(callee)])];
    add(path, a, b);
  }
  const [a, , b] = view.left_out.sums;
  if (view.left_out.count > 0) add([`${view.left_out.count} smaller ones`], a, b);
  return root;
}

/** Members of a list are one, as in the table: `layers.*`. */
export function moduleParts(name: string): string[] {
  if (name === "") return ["(the model itself)"];
  const out: string[] = [];
  for (const part of name.split(".")) {
    if (!/^\d+$/.test(part)) out.push(part);
    else if (out.length > 0) out[out.length - 1] += ".*";
    else out.push("*");
  }
  return out;
}

function node(name: string): DiffNode {
  return { name, a: 0, b: 0, bytes: 0, children: new Map() };
}

function count(at: DiffNode, a: number, b: number, wide: number): void {
  at.a += a;
  at.b += b;
  at.bytes += wide;
}

/** The same as text: parts that differ, with the names that lead there, the largest difference first. */
export function listDiff(root: DiffNode, most: number): { path: string[]; node: DiffNode }[] {
  const out: { path: string[]; node: DiffNode }[] = [];
  const walk = (at: DiffNode, path: string[]) => {
    for (const inner of at.children.values()) {
      const inside = [...path, inner.name];
      // Outer parts that pass everything on say nothing that the inner one does not.
      const passesOn = [...inner.children.values()].some((next) => next.b - next.a === inner.b - inner.a);
      if (inner.b !== inner.a && !passesOn) out.push({ path: inside, node: inner });
      walk(inner, inside);
    }
  };
  walk(root, []);
  return out.sort((x, y) => Math.abs(y.node.b - y.node.a) - Math.abs(x.node.b - x.node.a)).slice(0, most);
}
