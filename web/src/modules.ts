// Modules as a tree of their names, in which the members of a list are one: `layers.* (32)`.
import type { Modules } from "./data";

/** The kinds that have a column of their own; the last column is of all others. */
export const COLUMNS = ["parameters", "gradients", "optimizer state", "activations", "temporaries"];

/** A row of the tree. */
export interface ModuleNode {
  label: string;
  /** Bytes by column, with everything inside. */
  amounts: number[];
  bytes: number;
  /** Names the members of a list one by one: what it holds is what the row above it does. */
  each: boolean;
  hasInside: boolean;
  /** What is inside it, the most first. */
  inside(): ModuleNode[];
}

/** A module by its exact name. */
interface Exact {
  own: number[];
  inside: Map<string, Exact>;
}

const INDEX = /^\d+$/;
const ITSELF = "(itself)";

const none = (): number[] => new Array<number>(COLUMNS.length + 1).fill(0);
const sum = (amounts: number[]) => amounts.reduce((all, one) => all + one, 0);

function add(to: number[], amounts: number[]): void {
  amounts.forEach((amount, i) => (to[i] += amount));
}

/** Amounts by kind as amounts by column. */
export function columns(kinds: string[], amounts: number[]): number[] {
  const out = none();
  amounts.forEach((amount, kind) => {
    const column = COLUMNS.indexOf(kinds[kind]);
    out[column < 0 ? COLUMNS.length : column] += amount;
  });
  return out;
}

/** The outermost modules, the most first. */
export function moduleTree({ kinds, modules }: Modules, nameOf: (name: number) => string): ModuleNode[] {
  const root: Exact = { own: none(), inside: new Map() };
  for (const [name, amounts] of modules) {
    let at = root;
    for (const part of nameOf(name).split(".")) {
      let next = at.inside.get(part);
      if (!next) at.inside.set(part, (next = { own: none(), inside: new Map() }));
      at = next;
    }
    add(at.own, columns(kinds, amounts));
  }
  return rows([root]);
}

function total(members: Exact[]): number[] {
  const out = none();
  for (const { own, inside } of members) {
    add(out, own);
    if (inside.size > 0) add(out, total([...inside.values()]));
  }
  return out;
}

/** What is inside of modules that are shown as one, by the name that they have there; all indices are `*`. */
function parts(members: Exact[]): Map<string, Exact[]> {
  const out = new Map<string, Exact[]>();
  for (const { inside } of members) {
    for (const [part, module] of inside) {
      const name = INDEX.test(part) ? "*" : part;
      const same = out.get(name);
      if (same) same.push(module);
      else out.set(name, [module]);
    }
  }
  return out;
}

const ownOf = (members: Exact[]) => members.reduce((out, { own }) => (add(out, own), out), none());

function rows(members: Exact[]): ModuleNode[] {
  const out = [...parts(members)].map(([name, same]) => row(name, same, members));
  return out.sort((a, b) => b.bytes - a.bytes);
}

/** A row; a list has nothing itself, so it is read together with its members. */
function row(name: string, members: Exact[], outer: Exact[]): ModuleNode {
  let label = name;
  let inner = parts(members);
  while (inner.size === 1 && sum(ownOf(members)) === 0) {
    const [[next, same]] = inner;
    label += `.${next}`;
    [outer, members] = [members, same];
    inner = parts(members);
  }
  const amounts = total(members);
  const isList = members.length > 1;
  const inside = () => {
    const own = ownOf(members);
    const found = rows(members);
    if (found.length > 0 && sum(own) > 0) found.push(leaf(ITSELF, own));
    found.sort((a, b) => b.bytes - a.bytes);
    return isList && label.endsWith("*") ? [...found, each(members.length, outer)] : found;
  };
  return { label: isList ? `${label} (${members.length})` : label, amounts, bytes: sum(amounts), each: false, hasInside: inner.size > 0 || (isList && label.endsWith("*")), inside };
}

function leaf(label: string, amounts: number[]): ModuleNode {
  return { label, amounts, bytes: sum(amounts), each: false, hasInside: false, inside: () => [] };
}

/** The members of a list, one by one. */
function each(number: number, lists: Exact[]): ModuleNode {
  const members = () =>
    lists.flatMap((list) => [...list.inside].filter(([part]) => INDEX.test(part)).map(([part, module]) => row(part, [module], [list]))).sort((a, b) => b.bytes - a.bytes);
  return { label: `each of the ${number}`, amounts: none(), bytes: 0, each: true, hasInside: true, inside: members };
}
