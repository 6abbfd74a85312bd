// What memory was at the peak of both runs, side by side on one scale.
import { swatch } from "../controls";
import { h, styled } from "../dom";
import { bytes } from "../format";
import type { DiffRank } from "./data";
import { type DiffSection, type State, signed, tone } from "./state";

export const breakdown: DiffSection = {
  id: "breakdown",
  title: "Memory at the peak",
  isShown: ({ current }) => current !== null && current.views.length > 0,
  mount(body, state) {
    const draw = () => state.current && body.replaceChildren(bars(state, state.current), table(state, state.current));
    draw();
    return state.dark.watch(draw);
  },
};

interface Part {
  name: string;
  a: number;
  b: number;
}

/** Kinds, the largest first. */
function kinds(state: State, rank: DiffRank): Part[] {
  const parts = rank.views[0].by_kind.groups.map(([name, [a, , b]]) => ({ name: state.string(name), a, b }));
  return parts.sort((x, y) => Math.max(y.a, y.b) - Math.max(x.a, x.b));
}

const unallocated = (figures: DiffRank["a"]) => Math.max(0, figures.reserved_bytes - figures.peak_bytes);

/** A bar for each run: kinds, and hatched what is reserved beyond them. */
function bars(state: State, rank: DiffRank): HTMLElement {
  const parts = kinds(state, rank);
  const most = Math.max(1, rank.a.reserved_bytes, rank.b.reserved_bytes, rank.a.peak_bytes, rank.b.peak_bytes);
  const piece = (amount: number, title: string, colour: string | null) =>
    amount > 0 ? styled(h("span", { class: colour ? "part" : "part unallocated", title: `${title}: ${bytes(amount)}` }), { "--share": `${(amount / most) * 100}%`, ...(colour ? { "--colour": colour } : {}) }) : null;
  const line = (side: "a" | "b") => {
    const figures = rank[side];
    const pieces = parts.map((part, i) => piece(part[side], part.name, state.palette.series(i)));
    const told = `${side.toUpperCase()}: ${bytes(figures.peak_bytes)} allocated, ${bytes(unallocated(figures))} reserved but unallocated`;
    return h("div", { class: "side" }, h("b", { "aria-hidden": "true" }, side.toUpperCase()), h("div", { class: "stacked", role: "img", "aria-label": told }, ...pieces, piece(unallocated(figures), "reserved but unallocated", null)));
  };
  return h("div", { class: "sides" }, line("a"), line("b"));
}

function table(state: State, rank: DiffRank): HTMLElement {
  const rows = kinds(state, rank).map((part, i) => row(part, swatch(state.palette.series(i))));
  const sums: Part[] = [
    { name: "allocated", a: rank.a.peak_bytes, b: rank.b.peak_bytes },
    { name: "reserved but unallocated", a: unallocated(rank.a), b: unallocated(rank.b) },
    { name: "reserved", a: rank.a.reserved_bytes, b: rank.b.reserved_bytes },
  ];
  if (rank.a.outside_bytes !== null && rank.b.outside_bytes !== null) sums.push({ name: "outside the allocator", a: rank.a.outside_bytes, b: rank.b.outside_bytes });
  const head = ["Kind", "A", "B", "Difference"].map((text) => h("th", { scope: "col" }, text));
  return h("table", { class: "cards compact beside" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows, ...sums.map((part) => row(part, null))));
}

function row({ name, a, b }: Part, patch: HTMLElement | null): HTMLElement {
  return h(
    "tr",
    { class: patch ? null : "recorded" },
    h("th", { scope: "row" }, patch, name),
    h("td", { "data-label": "A", class: "number" }, bytes(a)),
    h("td", { "data-label": "B", class: "number" }, bytes(b)),
    h("td", { "data-label": "Difference", class: `number ${tone(b - a)}` }, signed(b - a)),
  );
}
