// All ranks, the largest difference first; each opens its own comparison.
import { bar } from "../controls";
import { h } from "../dom";
import { bytes, count } from "../format";
import type { DiffRank } from "./data";
import { type DiffSection, type State, rankName, signed, tone } from "./state";

const FIRST_RANKS = 16;

export const ranks: DiffSection = {
  id: "ranks",
  title: "Ranks",
  isShown: ({ document: diff }) => diff.ranks.length > 1 || diff.only_a.length > 0 || diff.only_b.length > 0,
  mount(body, state) {
    const { document: diff } = state;
    if (diff.ranks.length > 1) body.append(table(state));
    for (const [side, names] of [["A", diff.only_a], ["B", diff.only_b]] as const) {
      for (const name of names) body.append(h("p", { class: "note" }, `only in ${side}: ${name}`));
    }
    return () => {};
  },
};

function table(state: State): HTMLElement {
  const { ranks: all } = state.document;
  const change = ({ a, b }: DiffRank) => b.peak_bytes - a.peak_bytes;
  const most = Math.max(1, ...all.map((rank) => Math.abs(change(rank))));
  const row = (rank: DiffRank, index: number) => {
    const chosen = state.rank.value === index;
    const open = h("button", { type: "button", class: "link", "aria-current": chosen ? "true" : null, onclick: () => state.rank.set(index) }, rankName(rank));
    const amount = change(rank);
    return h(
      "tr",
      { class: chosen ? "chosen" : null },
      h("th", { scope: "row" }, open),
      h("td", { "data-label": "A", class: "number" }, bytes(rank.a.peak_bytes)),
      h("td", { "data-label": "B", class: "number" }, bytes(rank.b.peak_bytes)),
      h("td", { "data-label": "Difference", class: `amount ${tone(amount)}` }, h("span", {}, signed(amount)), amount === 0 ? null : bar(Math.abs(amount) / most, amount > 0 ? "bad" : "accent")),
    );
  };
  const rows = h("tbody", {}, ...all.slice(0, FIRST_RANKS).map(row));
  const head = ["Rank", "Peak in A", "Peak in B", "Difference"].map((text) => h("th", { scope: "col" }, text));
  const shown = h("table", { class: "cards compact spaces" }, h("thead", {}, h("tr", {}, ...head)), rows);
  if (all.length <= FIRST_RANKS) return shown;
  const more = h("button", { type: "button", class: "quiet" }, `All ${count(all.length)} ranks`);
  more.addEventListener("click", () => (rows.append(...all.slice(FIRST_RANKS).map((rank, i) => row(rank, i + FIRST_RANKS))), more.remove()));
  return h("div", {}, shown, more);
}
