// The answer: what differs, of which runs, and why.
import { swatch } from "../controls";
import { append, h } from "../dom";
import { bytes, count, sentence } from "../format";
import type { DiffRank, View } from "./data";
import { type DiffSection, type State, rankName, signed, tone } from "./state";

export const answer: DiffSection = {
  id: "answer",
  title: "Answer",
  isShown: () => true,
  mount(body, state) {
    const { document: diff, current } = state;
    append(body, [
      current && h("p", { class: `cause ${cause(current)}` }, current.unchanged ? "no difference" : `${signed(current.b.peak_bytes - current.a.peak_bytes)} at the peak`),
      h("h1", { class: "long" }, sentence(title(state))),
      runs(state),
      diff.simulated && h("p", { class: "simulated" }, diff.simulated),
      ...diff.conditions.map(({ text, holds, found }) => h("p", { class: `condition ${holds ? "bad" : "good"}` }, `fail if ${text}: ${holds ? "holds" : "does not hold"} (${found})`)),
    ]);
    if (current) explain(body, current);
    const paint = () => body.querySelectorAll<HTMLElement>(".runs .swatch").forEach((patch, i) => patch.style.setProperty("--colour", state.palette.series(i)));
    return state.dark.watch(paint);
  },
};

function cause({ unchanged, a, b }: DiffRank): string {
  return unchanged || b.peak_bytes < a.peak_bytes ? "good" : "bad";
}

/** The first line of the terminal for the first rank; for another its own. */
function title({ document: diff, rank, current }: State): string {
  if (rank.value === 0 || !current) return diff.answer;
  return `${rankName(current)}: ${current.answer}`;
}

function runs(state: State): HTMLElement {
  const { document: diff, current } = state;
  const row = (side: "a" | "b", index: number, name: string) => {
    const figures = current?.[side];
    const gpu = figures?.gpu ? ` on ${figures.gpu}` : "";
    const told = figures ? `${bytes(figures.peak_bytes)} allocated and ${bytes(figures.reserved_bytes)} reserved at most${figures.iterations ? `, ${count(figures.iterations)} iterations` : ""}${gpu}` : "";
    return [h("dt", {}, swatch(state.palette.series(index)), side.toUpperCase()), h("dd", {}, h("b", {}, name), h("span", {}, told))];
  };
  return h("dl", { class: "runs" }, ...row("a", 0, diff.a), ...row("b", 1, diff.b));
}

function explain(body: HTMLElement, rank: DiffRank): void {
  const told = rank.views[rank.explained_by];
  if (told && told.explanations.length > 0) list(body, rank.explained_by > 0 ? `Why, at the ${told.moment} of both` : "Why", told);
  const steady = rank.views.find(({ moment }) => moment === "steady state");
  if (!steady) return;
  const both = `${bytes(steady.a_bytes)} in A, ${bytes(steady.b_bytes)} in B`;
  if (steady.explanations.length > 0) list(body, `In steady state: ${both}`, steady);
  else body.append(h("p", { class: "note" }, `In steady state nothing changed: ${both}.`));
}

function list(body: HTMLElement, heading: string, view: View): void {
  const item = ({ bytes: amount, text }: View["explanations"][number]) => h("li", {}, h("b", { class: tone(amount) }, signed(amount)), h("span", {}, text));
  body.append(h("h3", { class: "sub" }, heading), h("ul", { class: "why" }, ...view.explanations.map(item)));
}
