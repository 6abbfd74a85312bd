// The flame graph of differences: red grew, blue shrank; as wide as the larger of both runs.
import { choice } from "../controls";
import { h, styled } from "../dom";
import { layOut, trunk } from "../flame";
import { bytes } from "../format";
import type { View } from "./data";
import { type DiffSection, type State, signed, tone } from "./state";
import { type DiffNode, type Way, growDiff, listDiff } from "./tree";

export const flames: DiffSection = {
  id: "flames",
  title: "Flame graph of differences",
  isShown: ({ current }) => (current?.views[0]?.changes.length ?? 0) > 0,
  mount,
};

const ROW = 24;
const MOST_FLAMES = 1500;
const LISTED = 40;

function mount(body: HTMLElement, state: State): () => void {
  const rank = state.current;
  const views = rank?.views ?? [];
  let view: View = views[rank?.explained_by ?? 0] ?? views[0];
  const hasModules = view.changes.some(([module]) => module >= 0);
  let way: Way = "site";
  let whole: DiffNode;
  let root: DiffNode;
  const graph = h("div", { class: "flames", role: "group", "aria-label": "Flame graph of differences" });
  const hint = h("p", { class: "summary flame-hint" });
  const text = h("div");
  const draw = () => drawFlames(graph, hint, whole, root, (next) => ((root = next), draw()));
  const choose = () => {
    whole = growDiff(view, way, (index) => state.string(index));
    root = trunk(whole);
    text.replaceChildren(list(whole));
    draw();
  };
  const moments = views.map(({ moment }, i): [string, string] => [String(i), moment]);
  body.append(
    h("p", { class: "summary" }, "Outer calls at the top, allocating calls at the bottom. As wide as the larger of both runs."),
    h(
      "div",
      { class: "toolbar" },
      hasModules ? choice<Way>("Flame graph", [["site", "By call site"], ["module", "By module"]], way, (next) => ((way = next), choose())) : null,
      moments.length > 1 ? choice("Moment", moments, String(views.indexOf(view)), (next) => ((view = views[Number(next)]), choose())) : null,
    ),
    key(),
    graph,
    hint,
    h("details", { class: "others" }, h("summary", {}, "The same as a list"), text),
  );
  choose();
  return () => {};
}

function key(): HTMLElement {
  const entry = (name: string, text: string) => h("li", {}, h("span", { class: `swatch change ${name}`, "aria-hidden": "true" }), text);
  return h("ul", { class: "legend" }, entry("grew", "▲ more in B"), entry("shrank", "▼ less in B"), entry("same", "= the same"));
}

const MARKS = { grew: "▲ ", shrank: "▼ ", same: "" };

function drawFlames(graph: HTMLElement, hint: HTMLElement, whole: DiffNode, root: DiffNode, zoom: (to: DiffNode) => void): void {
  const shown = layOut(root, 1 / 700, MOST_FLAMES);
  const rows = shown.reduce((most, flame) => Math.max(most, flame.row), 0) + 1;
  const buttons = shown.map(({ node, left, width, row }) => {
    const amount = node.b - node.a;
    const title = `${node.name}\n${signed(amount)}: ${bytes(node.a)} in A, ${bytes(node.b)} in B`;
    const press = () => zoom(node === root ? whole : node);
    const element = h("button", { type: "button", class: `flame change ${tone(amount)}`, title, "aria-label": title, onclick: press }, width > 0.025 ? `${MARKS[tone(amount)]}${node.name}` : "");
    return styled(element, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${row * ROW}px`, "--strength": String(strength(node)) });
  });
  styled(graph, { height: `${rows * ROW}px` });
  graph.replaceChildren(...buttons);
  if (root === whole) return hint.replaceChildren("Click a frame to zoom into it.");
  hint.replaceChildren(`Begins at ${root.name} (${bytes(root.a)} in A, ${bytes(root.b)} in B). `, h("button", { type: "button", class: "link", onclick: () => zoom(whole) }, "Show from the outermost frame"));
}

/** From 0, nothing changed, to 1, only one run has it; what little changed is seen all the same. */
function strength({ a, b }: DiffNode): number {
  return a === b ? 0 : 0.25 + (0.75 * Math.abs(b - a)) / Math.max(a, b);
}

function list(whole: DiffNode): HTMLElement {
  const parts = listDiff(whole, LISTED);
  if (parts.length === 0) return h("p", { class: "footnote" }, "Nothing differs.");
  const row = ({ path, node }: (typeof parts)[number]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, path.join(" › ")),
      h("td", { "data-label": "A", class: "number" }, bytes(node.a)),
      h("td", { "data-label": "B", class: "number" }, bytes(node.b)),
      h("td", { "data-label": "Difference", class: `number ${tone(node.b - node.a)}` }, signed(node.b - node.a)),
    );
  const head = ["Frames", "A", "B", "Difference"].map((text) => h("th", { scope: "col" }, text));
  return h("table", { class: "cards compact" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...parts.map(row)));
}
